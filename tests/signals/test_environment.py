"""Manifests, locks, Python versions, critical packages and containers."""

import pytest

from audit.documents.signals import CriticalDependency
from audit.signals.environment import (
    container,
    critical_dependencies,
    dependency_manifest,
    lockfile,
    python_version,
)
from tests.signals.building import build

TRAIN = "import numpy as np\nimport torch\nfrom transformers import AutoModel\n"
EXACT = "numpy==1.26.4\ntorch==2.4.1\ntransformers==4.44.0\n"
BASE = "numpy==1.26.4\ntransformers==4.44.0\n"
CLASSIFIED = (
    "from setuptools import setup\nsetup(name='x', classifiers=['Programming Language :: Python :: 3.7'])\n"
)
PROJECT = '[project]\nname = "thing"\nrequires-python = ">=3.10"\ndependencies = ["torch>=2"]\n'
UV = 'version = 1\nrequires-python = ">=3.10"\n\n[[package]]\nname = "torch"\nversion = "2.4.1"\nsource = { registry = "x" }\n'


def test_manifests_of_the_code_alone() -> None:
    files = {
        "requirements.txt": "torch\n",
        "pyproject.toml": PROJECT,
        "docs/requirements.txt": "sphinx\n",
        "third_party/x/setup.py": "from setuptools import setup\nsetup(install_requires=['a'])\n",
    }
    assert dependency_manifest(build(files)).value == ("pyproject.toml", "requirements.txt")
    assert dependency_manifest(build({"pyproject.toml": "[tool.black]\nline-length = 99\n"})).value == ()


@pytest.mark.parametrize(
    ("files", "value"),
    [
        ({"uv.lock": UV, "pyproject.toml": PROJECT, "train.py": TRAIN}, "full"),
        ({"requirements.txt": EXACT, "train.py": TRAIN}, "full"),
        ({"requirements.txt": "-r base.txt\ntorch==2.4.1\n", "base.txt": "", "train.py": TRAIN}, "partial"),
        ({"requirements/base.txt": BASE, "requirements.txt": "-r requirements/base.txt\ntorch==2.4.1\n", "train.py": TRAIN}, "full"),
        ({"requirements.txt": EXACT.replace("torch==2.4.1\n", ""), "train.py": TRAIN}, "partial"),
        ({"requirements.txt": EXACT + "tqdm\n", "train.py": TRAIN}, "partial"),
        ({"requirements.txt": "numpy\ntorch\ntransformers==4.44.0\n", "train.py": TRAIN}, "none"),
        ({"helper/uv.lock": UV, "helper/pyproject.toml": PROJECT, "train.py": TRAIN}, "partial"),
        ({"dvc.lock": "schema: '2.0'\n", "rust/Cargo.lock": "version = 3\n", "train.py": TRAIN}, "none"),
        ({"requirements-dev.txt": "pytest==8.0.0\n", "train.py": "import argparse\n"}, "none"),
        ({"docs/requirements.txt": "sphinx==7.0.0\n", "train.py": "import argparse\n"}, "none"),
        ({"requirements/doctests.txt": "pytest==8.0.0\n", "requirements.txt": "torch\n", "train.py": TRAIN}, "none"),
        ({"requirements/triton.txt": "triton==3.0.0\n", "requirements.txt": "torch\nnumpy\n", "train.py": TRAIN}, "none"),
        ({"train.py": TRAIN}, "none"),
        ({"src/requirements.txt": EXACT, "src/train.py": TRAIN}, "full"),
        ({"sub/requirements.txt": EXACT, "sub/train.py": TRAIN, "requirements.txt": "torch\n"}, "partial"),
        ({"requirements.txt": EXACT + "-e .\n-e ./plugin\n", "train.py": TRAIN}, "full"),
        ({"requirements/lock.txt": EXACT, "train.py": TRAIN, "setup.py": "from setuptools import setup\nsetup(install_requires=['torch'])\n"}, "full"),
    ],
)  # fmt: skip
def test_lockfile(files: dict[str, str], value: str) -> None:
    assert lockfile(build(files)).value == value


def test_a_full_conda_export_is_a_lock() -> None:
    export = """\
    name: x
    channels: [pytorch]
    dependencies:
      - numpy=1.26.4=py310h5f9d8c6_0
      - pytorch=2.1.2=py3.10_cuda12.1_cudnn8.9.2_0
      - python=3.10.13=h955ad1f_0
      - pip:
        - transformers==4.44.0
    """
    assert lockfile(build({"environment.yml": export, "train.py": TRAIN})).value == "full"


