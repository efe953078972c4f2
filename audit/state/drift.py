"""What changed between two states of an experiment, and how much each change matters."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence

import audit as package
from audit.documents.drift import SCHEMA_VERSION, Change, ChangeKind, Drift, DriftSeverity, Side
from audit.documents.place import Place
from audit.documents.report import Tool
from audit.documents.state import Confidence, Leaf, State
from audit.state.matching import Item, Pair, match
from audit.state.settings.key import Name, parsed
from audit.state.severity import judged
from audit.state.values import relative

_MOST_LINES = 60
_LONGEST_LINE = 300
_LONGEST_TEXT = 64 * 1024
_WHOLE = "experiment.files"


def drift(
    a: State, b: State, *, before: Side, after: Side, profiles: Sequence[str] = (), notes: Sequence[str] = ()
) -> Drift:
    """The changes from `a` to `b`, the weightiest first. `profiles`: kinds of experiment that raise severities."""
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
        notes=tuple(notes),
    )


def _changed(pair: Pair, profiles: Sequence[str]) -> Change:
    before, after = pair.before.leaf, pair.after.leaf
    severity, why = judged(pair.after.name.concept, ChangeKind.CHANGED, before, after, profiles)
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
    if not (pair.before.resolved and pair.after.resolved):
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
    whole: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        name = item.name
        if name.file and name.file not in files:
            whole[name.file, ""].append(item)
        elif name.scope and (name.file, name.scope) not in have:
            whole[name.file, name.scope].append(item)
        else:
            yield _single(item, kind, profiles)
    for (file, scope), group in whole.items():
        yield _group(file, scope, group, kind, profiles)


def _single(item: Item, kind: ChangeKind, profiles: Sequence[str]) -> Change:
    before, after = (item.leaf, None) if kind is ChangeKind.REMOVED else (None, item.leaf)
    severity, why = judged(item.name.concept, kind, before, after, profiles)
    return Change(item.path, kind, severity, why, before, after)


def _group(file: str, scope: str, items: Sequence[Item], kind: ChangeKind, profiles: Sequence[str]) -> Change:
    words = f"{len(items)} setting{'s' if len(items) > 1 else ''}"
    first = min((item.leaf.place for item in items if item.leaf.place), default=Place(file))
    leaf = Leaf(words, items[0].leaf.source, Confidence.OBSERVED, f"all of {scope or file}", first)
    before, after = (leaf, None) if kind is ChangeKind.REMOVED else (None, leaf)
    severity, why = judged(_WHOLE, kind, before, after, profiles)
    return Change(Name(_WHOLE, file, "", scope or "all").path, kind, severity, why, before, after)
