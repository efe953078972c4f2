"""What a session prints beside its sections: the log of the test that runs, and `E` lines right behind a failed test.

Logs whose FAILURES section is cut or was never printed (other reporters) hold nothing else of a failed test.
"""

from collections import deque
from collections.abc import Sequence

from audit.failure.model import Line
from audit.failure.structure.pytest_blocks import Block, raise_of
from audit.failure.structure.tracebacks import Relation

_MOST_LINES = 400
"""Lines of a running test that are kept: the end of a live log says why it failed."""
_MOST_TESTS = 200
"""Failed tests whose `E` lines are kept."""


class Live:
    """Follows the tests of a session as they run."""

    def __init__(self) -> None:
        self._written: deque[Line] = deque(maxlen=_MOST_LINES)
        self._failed: tuple[str, Line] | None = None
        self._marked: list[Line] = []
        self._found: list[tuple[str, Line, Sequence[Line], Sequence[Line]]] = []

    def began(self) -> None:
        """A test's name was printed without its outcome."""
        self._close()
        self._written.clear()

    def line(self, line: Line) -> None:
        """A line that tells no outcome."""
        if self._failed is None:
            self._written.append(line)
        elif line.text.startswith("E  ") and len(self._marked) < _MOST_LINES:
            self._marked.append(line)
        elif self._marked:
            self._close()

    def ended(self, node: str, failed: bool, line: Line) -> None:
        """A test's outcome was printed."""
        self._close()
        if failed:
            self._failed = node, line
        else:
            self._written.clear()

    def blocks(self) -> tuple[Block, ...]:
        """A block for each failed test that is followed by `E` lines."""
        self._close()
        found = []
        for node, line, marked, written in self._found:
            raised = raise_of(marked, Relation.FIRST)
            found.append(Block("FAILURES", node, line, raised, (raised,), captured=tuple(written)))
        return tuple(found)

    def _close(self) -> None:
        if self._failed is not None:
            if self._marked and len(self._found) < _MOST_TESTS:
                self._found.append((*self._failed, self._marked, tuple(self._written)))
            self._failed, self._marked = None, []
            self._written.clear()
