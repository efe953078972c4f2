"""A drift for a terminal, a pipe or a log: what puts results out of comparison comes first."""

from collections.abc import Iterator

from audit.documents.drift import Drift, DriftSeverity
from audit.report.drift import view
from audit.safety.sanitize import log_text, terminal

_COLOURS = {
    DriftSeverity.HIGH: "1;31",
    DriftSeverity.MEDIUM_HIGH: "31",
    DriftSeverity.MEDIUM: "33",
    DriftSeverity.LOW: "36",
    DriftSeverity.NONE: "2",
}
_LONGEST = 600
_MOST = 1_000


def render(drift: Drift, *, color: bool = False) -> str:
    """The whole drift as text with a newline at its end."""
    lines = list(_lines(drift))
    # Sanitized first, coloured then: no colour is data's, and no line can start a command of a CI runner.
    safe = log_text("\n".join(terminal(text, _LONGEST) for _, text in lines)).split("\n")
    if not color:
        return "\n".join(safe) + "\n"
    return (
        "\n".join(
            f"\x1b[{style}m{text}\x1b[0m" if style and text else text
            for (style, _), text in zip(lines, safe, strict=True)
        )
        + "\n"
    )


def _lines(drift: Drift) -> Iterator[tuple[str, str]]:
    """(style, text) of every line."""
    yield "", f"{drift.a.name} -> {drift.b.name}"
    yield "1", view.headline(drift)
    rows = view.rows(drift.changes)
    for severity in view.SEVERITIES:
        chosen = view.of_severity(rows, severity)
        if not chosen:
            continue
        yield "", ""
        yield _COLOURS[severity], f"{severity.value} ({len(chosen)})"
        for row in chosen[:_MOST]:
            yield from _row(row, _COLOURS[severity])
        if len(chosen) > _MOST:
            yield "2", f"  ... and {len(chosen) - _MOST} more; --format json has them all"
    if hidden := view.hidden(drift):
        yield "", ""
        yield "2", f"{hidden} of less severity not shown"
    for note in drift.notes:
        yield "2", f"note: {note}"


def _row(row: view.Row, style: str) -> Iterator[tuple[str, str]]:
    place = f"{row.places}  " if row.where else ""
    meant = "" if row.name == row.concept or row.concept in ("experiment.files", "") else f"  [{row.concept}]"
    yield style, f"  {place}{row.name}{meant}"
    yield "", f"      {view.arrow(row)}"
    for line in row.diff.split("\n") if row.diff else ():
        yield {"+": "32", "-": "31"}.get(line[:1], "2"), f"      | {line}"
    yield "2", f"      why: {row.why}"
