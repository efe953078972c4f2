"""The SPDX id of a licence text.

A text is compared word by word with the templates of choosealicense.com that the `identify` package carries,
so that wrapping, markup, case, punctuation and the copyright line do not matter. A template counts where at
most 8 % of its words differ; a family whose members differ by less (Creative Commons) is told by its title.
What is none of these is unknown.
"""

import functools
import html
import re
from typing import Final, NamedTuple

from audit.facts.extracted import Extracted
from audit.facts.model import LicenseFacts

MAX_CHARS: Final = 200_000
"""Longest text that is looked at: five times the GNU GPL."""
_TOLERANCE: Final = 0.08
_ANCHOR: Final = 6
_MOST_CANDIDATES: Final = 60

_MARKUP: Final = re.compile(r"<[^<>\n]{1,300}>|\]\([^()\n]{0,500}\)")
_HEAD: Final = re.compile(r"\A(?:.*\n){0,6}?.*\[fullname\].*(?:\nDeveloped by.*)?")
_FILL_IN: Final = re.compile(r"\[(?:year|yyyy|fullname|project|projecturl)\]")
_WORD: Final = re.compile(r"[a-z0-9]+")
_ID: Final = r"[A-Za-z0-9.+-]{2,60}"
_SPDX_LINE: Final = re.compile(
    rf"SPDX-License-Identifier:[ \t]*({_ID}(?:[ \t]+(?:AND|OR|WITH)[ \t]+{_ID}){{0,5}})"
)
_CREATIVE_COMMONS: Final = re.compile(
    r"attribution( non ?commercial)?( share ?alike| no ?deriv(?:ative)?s)? ([34] 0) (?:international|unported)"
)
_VERSION: Final = r"general public license [a-z ]{0,80}either version"
_NOTICES: Final = (
    (re.compile(r"licensed under the apache license version 2 0"), "Apache-2.0"),
    (re.compile(rf"gnu affero {_VERSION} 3 of the license or"), "AGPL-3.0-or-later"),
    (re.compile(rf"gnu lesser {_VERSION} 3 of the license or"), "LGPL-3.0-or-later"),
    (re.compile(rf"gnu {_VERSION} 3 of the license or"), "GPL-3.0-or-later"),
    (re.compile(rf"gnu {_VERSION} 2 of the license or"), "GPL-2.0-or-later"),
    (re.compile(r"licensed under (?:the )?(?:terms of )?(?:the )?mit license"), "MIT"),
)
_SHORT: Final = 250
# Words that take back what the template grants.
_RESTRICTED: Final = re.compile(
    r"commons clause|non ?commercial|modified mit|additional (?:terms|restrictions?|conditions)|acceptable use"
    r"|research (?:use|purposes?) only|academic (?:use|purposes?) only|monthly active users"
)
_CHOICE: Final = re.compile(
    r"\bdual(?:ly)?\b|\bat your (?:option|choice)\b|\beither of\b|\bor the mit license\b"
)


class _Template(NamedTuple):
    spdx: str
    words: tuple[str, ...]


class _Match(NamedTuple):
    distance: float
    start: int
    end: int
    spdx: str


def extract(text: str) -> Extracted:
    """The licence of `text`; two licences between which the text lets choose are joined by OR."""
    why = ""
    if len(text) > MAX_CHARS:
        text, why = text[:MAX_CHARS], f"longer than {MAX_CHARS:,} characters: the rest was left out"
    return Extracted(LicenseFacts(spdx=spdx_of(text)), why)


def spdx_of(text: str) -> str:
    """The SPDX id or expression that `text` (at most MAX_CHARS are looked at) is or names, "" where it is
    unknown."""
    text = text[:MAX_CHARS]
    if line := _SPDX_LINE.search(text):
        return " ".join(line[1].split())
    words = _words(text)
    matches = _matches(words)
    if not matches:
        return _notice(words)
    if _RESTRICTED.search(_outside(words, matches)):
        return ""
    ids = list(dict.fromkeys(match.spdx for match in matches))
    if len(ids) > 1 and _CHOICE.search(_outside(words, matches)):
        return " OR ".join(sorted(ids))
    # Several without a choice: the others cover parts that come from elsewhere.
    return ids[0]


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(html.unescape(_MARKUP.sub(" ", text)).lower()))


