"""The machine's own records: the kernel's and the scheduler's word about memory, the driver's about hardware.

They are the only thing that makes an out-of-memory of "Killed" or exit code 137, and they stand wherever somebody printed them: after the job,
in an epilogue, in a step that runs whatever happened.
"""

import re
from collections.abc import Iterable

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Strength
from audit.failure.cause.scene import Scene
from audit.failure.digits import integer
from audit.failure.model import Hit
from audit.failure.structure.steps import Job, Step

HARDWARE_XIDS = {48, 62, 63, 64, 74, 79, 92, 94, 95, 110, 119, 120, 136, 140, 143}
"""Xid codes that NVIDIA's table names as hardware, link or firmware errors. 13, 31, 43, 45 usually follow from the application."""
_XID = re.compile(r"Xid.{0,40}?: (\d{1,3})\b")
_KILLED = {
    "oom_killed",
    "slurm_oom",
    "pod_oom_killed",
    "oom_kill",
    "cgroup_oom",
    "k8s_oom_killed",
    "slurm_oom_kill",
}
_RECORD = re.compile(
    r"Killed process \d+|oom[-_]kill|OOMKilled|Out of memory: Kill|out-of-memory handler|Memory cgroup out of memory"
)
_NEGATIVE = re.compile(r"oom_kill[ :=]+0\b|oom-kill(?:er)? (?:disabled|count:? 0)")


_VICTIM = re.compile(r"Killed process \d+,? \((?P<name>[^()\s]{1,64})\)|\btask=(?P<task>[^,\s]{1,64}),pid=")
_COMPILER = re.compile(
    r"^(?:cc1(?:plus|obj)?|cicc|ptxas|nvcc|cudafe\+\+|fatbinary|ld(?:\.\w+)?|lto1|collect2|as|clang\S*|g\+\+\S*|gcc\S*|c\+\+|rustc|ninja|cmake|make|bazel|java)$"
)


def ended_a_build(record: Candidate) -> bool:
    """Whether the kernel's record names a compiler or a linker as the process that it ended."""
    found = _VICTIM.search(record.line.text)
    return found is not None and _COMPILER.match(found["name"] or found["task"]) is not None


def find(scene: Scene, job: Job) -> list[Candidate]:
    """Records in any step of a job, the plainest of each kind."""
    killed: Candidate | None = None
    hardware: Candidate | None = None
    for step, hit in _hits(scene, job):
        text = hit.line.text
        if (
            hit.signature.role in ("confirming", "root")
            and _RECORD.search(text)
            and not _NEGATIVE.search(text)
        ):
            better = "Killed process" in text and (killed is None or "Killed process" not in killed.line.text)
            if killed is None or better:
                killed = _candidate(
                    step,
                    hit,
                    "oom_killed",
                    "The kernel or the scheduler records that it ended the process for memory.",
                )
        elif (xid := _XID.search(text)) and integer(xid[1]) in HARDWARE_XIDS and (hardware is None):
            hardware = _candidate(
                step,
                hit,
                hit.signature.name,
                f"The driver reports Xid {xid[1]}, an error of the device and not of the program.",
            )
    return [candidate for candidate in (killed, hardware) if candidate is not None]


def _candidate(step: Step, hit: Hit, signature: str, why: str) -> Candidate:
    return Candidate(
        hit.line,
        signature,
        Category.INFRA_RUNTIME,
        Strength.CONFIRMED,
        Origin.MACHINE,
        step,
        sure=True,
        hit=hit,
        why=why,
        at=hit.line.time,
    )


def _hits(scene: Scene, job: Job) -> Iterable[tuple[Step, Hit]]:
    for step in job.steps:
        for hit in scene.view(step).hits:
            yield step, hit
