"""The report for a terminal, a pipe or a log: what to do first comes first.

In a pipe the text has no colour and no wrapping, so that it is the same everywhere and can be searched by
line. In a terminal sentences are wrapped to its width. In both, no line can start a workflow command when
printed in a runner.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Gap, Place
from audit.documents.report import Report
from audit.report import view
from audit.safety.sanitize import log_line, terminal

_NARROWEST = 40
_MOST_FINDINGS = 500
_MOST_PLACES = 5
_MOST_GAPS = 20
_LONGEST = 2000
_BAR = 10

_COLOURS = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_RISKS = {"LOW": "bold green", "MEDIUM": "bold yellow", "HIGH": "bold red"}


@dataclass(frozen=True)
class Surface:
    """What is written to: `width` in cells (None: lines are not wrapped), whether it takes colour and all of
    Unicode.
    """

    width: int | None = None
    color: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str], columns: int) -> "Surface":
        """The surface that `stream` is. `NO_COLOR` (any value but the empty one) and `TERM=dumb` mean no
        colour.
        """
        encoding = (stream.encoding or "utf-8").lower().replace("-", "").replace("_", "")
        terminal_there = stream.isatty()
        plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        return cls(
            width=max(columns, _NARROWEST) if terminal_there else None,
            color=terminal_there and not plain,
            unicode=encoding in ("utf8", "utf16", "utf16le", "utf16be", "utf8sig", "gb18030"),
        )


def render(
    report: Report,
    *,
    rules: view.Rules | None = None,
    surface: Surface | None = None,
    show_passed: bool = False,
) -> str:
    """The whole report as text with a newline at its end."""
    lines = _report(report, rules, show_passed)
    return _Page(surface or Surface()).write(lines)


@dataclass(frozen=True)
class _Line:
    """One paragraph: `lead` starts it, what is wrapped hangs at the lead's end."""

    text: Text
    lead: Text


def _line(text: str | Text = "", lead: str | Text = "", style: str = "") -> _Line:
    """A paragraph of ours or of data: either way it passes the sanitizer here."""
    body = text if isinstance(text, Text) else Text(terminal(text, _LONGEST), style=style)
    return _Line(body, lead if isinstance(lead, Text) else Text(lead))


def _report(report: Report, rules: view.Rules | None, show_passed: bool) -> Iterator[_Line]:
    yield _line(report.repository, style="bold")
    yield _line(view.origin(report), style="dim")
    yield _line()
    yield _line(_verdict(report))
    yield _line(f"{view.outcomes(report)}", style="dim")
    yield from _failures(report, rules)
    yield from _others(report, Status.NOT_CHECKED, "Not checked")
    yield from _others(report, Status.SUPPRESSED, "Suppressed")
    if show_passed:
        yield from _others(report, Status.PASS, "Passed")
        yield from _others(report, Status.NOT_APPLICABLE, "Not applicable")
    if report.insights:
        yield from _heading("Insights")
        yield from (_line(insight, "  - ") for insight in report.insights)
    yield from _dimensions(report)
    yield from _coverage(report)


def _verdict(report: Report) -> Text:
    text = Text(terminal(view.verdict(report)), style="bold")
    text.highlight_words([f"risk {report.risk}"], _RISKS.get(report.risk, "bold"))
    if report.summary.critical:
        text.highlight_words([f"{report.summary.critical} critical"], _COLOURS[Severity.CRITICAL])
    return text


def _heading(title: str, style: str = "bold") -> Iterator[_Line]:
    yield _line()
    yield _line(title, style=style)


def _failures(report: Report, rules: view.Rules | None) -> Iterator[_Line]:
    failures = view.failures(report)
    if not failures:
        yield _line()
        yield _line("Nothing to mend was found.", style="green")
    for severity in view.SEVERITIES:
        chosen = view.of_severity(failures, severity)
        if not chosen:
            continue
        yield from _heading(f"{severity.value} ({len(chosen)})", _COLOURS[severity])
        for finding in chosen[:_MOST_FINDINGS]:
            yield from _finding(finding, rules)
        yield from _rest(len(chosen) - _MOST_FINDINGS, f"{severity.value} findings; --json has them all")


