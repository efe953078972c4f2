"""Progress on a terminal, and silence everywhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Shown(NamedTuple):
    """What work calls as it goes: `step` with a sentence, `files` with how many of how many."""

    step: Callable[[str], None]
    files: Callable[[int, int], None]


@contextmanager
def progress(*, quiet: bool) -> Iterator[Shown]:
    """A line on stderr while the block runs, gone when it ends. Nothing where stderr is no terminal, or with `quiet`."""
    if quiet or not sys.stderr.isatty():
        yield Shown(lambda _: None, lambda _done, _total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    from audit.safety.sanitize import terminal

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
    )
    # No thread refreshes it: worker processes are started by forking, and a fork of a threaded process may hang.
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None, visible=False)

        def step(sentence: str) -> None:
            bar.update(
                task,
                description=terminal(sentence, 100),
                total=None,
                completed=0,
                visible=True,
                refresh=True,
            )

        def files(done: int, total: int) -> None:
            bar.update(task, description="Reading files", total=total, completed=done, refresh=True)

        yield Shown(step, files)
