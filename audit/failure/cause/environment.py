"""The environment's failure stands before the symptom: a download that failed before a file is missing, a full disk before a broken archive."""

import re
from collections.abc import Iterator

from audit.failure.cause import exceptions
from audit.failure.cause.candidate import Candidate, Outcome, Strength
from audit.failure.cause.scene import Scene, StepView
from audit.failure.cause.signatures import ENVIRONMENT, warns
from audit.failure.cause.signatures import find as signatures
from audit.failure.cause.wording import CODE_ONLY, points_elsewhere
from audit.failure.structure.steps import Job

_SYMPTOMS = frozenset(
    "FileNotFoundError JSONDecodeError UnpicklingError EOFError BadZipFile LocalEntryNotFoundError ModuleNotFoundError OSError ReadError "
    "HeaderTooLarge SafetensorError "
    "UnidentifiedImageError ParserError ArrowInvalid EntryNotFoundError ImportError".split()
)
_SYMPTOM_SIGNATURES = frozenset(
    "no_matching_distribution file_not_found file_unreadable module_not_found hub_offline hub_repository_not_found json_invalid "
    "artifact_missing shell_error command_not_found wheel_build_failed dataset_empty train_test_split_empty data_not_found dataset_not_in_cache "
    "hub_file_not_cached webdataset_shard_missing".split()
)
_ABSENT = re.compile(
    r"\b(?:missing|not found|no such|"
    r"(?:cannot|could not|can't|couldn't) be (?:found|opened|read|located)|(?:cannot|could not|unable to|failed to) (?:find|locate)|"
    r"does(?: not|n't) exist|no (?:data|files?|results?|samples?|rows|records|metrics)|"
    r"(?:0|zero) (?:rows?|samples?|files?|records?|examples?|images?|documents?)|empty)\b",
    re.IGNORECASE,
)
"""Words of a failure for want of something that was to be brought here."""
_FETCHING = frozenset({"network", "hub", "storage", "cloud"})
_LOCAL = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\b0\.0\.0\.0\b|\[?::1\]?[:',) ]")
_NOT_READY = re.compile(
    r"\b(?:server|service|endpoint|port \d+|engine|api|health\w*)\b.{0,60}\b(?:not (?:ready|healthy|up|reachable|available|respond\w*)|"
    r"did ?n[o']t (?:start|come up|become|get)|"
    r"never (?:started|came|became|got)|failed to (?:start|come up)|gave up)",
    re.IGNORECASE,
)
"""A client's word for a server that never answered."""
_HOST = re.compile(r"https?://|\bhost=|\b[\w-]+(?:\.[\w-]+)+:\d{2,5}\b")
_ANSWER = re.compile(
    r"\b(?:Error code: |HTTP (?:Error )?|status(?: code)?[ :=]+)[45]\d\d\b|\b[45]\d\d (?:Client|Server) Error\b|"
    r"\b(?:NotFoundError|APIStatusError|BadRequestError|HTTPStatusError)\b"
)
_REFUSED = re.compile(
    r"[Cc]onnection ?[Rr]efused|Connect call failed|Cannot connect to host|Failed to connect|Max retries exceeded"
)


def root_before(scene: Scene, job: Job, found: Candidate) -> Candidate | None:
    """An unrecovered failure of the environment before a candidate that is a symptom of such failures, None where there is none."""
    if _asks_a_server(found.line.text) and (taken := _port_taken(scene, found)) is not None:
        return taken
    if _NOT_READY.search(found.line.text) or (
        _REFUSED.search(found.line.text) and _is_local(scene, job, found)
    ):
        return _server(scene, job, found)
    named = found.kind.rpartition(".")[2] in _SYMPTOMS or found.signature in _SYMPTOM_SIGNATURES
    if not named and (_of_code(found) or not _ABSENT.search(found.line.text[:600])):
        return None
    for view in _until(scene, job, found):
        same = view.step is found.step
        earlier = [
            candidate
            for candidate in (*signatures(view), *exceptions.find(view))
            if _is_environment(candidate, found, fetching=not named)
            and (
                _left_a_stump(candidate, found)
                or (
                    candidate.outcome is not Outcome.RECOVERED
                    and (same or not view.succeeded_after(candidate.line))
                )
            )
        ]
        if earlier:
            return min(earlier, key=lambda candidate: candidate.line.number)
    return None


_BROKEN = frozenset(
    "EOFError UnpicklingError BadZipFile JSONDecodeError SafetensorError HeaderTooLarge ReadError ArrowInvalid UnidentifiedImageError".split()
)
_BROKEN_SIGNATURES = frozenset("file_unreadable json_invalid parquet_damaged compressed_file_damaged".split())
_WRITES = frozenset(
    "disk_full disk_quota file_system_io_error checkpoint_write_failed read_only_file_system runner_disk_full".split()
)


def _left_a_stump(candidate: Candidate, found: Candidate) -> bool:
    """Whether a file that cannot be read was written when that failed: the writer may have gone on."""
    broken = found.kind.rpartition(".")[2] in _BROKEN or found.signature in _BROKEN_SIGNATURES
    return broken and candidate.signature in _WRITES


def _of_code(found: Candidate) -> bool:
    """Whether the exception speaks of program text, whatever is missing in it: a required argument is nothing to be fetched."""
    return found.kind.rpartition(".")[2] in CODE_ONLY - {"AssertionError"}


def _is_local(scene: Scene, job: Job, found: Candidate) -> bool:
    """Whether the server that refused is one of this machine: by its address, where none is told by the addresses of other lines."""
    if _LOCAL.search(found.line.text):
        return True
    return not _HOST.search(found.line.text) and any(
        _LOCAL.search(line.text[:600]) for view in _until(scene, job, found) for line in view.step.lines
    )


def _asks_a_server(text: str) -> bool:
    """Whether a failure is a client's: an answer that it did not want, or none."""
    return bool(_REFUSED.search(text) or _ANSWER.search(text))


def _port_taken(scene: Scene, found: Candidate) -> Candidate | None:
    """The line by which the step's server says that its port belongs to another; servers print it late, the client's failure may come first."""
    return next((one for one in signatures(scene.view(found.step)) if one.signature == "port_in_use"), None)


def _until(scene: Scene, job: Job, found: Candidate) -> Iterator[StepView]:
    """The steps of a job up to that of a candidate."""
    for step in job.steps:
        if not step.teardown:
            yield scene.view(step)
        if step is found.step:
            return


def _server(scene: Scene, job: Job, found: Candidate) -> Candidate | None:
    """What ended the server on this machine that nobody could reach: the last failure before the client's, of any kind."""
    last: Candidate | None = None
    for view in _until(scene, job, found):
        for candidate in (*signatures(view), *exceptions.find(view)):
            if (
                candidate.strength >= Strength.GENERIC
                and candidate.category is not None
                and (candidate.hit is None or candidate.hit.signature.family != "network")
                and _stands_before(candidate, found)
                and not _REFUSED.search(candidate.line.text)
                and not points_elsewhere(candidate.line.text)
                and not warns(candidate.line)
                and (last is None or candidate.strength > last.strength)
            ):
                last = candidate
    return last


def _stands_before(candidate: Candidate, found: Candidate) -> bool:
    return candidate.line.source != found.line.source or candidate.line.number < found.line.number


_MODULE = re.compile(r"No module named '(?P<name>\w+)|cannot import name '\w+' from '(?P<from>\w+)")


def _of_the_module(candidate: Candidate, found: Candidate) -> bool:
    """Whether an installation that failed is of the module that is missed."""
    missed = _MODULE.search(found.line.text)
    if missed is None or candidate.hit is None or candidate.hit.signature.family != "packaging":
        return False
    name = (missed["name"] or missed["from"]).lower().replace("_", "-")
    return name in candidate.line.text.lower().replace("_", "-")


def _is_environment(candidate: Candidate, found: Candidate, *, fetching: bool) -> bool:
    """`fetching`: only what was to bring something from elsewhere."""
    hit = candidate.hit
    if hit is None or hit.signature.family not in (_FETCHING if fetching else ENVIRONMENT):
        return False
    if hit.signature.role != "root" or candidate.strength < Strength.NAMED:
        return False
    if candidate.signature == found.signature:
        return False
    if candidate.signature in _SYMPTOM_SIGNATURES and not _of_the_module(candidate, found):
        return False
    return _stands_before(candidate, found)