def _outside(words: tuple[str, ...], matches: list[_Match]) -> str:
    kept: list[str] = []
    position = 0
    for match in matches:
        kept += words[position : match.start]
        position = max(position, match.end)
    return " ".join([*kept, *words[position:]])


def _notice(words: tuple[str, ...]) -> str:
    """A file that names its licence instead of quoting it. Only where it says little else."""
    if not 0 < len(words) <= _SHORT:
        return ""
    text = " ".join(words)
    if _RESTRICTED.search(text):
        return ""
    return next((spdx for pattern, spdx in _NOTICES if pattern.search(text)), "")


@functools.cache
def _templates() -> tuple[_Template, ...]:
    from identify.vendor.licenses import LICENSES

    templates = []
    for spdx, text in LICENSES:
        if spdx.startswith("CC-BY"):
            continue
        words = _words(_FILL_IN.sub("", _HEAD.sub("", text)))
        joined = " ".join(words)
        # What follows is advice on how to apply the licence, often left out.
        end = joined.find(" end of terms and conditions")
        templates.append(_Template(spdx, tuple(joined[:end].split()) if end > 0 else words))
    return tuple(templates)


@functools.cache
def _anchors() -> dict[tuple[str, ...], list[tuple[int, int]]]:
    """Runs of six words -> (template, offset) of those that hold them at their start or a fortieth word."""
    anchors: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for index, template in enumerate(_templates()):
        for offset in range(0, min(len(template.words) - _ANCHOR, 400), 40):
            anchors.setdefault(template.words[offset : offset + _ANCHOR], []).append((index, offset))
    return anchors


def _matches(words: tuple[str, ...]) -> list[_Match]:
    """The templates found in `words`, in order, none over another; the closest wins."""
    found = _creative_commons(words)
    anchors, tried = _anchors(), set[tuple[int, int]]()
    for position in range(len(words) - _ANCHOR + 1):
        for index, offset in anchors.get(words[position : position + _ANCHOR], ()):
            start = max(0, position - offset)
            if (index, start // 16) in tried or len(tried) >= _MOST_CANDIDATES:
                continue
            tried.add((index, start // 16))
            if match := _compare(words, start, _templates()[index]):
                found.append(match)
    taken: list[_Match] = []
    for match in sorted(found, key=lambda match: (match.distance, match.start - match.end)):
        if all(match.end <= other.start or match.start >= other.end for other in taken):
            taken.append(match)
    return sorted(taken, key=lambda match: match.start)


def _compare(words: tuple[str, ...], start: int, template: _Template) -> _Match | None:
    from rapidfuzz.distance import Levenshtein

    window = words[start : start + len(template.words)]
    cutoff = max(2, int(_TOLERANCE * len(template.words)))
    if abs(len(window) - len(template.words)) >= cutoff:
        return None
    distance = Levenshtein.distance(window, template.words, score_cutoff=cutoff - 1)
    if distance >= cutoff:
        return None
    return _Match(distance / len(template.words), start, start + len(window), template.spdx)


def _creative_commons(words: tuple[str, ...]) -> list[_Match]:
    """The Creative Commons licence that the text is titled with, as far as it reaches."""
    text = " ".join(words)
    title = _CREATIVE_COMMONS.search(text)
    if title is None or "creative commons" not in text:
        return []
    start = text.count(" ", 0, title.start())
    if len(words) - start > _SHORT and "public license" not in text:
        return []
    parts = ["CC-BY"]
    if title[1]:
        parts.append("NC")
    if title[2]:
        parts.append("SA" if "share" in title[2] else "ND")
    end = text.rfind("creative commons")
    return [_Match(0.0, start, text.count(" ", 0, end) + 2, "-".join([*parts, title[3].replace(" ", ".")]))]
