"""What changed between two states of an experiment, and how much each change matters."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import audit as package
from audit.documents.drift import SCHEMA_VERSION, Change, ChangeKind, Drift, DriftSeverity, Side
from audit.documents.place import Place
from audit.documents.report import Tool
from audit.documents.state import Confidence, Leaf, Source, State
from audit.state.matching import Item, Pair, match
from audit.state.settings.key import Name, parsed
from audit.state.severity import OFF, entry_for, judged, table
from audit.state.values import is_verbatim, relative

_MOST_LINES = 60
_LONGEST_LINE = 300
_LONGEST_TEXT = 64 * 1024
_SAID_BY_PRESENCE = ("training.seed", "execution.determinism")
"""Calls that matter by being there, whatever is handed to them."""
_FEWEST_KEYS = 2
_PACKAGE = re.compile(r"environment\.packages\.[^.]+(?:\.[^.]+)*\.(?:declared|locked)")
_MOST_PACKAGES = 5
"""Packages that may come or go in one file before they are told in one line."""
_WHOLE = "experiment.files"
_BESIDE = "It stands beside others of its kind, which are as they were."
_ELSEWHERE = "It is handed in from elsewhere now: what a run gets cannot be seen here."


def drift(
    a: State, b: State, *, before: Side, after: Side, profiles: Sequence[str] = (), notes: Sequence[str] = ()
) -> Drift:
    """The changes from `a` to `b`, the weightiest first. `profiles`: kinds of experiment that raise severities."""
    a, b, left_out = _known(a, b)
    matched = match(a, b)
    changes = [
        *(_changed(pair, profiles) for pair in matched.changed),
        *_one_sided(matched.removed, a, b, ChangeKind.REMOVED, profiles),
        *_one_sided(matched.added, b, a, ChangeKind.ADDED, profiles),
    ]
    ordered = tuple(
        sorted(changes, key=lambda change: (-change.severity.rank, change.setting, change.kind.value))
    )
    return Drift(
        schema_version=SCHEMA_VERSION,
        tool=Tool("ml-audit", package.__version__),
        a=before,
        b=after,
        comparable=not any(change.severity is DriftSeverity.HIGH for change in ordered),
        summary={
            severity.value: sum(1 for change in ordered if change.severity is severity)
            for severity in sorted(DriftSeverity, key=lambda severity: -severity.rank)
        },
        changes=ordered,
        same=matched.same,
        notes=(*notes, *left_out),
    )


def _known(a: State, b: State) -> tuple[State, State, tuple[str, ...]]:
    """The states without what a lock could not resolve on one side: that nobody could be asked is no change."""
    unresolved = {
        path
        for state in (a, b)
        for path, leaf in state.leaves.items()
        if leaf.source is Source.LOCK and leaf.confidence is Confidence.UNRESOLVED
    }
    if not unresolved:
        return a, b, ()
    first, second = (
        State({path: leaf for path, leaf in state.leaves.items() if path not in unresolved})
        for state in (a, b)
    )
    count = len(unresolved)
    note = f"{count} setting{'s' if count > 1 else ''} that a lock could not resolve {'were' if count > 1 else 'was'} not compared."
    return first, second, (note,)


def why_of(change: Change) -> str:
    """Why a change matters, in words of ours: those that a document from elsewhere holds may be anybody's."""
    concept = parsed(change.setting).concept
    known = {
        OFF,
        _BESIDE,
        _ELSEWHERE,
        *(entry.why for entries in table().profiles.values() for entry in entries),
    }
    return change.why if change.why in known else entry_for(concept).why


def _changed(pair: Pair, profiles: Sequence[str]) -> Change:
    before, after = pair.before.leaf, pair.after.leaf
    severity, why = judged(pair.after.name.concept, ChangeKind.CHANGED, before, after, profiles)
    if pair.before.resolved and not pair.after.resolved and severity.rank > DriftSeverity.LOW.rank:
        severity, why = (
            DriftSeverity.LOW,
            _ELSEWHERE,
        )
    return Change(
        setting=pair.after.path,
        kind=ChangeKind.CHANGED,
        severity=severity,
        why=why,
        before=before,
        after=after,
        relative=_relative(pair),
        diff=text_diff(before.value, after.value),
    )


def _relative(pair: Pair) -> float | None:
    concept = pair.after.name.concept
    # Of a version or a seed nobody asks by how many percent it moved.
    if not (pair.before.resolved and pair.after.resolved) or is_verbatim(concept) or concept.endswith("seed"):
        return None
    return relative(pair.before.leaf.value, pair.after.leaf.value)


def text_diff(before: object, after: object) -> str:
    """A unified diff of two texts of which one has several lines, bounded in lines and their length; "" for anything else."""
    if not (isinstance(before, str) and isinstance(after, str)) or not ("\n" in before or "\n" in after):
        return ""
    first, second = (text[:_LONGEST_TEXT].splitlines() for text in (before, after))
    lines = [
        line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
        for line in difflib.unified_diff(first, second, "before", "after", lineterm="", n=2)
    ]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    return "\n".join(lines)


