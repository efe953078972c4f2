"""One failure analysis: what the command and the action share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

import audit as package
from audit.documents.report import Tool
from audit.documents.verdict import Verdict
from audit.failure.cause.scene import Scene
from audit.failure.cause.select import select
from audit.failure.draft import read as read_logs
from audit.failure.numbers import facts as log_facts
from audit.failure.verdict import build
from audit.safety.redact import redacted
from audit.source.open import open_snapshot
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Telemetry
from audit.telemetry.registry import read as read_telemetry

TOOL = "ml-audit"


class FailureOptions(msgspec.Struct, frozen=True):
    """What one analysis is given.

    `logs`: files, folders, archives, `-` for standard input. `repo`: a target as `audit` takes it, None where there is none. `metrics`,
    `golden`: files and folders. `claims`: a text whose claims are checked.
    """

    logs: tuple[str, ...]
    repo: str | None = None
    metrics: tuple[Path, ...] = ()
    golden: tuple[Path, ...] = ()
    claims: Path | None = None


class FailureEffects(msgspec.Struct, frozen=True):
    """The world outside. `environ`: environment variables. `step` is told what starts."""

    environ: Mapping[str, str]
    step: Callable[[str], None] = lambda _: None


def analyse(options: FailureOptions, effects: FailureEffects) -> Verdict:
    """The verdict on the logs given. Nothing of the repository is executed, and secrets in quoted text are blackened.

    Raises LogError where a log cannot be opened, SourceError where the repository cannot.
    """
    effects.step("Reading logs")
    reading = read_logs(options.logs)
    effects.step("Reading metrics")
    telemetry = (
        read_telemetry([*options.metrics, *options.golden])
        if options.metrics or options.golden
        else Telemetry()
    )
    with _repository(options, effects) as repo:
        effects.step("Looking for the cause")
        scene = Scene(reading)
        causes = select(scene)
        found = log_facts(scene, causes)
        verdict = build(
            scene,
            causes,
            Tool(TOOL, package.__version__),
            facts=found,
            gaps=[f"{gap.path}: {gap.why}" for gap in telemetry.gaps],
        )
    return redacted(verdict)


@contextmanager
def _repository(options: FailureOptions, effects: FailureEffects) -> Iterator[Snapshot | None]:
    if options.repo is None:
        yield None
        return
    effects.step(f"Reading {options.repo}")
    with open_snapshot(options.repo, environ=effects.environ, progress=effects.step) as snapshot:
        yield snapshot
