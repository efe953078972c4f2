"""A name or a number from the command line that code refuses is a matter of settings; the same words about anything else are not."""

import pytest

from audit.failure.cause.given import refused

COMMAND = "python -m pkg.run --tasks easy,hrd_one --tensor-parallel 4 --pipeline-parallel=2 --steps 30 model_name=tiny-2b scripts/run.py"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ValueError", "Tasks not found: hrd_one. Try --list"),
        ("KeyError", "'unknown model tiny-2b'"),
        ("pkg.errors.Exception", "no preset named 'hrd_one'"),
        ("AssertionError", "Number of devices 16 does not match the product of the parallelism 8"),
        ("ValueError", "world size (12) must be divisible by 8"),
        ("RuntimeError", "num_heads 30 is not divisible by tensor parallel size 4"),
    ],
)
def test_what_stands_on_the_command_line_is_a_setting(kind: str, message: str) -> None:
    assert refused(kind, message, COMMAND)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ValueError", "operands could not be broadcast together with shapes (4,2) (30,)"),
        ("AssertionError", "expected 8 rows, got 7"),
        ("ValueError", "Tasks not found: other"),
        ("TypeError", "unknown argument hrd_one"),
        ("KeyError", "'easy'"),
        ("RuntimeError", "The size of tensor a (4) must match the size of tensor b (7) at dimension 1"),
        ("RuntimeError", "The size of tensor a (4) must match the size of tensor b (2) at dimension 1"),
        ("ValueError", "run not found"),
        ("ValueError", "scripts/run.py not found"),
    ],
)
def test_what_does_not_is_none(kind: str, message: str) -> None:
    assert not refused(kind, message, COMMAND)
    assert not refused("ValueError", message, "")
