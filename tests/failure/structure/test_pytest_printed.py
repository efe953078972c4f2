"""What pytest printed."""

from audit.failure.structure.pytest_report import sessions
from audit.failure.structure.tracebacks import Relation
from tests.failure.made import lines

FAILED = """
============================= test session starts ==============================
collected 3 items
tests/test_a.py::test_one PASSED                                         [ 33%]
tests/test_a.py::test_two FAILED                                         [ 66%]
tests/test_a.py::test_three RERUN                                        [100%]
tests/test_a.py::test_three PASSED                                       [100%]
==================================== RERUNS ====================================
__________________________________ test_three __________________________________
E   ConnectionError: no
=================================== FAILURES ===================================
___________________________________ test_two ___________________________________

    def test_two():
>       assert f() == 2
E       AssertionError: f is off
E       assert 1 == 2

tests/test_a.py:4: AssertionError
------------------------------ Captured log call -------------------------------
ERROR    app:app.py:3 loud
=========================== short test summary info ============================
FAILED tests/test_a.py::test_two - AssertionError: f is off
==================== 1 failed, 2 passed, 1 rerun in 0.10s =====================
"""


def test_a_failed_session() -> None:
    (session,) = sessions(lines(FAILED))
    assert session.failed
    assert session.failing == ("tests/test_a.py::test_two",)
    assert session.counts == {"failed": 1, "passed": 2, "reruns": 1}
    assert session.collected == 3
    assert [(block.section, block.name) for block in session.blocks] == [
        ("RERUNS", "test_three"),
        ("FAILURES", "test_two"),
    ]
    root = session.blocks[1].root
    assert root is not None
    assert (root.kind, root.message, root.line.number) == ("AssertionError", "f is off", 15)
    assert [line.text for line in session.blocks[1].captured][-1].startswith("ERROR")


def test_the_root_of_a_chain_in_a_block() -> None:
    text = """
=================================== FAILURES ===================================
____________________________________ test_x ____________________________________
E   KeyError: 'a'

The above exception was the direct cause of the following exception:
tests/test_a.py:4: in test_x
    load()
E   app.LoadError: no
1 failed in 0.10s
"""
    (session,) = sessions(lines(text))
    root = session.blocks[0].root
    assert root is not None
    assert root.kind == "KeyError"


def test_a_traceback_quoted_in_an_assertion_names_the_root() -> None:
    text = """
=================================== FAILURES ===================================
____________________________________ test_x ____________________________________
E   RuntimeError: Caught ValueError in DataLoader worker process 0.
E   Original Traceback (most recent call last):
E     File "/a.py", line 3, in f
E       g()
E   ValueError: inner
1 failed in 0.10s
"""
    (session,) = sessions(lines(text))
    root = session.blocks[0].root
    assert root is not None
    assert (root.kind, root.message, root.relation) == ("ValueError", "inner", Relation.QUOTED)
    assert root.line.number == 7


def test_a_collection_error_stops_everything() -> None:
    text = """
============================= test session starts ==============================
collected 98 items / 1 error
==================================== ERRORS ====================================
_______________________ ERROR collecting tests/test_b.py _______________________
E   ImportError: cannot import name 'x' from partially initialized module 'a'
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 1.22s ===============================
"""
    (session,) = sessions(lines(text))
    assert session.collection_failed
    assert session.collected == 98


def test_several_sessions_in_one_step() -> None:
    start = "============================= test session starts =============================="
    found = sessions(
        lines(
            f"{start}\n==== 2 passed in 0.1s ====\nrm: cannot remove x\n{start}\n==== 1 failed in 0.1s ===="
        )
    )
    assert [session.failed for session in found] == [False, True]


def test_output_on_the_line_of_a_test_does_not_hide_its_outcome() -> None:
    start = "============================= test session starts =============================="
    (session,) = sessions(
        lines(f"{start}\ntests/test_a.py::test_x lm loss: worst 0.1\nPASSED\n==== 1 passed in 0.1s ====")
    )
    assert [(item.node, item.outcome) for item in session.progress] == [("tests/test_a.py::test_x", "PASSED")]
