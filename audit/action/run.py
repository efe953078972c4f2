"""One run of the action: inputs, plan, audit, gate, publishing, outputs, exit code.

The gate is decided before anything is written, and nothing that is written, or fails to be, changes it.
"""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import msgspec

from audit.action import locking
from audit.action.claimed import catalogue_texts, claimed_report
from audit.action.commits import Located, Surroundings, located
from audit.action.documents import write_documents, write_drift
from audit.action.event import EventError, read_event
from audit.action.first_run import pull_of, report_in, report_of
from audit.action.folder import FolderError
from audit.action.inputs import InputError, Inputs, OnError, read_inputs
from audit.action.log import Log
from audit.action.outputs import write_outputs
from audit.action.plan import Plan, PlanError, Stage, plan
from audit.action.reading import adjusted, completed, environment, options
from audit.action.results import configured_threshold, gate_line, outputs_of
from audit.assess.drift_gate import with_drift
from audit.assess.gate import FailOn, Gate, gate
from audit.documents.errors import DocumentError
from audit.documents.report import Report
from audit.documents.rule import RuleText
from audit.engine import audit as engine
from audit.engine import options as engine_options
from audit.engine.exit_codes import ExitCode
from audit.github.check import Check, open_check
from audit.github.destination import Effects
from audit.github.publish import publish, publish_trouble, publish_verdict
from audit.net.errors import NetworkError
from audit.net.github import GitHub
from audit.report.trouble import AuditTrouble
from audit.safety.redact import redact
from audit.source.errors import SourceError

if TYPE_CHECKING:  # the failure verdict's rooms cost 0.4 s, which an audit does without
    from audit.documents.drift import Drift
    from audit.engine.failure import Analysed

_SECRET_INPUTS = (
    "INPUT_GITHUB-TOKEN",
    "INPUT_GITHUB_TOKEN",
    "INPUT_REPO-TOKEN",
    "INPUT_REPO_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
)


class Runner(msgspec.Struct, frozen=True):
    """What one run has of the world. `environ`: the variables that the runner set."""

    environ: Mapping[str, str]
    effects: Effects
    log: Log

    @property
    def workspace(self) -> Path:
        """The folder that the checkout lies in."""
        return Path(self.environ.get("GITHUB_WORKSPACE") or Path.cwd())

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders that documents may be written to, the workspace first."""
        temporary = self.environ.get("RUNNER_TEMP")
        return (self.workspace, *([Path(temporary)] if temporary else []))


class Ended(msgspec.Struct, frozen=True):
    """How a run ended: its exit code, and its outputs by name."""

    code: ExitCode
    outputs: Mapping[str, str]


def main() -> int:
    """The container's and the composite action's entry: runs the action in this process' environment."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    environ = dict(os.environ)
    for name in _SECRET_INPUTS:  # no child process needs them
        os.environ.pop(name, None)
    return run(environ, Effects())


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Puts signals off: a check run that GitHub has made and this run has not heard of could not be closed."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    """A cancelled job gets SIGINT, 7.5 seconds later SIGTERM, then it is killed: the first closes the check run, the second must not keep it from that."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run(environ: Mapping[str, str], effects: Effects) -> int:
    """Runs the action and gives its exit code; whatever goes wrong becomes a line of the log and an exit code."""
    debugging = environ.get("RUNNER_DEBUG") == "1"
    runner = Runner(
        environ,
        effects,
        Log(effects.say, tuple(environ.get(name, "") for name in _SECRET_INPUTS), debugging=debugging),
    )
    try:
        inputs = read_inputs(environ)
    except InputError as error:
        for problem in error.problems:
            runner.log.error(problem)
        ended = Ended(ExitCode.USAGE, {"conclusion": "error"})
    else:
        ended = _ended(inputs, runner)
    file = environ.get("GITHUB_OUTPUT")
    try:
        write_outputs(Path(file) if file else None, ended.outputs, effects.nonce)
    except OSError as error:
        runner.log.warning(f"The outputs could not be written: {error.strerror}.")
    return ended.code


