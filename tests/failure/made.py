"""Lines, hits and readings made by hand, so that a rule is tested without the catalogue."""

from audit.failure.model import Capture, Hit, Kind, Line, LogSource, Reading, Signature, Stream

LOG = "log.txt"


def lines(
    text: str, *, source: str = LOG, rank: int | None = None, start: int = 1, time: float | None = None
) -> tuple[Line, ...]:
    """One line of a log for each line of the text; `time` of the first, a second later each."""
    return tuple(
        Line(source, start + index, row, row, None if time is None else time + index, Stream(rank=rank))
        for index, row in enumerate(text.strip("\n").split("\n"))
    )


def signature(
    name: str, *, category: str = "infra_runtime", role: str = "root", family: str = "cuda"
) -> Signature:
    return Signature(name, name, family, category, role)  # type: ignore[arg-type]


def hit(line: Line, name: str, **fields: str) -> Hit:
    return Hit(signature(name, **fields), line, (), line.text)


def captured(line: Line, name: str, value: float) -> Hit:
    return Hit(signature(name), line, (Capture("requested", str(value), "GiB", value),), line.text)


def reading(*parts: tuple[Line, ...], hits: tuple[Hit, ...] = (), cut: bool = False) -> Reading:
    """A reading of one source a part."""
    sources = tuple(LogSource(part[0].source, len(part), 0, ends_in_line=cut) for part in parts)
    return Reading(sources, tuple(line for part in parts for line in part), hits)


def find(all_lines: tuple[Line, ...], text: str) -> Line:
    """The first line that holds the text."""
    return next(line for line in all_lines if text in line.text)


__all__ = ["Kind", "captured", "find", "hit", "lines", "reading", "signature"]