def _finding(finding: Finding, rules: view.Rules | None) -> Iterator[_Line]:
    first, *others = finding.evidence or (None,)
    head = Text(terminal(view.where(first)) if first else "(repository)", style="bold")
    head.append(f"  {terminal(finding.rule)}", style=_COLOURS[finding.severity])
    if finding.new:
        head.append("  new", style="magenta")
    yield _line(head, "  ")
    yield _line(finding.message, "      ")
    if first and first.note:
        yield _line(first.note, "      here: ", style="dim")
    yield from (_line(_noted(place), "      also: ", style="dim") for place in others[: _MOST_PLACES - 1])
    yield from _rest(len(finding.evidence) - _MOST_PLACES, "in the JSON report", "      ")
    if why := view.why_of(finding, rules):
        yield _line(why, Text("      why:  ", style="dim"))
    if mend := view.mend_of(finding, rules):
        yield _line(mend, Text("      fix:  ", style="green"))


def _noted(place: Place) -> str:
    return f"{view.where(place)}  {place.note}" if place.note else view.where(place)


def _rest(count: int, what: str, indent: str = "  ") -> Iterator[_Line]:
    if count > 0:
        yield _line(f"... and {count} more {what}", indent, style="dim")


def _others(report: Report, status: Status, title: str) -> Iterator[_Line]:
    chosen = view.with_status(report, status)
    if not chosen:
        return
    yield from _heading(f"{title} ({len(chosen)})")
    for finding in chosen[:_MOST_FINDINGS]:
        yield _line(f"{finding.rule}: {finding.message}", "  ")
    yield from _rest(len(chosen) - _MOST_FINDINGS, "outcomes; --json has them all")


def _dimensions(report: Report) -> Iterator[_Line]:
    yield from _heading("Dimensions")
    for title, dimension in view.dimensions(report):
        text = Text(f"{title:<14}  ")
        if dimension.score is None:
            text.append("-" * _BAR + "  not applicable", style="dim")
        else:
            full = round(dimension.score / 10 * _BAR)
            style = "green" if dimension.score >= 7.5 else "yellow" if dimension.score >= 5 else "red"
            text.append("█" * full, style=style)
            text.append("░" * (_BAR - full), style="dim")
            text.append(f"  {dimension.score:4.1f}")
            losses = ", ".join(f"-{loss.points:g} {loss.rule}" for loss in dimension.why)
            text.append(f"  {terminal(losses)}" if losses else "", style="dim")
        yield _line(text, "  ")


def _coverage(report: Report) -> Iterator[_Line]:
    yield from _heading("Coverage")
    yield _line(view.coverage(report), "  ")
    yield from _gaps("in part", report.coverage.partial)
    yield from _gaps("skipped", report.coverage.skipped)
    yield from (_line(note, "  note: ") for note in report.coverage.notes)


def _gaps(word: str, gaps: Sequence[Gap]) -> Iterator[_Line]:
    yield from (_line(f"{gap.path}: {gap.why}", f"  {word}: ") for gap in gaps[:_MOST_GAPS])
    yield from _rest(len(gaps) - _MOST_GAPS, f"{word}; --json has them all")


class _Page:
    """Lays paragraphs out on a surface."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        # rich decides nothing here: neither colour nor width is taken from where the program happens to run.
        self._console = Console(
            file=io.StringIO(),
            width=surface.width or 1000,
            color_system="standard" if surface.color else None,
            force_terminal=surface.color,
            no_color=not surface.color,
            legacy_windows=False,
            _environ={},
        )

    def write(self, paragraphs: Iterable[_Line]) -> str:
        lines = (
            self._drawn(_harmless(line)) for paragraph in paragraphs for line in self._wrapped(paragraph)
        )
        text = "".join(f"{line}\n" for line in lines)
        return text if self._surface.unicode else _ascii(text)

    def _wrapped(self, paragraph: _Line) -> Iterator[Text]:
        if self._surface.width is None:
            yield paragraph.lead + paragraph.text
            return
        hang = cell_len(paragraph.lead.plain)
        lines = paragraph.text.wrap(self._console, max(self._surface.width - hang, _NARROWEST // 2))
        for number, line in enumerate(lines):
            yield (paragraph.lead if number == 0 else Text(" " * hang)) + line
        if not lines:
            yield paragraph.lead

    def _drawn(self, line: Text) -> str:
        if not self._surface.color:
            return line.plain
        line.end = ""
        return "".join(
            (segment.style or Style.null()).render(segment.text, color_system=ColorSystem.STANDARD)
            for segment in line.render(self._console)
        )


def _harmless(line: Text) -> Text:
    """The line as it is, or without its colours where a runner would take it for a command, colours or not."""
    line.rstrip()
    safe = log_line(line.plain)
    return line if safe == line.plain else Text(safe)


def _ascii(text: str) -> str:
    """For a stream that cannot carry Unicode: bars in ASCII, everything else as escapes."""
    drawn = text.translate({ord("█"): "#", ord("░"): ".", ord("…"): "..."})
    return drawn.encode("ascii", "backslashreplace").decode("ascii")
