"""One failure analysis: what the command and the action share. Rooms that only some analyses need are imported when they do."""

import errno
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

import audit as package
from audit.documents.report import Tool
from audit.documents.verdict import Fact, TraceStep, Verdict
from audit.facts.cache import default_folder
from audit.failure.cause.answer import JobCause
from audit.failure.cause.recomputed import failing_gate
from audit.failure.cause.scene import Scene
from audit.failure.cause.select import select
from audit.failure.cause.unseen import without_comparison
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.model import GateOutcome, NotRun
from audit.failure.idle import with_idle_gates, with_tolerance
from audit.failure.model import Reading
from audit.failure.numbers import cause_facts, count_facts
from audit.failure.plots import Plot, plots
from audit.failure.reading.read import LogError
from audit.failure.reading.read import read as read_logs
from audit.failure.verdict import build
from audit.safety.redact import redacted
from audit.source.errors import SourceError
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Telemetry

if TYPE_CHECKING:
    from audit.failure.claims.model import ClaimOutcome

TOOL = "ml-audit"
_WORKFLOW = re.compile(r"(?:^|/)(?:\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml)$")
_MOST_CLAIMS = 1 << 20
"""Bytes of a claims file that are read: far more than a description of a change holds."""
_MOST_SCHEMA = 4 << 20
"""Bytes of a schema or an example: a larger file is neither."""


class InputError(SourceError):
    """A file given could not be read, or does not hold what it was given for."""


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

    Raises InputError where a log or another file given cannot be opened, SourceError where the repository cannot.
    """
    effects.step("Reading logs")
    reading = _logs(options, effects)
    telemetry = _telemetry(options, effects)
    with _repository(options, effects) as repo:
        effects.step("Looking for the cause")
        gates = _gates(repo, telemetry, reading)
        scene = _scene(reading, gates, repo, telemetry)
        causes = select(scene)
        idle = _idle(repo, telemetry, reading)
        causes = without_comparison(causes, idle)
        facts = _facts(scene, causes, telemetry, repo)
        claims = _claims(options.claims, telemetry, reading, facts)
        verdict = build(
            scene,
            causes,
            Tool(TOOL, package.__version__),
            facts=_in_order(facts, claims),
            claims=claims,
            claims_file=options.claims.name if options.claims is not None else "",
            measured=bool(telemetry.series or telemetry.tests),
            gaps=[f"{gap.path}: {gap.why}" for gap in telemetry.gaps],
        )
        verdict = with_tolerance(
            with_idle_gates(verdict, idle, scene), causes, *_tolerance(scene, causes, telemetry)
        )
        verdict = msgspec.structs.replace(verdict, trace=_trace(repo, reading, verdict, gates))
    return Analysed(redacted(verdict), _plots(telemetry, reading, gates))


def _logs(options: FailureOptions, effects: FailureEffects) -> Reading:
    paths = [Path(log) for log in options.logs]
    try:
        return read_logs(paths, stdin=effects.stdin, cache=default_folder(effects.environ))
    except LogError as error:
        raise InputError(
            f"{error.args[0]}", "Give --log a file, a folder, an archive, or - for standard input."
        ) from None


def _telemetry(options: FailureOptions, effects: FailureEffects) -> Telemetry:
    paths = [*options.metrics, *options.golden]
    if not paths:
        return Telemetry()
    from audit.telemetry.registry import read

    effects.step("Reading metrics")
    return read(paths)


def _gates(repo: Snapshot | None, telemetry: Telemetry, reading: Reading) -> list[GateOutcome]:
    """The gates done anew, where there is a checkout or a golden file that holds them."""
    if repo is None and not telemetry.files:
        return []
    from audit.failure.gates.evaluate import evaluate

    return evaluate(repo, telemetry, reading)


def _scene(
    reading: Reading, gates: Sequence[GateOutcome], repo: Snapshot | None, telemetry: Telemetry
) -> Scene:
    if repo is None:
        return Scene(reading, gates, telemetry=telemetry)
    from audit.failure.structure.workflow import written_steps

    checkout = Checkout(repo)
    workflows = {path: checkout.data(path) for path in checkout.paths if _WORKFLOW.search(path)}
    return Scene(reading, gates, written_steps(workflows), checkout, telemetry)


def _idle(repo: Snapshot | None, telemetry: Telemetry, reading: Reading) -> list[NotRun]:
    """Gates that did not run or cannot fail, of the logs, the reports, the metrics and the checkout."""
    from audit.failure.gates.notrun import not_run

    return not_run(repo, telemetry, reading)


def _tolerance(
    scene: Scene, causes: Sequence[JobCause], telemetry: Telemetry
) -> tuple[GateOutcome | None, Fact | None]:
    """The gate that the cause reports, and the tolerance that measured noise justifies for it."""
    primary = next((cause.primary for cause in causes if cause.primary is not None), None)
    own = failing_gate(primary, scene.gates) if primary is not None else None
    if own is None:
        return None, None
    from audit.failure.gates.suggest import suggested_tolerance

    return own, suggested_tolerance(own, telemetry)


def _facts(
    scene: Scene, causes: Sequence[JobCause], telemetry: Telemetry, repo: Snapshot | None
) -> list[Fact]:
    """Numbers in the order of the design: of the cause's line, of the gate, of tests and events, then the formulas that the case calls for."""
    from audit.failure.facts.compute import compute

    primary = next((cause.primary for cause in causes if cause.primary is not None), None)
    own = failing_gate(primary, scene.gates) if primary is not None else None
    missed = [gate for gate in scene.gates if gate.passed is False]
    missed = [own, *[gate for gate in missed if gate is not own]] if own is not None else missed
    facts = cause_facts(causes)
    for gate, most in zip(
        missed, (14, 7), strict=False
    ):  # the gate that failed is told with its series, a second one in short
        facts += gate.facts[:most]
    _, tolerance = _tolerance(scene, causes, telemetry)
    facts += [tolerance] if tolerance is not None else []
    facts += count_facts(scene, causes)
    facts += [fact for gate in scene.gates if gate.passed for fact in gate.facts[:3]][:9]
    category = primary.category if primary is not None else None
    line = primary.line if primary is not None else None
    return [*facts, *compute(telemetry, scene.reading, repo, category, line, told=facts)]


