"""Tests, CI and benchmarks."""

import pytest

from audit.signals import testing
from audit.signals.testing import benchmarks, ci_tests
from audit.signals.training_path import TrainingPath
from tests.signals.building import build

TRAIN = """\
import torch

def main():
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.zeros(1)).sum()
        loss.backward()
        optimizer.step()

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_a.py", "def test_a():\n    assert True\n"),
        (
            "pkg/a_test.py",
            "from absl.testing import absltest\nclass ATest(absltest.TestCase):\n    def test_a(self): ...\n",
        ),
        ("test_all.py", "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): ...\n"),
        ("tests/test_b.py", "import pytest\n@pytest.mark.parametrize('a', [1])\ndef test_b(a): ...\n"),
        ("tests/test_c.py", "def test_c(tmp_path, monkeypatch): ...\n"),
        (
            "tests/test_2.py",
            "import unittest\nprint 'python 2'\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n",
        ),
        ("tests/test_d.py", "class TestD:\n    def test_d(self): ...\n"),
        ("tests/cases.py", "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): ...\n"),
    ],
)
def test_tests(path: str, text: str) -> None:
    found = testing.tests(build({path: text}))
    assert found.value is True
    assert found.evidence[0].path == path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test.py", "def test(model, loader):\n    return 0\n"),
        ("test.py", "def test():\n    return 0\nif __name__ == '__main__':\n    test()\n"),
        ("test_net.py", "def test_net(net, imdb):\n    return 0\n"),
        ("test_net.py", "def test_net(net, imdb):\n    print 'python 2'\n"),
        ("envs/tasks_test.py", "TASKS_TEST = [1, 2]\n"),
        ("third_party/x/tests/test_a.py", "def test_a(): ...\n"),
        ("tests/data.py", "def test_split(): ...\n"),
        ("model.py", "class A:\n    def test_step(self): ...\n"),
        ("data/test.txt", "test\n"),
    ],
)
def test_no_tests(path: str, text: str) -> None:
    assert testing.tests(build({path: text})).value is False


def test_fixtures_of_the_repository() -> None:
    files = {
        "tests/conftest.py": "import pytest\n@pytest.fixture\ndef net(): ...\n",
        "test_net.py": "def test_net(net): ...\n",
    }
    assert testing.tests(build(files)).value is True


def _ci(step: str, extra: dict[str, str] | None = None, path: str = ".github/workflows/ci.yml") -> bool:
    lines = "\n".join(f"          {line}" for line in step.splitlines())
    workflow = f"on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: |\n{lines}\n"
    repository = build({path: workflow, "train.py": TRAIN, **(extra or {})})
    return ci_tests(repository, TrainingPath(repository)).value


@pytest.mark.parametrize(
    "step",
    [
        "pytest tests",
        "python -m pytest -q",
        "python -m unittest discover",
        "coverage run -m pytest",
        "uv run pytest",
        "poetry run pytest",
        "tox -e py310",
        "nox -s tests",
        "make test",
        "hatch run test",
        "python train.py --smoke",
        "torchrun --nproc_per_node 2 train.py",
        "python setup.py test",
        "docker run image pytest",
        "dvc repro",
    ],
)
def test_ci_runs_tests(step: str) -> None:
    assert _ci(step) is True


@pytest.mark.parametrize(
    "step",
    [
        "flake8 .",
        "pre-commit run --all-files",
        "python -c 'import torch'",
        "python -m build --wheel",
        "make lint",
        "make docs",
        "tox -e lint",
        "nox -s docs",
        "npm test",
        "pytest --collect-only",
        "python -m pytest --quiet --co tests | head -n -2",
        "pytest --check-links README.md",
        "python train.py --help",
        "pip install pytest",
        "mypy tests",
        "cml comment create report.md",
        "pytest third_party/lib/tests",
        "python setup.py sdist",
    ],
)
def test_ci_does_other_things(step: str) -> None:
    assert _ci(step) is False


def test_ci_through_scripts_and_makefiles() -> None:
    makefile = "test: deps\n\tflake8\ncheck: unit\nunit:\n\tpytest tests\ndeps:\n\tpip install x\n"
    assert _ci("make check", {"Makefile": makefile}) is True
    assert _ci("make test", {"Makefile": makefile}) is False
    assert _ci("bash tests/run_all.sh", {"tests/run_all.sh": "set -e\npytest tests\n"}) is True
    assert (
        _ci("./run_examples.sh", {"run_examples.sh": "function a() {\n  python train.py --epochs 1\n}\na\n"})
        is True
    )
    assert _ci("bash scripts/lint.sh", {"scripts/lint.sh": "black .\n"}) is False
    assert _ci("bash a.sh", {"a.sh": "bash b.sh\n", "b.sh": "bash a.sh\n"}) is False


def test_ci_with_runners_in_variables() -> None:
    assert _ci("make test", {"Makefile": "test:\n\tA=b $(RUN) pytest -vv tests\n"}) is True
    assert _ci("make test", {"Makefile": "test:\n\t$(PYTEST) tests\n"}) is True
    assert _ci("make test", {"Makefile": "test:\n\t$(POETRY) run pytest\n"}) is True
    assert _ci("make test", {"Makefile": "test:\n\t$(RUFF) check tests\n"}) is False


def test_ci_helpers_among_the_tests_are_none() -> None:
    assert _ci("python tests/check_license.py src", {"tests/check_license.py": "print(1)\n"}) is False
    assert _ci("python tests/test_a.py", {"tests/test_a.py": "print(1)\n"}) is True
    assert _ci("python run_tests.py", {"run_tests.py": "print(1)\n"}) is True


def test_ci_of_tox_follows_its_environments() -> None:
    tox = "[tox]\nenvlist = py310, lint\n[testenv]\ncommands = pytest {posargs}\n[testenv:lint]\ncommands = flake8\n"
    assert _ci("tox -e py310", {"tox.ini": tox}) is True
    assert _ci("tox -e lint", {"tox.ini": tox}) is False
    assert _ci("tox", {"tox.ini": tox}) is True
    assert _ci("echo hello", {"tox.ini": tox}) is False


def test_ci_of_a_copy_does_not_count() -> None:
    assert _ci("pytest", path="third_party/lib/.github/workflows/ci.yml") is False
    assert _ci("pytest", path="lib/.github/workflows/ci.yml") is False


@pytest.mark.parametrize(
    "path",
    [
        "bench.py",
        "benchmark.py",
        "benchmarks/run.py",
        "benchmark/ppo.sh",
        "scripts/benchmark_e2b.py",
        "tools/attention_bench.py",
        "pkg/inference_time.py",
        "asv.conf.json",
    ],
)
def test_benchmarks(path: str) -> None:
    found = benchmarks(build({path: "x\n"}))
    assert found.value is True
    assert found.evidence[0].path == path


@pytest.mark.parametrize(
    "path",
    [
        "data/bench2.png",
        "tau_bench/run.py",
        "eval/mt_bench.py",
        "tasks/longbench/utils.py",
        "configs/benchmark.yaml",
        "notebooks/benchmarks.csv",
        "docs/benchmark.md",
        "third_party/lib/benchmarks/a.py",
        "workbench.py",
        "src/data/benchmark.py",
        "tasks/slr_bench/lm_slr_bench.py",
        "scripts/build_benchmark.py",
        "models/latency.py",
    ],
)
def test_no_benchmarks(path: str) -> None:
    assert benchmarks(build({path: "x = 1\n"})).value is False


def test_cudnn_benchmark_is_none() -> None:
    assert (
        benchmarks(build({"train.py": "import torch\ntorch.backends.cudnn.benchmark = True\n"})).value
        is False
    )


def test_measuring_code() -> None:
    assert benchmarks(build({"speed.py": "import torch.utils.benchmark as b\n"})).value is True
    assert benchmarks(build({"tests/test_speed.py": "def test_speed(benchmark): ...\n"})).value is True
