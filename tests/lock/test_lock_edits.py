"""The suggestion that turns an old lock into the new one."""

import time

import pytest

from audit.action.locking import _edits


def lock(count: int, times: int, leave: int = -1) -> str:
    return "# Written\nmodels:\n" + "".join(
        f"  a{number}:\n    value: {number * times}\n    source: manifest\n    confidence: declared\n"
        for number in range(count)
        if number != leave
    )


def applied(before: str, after: str) -> str:
    lines = before.splitlines(keepends=True)
    for edit in sorted(_edits(before, after), key=lambda edit: -edit.start_line):
        lines[edit.start_line - 1 : edit.end_line] = edit.replacement.splitlines(keepends=True)
    return "".join(lines)


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        (lock(5, 1), lock(5, 1), 0),
        (lock(5, 1), lock(5, 2), 4),
        (lock(5, 1), lock(5, 1, leave=2), 1),
        (lock(5, 1, leave=2), lock(5, 1), 1),
        (lock(5, 1, leave=0), lock(5, 1, leave=4), 2),
        ("", lock(2, 1), 1),
        (lock(2, 1), "", 1),
        ("a:\n- x\n- x\n- y\nb: 1\n", "a:\n- x\n- y\n- y\nb: 1\n", 2),
        ("b: 1\na: 1\n", "a: 1\nb: 1\n", 2),
        ("no newline", "no newline\n", 1),
    ],
)
def test_edits_make_the_one_of_the_other_and_touch_what_differs(before: str, after: str, count: int) -> None:
    assert applied(before, after) == after
    assert len(list(_edits(before, after))) == count


def test_a_large_lock_is_no_wait() -> None:
    started = time.perf_counter()
    before, after = lock(10_000, 1), lock(10_000, 2)
    assert len(list(_edits(before, after))) == 9_999
    assert time.perf_counter() - started < 10
