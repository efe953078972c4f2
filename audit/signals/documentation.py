"""What a reader finds first: README, licence, citation file."""

import re
from collections.abc import Iterator
from typing import Final

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.kinds import Kind
from audit.facts.model import DependencyFacts, LicenseFacts
from audit.signals.repository import Repository, place

# A licence file whose name says that it is about something else than the code.
_OF_SOMETHING_ELSE: Final = re.compile(
    r"data(?:sets?)?|models?|weights?|diff|checkpoints?|docs?|documentation|images?|assets?|fonts?|notices?|"
    r"third|thirdparty|vendor|dependencies|template|header|llama\d*|gemma\d*"
)
_PLAIN_NAME: Final = re.compile(r"(?:un)?licen[sc]e|copying")
_WORDS: Final = re.compile(r"[a-z]+\d*")

# Names that manifests give instead of SPDX ids, as lower-case words; the Trove classifiers end in these as well.
_SPOKEN: Final = {
    "mit": "MIT",
    "apache": "Apache-2.0",
    "apache software": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2 0": "Apache-2.0",
    "apache software 2 0": "Apache-2.0",
    "apache version 2 0": "Apache-2.0",
    "bsd 3 clause": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "3 clause bsd": "BSD-3-Clause",
    "modified bsd": "BSD-3-Clause",
    "bsd 2 clause": "BSD-2-Clause",
    "simplified bsd": "BSD-2-Clause",
    "isc": "ISC",
    "isc iscl": "ISC",
    "mpl 2 0": "MPL-2.0",
    "mozilla public 2 0": "MPL-2.0",
    "mozilla public 2 0 mpl 2 0": "MPL-2.0",
    "gpl 3 0": "GPL-3.0",
    "gplv3": "GPL-3.0",
    "gpl v3": "GPL-3.0",
    "gnu general public v3 gplv3": "GPL-3.0",
    "gnu general public v3 or later gplv3": "GPL-3.0-or-later",
    "gpl 2 0": "GPL-2.0",
    "gnu general public v2 gplv2": "GPL-2.0",
    "agpl 3 0": "AGPL-3.0",
    "agplv3": "AGPL-3.0",
    "gnu affero general public v3": "AGPL-3.0",
    "gnu affero general public v3 or later agplv3": "AGPL-3.0-or-later",
    "gnu lesser general public v3 lgplv3": "LGPL-3.0",
    "lgpl 3 0": "LGPL-3.0",
    "unlicense": "Unlicense",
    "the unlicense unlicense": "Unlicense",
    "cc0 1 0 universal cc0 1 0 public domain dedication": "CC0-1.0",
    "cc by nc 4 0": "CC-BY-NC-4.0",
    "cc by 4 0": "CC-BY-4.0",
}
_SPDX_ID: Final = re.compile(
    r"(?=[^-]{1,40}(?:-[^-]{1,40})?-\d)[A-Za-z][A-Za-z0-9.-]{2,50}|MIT|ISC|Unlicense|Zlib"
)
_FILLERS: Final = frozenset({"the", "license", "licence", "licensed", "under"})


def readme(repository: Repository) -> Signal[bool]:
    """Whether there is a README with content where a reader looks for it."""
    path = repository.readme
    facts = repository.file(path) if path else None
    if path is None or (facts is not None and facts.size == 0):
        return Signal(False)
    return Signal(True, (place(path, 1),))


def license_id(repository: Repository) -> Signal[str | None]:
    """The SPDX id of the repository's own licence, None where there is none or it is none that is known.

    Evidence without a value is a licence file whose text is no known one. Licences of copied parts, data or
    weights are told in the evidence and do not decide.
    """
    files = _license_files(repository)
    own = [(path, spdx) for path, spdx in files if not _is_about_something_else(path)]
    stated = next(_stated(repository), None)
    evidence = [place(path, 1, spdx or "not the text of a known licence") for path, spdx in (own or files)]
    known = sorted({spdx for _, spdx in own if spdx})
    if len(known) > 1:
        plain = next((s for p, s in own if s and _PLAIN_NAME.fullmatch(p.lower().partition(".")[0])), None)
        return Signal(plain or (stated[0] if stated else " OR ".join(known)), tuple(evidence[:3]))
    if known:
        return Signal(known[0], tuple(evidence[:2]))
    if stated:
        return Signal(stated[0], (stated[1], *evidence[:1]))
    return Signal(None, tuple(evidence[:1]))


def citation(repository: Repository) -> Signal[bool]:
    """Whether a citation file lies at the root; a BibTeX entry in the README is none."""
    found = [path for path in repository.of_kind(Kind.CITATION) if "/" not in path]
    return Signal(bool(found), tuple(place(path, 1) for path in found[:2]))


def _license_files(repository: Repository) -> list[tuple[str, str]]:
    """(path, SPDX id or "") of the licence files at the root, those in REUSE's `LICENSES` folder included."""
    found: list[tuple[str, str]] = []
    for path in repository.of_kind(Kind.LICENSE):
        if "/" in path and path.rpartition("/")[0] != "LICENSES":
            continue
        facts = repository.file(path)
        body = facts.body if facts else None
        found.append((path, body.spdx if isinstance(body, LicenseFacts) else ""))
    return sorted(found, key=lambda item: (item[0].count("/"), len(item[0]), item[0]))


def _is_about_something_else(path: str) -> bool:
    words = _WORDS.findall(path.rpartition("/")[2].lower())
    return any(_OF_SOMETHING_ELSE.fullmatch(word) for word in words)


def _stated(repository: Repository) -> Iterator[tuple[str, Place]]:
    """The licence that a manifest at the root states."""
    for path, body in sorted(repository.bodies(DependencyFacts)):
        if "/" not in path and body.license and (spdx := spoken_license(body.license)):
            yield spdx, place(path, None, body.license)


def spoken_license(text: str) -> str | None:
    """The SPDX id or expression that a manifest's licence field means, None where that cannot be said."""
    text = text.strip()[:200]
    parts = re.split(r" (?:OR|AND|WITH) ", text)
    if len(parts) > 1:
        return text if all(_SPDX_ID.fullmatch(part.strip("() ")) for part in parts) else None
    words = [w for w in re.findall(r"[a-z]+\d*|\d+", text.lower()) if w not in _FILLERS]
    return _SPOKEN.get(" ".join(words)) or (text if _SPDX_ID.fullmatch(text) else None)
