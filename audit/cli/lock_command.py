"""`ml-audit lock`."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.common import verbosity
from audit.engine.exit_codes import ExitCode

if TYPE_CHECKING:  # none of this is imported for --help
    from audit.engine.lock import Locked


_NAMED = 4
"""Values that are named with one reason."""


@click.command(
    "lock",
    epilog="""\b
Examples:
  ml-audit lock                     resolve what ml-audit.yaml declares, write ml-audit.lock
  ml-audit lock --check             exit 1 where the lock no longer holds; asks no network
  ml-audit lock --offline           lock what can be known here, say what cannot
  ml-audit lock --verify-api        also ask providers whether they know the models

\b
Environment:
  HF_ENDPOINT, HF_TOKEN             another hub; a token for gated and private repositories
  HF_HUB_OFFLINE=1                  the same as --offline
""",
)
@click.argument("folder", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--check", is_flag=True, help="Write nothing; say what of the lock no longer holds.")
@click.option("--offline", is_flag=True, help="Ask no network; what was resolved before is kept.")
@click.option("--verify-api", is_flag=True, help="Ask API providers whether they know the models.")
@click.option("--hash-large-files", "hash_large", is_flag=True, help="Read files over 100 MiB whole.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Requests at the same time.  [default: 8]")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep what earlier runs found.")
@verbosity
def lock_command(
    folder: Path,
    check: bool,
    offline: bool,
    verify_api: bool,
    hash_large: bool,
    jobs: int | None,
    no_cache: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Resolve what the manifest of FOLDER declares to exact identities, and write ml-audit.lock.

    Models, tokenizers, chat templates and data sets to commits of the hub, files to digests, packages to
    versions, images to digests. What cannot be known is written down as unresolved, with the reason.
    """
    from audit.cli.progress import progress
    from audit.engine import lock as engine
    from audit.engine.options import Effects

    offline = offline or os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    options = engine.LockOptions(str(folder), offline, verify_api, hash_large, jobs, use_cache=not no_cache)
    started = time.perf_counter()
    with progress(quiet=quiet) as shown:
        effects = Effects(time.time, os.environ, shown.step, shown.files)
        if check:
            return _checked(engine.check(options, effects), quiet)
        locked = engine.make(options, effects)
    _write(folder, locked, quiet)
    if verbose:
        from audit.cli.output import say

        say(f"took {time.perf_counter() - started:.2f} s")
    return ExitCode.OK


def _checked(stale: tuple[str, ...], quiet: bool) -> int:
    from audit.cli.output import say, write_stdout
    from audit.documents.lock import LOCK_PATH
    from audit.safety.sanitize import terminal

    write_stdout("".join(f"{terminal(line, 1_000)}\n" for line in stale))
    if not quiet:
        said = f"{len(stale)} of {LOCK_PATH} no longer hold" if stale else f"{LOCK_PATH} holds"
        say(f"{said}.{' `ml-audit lock` brings it up to date.' if stale else ''}")
    return ExitCode.GATE if stale else ExitCode.OK


def _write(folder: Path, locked: "Locked", quiet: bool) -> None:
    from collections import Counter

    from audit.cli.output import say, write_file
    from audit.documents.lock import LOCK_PATH
    from audit.documents.state import Confidence
    from audit.lock.document import write

    if locked.note:
        say(locked.note)
    if not locked.unchanged:
        write_file(folder / LOCK_PATH, write(locked.lock))
    if quiet:
        return
    counts = Counter(resolved.confidence for resolved in locked.lock.values.values())
    named = ", ".join(f"{counts[each]} {each.value}" for each in Confidence if counts[each])
    say(f"{LOCK_PATH} {'is unchanged' if locked.unchanged else 'written'}: {named}")
    for line in _unresolved(locked):
        say(line)


def _unresolved(locked: "Locked") -> Iterator[str]:
    """A line for each reason why something is not known, with the first of what it concerns."""
    from audit.documents.state import Confidence

    reasons: dict[str, list[str]] = {}
    for path, resolved in locked.lock.values.items():
        if resolved.confidence is Confidence.UNRESOLVED:
            reason = resolved.note.rpartition(" | ")[2] or resolved.source.value
            reasons.setdefault(reason, []).append(".".join(path))
    for reason, paths in reasons.items():
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED + 1 else ""
        yield f"  unresolved {', '.join(paths[: _NAMED if more else None])}{more}: {reason}"
