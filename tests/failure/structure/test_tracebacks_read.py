"""Tracebacks, chains, and exceptions quoted in another process's report."""

from hypothesis import given
from hypothesis import strategies as st

from audit.failure.structure.tracebacks import Relation, root_of, tracebacks
from tests.failure.made import lines

FRAME = '  File "/app/a.py", line 3, in f\n    g()\n'


def kinds(text: str) -> list[list[tuple[str, Relation]]]:
    return [[(link.kind, link.relation) for link in found.links] for found in tracebacks(lines(text))]


def root(text: str) -> str:
    return root_of(tracebacks(lines(text))[-1].links).kind


def test_one_exception_with_its_frames() -> None:
    (found,) = tracebacks(lines(f"Traceback (most recent call last):\n{FRAME}ValueError: no\nafter"))
    (link,) = found.links
    assert (link.kind, link.message, link.line.number) == ("ValueError", "no", 4)
    assert [(frame.path, frame.line, frame.function) for frame in link.frames] == [("/app/a.py", 3, "f")]


def test_of_a_direct_cause_the_first_is_the_root() -> None:
    text = (
        f"Traceback (most recent call last):\n{FRAME}KeyError: 'x'\n\nThe above exception was the direct cause of the following "
        f"exception:\n\nTraceback (most recent call last):\n{FRAME}lib.errors.LoadError: no"
    )
    assert kinds(text) == [[("KeyError", Relation.FIRST), ("lib.errors.LoadError", Relation.DIRECT)]]
    assert root(text) == "KeyError"


def test_while_handling_an_error_another_came_and_the_first_is_the_root() -> None:
    text = (
        f"Traceback (most recent call last):\n{FRAME}OSError: full\n\nDuring handling of the above exception, another exception "
        f"occurred:\n\nTraceback (most recent call last):\n{FRAME}RuntimeError: close"
    )
    assert root(text) == "OSError"


def test_a_probe_that_failed_is_not_the_root() -> None:
    text = (
        f"Traceback (most recent call last):\n{FRAME}KeyError: 'fast'\n\nDuring handling of the above exception, another exception "
        f"occurred:\n\nTraceback (most recent call last):\n{FRAME}RuntimeError: no backend"
    )
    assert root(text) == "RuntimeError"


def test_a_worker_quoted_by_its_parent_is_the_root() -> None:
    text = (
        f"Traceback (most recent call last):\n{FRAME}ValueError: Caught IndexError in DataLoader worker process 1.\nOriginal Traceback "
        f"(most recent call last):\n{FRAME}IndexError: out"
    )
    assert root(text) == "IndexError"


def test_a_ray_task_is_unwrapped() -> None:
    text = f"Traceback (most recent call last):\n{FRAME}ray.exceptions.RayTaskError(TypeError): ray::f() (pid=1)\n{FRAME}TypeError: bad"
    assert root(text) == "TypeError"


def test_the_first_link_of_a_chain_may_stand_without_its_traceback() -> None:
    text = (
        f"httpx.HTTPStatusError: 504\nFor more information\n\nThe above exception was the direct cause of the following "
        f"exception:\n\nTraceback (most recent call last):\n{FRAME}LocalEntryNotFoundError: gone"
    )
    assert root(text) == "httpx.HTTPStatusError"


def test_two_unrelated_tracebacks_stay_two() -> None:
    text = f"Traceback (most recent call last):\n{FRAME}KeyError: 'a'\nTraceback (most recent call last):\n{FRAME}ValueError: b"
    assert kinds(text) == [[("KeyError", Relation.FIRST)], [("ValueError", Relation.FIRST)]]


@given(
    st.lists(
        st.sampled_from(
            [
                "Traceback (most recent call last):",
                '  File "a", line 1, in f',
                "ValueError: x",
                "",
                "  x",
                "During handling of the above exception, another exception occurred:",
                "E",
            ]
        ),
        min_size=1,
        max_size=30,
    )
)
def test_it_never_raises(rows: list[str]) -> None:
    for found in tracebacks(lines("\n".join(rows) or "x")):
        assert root_of(found.links) in found.links
