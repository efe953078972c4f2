"""What a change introduced: findings compared with those of an earlier state."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from audit.documents.finding import Finding, Status

_LINE = re.compile(r"\blines? \d+|:\d+\b")
_LEFT_OUT = re.compile(r"(?:^|; )and (\d+) more$")  # what the last place of a long list says
_KEPT = (Status.FAIL, Status.SUPPRESSED)

Key = Callable[[Finding], str | None]


class Comparison(msgspec.Struct, frozen=True):
    """The findings with `new` set on every failure, how many are new, and the failures of the baseline that are gone."""

    findings: tuple[Finding, ...]
    new: int
    gone: tuple[Finding, ...]

    @property
    def fixed(self) -> int:
        """How many failures of the baseline are gone."""
        return len(self.gone)


def compare(
    head: Sequence[Finding],
    base: Sequence[Finding],
    *,
    head_blobs: Mapping[str, str],
    base_blobs: Mapping[str, str] | None,
) -> Comparison:
    """Which of `head`'s failures `base` does not have. The blobs are {path: blob id}; None where the base is a report without its files.

    The fingerprint decides, which holds no line number. What is left over is matched once more by rule and words: under the name that a
    file of the same content had in the base, then, for files that are gone, without regard to their name, and where one collects several
    things, by what these are: their order, and with it the words, follows the names of files. At last its words alone are compared where
    one of the two names no place: what the whole repository lacks may be shown at a file or not. Each failure of the base matches one.
    What the base had suppressed is not new; what it had and is suppressed now is not fixed. A finding that collects several things to be
    mended together is new as soon as it holds one that the base's did not.
    """
    was = {new: old for old, new in renames(head_blobs, base_blobs).items()} if base_blobs is not None else {}

    def moved_from(finding: Finding) -> str | None:
        path = _path(finding)
        return (
            None
            if path is None or path in head_blobs
            else _words(finding, dict.fromkeys(_paths(finding), ""))
        )

    def moved_to(finding: Finding) -> str | None:
        path = _path(finding)
        if path is None or (base_blobs is not None and path in base_blobs):
            return None
        return _words(finding, dict.fromkeys(_paths(finding), ""))

    passes: tuple[tuple[Key, Key], ...] = (
        (_print, _print),
        (lambda finding: _words(finding, was), lambda finding: _words(finding, {})),
        (moved_to, moved_from),
        (_items, _items),
        (_said, _said_of_all),
        (_said_of_all, _said),
    )
    known, gone = _match(head, base, passes)
    marked = tuple(
        msgspec.structs.replace(finding, new=place not in known or _grew(finding, base[known[place]]))
        if finding.status is Status.FAIL
        else finding
        for place, finding in enumerate(head)
    )
    return Comparison(marked, sum(finding.new is True for finding in marked), gone)


def _grew(finding: Finding, before: Finding) -> bool:
    """Whether a finding is worse than its like in the base: graver, or with a note or a number of places that it did not have."""
    if before.status is not Status.FAIL:
        return False
    if finding.severity.rank > before.severity.rank:
        return True
    if not finding.evidence or not before.evidence:
        return False
    here, there = _left_out(finding), _left_out(before)
    if here or there:  # which places are shown is chance then: their number decides
        return len(finding.evidence) + here > len(before.evidence) + there
    now, then = (Counter(_LINE.sub("", p.note) for p in f.evidence if p.note) for f in (finding, before))
    return bool(now - then) if now and then else len(finding.evidence) > len(before.evidence)


def _left_out(finding: Finding) -> int:
    """How many places the finding has beyond those that it shows."""
    said = _LEFT_OUT.search(finding.evidence[-1].note) if finding.evidence else None
    return int(said[1]) if said else 0


def _match(
    head: Sequence[Finding], base: Sequence[Finding], passes: Sequence[tuple[Key, Key]]
) -> tuple[dict[int, int], tuple[Finding, ...]]:
    """{place in `head`: place in `base`} of findings that are alike, one for one, and the failures of `base` that have none."""
    open_head = [place for place, finding in enumerate(head) if finding.status in _KEPT]
    open_base = [place for place, finding in enumerate(base) if finding.status in _KEPT]
    known: dict[int, int] = {}
    for of_head, of_base in passes:
        waiting: dict[str, list[int]] = defaultdict(list)
        for place in reversed(open_base):
            if (key := of_base(base[place])) is not None:
                waiting[key].append(place)
        taken: set[int] = set()
        for place in open_head:
            key = of_head(head[place])
            if key is not None and waiting.get(key):
                known[place] = waiting[key].pop()
                taken.add(known[place])
        open_head = [place for place in open_head if place not in known]
        open_base = [place for place in open_base if place not in taken]
    return known, tuple(base[place] for place in open_base if base[place].status is Status.FAIL)


def _print(finding: Finding) -> str | None:
    return finding.fingerprint or None


def _path(finding: Finding) -> str | None:
    return finding.evidence[0].path if finding.evidence else None


def _paths(finding: Finding) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place.path for place in finding.evidence[:8]))


def _words(finding: Finding, names: Mapping[str, str]) -> str:
    """Rule, first path and message, paths renamed after `names`, line numbers and the reason of a suppression left out."""
    message = finding.message
    if finding.status is Status.SUPPRESSED:
        message = message.rpartition(" Suppressed: ")[0]
    for path in sorted(_paths(finding), key=len, reverse=True):
        if path in names:
            message = message.replace(path, names[path])
    message = _LINE.sub("", message)
    first = _path(finding) or ""
    return "\0".join((finding.rule, names.get(first, first), message))


def _items(finding: Finding) -> str | None:
    """Rule and what the finding collects, wherever it stands; None for a single thing, which another of its kind may equal by chance."""
    notes = sorted(_LINE.sub("", place.note) for place in finding.evidence if place.note)
    return "\0".join((finding.rule, *notes)) if len(notes) > 1 else None


def _said(finding: Finding) -> str:
    """Rule and message, whatever place it was shown at."""
    return f"{finding.rule}\0{_LINE.sub('', finding.message)}"


def _said_of_all(finding: Finding) -> str | None:
    """The same, for a finding about no place."""
    return None if finding.evidence else _said(finding)


def renames(head: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """{path in base: path in head} of files whose content moved: both arguments are {path: blob id}.

    Only where exactly one file of that content left and exactly one came: a guess between two would be none.
    """
    gone = _only({path: blob for path, blob in base.items() if path not in head})
    came = _only({path: blob for path, blob in head.items() if path not in base})
    return {path: came[blob] for blob, path in gone.items() if blob in came}


def _only(blobs: Mapping[str, str]) -> dict[str, str]:
    """{blob id: path} of contents that stand in one file alone."""
    count = Counter(blobs.values())
    return {blob: path for path, blob in blobs.items() if count[blob] == 1}
