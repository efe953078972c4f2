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


@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="streams are closed by a shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-", ">/dev/full"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_closed_streams_end_in_no_traceback(tmp_path: Path, closed: str, form: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    command = f"'{sys.executable}' -m audit '{tmp_path}' --format {form} --fail-on never {closed}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    assert done.returncode == (3 if closed == ">/dev/full" else 0)
    assert "Traceback" not in done.stderr
