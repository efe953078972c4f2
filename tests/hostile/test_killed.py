"""An audit that is killed in the middle."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = "import torch\n" + "x = torch.zeros(3, 4).sum() + 1\n" * 2_000


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are counted by /proc")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_the_audit(tmp_path: Path, sign: signal.Signals) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(400):
        (tree / f"{number}.py").write_text(f"{SOURCE}y = {number}\n")
    audit = subprocess.Popen(
        [sys.executable, "-m", "audit", str(tree), "--json", "--jobs", "2", "--no-cache"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    children = Path(f"/proc/{audit.pid}/task/{audit.pid}/children")
    workers: list[str] = []
    while len(workers) < 2 and audit.poll() is None:
        time.sleep(0.01)
        workers = children.read_text().split() if children.exists() else []
    assert workers
    audit.send_signal(sign)
    # The pipe ends only when nobody holds it any more.
    audit.communicate(timeout=60)
    assert audit.returncode == -sign