def _one_sided(
    items: Sequence[Item], own: State, other: State, kind: ChangeKind, profiles: Sequence[str]
) -> Iterable[Change]:
    """What only one side has. What came or went with its file or function is told in one line for that."""
    have = {(name.file, name.scope) for path in other.leaves if (name := parsed(path)).file}
    files = {file for file, _ in have}
    bases = {_base(Item(path, parsed(path), leaf)) for path, leaf in other.leaves.items()} if items else set()
    whole: dict[tuple[str, str], list[Item]] = defaultdict(list)
    packages: dict[str, list[Item]] = defaultdict(list)
    sections = _sections(items, own, other)
    for item in items:
        name = item.name
        if not item.resolved and not (
            name.concept.startswith(_SAID_BY_PRESENCE) and name.plain_key.endswith("()")
        ):
            continue  # an option that is handed on decides nothing: its default does, and is told where it stands
        if name.file and name.file not in files:
            whole[name.file, ""].append(item)
        elif name.scope and (name.file, name.scope) not in have:
            whole[name.file, name.scope].append(item)
        elif (section := sections.get((name.file, name.plain_key.partition(".")[0]))) is not None:
            whole[name.file, section].append(item)
        elif name.file and _PACKAGE.fullmatch(name.concept):
            packages[name.file].append(item)
        else:
            yield _single(item, kind, profiles, further=_base(item) in bases)
    for (file, scope), group in whole.items():
        yield _group(file, scope, group, kind, profiles)
    for file, group in packages.items():
        if len(group) > _MOST_PACKAGES:
            yield _packages(file, group, kind)
        else:
            yield from (_single(item, kind, profiles) for item in group)


def _sections(items: Sequence[Item], own: State, other: State) -> dict[tuple[str, str], str]:
    """Sections of files that only one side has and that stand beside others with the same keys, as in a catalogue with an entry for each model:
    (file, section) to the section's name."""
    files = {item.name.file for item in items if not item.name.scope and "." in item.name.plain_key}
    if not files:
        return {}
    mine, theirs = _keys_of_sections(own, files), _keys_of_sections(other, files)
    found: dict[tuple[str, str], str] = {}
    for (file, section), keys in mine.items():
        if (file, section) in theirs or len(keys) < _FEWEST_KEYS:
            continue
        beside = [known for (other_file, _), known in theirs.items() if other_file == file]
        if any(2 * len(keys & known) >= len(keys) for known in beside):
            found[file, section] = section
    return found


def _keys_of_sections(state: State, files: set[str]) -> dict[tuple[str, str], set[str]]:
    keys: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in state.leaves:
        name = parsed(path)
        section, dot, rest = name.plain_key.partition(".")
        if dot and name.file in files and not name.scope:
            keys[name.file, section].add(rest)
    return keys


def _packages(file: str, items: Sequence[Item], kind: ChangeKind) -> Change:
    """Many packages that came or went together, as when a list is compiled anew: one line with their names."""
    names = ", ".join(dict.fromkeys(item.name.concept.split(".")[2] for item in items))
    first = min((item.leaf.place for item in items if item.leaf.place), default=Place(file))
    leaf = Leaf(
        f"{len(items)} packages: {names}",
        items[0].leaf.source,
        Confidence.OBSERVED,
        f"packages of {file}",
        first,
    )
    before, after = (leaf, None) if kind is ChangeKind.REMOVED else (None, leaf)
    severity, why = judged("environment.packages.*", kind, before, after)
    return Change(Name("environment.packages", file, "", "packages").path, kind, severity, why, before, after)


def _base(item: Item) -> str:
    return (
        item.path[: len(item.path) - len(item.name.key) + len(item.name.plain_key)]
        if item.name.key
        else item.path
    )


def _single(item: Item, kind: ChangeKind, profiles: Sequence[str], *, further: bool = False) -> Change:
    before, after = (item.leaf, None) if kind is ChangeKind.REMOVED else (None, item.leaf)
    severity, why = judged(item.name.concept, kind, before, after, profiles)
    if further and severity.rank > DriftSeverity.LOW.rank:
        severity, why = DriftSeverity.LOW, _BESIDE
    return Change(item.path, kind, severity, why, before, after)


def _group(file: str, scope: str, items: Sequence[Item], kind: ChangeKind, profiles: Sequence[str]) -> Change:
    words = f"{len(items)} setting{'s' if len(items) > 1 else ''}"
    first = min((item.leaf.place for item in items if item.leaf.place), default=Place(file))
    leaf = Leaf(words, items[0].leaf.source, Confidence.OBSERVED, f"all of {scope or file}", first)
    before, after = (leaf, None) if kind is ChangeKind.REMOVED else (None, leaf)
    severity, why = judged(_WHOLE, kind, before, after, profiles)
    return Change(Name(_WHOLE, file, "", scope or "all").path, kind, severity, why, before, after)
