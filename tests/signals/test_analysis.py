"""The report's plain answers."""

from types import SimpleNamespace
from typing import Any, cast

from audit.documents.report import Analysis, Patterns, Quality
from audit.documents.signals import CriticalDependency, Signal, Signals
from audit.signals.analysis import analysis, patterns, quality
from tests.signals.building import build


def _signals(**values: Any) -> Signals:
    """Only the answers that are asked for."""
    return cast(Signals, SimpleNamespace(**{name: Signal(value) for name, value in values.items()}))


def test_analysis() -> None:
    signals = _signals(readme=True, license=None, tests=False, benchmarks=True)
    files = {
        "pyproject.toml": "[tool.black]\n",
        "requirements.txt": "torch\n",
        "docs/requirements.txt": "sphinx\n",
        "examples/a.py": "x = 1\n",
        ".github/workflows/ci.yml": "on: push\njobs: {a: {runs-on: x, steps: [{run: pytest}]}}\n",
        "DATASET.md": "# Data\n",
    }
    found = analysis(build(files), signals)
    assert found == Analysis(
        has_readme=True,
        has_license=False,
        has_pyproject=True,
        has_requirements=True,
        has_tests=False,
        has_examples=True,
        has_ci=True,
        has_benchmarks=True,
        has_dataset_docs=True,
    )
    bare = analysis(
        build({"tox.ini": "[tox]\n", "docs/requirements.txt": "sphinx\n", "third_party/x/examples/a.py": ""}),
        signals,
    )
    assert (
        bare.has_ci,
        bare.has_requirements,
        bare.has_examples,
        bare.has_pyproject,
        bare.has_dataset_docs,
    ) == (False,) * 5


def test_quality() -> None:
    pinned = {"torch": CriticalDependency("==2.4", True), "numpy": CriticalDependency(">=1", False, "1.26")}
    signals = _signals(
        lockfile="none", critical_dependencies=pinned, seed_control=("torch",), training_loop="raw_torch"
    )
    assert quality(build({"configs/a.yaml": "lr: 1\n"}), signals) == Quality(True, True, True, True)
    signals = _signals(
        lockfile="partial",
        critical_dependencies={"torch": CriticalDependency("unversioned", False)},
        seed_control=(),
        training_loop="none",
    )
    assert quality(build({"data.json": "{}\n", ".github/labels.yml": "a: 1\n"}), signals) == Quality(
        False, False, False, False
    )


def test_nothing_critical_is_not_pinned() -> None:
    signals = _signals(lockfile="none", critical_dependencies={}, seed_control=(), training_loop="none")
    assert quality(build({}), signals).has_pinned_dependencies is False


def test_patterns() -> None:
    signals = _signals(frameworks=("torch", "jax"), distributed=("ddp",), all_reduce=False)
    assert patterns(signals) == Patterns(True, False, True, True, False, True)
    signals = _signals(frameworks=("tensorflow",), distributed=("pmap",), all_reduce=True)
    assert patterns(signals) == Patterns(False, True, False, True, True, False)
