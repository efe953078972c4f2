"""The selection rules, each on a reading made by hand: nothing here depends on the catalogue."""

from audit.documents.verdict import Category, Confidence, Decision
from audit.failure.cause.answer import State
from audit.failure.cause.candidate import Outcome, Strength
from audit.failure.cause.scene import Scene
from audit.failure.cause.select import select
from audit.failure.decide import decide
from audit.failure.model import Hit, Reading
from tests.failure.made import find, hit, lines, reading

FAILED = "##[error]Process completed with exit code 1."


def answer(text: str, *hits: tuple[str, str, dict[str, str]]):  # type: ignore[no-untyped-def]
    """The one job's answer; `hits`: a part of the line, the signature, its fields."""
    log = lines(text)
    met: tuple[Hit, ...] = tuple(hit(find(log, part), name, **fields) for part, name, fields in hits)
    return select(Scene(reading(log, hits=met)))[0]


def test_scope_an_error_of_a_step_that_succeeded_is_no_cause() -> None:
    found = answer(
        f"##[group]Run pip install x\n##[endgroup]\nERROR: pip's resolver is behind\n##[group]Run train\n##[endgroup]\nTypeError "
        f"here\nTraceback (most recent call last):\n"
        f'  File "/w/a.py", line 1, in f\nTypeError: no\n{FAILED}',
        ("ERROR: pip's", "dependency_conflict", {"family": "packaging", "category": "data_config"}),
    )
    assert found.primary is not None
    assert found.primary.line.text == "TypeError: no"
    assert found.step is not None
    assert found.step.command == "train"


def test_outcome_what_was_survived_is_no_cause() -> None:
    found = answer(
        f"##[group]Run train\n##[endgroup]\nCUDA out of memory, retrying\nstep 10 loss 2.0\nstep 20 loss 1.9\nfinal loss 1.90 > limit 1.50\n{FAILED}",
        ("CUDA out", "cuda_oom", {"family": "memory"}),
    )
    assert found.primary is not None
    assert found.primary.category is Category.ML_REGRESSION
    assert [candidate.outcome for candidate in found.recovered] == [Outcome.RECOVERED]


def test_an_uncaught_exception_counts_though_buffered_output_follows_it() -> None:
    found = answer(
        f'##[group]Run train\n##[endgroup]\nTraceback (most recent call last):\n  File "/w/a.py", line 1, in f\nKeyError: 3\nstep 10 loss '
        f"2.0\nstep 20 loss 1.9\n{FAILED}"
    )
    assert found.primary is not None
    assert found.primary.kind == "KeyError"
    assert decide(found).confidence is not Confidence.HIGH


def test_a_logged_exception_that_the_run_survived_is_no_cause() -> None:
    found = answer(
        f'##[group]Run train\n##[endgroup]\nERROR upload failed\nTraceback (most recent call last):\n  File "/w/a.py", line 1, in '
        f"f\nOSError: host\nstep 10 loss 2.0\nstep 20 loss 1.9\n{FAILED}"
    )
    assert found.primary is None


def test_a_cascade_names_no_cause() -> None:
    found = answer(
        f'##[group]Run launch\n##[endgroup]\nTraceback (most recent call last):\n  File "/w/a.py", line 1, in '
        f"f\nsubprocess.CalledProcessError: Command x returned non-zero exit status 1.\n{FAILED}"
    )
    assert found.primary is None
    assert decide(found).category is Category.INCONCLUSIVE
    assert [candidate.strength for candidate in found.consequences] == [Strength.CASCADE]


def test_the_environment_stands_before_its_symptom() -> None:
    text = (
        f'##[group]Run eval\n##[endgroup]\nfetch failed with 503\nTraceback (most recent call last):\n  File "/w/a.py", line 1, in '
        f"f\nFileNotFoundError: [Errno 2] No such file or directory: 'x'\n{FAILED}"
    )
    found = answer(text, ("503", "download_failed", {"family": "network"}))
    assert found.primary is not None
    assert found.primary.signature == "download_failed"
    other = answer(
        text.replace("FileNotFoundError: [Errno 2] No such file or directory: 'x'", "TypeError: no"),
        ("503", "download_failed", {"family": "network"}),
    )
    assert other.primary is not None
    assert other.primary.signature in ("download_failed", "type_error")