def _ended(inputs: Inputs, runner: Runner) -> Ended:
    try:
        return _run(inputs, runner)
    except (KeyboardInterrupt, SystemExit):
        runner.log.warning("Interrupted.")
        return Ended(ExitCode.INTERRUPTED, {"conclusion": "error"})
    except Exception as error:
        problem = _problem(error)
        if problem.code is ExitCode.INTERNAL:
            runner.log.debug(_trace(error))
        if inputs.on_error is OnError.WARN:
            runner.log.warning(f"{problem} The job goes on, as on-error is warn.")
            return Ended(ExitCode.OK, {"conclusion": "error"})
        runner.log.error(str(problem))
        return Ended(problem.code, {"conclusion": "error"})


class _Problem(msgspec.Struct, frozen=True):
    """What went wrong, in one sentence, what to do about it in another, and the exit code for it."""

    code: ExitCode
    message: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


def _problem(error: Exception) -> _Problem:
    match error:
        case PlanError():
            return _Problem(ExitCode.USAGE, str(error))
        case EventError():
            return _Problem(ExitCode.UNABLE, str(error))
        case DocumentError():
            return _Problem(ExitCode.USAGE, error.message, error.advice)
        case SourceError() | NetworkError():
            return _Problem(ExitCode.UNABLE, error.message, error.advice)
    first = (str(error).splitlines() or [""])[0][:300]
    return _Problem(
        ExitCode.INTERNAL,
        f"A fault of ml-audit: {type(error).__name__}: {first}.",
        "Run the job again with debug logging, and report what it prints.",
    )


def _trace(error: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(error))


def _run(inputs: Inputs, runner: Runner) -> Ended:
    event = read_event(runner.environ)
    planned = _with_certificates(plan(event, runner.environ, inputs), inputs, runner)
    runner.log.debug(
        f"{event.name}: {planned.stage.value} {planned.target}, compared with {planned.baseline}"
    )
    for note in planned.notes:
        runner.log.info(note)
    if planned.stage is Stage.NOTHING:
        runner.log.notice(planned.why)
        return Ended(ExitCode.OK, {"conclusion": "skipped"})
    work = _Work(planned, inputs, runner)
    try:
        match planned.stage:
            case Stage.PUBLISH:
                return work.publish_first_run()
            case Stage.FAILURE:
                return work.explain()
        return work.audit()
    except Exception as error:
        work.tell(_problem(error))
        raise
    finally:
        if work.check is not None:
            work.check.close()


def _with_certificates(planned: Plan, inputs: Inputs, runner: Runner) -> Plan:
    """The plan with the authorities' file where it really lies; all that this process asks GitHub trusts them."""
    if not inputs.ca_bundle:
        return planned
    file = runner.workspace / inputs.ca_bundle
    if not file.is_file():
        raise PlanError(
            f'The input ca-bundle has the value "{inputs.ca_bundle}", which is no file; allowed: a PEM file in the workspace.'
        )
    os.environ["REQUESTS_CA_BUNDLE"] = str(file)
    destination = msgspec.structs.replace(planned.destination, ca_bundle=file)
    return msgspec.structs.replace(planned, destination=destination)


class _Locked(msgspec.Struct, frozen=True):
    """The report after the lock was made, and the path of that by its output."""

    report: Report
    files: Mapping[str, str] = {}