@pytest.mark.parametrize(
    ("files", "value"),
    [
        ({"pyproject.toml": PROJECT, ".python-version": "3.11\n"}, ">=3.10"),
        ({".python-version": "3.11\n"}, "3.11"),
        ({"setup.py": "from setuptools import setup\nsetup(name='x', python_requires='>=3.8')\n"}, ">=3.8"),
        ({"README.md": "Needs Python 3.9.\n", "setup.py": CLASSIFIED}, None),
        ({"third_party/x/setup.py": "from setuptools import setup\nsetup(python_requires='>=3.8')\n"}, None),
        ({"Dockerfile": "FROM python:3.10\n"}, None),
        ({"environment.yml": "name: x\ndependencies:\n  - python=3.8.5\n  - numpy\n"}, "3.8.5"),
        ({"environment.yml": "name: x\ndependencies:\n  - python=3.8.18=h955ad1f_0\n  - numpy\n"}, "3.8.18"),
        ({"environment.yml": "name: x\ndependencies:\n  - python>=3.8\n  - numpy\n"}, ">=3.8"),
    ],
)  # fmt: skip
def test_python_version(files: dict[str, str], value: str | None) -> None:
    assert python_version(build(files)).value == value


def test_critical_dependencies_by_declaration() -> None:
    files = {
        "requirements.txt": "transformers==4.44.0\ndatasets>=2\ntqdm==4.0\npeft @ git+https://github.com/huggingface/peft@" + "a" * 40 + "\n",
        "Dockerfile": "FROM python:3.10\nRUN pip install vllm==0.5.0\n",
        "train.py": TRAIN + "import wandb\n",
    }  # fmt: skip
    found = critical_dependencies(build(files)).value
    assert found == {
        "datasets": CriticalDependency(">=2", False),
        "numpy": CriticalDependency("imported, not declared", False),
        "peft": CriticalDependency("commit aaaaaaaaaaaa", True),
        "torch": CriticalDependency("imported, not declared", False),
        "transformers": CriticalDependency("==4.44.0", True),
        "vllm": CriticalDependency("==0.5.0, Dockerfile", True),
    }


def test_a_range_with_a_lock_is_locked_and_not_exact() -> None:
    found = critical_dependencies(build({"pyproject.toml": PROJECT, "uv.lock": UV})).value
    assert found["torch"] == CriticalDependency(">=2", False, "2.4.1")


def test_several_manifests_are_all_told() -> None:
    files = {
        "requirements.txt": "torch==2.4.1\n",
        "pyproject.toml": PROJECT,
        "eval/requirements.txt": "torch\nopenai==1.0\n",
    }
    found = critical_dependencies(build(files)).value
    assert found["torch"].exact is False
    assert (
        found["torch"].declared
        == ">=2 (pyproject.toml); ==2.4.1 (requirements.txt); unversioned (eval/requirements.txt)"
    )
    assert found["openai"] == CriticalDependency("==1.0", True)


def test_notebooks_count_where_there_is_nothing_else() -> None:
    cell = '{"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": ["import torch"]}'
    notebook = '{"cells": [' + cell + '], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    assert "torch" in critical_dependencies(build({"a.ipynb": notebook})).value
    assert "torch" not in critical_dependencies(build({"a.ipynb": notebook, "b.py": "import numpy\n"})).value


def test_what_is_the_repository_itself_is_no_dependency() -> None:
    files = {
        "pyproject.toml": '[project]\nname = "trl"\ndependencies = []\n',
        "trl/__init__.py": "",
        "trl/a.py": "import trl\n",
        "evaluate.py": "",
        "run.py": "import evaluate\n",
        "tests/test_a.py": "import scipy\n",
    }
    assert critical_dependencies(build(files)).value == {}


def test_a_base_image_brings_packages() -> None:
    found = critical_dependencies(build({"Dockerfile": "FROM pytorch/pytorch:latest\n"})).value
    assert found["torch"] == CriticalDependency("pytorch/pytorch:latest, base image", False)
    found = critical_dependencies(
        build({"Dockerfile": "FROM pytorch/pytorch@sha256:" + "0" * 64 + "\n"})
    ).value
    assert found["torch"].exact is True


def test_import_names_that_differ_from_distributions() -> None:
    files = {
        "requirements.txt": "scikit-learn==1.5\nlm_eval==0.4.2\n",
        "a.py": "import sklearn\nimport lm_eval\nfrom google import genai\n",
    }
    found = critical_dependencies(build(files)).value
    assert {name: each.exact for name, each in found.items()} == {
        "google-genai": False,
        "lm-eval": True,
        "scikit-learn": True,
    }


@pytest.mark.parametrize(
    ("files", "value"),
    [
        ({"docker/Dockerfile": "FROM python:3.10\n"}, True),
        ({".devcontainer/devcontainer.json": '{"image": "x/y:1"}'}, True),
        ({"third_party/x/Dockerfile": "FROM python\n"}, False),
        ({"macros.def": "some text\n"}, False),
        ({"README.md": "docker run x\n"}, False),
    ],
)
def test_container(files: dict[str, str], value: bool) -> None:
    assert container(build(files)).value is value