def test_hardware_stands_above_errors_of_the_device() -> None:
    found = answer(
        f"##[group]Run train\n##[endgroup]\nCUDA error: unspecified\n{FAILED}\n##[group]Run dmesg\n##[endgroup]\nNVRM: Xid (PCI:0000:bb:00): "
        f"79, pid=1, GPU has fallen off the bus",
        ("CUDA error", "cuda_launch_failure", {"category": "correctness"}),
        ("NVRM", "gpu_xid", {}),
    )
    assert found.primary is not None
    assert found.primary.strength is Strength.CONFIRMED
    assert found.primary.category is Category.INFRA_RUNTIME


def test_an_application_xid_is_no_hardware() -> None:
    found = answer(
        f"##[group]Run train\n##[endgroup]\nCUDA error: illegal access\n{FAILED}\n##[group]Run dmesg\n##[endgroup]\nNVRM: Xid "
        f"(PCI:0000:bb:00): 31, pid=1, MMU fault",
        ("CUDA error", "cuda_illegal_memory_access", {"category": "correctness"}),
        ("NVRM", "gpu_xid", {}),
    )
    assert found.primary is not None
    assert found.primary.category is Category.CORRECTNESS


def test_a_loss_that_is_no_number_explains_the_gate_after_it() -> None:
    steps = "\n".join(f"step {number} loss {2 - number / 100:.2f}" for number in range(1, 15))
    found = answer(
        f"##[group]Run train\n##[endgroup]\n{steps}\nstep 15 loss nan\nstep 16 loss nan\nhealth gate: loss is not finite\n{FAILED}"
    )
    assert found.primary is not None
    assert found.primary.line.text == "step 15 loss nan"
    assert decide(found).decision is Decision.BLOCK


def test_data_that_are_no_numbers_before_any_finite_loss_are_the_cause() -> None:
    found = answer(
        f"##[group]Run train\n##[endgroup]\ncolumn temp: 3 non-finite values\nstep 1 loss nan\nstep 2 loss nan\nERROR: diverged\n{FAILED}"
    )
    assert found.primary is not None
    assert found.primary.category is Category.DATA_CONFIG
    assert "non-finite" in found.primary.line.text


def test_a_nan_that_passed_is_no_cause() -> None:
    found = answer(
        f"##[group]Run train\n##[endgroup]\nstep 1 loss 2.0\nstep 2 loss nan\nstep 3 loss 1.9\nstep 4 loss 1.8\npeak memory 12 GiB > budget 11 GiB\n{FAILED}"
    )
    assert found.primary is not None
    assert found.primary.category is Category.METRIC_POLICY


def test_a_limit_that_ended_steady_work_and_one_that_ended_a_silence() -> None:
    steps = [f"iteration {number} loss 2.1" for number in range(1, 12)]
    text = "\n".join(
        [
            "##[group]Run train",
            "##[endgroup]",
            *steps,
            "timeout: sending signal TERM to command 'python'",
            "##[error]Process completed with exit code 124.",
        ]
    )
    (steady,) = select(Scene(reading(lines(text, time=1000.0))))
    assert decide(steady).category is Category.METRIC_POLICY
    assert decide(steady).decision is Decision.FIX_CONFIG
    rows = list(lines(text, time=1000.0))
    late = rows[-2:]
    silent = tuple(rows[:-2]) + tuple(
        type(row)(row.source, row.number, row.raw, row.text, 5000.0, row.stream, row.kinds) for row in late
    )
    (hung,) = select(Scene(reading(silent)))
    assert decide(hung).category is Category.INCONCLUSIVE


def test_two_gates_the_model_before_the_clock() -> None:
    found = answer(
        f"##[group]Run gate\n##[endgroup]\n[FAIL] throughput 90 < floor 100\n[FAIL] accuracy 0.70 < floor 0.80\n{FAILED}"
    )
    assert found.primary is not None
    assert found.primary.category is Category.ML_REGRESSION
    assert [other.category for other in found.others] == [Category.METRIC_POLICY]


def test_nothing_said_is_inconclusive() -> None:
    found = answer(f"##[group]Run train\n##[endgroup]\ntraining, output goes to train.log\n{FAILED}")
    assert (found.state, found.primary) == (State.FAILED, None)
    assert decide(found).decision is Decision.NEED_EVIDENCE


def test_no_logs_at_all() -> None:
    assert select(Scene(Reading((), (), ()))) == ()
