"""A check that misses a device: what kept the device from the program stands before it, often as a note that nobody fails by."""

import re

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene, category_of
from audit.failure.model import Hit
from audit.failure.structure.steps import Job

_LOST = frozenset(
    "tpu_in_use tpu_unavailable cuda_driver_too_old nvml_failed cuda_busy cuda_system_not_ready gpu_lost gpu_ecc no_cuda_device".split()
)
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
    if found.category is not Category.CORRECTNESS or (
        found.hit is not None and found.strength > Strength.GENERIC
    ):
        return None
    said = " ".join(
        [
            found.line.text,
            *[line.text for line in found.context],
            *[node.rpartition("::")[2] for node in found.failing[:3]],
        ]
    ).replace("_", " ")
    if not _OF_DEVICES.search(said[:4000]):
        return None
    for step in job.steps:
        if not step.teardown:
            for hit in scene.view(step).hits:
                if _is_loss(hit) and _stands_before(hit, found):
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


def _is_loss(hit: Hit) -> bool:
    signature = hit.signature.id
    return signature in _LOST or (signature == _BACKEND and _NOT_ROUTINE.search(hit.line.text) is not None)


def _stands_before(hit: Hit, found: Candidate) -> bool:
    return hit.line.source != found.line.source or hit.line.number < found.line.number
