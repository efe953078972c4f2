"""One failure analysis: what the command and the action share."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

import audit as package
from audit.documents.report import Tool
from audit.documents.verdict import Fact, Verdict
from audit.facts.cache import default_folder
from audit.failure.cause.recomputed import failing_gate
from audit.failure.cause.scene import Scene
from audit.failure.cause.select import JobCause, select
from audit.failure.claims import ClaimOutcome, check
from audit.failure.facts.compute import compute, of_log
from audit.failure.gates import evaluate
from audit.failure.gates.checkout import Checkout
from audit.failure.model import Reading
from audit.failure.numbers import cause_facts, count_facts
from audit.failure.plots import Plot, plots
from audit.failure.reading.read import read as read_logs
from audit.failure.structure.workflow import written_steps
from audit.failure.verdict import build
from audit.safety.redact import redacted
from audit.source.errors import SourceError
from audit.source.open import open_snapshot
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Telemetry
from audit.telemetry.registry import read as read_telemetry

TOOL = "ml-audit"
_WORKFLOW = re.compile(r"(?:^|/)(?:\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml)$")
_MOST_CLAIMS = 1 << 20
"""Bytes of a claims file that are read: far more than a description of a change holds."""


class ClaimsError(SourceError):
    """The claims file could not be read."""


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
    stdin: BinaryIO | None = None
    step: Callable[[str], None] = lambda _: None


class Analysed(msgspec.Struct, frozen=True):
    """A verdict, and the series to show beside it."""

    verdict: Verdict
    plots: tuple[Plot, ...] = ()


def analyse(options: FailureOptions, effects: FailureEffects) -> Analysed:
    """The verdict on the logs given. Nothing of the repository is executed, and secrets in quoted text are blackened.

    Raises LogError where a log cannot be opened, SourceError where the repository cannot.
    """
    effects.step("Reading logs")
    reading = read_logs(
        [Path(log) for log in options.logs], stdin=effects.stdin, cache=default_folder(effects.environ)
    )
    effects.step("Reading metrics")
    telemetry = (
        read_telemetry([*options.metrics, *options.golden])
        if options.metrics or options.golden
        else Telemetry()
    )
    with _repository(options, effects) as repo:
        effects.step("Looking for the cause")
        gates = evaluate(repo, telemetry, reading)
        checkout = Checkout(repo)
        workflows = {path: checkout.data(path) for path in checkout.paths if _WORKFLOW.search(path)}
        scene = Scene(reading, gates, written_steps(workflows), checkout if repo is not None else None)
        causes = select(scene)
        found = _facts(scene, causes, telemetry, repo)
        claims = _claims(options.claims, telemetry, reading, found)
        verdict = build(
            scene,
            causes,
            Tool(TOOL, package.__version__),
            facts=_in_order(found, claims),
            claims=claims,
            claims_file=options.claims.name if options.claims is not None else "",
            gaps=[f"{gap.path}: {gap.why}" for gap in telemetry.gaps],
        )
    shown = telemetry if telemetry.series else of_log(reading)
    return Analysed(redacted(verdict), plots(shown, gates))


def _facts(
    scene: Scene, causes: Sequence[JobCause], telemetry: Telemetry, repo: Snapshot | None
) -> list[Fact]:
    """Numbers in the order of the design: of the cause's line, of the gate, of tests and events, then the formulas that the case calls for."""
    lead = next((cause for cause in causes if cause.primary is not None), None)
    primary = lead.primary if lead is not None else None
    missed = [gate for gate in scene.gates if gate.passed is False]
    held = [gate for gate in scene.gates if gate.passed]
    if primary is not None and (own := failing_gate(primary, scene.gates)) is not None:
        missed = [own, *[gate for gate in missed if gate is not own]]
    facts = cause_facts(causes)
    facts += [fact for gate in missed[:2] for fact in gate.facts[:7]]
    facts += count_facts(scene, causes)
    facts += compute(
        telemetry,
        scene.reading,
        repo,
        primary.category if primary is not None else None,
        primary.line if primary is not None else None,
    )
    facts += [fact for gate in held[:3] for fact in gate.facts[:2]]
    return facts


def _in_order(facts: Sequence[Fact], claims: Sequence[ClaimOutcome]) -> list[Fact]:
    """Each name once; where claims were checked, the numbers that decided them first."""
    first = [fact for outcome in claims if outcome.material for fact in outcome.facts]
    return list({fact.name: fact for fact in reversed([*first, *facts])}.values())[::-1]


def _claims(
    path: Path | None, telemetry: Telemetry, reading: Reading, facts: Sequence[Fact]
) -> list[ClaimOutcome]:
    """What telemetry says of the claims in a file. Raises ClaimsError where it cannot be read."""
    if path is None:
        return []
    try:
        with path.open("rb") as handle:
            text = handle.read(_MOST_CLAIMS).decode("utf-8-sig", "replace")
    except OSError as error:
        raise ClaimsError(
            f"{path} could not be read: {error.strerror}.", "Give --claims a text file."
        ) from None
    return check(text, telemetry, reading, facts)


@contextmanager
def _repository(options: FailureOptions, effects: FailureEffects) -> Iterator[Snapshot | None]:
    if options.repo is None:
        yield None
        return
    effects.step(f"Reading {options.repo}")
    with open_snapshot(options.repo, environ=effects.environ, progress=effects.step) as snapshot:
        yield snapshot
