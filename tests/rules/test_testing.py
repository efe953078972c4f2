from audit.documents.finding import Severity, Status
from audit.documents.place import Place
from audit.documents.signals import Signal
from tests.rules.factory import context, failures, outcomes, status

CODE = {"lib.py": "def f():\n    return 1\n"}


def workflow(*commands: str) -> dict[str, str]:
    steps = "".join(f"      - run: {command}\n" for command in commands)
    return {
        **CODE,
        ".github/workflows/ci.yml": f"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}",
    }


def test_tests() -> None:
    assert status("testing.tests", context(CODE, tests=True)) is Status.PASS
    assert failures("testing.tests", context(CODE)) == ["No test checks the one Python file."]
    assert status("testing.tests", context({"README.md": "x"})) is Status.NOT_APPLICABLE


def test_ci() -> None:
    assert status("testing.ci", context(workflow("pytest"))) is Status.PASS
    assert status("testing.ci", context(CODE)) is Status.FAIL
    assert status("testing.ci", context({"README.md": "x"})) is Status.NOT_APPLICABLE


def test_tox_is_no_ci() -> None:
    assert status("testing.ci", context({**CODE, "tox.ini": "[testenv]\ncommands = pytest\n"})) is Status.FAIL


def test_ci_that_runs_tests() -> None:
    assert (
        status("testing.ci_runs_tests", context(workflow("pytest"), tests=True, ci_tests=True)) is Status.PASS
    )
    assert status("testing.ci_runs_tests", context(CODE)) is Status.NOT_APPLICABLE
    assert failures(
        "testing.ci_runs_tests", context(workflow("make docs"), tests=Signal(True, (Place("test_x.py", 1),)))
    ) == ["There are tests, and no job of .github/workflows/ci.yml runs them."]
    (outcome,) = outcomes("testing.ci_runs_tests", context(workflow("make docs")))
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.INFO)


LOCK = {"uv.lock": "version = 1\n[[package]]\nname = 'a'\nversion = '1'\n"}


def test_ci_installs_from_the_lock() -> None:
    assert (
        status("testing.ci_installs_locked", context({**workflow("uv sync --locked"), **LOCK})) is Status.PASS
    )
    assert failures("testing.ci_installs_locked", context({**workflow("pip install -e ."), **LOCK})) == [
        "CI installs packages without uv.lock: what it tests is not what the lock says."
    ]


def test_where_nothing_is_installed_or_locked_there_is_nothing_to_say() -> None:
    assert (
        status("testing.ci_installs_locked", context(workflow("pip install -e ."))) is Status.NOT_APPLICABLE
    )
    assert status("testing.ci_installs_locked", context({**CODE, **LOCK})) is Status.NOT_APPLICABLE
    assert (
        status("testing.ci_installs_locked", context({**workflow("make lint"), **LOCK}))
        is Status.NOT_APPLICABLE
    )
