"""The machine that a lock is made on: Python, platform, GPU and driver. It says what the experiment was declared on, and checks nothing."""

import platform
import shutil
import subprocess

from audit.documents.lock import LockSource, Path
from audit.lock.found import Answers, Surroundings, exact, unresolved
from audit.lock.packages import python_of

_SECONDS = 20
_AT: Path = ("environment",)


def resolve(around: Surroundings) -> Answers:
    """What can be seen from here without running anything of the repository."""
    version = python_of(around)
    system = f"{platform.system().lower()}-{platform.machine().lower()}"
    return {
        (*_AT, "python"): exact(version, LockSource.PLATFORM)
        if version
        else unresolved(LockSource.PLATFORM, "no environment is active, and none lies in the folder"),
        (*_AT, "platform"): exact(system, LockSource.PLATFORM),
        **_gpu(),
    }


def _gpu() -> Answers:
    """Names of the GPUs and the driver's version, as `nvidia-smi --query-gpu` tells them."""
    names, driver = (*_AT, "gpu"), (*_AT, "driver")
    program = shutil.which("nvidia-smi")
    if program is None:
        missing = unresolved(LockSource.NVIDIA_SMI, "nvidia-smi is not here")
        return {names: missing, driver: missing}
    try:
        done = subprocess.run(
            [program, "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True,
            timeout=_SECONDS,
            check=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        failed = unresolved(LockSource.NVIDIA_SMI, "nvidia-smi did not answer")
        return {names: failed, driver: failed}
    rows = [line.rsplit(", ", 1) for line in done.stdout.splitlines() if ", " in line][:64]
    if not rows:
        nothing = unresolved(LockSource.NVIDIA_SMI, "nvidia-smi lists no GPU")
        return {names: nothing, driver: nothing}
    return {
        names: exact(tuple(row[0][:100] for row in rows), LockSource.NVIDIA_SMI),
        driver: exact(rows[0][1][:100], LockSource.NVIDIA_SMI),
    }
