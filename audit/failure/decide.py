"""From the causes to the verdict's category, decision and confidence. The label policy of the reference, in code."""

import re

import msgspec

from audit.documents.verdict import Category, Confidence, Decision
from audit.failure.cause.answer import JobCause, State
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.digits import decimal
from audit.failure.structure.steps import Conclusion

DETERMINISTIC = frozenset(
    "shm_exhausted disk_full disk_quota checkpoint_write_failed read_only_file_system no_kernel_image cuda_driver_too_old unsupported_ptx_toolchain "
    "no_cuda_device xla_hbm_oom xla_oom memory_fraction_cap oom_killed slurm_oom_killed kubernetes_oom_killed ray_oom runner_disk_full "
    "too_many_open_files host_allocation_failed pod_storage_limit container_without_gpu too_many_processes".split()
)
"""Failures of the machine that come again on the same machine: a limit, a mount, a pool has to change."""
_LIMIT_IS_WRONG = frozenset(
    "step_time_limit tolerance_too_tight policy_gate limit_exceeded golden_metric_missing no_tests_ran all_tests_skipped gate_did_not_run "
    "expected_count_mismatch golden_value_mismatch better_than_bound test_time_limit gate_reads_missing_key".split()
)
_TESTS_MISSING = frozenset(
    "coverage_threshold unexpected_pass snapshot_mismatch generated_files_stale contribution_rule pre_commit_failed mlperf_checker_failed".split()
)
_CLOSED = frozenset(
    "cuda filesystem packaging hub git tracking storage containers github_actions hydra kubernetes cloud policy memory".split()
)
"""Families whose messages say by themselves what kind of failure it is; those of Python, tensors and data can be of code or of data."""
_ARGUABLE = frozenset(
    "cuda_oom hip_oom xpu_oom mps_oom oom_killed file_not_found module_not_found permission_denied import_name_failed attribute_missing "
    "wrong_arguments value_error "
    "device_side_assert hub_repository_not_found no_cuda_device git_ref_missing no_matching_distribution git_authentication "
    "cuda_illegal_memory_access cuda_launch_failure cloud_not_authorized cpu_only_torch_build hub_offline host_allocation_failed "
    "wheel_build_failed pod_evicted pod_storage_limit no_kernel_image compiler_missing native_library_missing "
    "keras_file_of_another_version".split()
)
"""Signatures whose category the label policy leaves to what else is known."""
_GPU_MEMORY = re.compile(
    r"total capacity of (?P<total>[\d.]+) (?P<tu>[GM]iB).*?this process has (?P<own>[\d.]+) (?P<ou>[GM]iB) memory in use",
    re.IGNORECASE,
)


class Decided(msgspec.Struct, frozen=True):
    """What is to be said of one job's cause."""

    category: Category
    decision: Decision
    confidence: Confidence


def decide(cause: JobCause) -> Decided:
    """The category, the decision and how sure: of a job without a cause, that nothing failed or that the evidence does not say why."""
    candidate = cause.primary
    if cause.state is State.PASSED:
        complete = cause.job.conclusion is Conclusion.SUCCESS and cause.job.complete
        return Decided(Category.PASSED, Decision.ALLOW, Confidence.HIGH if complete else Confidence.MEDIUM)
    if candidate is None or candidate.category is None:
        return Decided(Category.INCONCLUSIVE, Decision.NEED_EVIDENCE, Confidence.MEDIUM)
    return Decided(candidate.category, decision_of(candidate), _confidence(cause, candidate))


_IMPROVED = re.compile(
    r"\b(?:improved?|better|faster)\b[^\n]{0,60}\b(?:beyond|band|golden|baseline|allowed|expected)\b|\bupdate the (?:golden|baseline|reference)\b",
    re.IGNORECASE,
)
"""Words of a gate of two sides that was left on the good one."""


def decision_of(candidate: Candidate) -> Decision:
    """What to do about a cause, by its category and, where a rerun could or could not mend it, by its signature."""
    match candidate.category:
        case Category.CORRECTNESS:
            return Decision.FIX_CODE
        case Category.DATA_CONFIG:
            return Decision.FIX_CONFIG
        case Category.ML_REGRESSION | Category.UNSUPPORTED_CLAIM:
            return Decision.BLOCK
        case Category.INFRA_RUNTIME:
            again = candidate.signature in DETERMINISTIC or _holds_the_memory(candidate.line.text)
            return Decision.FIX_CONFIG if again else Decision.RERUN
        case Category.METRIC_POLICY:
            return _policy(candidate)
        case Category.PASSED:
            return Decision.ALLOW
    return Decision.NEED_EVIDENCE


def _policy(candidate: Candidate) -> Decision:
    """A gate on time is rerun; a limit that does not fit the work, or a tolerance finer than the arithmetic, is set right; missing tests are written."""
    if candidate.signature in _TESTS_MISSING:
        return Decision.FIX_CODE
    if candidate.signature in _LIMIT_IS_WRONG or candidate.origin is Origin.LIMIT:
        return Decision.FIX_CONFIG
    if _IMPROVED.search(candidate.line.text[:1000]):
        return Decision.FIX_CONFIG  # again would be as good: the value that it is held against is out of date
    if candidate.comparison is not None and candidate.comparison.subject.value in ("policy", "memory"):
        return Decision.FIX_CONFIG
    return Decision.RERUN


def _holds_the_memory(text: str) -> bool:
    """Whether the process that ran out of device memory holds most of it itself: the next run would again."""
    found = _GPU_MEMORY.search(text)
    if found is None:
        return False
    total = decimal(found["total"]) * (1024 if found["tu"][0] == "G" else 1)
    own = decimal(found["own"]) * (1024 if found["ou"][0] == "G" else 1)
    return total > 0 and own / total > 0.8


def _closes(candidate: Candidate) -> bool:
    """Whether the line alone leaves no other category: the machine's record, or a message of a family that is plain about it."""
    if candidate.signature in _ARGUABLE or candidate.category is Category.CORRECTNESS:
        return False  # what code raises may be its caller's settings
    if candidate.origin in (Origin.MACHINE, Origin.TRAINING) or candidate.signature in (
        "coverage_threshold",
        "gate_did_not_run",
    ):
        return True
    return (
        candidate.hit is not None
        and candidate.hit.signature.family in _CLOSED
        and not candidate.hit.signature.policy
    )


def _confidence(cause: JobCause, candidate: Candidate) -> Confidence:
    """High only where the evidence closes it: a line that is sure, of an event that ended the run, and no rival of another category."""
    if candidate.outcome is not Outcome.TERMINAL or cause.job.conclusion is Conclusion.UNKNOWN:
        return Confidence.MEDIUM if candidate.strength >= Strength.NAMED else Confidence.LOW
    rival = any(
        other.category is not candidate.category and other.strength >= Strength.NAMED
        for other in cause.others
    )
    if candidate.sure and not rival and candidate.strength >= Strength.NAMED and _closes(candidate):
        return Confidence.HIGH
    if candidate.strength >= Strength.NAMED or candidate.sure:
        return Confidence.MEDIUM
    return Confidence.LOW