def _in_order(facts: Sequence[Fact], claims: Sequence["ClaimOutcome"]) -> list[Fact]:
    """Each name once; where claims were checked, the numbers that decided them first."""
    first = [fact for outcome in claims if outcome.material for fact in outcome.facts]
    return list({(fact.name, fact.value): fact for fact in reversed([*first, *facts])}.values())[::-1]


def _claims(
    path: Path | None, telemetry: Telemetry, reading: Reading, facts: Sequence[Fact]
) -> list["ClaimOutcome"]:
    """What telemetry says of the claims in a file. Raises InputError where it cannot be read."""
    if path is None:
        return []
    from audit.failure.claims.check import check

    try:
        text = _content(path, _MOST_CLAIMS).decode("utf-8-sig", "replace")
    except OSError as error:
        raise InputError(
            f"{path} could not be read: {error.strerror}.", "Give --claims a text file."
        ) from None
    return check(text, telemetry, reading, facts)


def _content(path: Path, most: int) -> bytes:
    """The first bytes of a plain file: a pipe without a writer or a device would never end. Raises OSError."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no plain file")
    with path.open("rb") as handle:
        return handle.read(most)


def _trace(
    repo: Snapshot | None, reading: Reading, verdict: Verdict, gates: Sequence[GateOutcome]
) -> tuple[TraceStep, ...]:
    if repo is None or verdict.cause is None:
        return ()
    from audit.failure.trace import trace

    return tuple(trace(repo, reading, verdict.cause, gates))


def _plots(telemetry: Telemetry, reading: Reading, gates: Sequence[GateOutcome]) -> tuple[Plot, ...]:
    if telemetry.series:
        return plots(telemetry, gates)
    from audit.failure.facts.compute import of_log

    return plots(of_log(reading), gates)


def filled(verdict: Verdict, path: Path) -> str:
    """The verdict as the document that a JSON schema or an example asks for. Raises InputError where the file cannot be read or is
    neither, or where the document cannot be filled honestly.
    """
    from audit.failure.fill import CannotFillError, SchemaError, fill

    try:
        content = _content(path, _MOST_SCHEMA + 1)
        if len(content) > _MOST_SCHEMA:
            raise SchemaError(f"it has more than {_MOST_SCHEMA >> 20} MiB.")
        return fill(verdict, content.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(
            f"{path} could not be read: {reason}.", "Give --schema a JSON schema or an example document."
        ) from None
    except SchemaError as error:
        raise InputError(f"{path}: {error}", "Give --schema a JSON schema or an example document.") from None
    except CannotFillError as error:
        raise InputError(
            str(error), "Make these fields optional, or give the evidence that they need."
        ) from None


@contextmanager
def _repository(options: FailureOptions, effects: FailureEffects) -> Iterator[Snapshot | None]:
    if options.repo is None:
        yield None
        return
    from audit.source.open import open_snapshot

    effects.step(f"Reading {options.repo}")
    with open_snapshot(options.repo, environ=effects.environ, progress=effects.step) as snapshot:
        yield snapshot
