from audit.documents.finding import Status
from audit.documents.place import Place
from audit.documents.signals import Signal
from tests.rules.factory import context, status

CODE = {"benchmarks/speed.py": "print(1)\n"}
FOUND = Signal(True, (Place("benchmarks/speed.py", 1),))


def test_present() -> None:
    assert status("benchmarks.present", context(CODE, benchmarks=FOUND)) is Status.PASS
    assert status("benchmarks.present", context({"train.py": "print(1)\n"})) is Status.FAIL
    assert status("benchmarks.present", context({"README.md": "x"})) is Status.NOT_APPLICABLE


def test_an_evaluation_harness_is_a_measurement_itself() -> None:
    assert (
        status("benchmarks.present", context({"run.py": "print(1)\n"}, training_loop="none", evaluation=True))
        is Status.PASS
    )
    assert status("benchmarks.present", context({"run.py": "print(1)\n"}, evaluation=True)) is Status.FAIL


def test_documented() -> None:
    told = {**CODE, "README.md": "# P\n\n```\npython benchmarks/speed.py\n```\n"}
    assert status("benchmarks.documented", context(told, benchmarks=FOUND)) is Status.PASS
    assert (
        status("benchmarks.documented", context({**CODE, "README.md": "# P\n"}, benchmarks=FOUND))
        is Status.FAIL
    )
    assert status("benchmarks.documented", context(CODE)) is Status.NOT_APPLICABLE


def test_a_readme_of_their_own_documents_them() -> None:
    told = {**CODE, "benchmarks/README.md": "# Speed\n"}
    assert status("benchmarks.documented", context(told, benchmarks=FOUND)) is Status.PASS
