"""What every rendering of a drift says alike. Nothing here is sanitized: each renderer does that for its own surface."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from audit.documents.drift import Change, ChangeKind, Drift, DriftSeverity
from audit.documents.state import Confidence, Leaf, Scalar, Value
from audit.report.view import where
from audit.safety.sanitize import cut

SEVERITIES: tuple[DriftSeverity, ...] = tuple(sorted(DriftSeverity, key=lambda severity: -severity.rank))
TITLES = {
    DriftSeverity.HIGH: "High",
    DriftSeverity.MEDIUM_HIGH: "Medium high",
    DriftSeverity.MEDIUM: "Medium",
    DriftSeverity.LOW: "Low",
    DriftSeverity.NONE: "None",
}
_LONGEST = 120
_MOST_ITEMS = 12


class Row(msgspec.Struct, frozen=True):
    """One change as a reader sees it. `name`: what the setting is called where it stands; `concept`: what it is; `where`: the place, "" where
    none is known; `before`, `after`: values in words, "" where that side has none; `by`: how far a number moved."""

    severity: DriftSeverity
    kind: ChangeKind
    name: str
    concept: str
    where: str
    before: str
    after: str
    by: str
    why: str
    diff: str
    more: int = 0
    """How many further places have the same change."""

    @property
    def places(self) -> str:
        """The place, and how many further ones say the same."""
        return f"{self.where} and {self.more} more" if self.more and self.where else self.where


def at_least(drift: Drift, severity: DriftSeverity) -> Drift:
    """The drift without the changes below a severity. Its counts stay those of all changes: what was left out is told."""
    kept = tuple(change for change in drift.changes if change.severity.rank >= severity.rank)
    return msgspec.structs.replace(drift, changes=kept)


def rows(changes: Iterable[Change]) -> list[Row]:
    """The changes in their order; what changed alike in several files is one row that counts them."""
    return [made for made, _ in grouped(changes)]


def grouped(changes: Iterable[Change]) -> list[tuple[Row, Change]]:
    """The rows, each with the first of its changes."""
    first: dict[tuple[object, ...], tuple[Row, Change]] = {}
    more: Counter[tuple[object, ...]] = Counter()
    for change in changes:
        made = row(change)
        key = (made.severity, made.kind, made.name, made.concept, made.before, made.after, made.diff)
        more[key] += 1
        first.setdefault(key, (made, change))
    counted = [
        (msgspec.structs.replace(made, more=more[key] - 1), change) for key, (made, change) in first.items()
    ]
    return _with_files_together(counted)


_MOST_FILES = 5
"""Files that may come or go before they are told in one row."""


def _with_files_together(listed: list[tuple[Row, Change]]) -> list[tuple[Row, Change]]:
    """Many files that came, or went, as one row with their names."""
    for kind in (ChangeKind.ADDED, ChangeKind.REMOVED):
        files = [pair for pair in listed if pair[0].concept == "experiment.files" and pair[0].kind is kind]
        if len(files) <= _MOST_FILES:
            continue
        first, change = files[0]
        names = cut(", ".join(row.name for row, _ in files), _LONGEST)
        words = f"all settings of {len(files)} files and functions"
        side = {"after": words} if kind is ChangeKind.ADDED else {"before": words}
        together = msgspec.structs.replace(first, name=names, where="", more=0, **side)
        place = listed.index(files[0])
        told = {id(pair) for pair in files}
        rest = [pair for pair in listed if id(pair) not in told]
        listed = [*rest[:place], (together, change), *rest[place:]]
    return listed


def row(change: Change) -> Row:
    """One change in words."""
    concept, _, rest = change.setting.partition("@")
    leaf = change.after or change.before
    parts = rest.split("::") if rest else []
    name = parts[-1] if len(parts) > 1 else concept
    scope = ".".join(parts[1:-1])
    return Row(
        severity=change.severity,
        kind=change.kind,
        name=_named(concept, name, scope, parts[0] if parts else ""),
        concept=concept,
        where=where(leaf.place) if leaf and leaf.place else (parts[0] if parts else ""),
        before=shown(change.before),
        after=shown(change.after),
        by=moved(change.relative),
        why=change.why,
        diff=change.diff,
    )


def _named(concept: str, name: str, scope: str, file: str) -> str:
    if name == "content":
        return file
    if concept == "experiment.files":
        return file if name == "all" else f"{name} in {file}"
    return f"{name} ({scope})" if scope else name


def shown(leaf: Leaf | None) -> str:
    """A value on one line, "" where there is none; an expression that only a run decides says so."""
    if leaf is None:
        return ""
    text = value_text(leaf.value)
    return f"{text} (an expression)" if leaf.confidence is Confidence.UNRESOLVED else text


def value_text(value: Value) -> str:
    """A value as a reader would write it, at most a line long."""
    if isinstance(value, tuple):
        items = ", ".join(_scalar(item) for item in value[:_MOST_ITEMS])
        more = len(value) - _MOST_ITEMS
        return cut(f"[{items}{f', and {more} more' if more > 0 else ''}]", _LONGEST)
    return cut(_scalar(value), _LONGEST)


def _scalar(value: Scalar) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.1f}"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return " ".join(text.split()) if text.strip() else repr(text)


def moved(relative: float | None) -> str:
    """`+100 %`; "" where the change is none of a number."""
    if relative is None or not math.isfinite(relative):
        return ""
    percent = relative * 100
    if abs(percent) >= 1000:
        return f"{relative + 1:.3g}×"
    return f"{percent:+.3g} %"


def arrow(row: Row) -> str:
    """`1e-4 -> 2e-4 (+100 %)`, in ASCII."""
    if row.kind is ChangeKind.ADDED:
        return f"added: {row.after}"
    if row.kind is ChangeKind.REMOVED:
        return f"removed: {row.before}"
    return f"{row.before} -> {row.after}" + (f" ({row.by})" if row.by else "")


def headline(drift: Drift) -> str:
    """The one line that a reader in a hurry needs."""
    total = sum(drift.summary.values()) - drift.summary.get(DriftSeverity.NONE.value, 0)
    if not total:
        return "The experiment is the same"
    counted = ", ".join(
        f"{number} {TITLES[severity].lower()}"
        for severity in SEVERITIES
        if severity is not DriftSeverity.NONE and (number := drift.summary.get(severity.value, 0))
    )
    word = "setting changed" if total == 1 else "settings changed"
    tail = "" if drift.comparable else "; the results before and after are not directly comparable"
    return f"{total} {word}: {counted}{tail}"


def hidden(drift: Drift) -> int:
    """How many changes are counted and not among those that are listed."""
    return max(sum(drift.summary.values()) - len(drift.changes), 0)


def of_severity(listed: Sequence[Row], severity: DriftSeverity) -> list[Row]:
    """Those of one severity, order kept."""
    return [row for row in listed if row.severity is severity]