class _Work:
    """One audit, or one publishing. `check`: the check run, once it is open."""

    def __init__(self, planned: Plan, inputs: Inputs, runner: Runner) -> None:
        self.plan = planned
        self.check: Check | None = None
        self._inputs = inputs
        self._runner = runner

    def audit(self) -> Ended:
        """Audits what the plan names, and publishes the result."""
        runner = self._runner
        environ = environment(self.plan, self._inputs, runner.environ, runner.workspace)
        around = Surroundings(runner.workspace, environ, self._ask, runner.log.info, runner.log.debug)
        with located(self.plan, around) as found:
            self.plan = adjusted(self.plan, found)
            with _uninterrupted():
                self.check = open_check(self.plan.destination, self.plan.wishes, runner.effects)
            audited = engine.audit(
                options(found, self._inputs),
                engine_options.Effects(
                    runner.effects.wall, {**environ, **found.variables}, step=runner.log.debug
                ),
            )
            locked = self._lock(found, audited.report, {**environ, **found.variables})
        report = completed(locked.report, self.plan, found)
        threshold = self._inputs.fail_on or configured_threshold(self.plan, audited)
        drift = audited.drift
        expected = self.plan.is_change and self.plan.baseline is not None
        decided = with_drift(
            gate(report.findings, threshold, self.plan.scope),
            drift,
            self._inputs.fail_on_drift,
            expected=expected,
        )
        if self._inputs.lock == "check":
            decided = locking.checked(decided, report)
        ended = self._finished(report, audited.rules, decided, drift, exit_code=ExitCode(decided.exit_code))
        return Ended(ended.code, {**ended.outputs, **locked.files})

    def _lock(self, found: Located, report: Report, environ: Mapping[str, str]) -> "_Locked":
        """The report, and the lock where that is to be made anew: one that cannot be made is a warning."""
        runner = self._runner
        if self._inputs.lock != "update":
            return _Locked(report)
        try:
            effects = engine_options.Effects(runner.effects.wall, environ, step=runner.log.debug)
            return _Locked(*locking.updated(found.target, self._inputs, effects, runner.roots, report))
        except (DocumentError, SourceError, FolderError) as error:
            runner.log.warning(f"The lock was not made: {error.message} {error.advice}".rstrip())
            return _Locked(report)

    def explain(self) -> Ended:
        """Says why a run failed: fetches its logs, reads them beside the commit that it was for, publishes the verdict."""
        from audit.action.failing import closing, given, outputs_of_verdict, write_verdict

        runner, inputs = self._runner, self._inputs
        with tempfile.TemporaryDirectory(prefix="ml-audit-logs-") as folder, ExitStack() as stack:
            logs = given(inputs.logs, "logs", runner.roots) or (self._fetched_logs(Path(folder)),)
            environ = environment(self.plan, inputs, runner.environ, runner.workspace)
            found = self._beside_logs(stack, environ)
            with _uninterrupted():
                self.check = open_check(self.plan.destination, self.plan.wishes, runner.effects)
            analysed = self._analysed(logs, found, environ)
        verdict = analysed.verdict
        passed = verdict.category not in closing(inputs)
        files = self._documents(lambda: write_verdict(analysed, inputs, runner.roots))
        published = publish_verdict(
            verdict, passed, self.plan.destination, self.plan.wishes, runner.effects, check=self.check
        )
        code = ExitCode.OK if passed else ExitCode.GATE
        return Ended(code, outputs_of_verdict(verdict, passed, published) | files)

    def _fetched_logs(self, folder: Path) -> Path:
        """The logs of the run in question; the plan learns which commit and which pull request that was about."""
        from audit.action.failing import about, failed_run
        from audit.github.run_logs import fetch_logs

        repository, run = self.plan.destination.repository, self.plan.run
        with self._ask() as github:
            failed = failed_run(github, repository, self._inputs, run)
            self.plan = about(self.plan, failed)
            if run is not None and self.plan.destination.pull_number is None:
                number, why = pull_of(github, repository, run)
                self.plan = self._for_pull(number)
                self._runner.log.debug(why)
            return fetch_logs(github, repository, failed, folder)

    def _beside_logs(self, stack: ExitStack, environ: Mapping[str, str]) -> Located | None:
        """The repository that the logs are read beside; None where it cannot be had: the logs alone say most of it."""
        runner = self._runner
        around = Surroundings(runner.workspace, environ, self._ask, runner.log.info, runner.log.debug)
        try:
            found = stack.enter_context(located(self.plan, around))
        except (SourceError, NetworkError) as error:
            runner.log.warning(f"The verdict is made without the repository: {error.message}")
            return None
        self.plan = adjusted(self.plan, found)
        return found

    def _analysed(
        self, logs: tuple[Path, ...], found: Located | None, environ: Mapping[str, str]
    ) -> "Analysed":
        """The verdict, without the repository where that turns out not to be readable."""
        from audit.action.failing import failure_options
        from audit.engine.failure import FailureEffects, InputError, analyse

        runner = self._runner
        options = failure_options(logs, found.target if found else None, self._inputs, runner.roots)
        effects = FailureEffects({**environ, **(found.variables if found else {})}, step=runner.log.debug)
        try:
            return analyse(options, effects)
        except InputError:
            raise
        except (SourceError, NetworkError) as error:
            if found is None:
                raise
            runner.log.warning(f"The verdict is made without the repository: {error.message}")
            return analyse(msgspec.structs.replace(options, repo=None), effects)

    def _documents(self, write: Callable[[], dict[str, str]]) -> dict[str, str]:
        """Paths of what was written, by output; what cannot be written is a warning."""
        try:
            return write()
        except FolderError as error:
            self._runner.log.warning(f"{error.message} {error.advice}")
            return {}

    def _for_pull(self, number: int | None) -> Plan:
        destination = msgspec.structs.replace(self.plan.destination, pull_number=number)
        return msgspec.structs.replace(self.plan, destination=destination)

    def _ask(self) -> GitHub:
        """The running repository's GitHub, for reading."""
        destination, effects = self.plan.destination, self._runner.effects
        token = destination.token.value or None
        return GitHub(destination.api_url, token, sleep=effects.sleep, now=effects.wall)

    def publish_first_run(self) -> Ended:
        """Publishes the report of a run that could not do it. The gate was that run's: this one only shows it."""
        run, destination = self.plan.run, self.plan.destination
        assert run is not None  # noqa: S101 (the stage is made of one)
        with self._ask() as github:
            number, why = pull_of(github, destination.repository, run)
            if number is None:
                self._runner.log.notice(why)
                return Ended(ExitCode.OK, {"conclusion": "skipped"})
            data = (
                report_in(self._runner.workspace / self._inputs.path)
                if self._inputs.path
                else report_of(github, destination.repository, run)
            )
        self.plan = self._for_pull(number)
        report = claimed_report(data.report, run.head_sha, destination.repository)
        drift = self._claimed_drift(data.drift, run.head_sha)
        decided = with_drift(
            gate(report.findings, self._inputs.fail_on or FailOn.CRITICAL, self.plan.scope),
            drift,
            self._inputs.fail_on_drift,
            expected=False,
        )
        return self._finished(report, catalogue_texts(), decided, drift, exit_code=ExitCode.OK)

    def _claimed_drift(self, data: bytes | None, commit: str) -> "Drift | None":
        """The drift that the first run left; one that cannot be taken is left out, and the log says so."""
        if data is None:
            return None
        from audit.action.claimed import claimed_drift

        try:
            return claimed_drift(data, commit)
        except DocumentError as error:
            self._runner.log.warning(error.message)
            return None

    def _finished(
        self,
        report: Report,
        rules: Mapping[str, RuleText],
        decided: Gate,
        drift: "Drift | None",
        *,
        exit_code: ExitCode,
    ) -> Ended:
        """Writes documents, comment, check, summary. What of it fails is a warning."""
        runner, plan = self._runner, self.plan
        files = self._documents(lambda: write_documents(report, rules, self._inputs, runner.roots))
        if drift is not None:
            files |= self._documents(lambda: write_drift(drift, self._inputs, runner.roots))
        published = publish(
            report,
            decided,
            plan.destination,
            plan.wishes,
            runner.effects,
            rules=rules,
            drift=drift,
            check=self.check,
        )
        runner.log.info(gate_line(decided))
        return Ended(exit_code, outputs_of(report, decided, published, drift) | files)

    def tell(self, problem: _Problem) -> None:
        """Shows where the result would have stood that there is none."""
        trouble = AuditTrouble(redact(problem.message), problem.advice, self._inputs.on_error is OnError.FAIL)
        publish_trouble(
            trouble, self.plan.destination, self.plan.wishes, self._runner.effects, check=self.check
        )
