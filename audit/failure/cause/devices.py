"""A check that misses a device: what kept the device from the program stands before it, often as a note that nobody fails by."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene, category_of
from audit.failure.model import Hit, Kind
from audit.failure.structure.comparison import Subject
from audit.failure.structure.steps import Job, Step

_LOST = frozenset(
    "tpu_in_use tpu_unavailable cuda_driver_too_old nvml_failed cuda_busy cuda_system_not_ready gpu_lost gpu_ecc no_cuda_device "
    "container_without_gpu".split()
)
_USUAL = frozenset({"no_cuda_device", "container_without_gpu"})
"""Notes of every job on a machine that has no such device at all."""
_BACKEND = "jax_backend_missing"
_NOT_ROUTINE = re.compile(
    r"\b(?:ABORTED|UNAVAILABLE|PERMISSION_DENIED|RESOURCE_EXHAUSTED|DEADLINE_EXCEEDED)\b|CUDA_ERROR_|already in use|no supported devices"
)
"""JAX notes at every start which backends are not there; these are reasons of one that should be."""
_OF_DEVICES = re.compile(
    r"\b(?:devices?|gpus?|cuda|tpus?|accelerators?|mesh|world[ _]size|backend)\b|CpuDevice|device_count|is_available|\bdevice\(type=|'cpu'",
    re.IGNORECASE,
)


def lost_before(scene: Scene, job: Job, found: Candidate) -> Candidate | None:
    """The line that says why there was no device, where an assertion about devices failed after it; None where it is no such assertion."""
    slow = found.comparison is not None and found.comparison.subject is Subject.PERFORMANCE
    if not slow and not _misses_a_device(found):
        return None
    for step in job.steps:
        if not step.teardown:
            for hit in _notes(scene, step):
                if _is_loss(hit) and _stands_before(hit, found) and not (slow and hit.signature.id in _USUAL):
                    return Candidate(
                        hit.line,
                        hit.signature.name,
                        category_of(hit.signature.category),
                        Strength.NAMED,
                        Origin.SIGNATURE,
                        step,
                        Outcome.UNRESOLVED,
                        hit=hit,
                        failing=found.failing,
                        why="The program went on without the device, and a check that counts on it failed.",
                        at=hit.line.time,
                    )
        if step is found.step:
            break
    return None


_MASK = re.compile(
    r"\b(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES['\"]?\s{0,3}[=:]\s{0,3}(?P<value>['\"]?[\w,-]{0,60}['\"]?)\s*$"
)
_LISTED = re.compile(r"^\s*GPU \d{1,3}: \S|^\d{1,3}, (?:NVIDIA|Tesla|AMD|GeForce)\b|\| NVIDIA-SMI ")


def masked(scene: Scene, job: Job, found: Candidate) -> Candidate:
    """A device that is not there, as a matter of configuration where the job's own mask hides it: an empty one, or one of a machine that lists devices."""
    if (
        found.signature not in ("no_cuda_device", "cuda_invalid_device")
        or found.category is not Category.INFRA_RUNTIME
    ):
        return found
    lines = [line.text[:300] for step in job.steps for line in step.lines if line.number < found.line.number]
    mask = next((match for text in reversed(lines) if (match := _MASK.search(text)) is not None), None)
    if mask is None:
        return found
    value = mask["value"].strip("'\"")
    if value not in ("", "-1", "none") and not any(_LISTED.search(text) for text in lines):
        return found
    return msgspec.structs.replace(
        found,
        category=Category.DATA_CONFIG,
        sure=False,
        why=f"The job itself hides the devices: {mask[0].strip()}.",
    )


def _misses_a_device(found: Candidate) -> bool:
    """Whether what failed speaks of devices, and is of no known kind."""
    if found.category is not Category.CORRECTNESS or (
        found.hit is not None and found.strength > Strength.GENERIC
    ):
        return False
    nodes = [node.rpartition("::")[2] for node in found.failing[:3]]
    said = " ".join([found.line.text, *[line.text for line in found.context], *nodes]).replace("_", " ")
    return bool(_OF_DEVICES.search(said[:4000]))


def _notes(scene: Scene, step: Step) -> Iterator[Hit]:
    """The hits of a step, those in the warnings that pytest lists at its end too."""
    for line in step.lines:
        if not line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST_ID}:
            yield from scene.hits.on(line)


def _is_loss(hit: Hit) -> bool:
    signature = hit.signature.id
    return signature in _LOST or (signature == _BACKEND and _NOT_ROUTINE.search(hit.line.text) is not None)


def _stands_before(hit: Hit, found: Candidate) -> bool:
    """Warnings of a test run are printed when it has ended."""
    return (
        hit.line.source != found.line.source
        or hit.line.number < found.line.number
        or Kind.DUMP in hit.line.kinds
    )
