"""Launchers' reports of how their processes ended."""

from audit.failure.structure.launcher import reports
from tests.failure.made import lines

TORCHRUN = """
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-30_18:33:35
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 21457)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 21457
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-30_18:33:35
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 21458)
  error_file: /tmp/e/attempt_0/1/error.json
  traceback : Signal 9 (SIGKILL) received by PID 21458
"""


def test_torchrun_names_what_it_noticed_first() -> None:
    peer, first = reports(lines(TORCHRUN))
    assert (peer.rank, peer.exit_code, peer.signal, peer.first, peer.error_file) == (
        0,
        -15,
        "SIGTERM",
        False,
        None,
    )
    assert (first.rank, first.signal, first.first, first.error_file) == (
        1,
        "SIGKILL",
        True,
        "/tmp/e/attempt_0/1/error.json",
    )


def test_srun_lists_ranges_of_tasks() -> None:
    found = reports(lines("srun: error: node17: tasks 8-10,14: Exited with exit code 143"))
    assert [(end.rank, end.exit_code, end.host) for end in found] == [
        (rank, 143, "node17") for rank in (8, 9, 10, 14)
    ]


def test_a_huge_range_is_bounded() -> None:
    assert len(reports(lines("srun: error: n: tasks 0-999999999: Killed"))) <= 1001


def test_spawn_and_mpi() -> None:
    found = reports(
        lines(
            "process 2 terminated with signal SIGSEGV\nmpirun noticed that process rank 3 with PID 0 on node a exited on signal 9"
        )
    )
    assert [(end.rank, end.signal) for end in found] == [(2, "SIGSEGV"), (3, "SIGKILL")]
