import pytest

from audit.documents.finding import Edit, Severity, Status
from audit.documents.place import Place
from audit.documents.signals import CriticalDependency, Signal
from audit.facts.model import DocsFacts, Requirement
from audit.rules.environment import RULES
from tests.rules.factory import bodies, context, failures, outcomes, pinned, status, unpinned

TORCH = {"train.py": "import torch\nimport numpy as np\n\nif __name__ == '__main__':\n    print(torch, np)\n"}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


# Manifest and lock


def test_a_manifest() -> None:
    given = context({**TORCH, "requirements.txt": "torch\n"}, dependency_manifest=("requirements.txt",))
    assert status("environment.manifest", given) is Status.PASS


def test_imports_without_any_manifest() -> None:
    (outcome,) = outcomes("environment.manifest", context(TORCH))
    assert outcome.message == "Nothing declares the packages that the code imports: numpy and torch."
    assert (outcome.severity, outcome.evidence[0]) == (Severity.CRITICAL, Place("train.py", 2))


def test_install_commands_in_documents_are_less_than_a_manifest() -> None:
    facts = DocsFacts(requirements=(Requirement("torch", "", False, 4, source="readme"),))
    (outcome,) = outcomes(
        "environment.manifest", bodies(context({**TORCH, "README.md": "x"}), facts={"README.md": facts})
    )
    assert outcome.severity is None
    assert outcome.message.endswith("install commands stand only in README.md.")


def test_a_readme_that_installs_the_project_itself_declares_nothing() -> None:
    facts = DocsFacts(requirements=(Requirement("project", "", False, 4, source="readme"),))
    (outcome,) = outcomes(
        "environment.manifest", bodies(context({**TORCH, "README.md": "x"}), facts={"README.md": facts})
    )
    assert outcome.severity is Severity.CRITICAL


def test_no_manifest_costs_at_least_what_loose_ones_can_cost() -> None:
    points = {each.id: each.points for each in RULES}
    loose = (
        "environment.lock",
        "environment.critical_pinned",
        "environment.undeclared_imports",
        "environment.vcs_commit",
    )
    assert points["environment.manifest"] >= sum(points[each] for each in loose)


def test_the_standard_library_needs_no_manifest() -> None:
    code = "import os, json, cPickle\nfrom __future__ import print_function\nimport helpers\n"
    given = context({"main.py": code, "helpers.py": ""})
    assert status("environment.manifest", given) is Status.NOT_APPLICABLE
    assert status("environment.manifest", context({"README.md": "x"})) is Status.NOT_APPLICABLE


def test_locks() -> None:
    declared = {"dependency_manifest": ("requirements.txt",)}
    assert status("environment.lock", context(lockfile="full", **declared)) is Status.PASS
    assert failures("environment.lock", context(lockfile="none", **declared)) == [
        "No lock file: installing from requirements.txt gives whatever versions are newest on that day."
    ]
    partial = Signal("partial", (Place("tools/uv.lock"),))
    (outcome,) = outcomes("environment.lock", context(lockfile=partial, **declared))
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.INFO)
    assert status("environment.lock", context()) is Status.NOT_APPLICABLE


# Critical packages


def test_packages_that_one_file_leaves_open_are_one_finding() -> None:
    given = context(
        {
            "requirements.txt": "torch>=2.0\nnumpy\nscipy==1.11.0\n",
            "requirements-eval.txt": "datasets\nnumpy\n",
        },
        critical_dependencies={
            "torch": unpinned(">=2.0"),
            "numpy": unpinned(),
            "scipy": pinned("1.11.0"),
            "datasets": unpinned(),
        },
    )
    evaluation, whole = outcomes("environment.critical_pinned", given)
    assert (
        whole.message
        == "requirements.txt asks for torch>=2.0 and numpy without a version, and no lock file says which versions gave the results."
    )
    assert whole.evidence == (
        Place("requirements.txt", 1, "torch>=2.0"),
        Place("requirements.txt", 2, "numpy without a version"),
    )
    assert whole.fix is not None
    assert (
        whole.fix.text
        == "Write `torch==VERSION` and `numpy==VERSION`, the versions that the results were made with."
    )
    assert evaluation.evidence[0].path == "requirements-eval.txt"
    assert "datasets without a version and numpy without a version" in evaluation.message
    assert (whole.severity, evaluation.severity) == (None, None)


def test_many_manifests_of_one_habit_end_in_one_finding() -> None:
    files = {f"{name}/requirements.txt": "torch\n" for name in "abcdefgh"}
    found = outcomes(
        "environment.critical_pinned", context(files, critical_dependencies={"torch": unpinned()})
    )
    assert len(found) == 6
    assert found[-1].message == "3 further manifests leave the version of torch open as well."
    assert found[-1].evidence == tuple(Place(f"{name}/requirements.txt") for name in "fgh")


def test_a_range_and_a_lock_that_covers_it_are_locked() -> None:
    locked = {"torch": CriticalDependency(">=2.0", exact=False, locked="2.4.1")}
    given = context({"requirements.txt": "torch>=2.0\n"}, critical_dependencies=locked)
    (outcome,) = outcomes("environment.critical_pinned", given)
    assert (outcome.status, outcome.message) == (Status.PASS, "Pinned or locked: torch 2.4.1.")


def test_a_range_in_metadata_with_a_pin_beside_it_is_pinned() -> None:
    files = {
        "setup.py": "from setuptools import setup\nsetup(name='x', install_requires=['torch>=2'])\n",
        "requirements.txt": "torch==2.4.1\n",
    }
    given = context(files, critical_dependencies={"torch": unpinned(">=2; ==2.4.1")})
    assert status("environment.critical_pinned", given) is Status.PASS


def test_a_range_in_metadata_alone_is_a_lesser_matter() -> None:
    files = {"setup.py": "from setuptools import setup\nsetup(name='x', install_requires=['torch>=2'])\n"}
    (outcome,) = outcomes(
        "environment.critical_pinned", context(files, critical_dependencies={"torch": unpinned(">=2")})
    )
    assert outcome.severity is Severity.INFO
    assert outcome.fix is not None and outcome.fix.text.startswith(
        "A range is right for a package's metadata"
    )


def test_lists_of_developers_are_a_lesser_matter() -> None:
    for path in ("requirements/test.txt", "requirements-dev.txt", "dev_requirements.txt"):
        given = context({path: "torch\n"}, critical_dependencies={"torch": unpinned()})
        (outcome,) = outcomes("environment.critical_pinned", given)
        assert (path, outcome.severity) == (path, Severity.INFO)


def test_two_lists_of_which_one_pins() -> None:
    files = {"a/requirements.txt": "torch==2.4.1\n", "requirements.txt": "torch\n"}
    (outcome,) = outcomes(
        "environment.critical_pinned", context(files, critical_dependencies={"torch": unpinned()})
    )
    assert outcome.severity is Severity.INFO
    assert "while a/requirements.txt:1 pins it" in outcome.message


def test_parts_that_lie_side_by_side_have_environments_of_their_own() -> None:
    files = {"a/requirements.txt": "torch==2.4.1\n", "b/requirements.txt": "torch\n"}
    (outcome,) = outcomes(
        "environment.critical_pinned", context(files, critical_dependencies={"torch": unpinned()})
    )
    assert outcome.severity is None
    assert "pins it" not in outcome.message


def test_a_pin_far_below_is_another_environments() -> None:
    files = {"part/requirements.txt": "torch\n", "part/copy/examples/x/requirements.txt": "torch==1.7.0\n"}
    (outcome,) = outcomes(
        "environment.critical_pinned", context(files, critical_dependencies={"torch": unpinned()})
    )
    assert "pins it" not in outcome.message


def test_condas_three_part_version_is_one_version() -> None:
    files = {"environment.yml": "dependencies:\n  - pytorch=1.7.0\n  - numpy=1.19\n"}
    given = context(files, critical_dependencies={"torch": unpinned("=1.7.0"), "numpy": unpinned("=1.19")})
    (outcome,) = outcomes("environment.critical_pinned", given)
    assert outcome.message.startswith("environment.yml:3 asks for numpy=1.19, ")


def test_a_package_that_is_only_imported_is_the_matter_of_another_rule() -> None:
    given = context(TORCH, critical_dependencies={"torch": unpinned("imported, not declared")})
    assert status("environment.critical_pinned", given) is Status.NOT_APPLICABLE
    assert status("environment.critical_pinned", context()) is Status.NOT_APPLICABLE


# Imported but undeclared


def test_an_import_that_no_manifest_declares() -> None:
    files = {**TORCH, "requirements.txt": "numpy\n", "README.md": "x"}
    (outcome,) = outcomes("environment.undeclared_imports", context(files))
    assert outcome.message == "train.py:1 imports torch, which no manifest declares."
    assert (outcome.severity, outcome.evidence, outcome.key) == (None, (Place("train.py", 1),), "torch")


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import einops\nexcept ImportError:\n    einops = None\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import einops\n",
        "from utils import is_einops_available\nif is_einops_available():\n    import einops\n",
        "import os, sys, tomllib\n",
        "import urllib2, ConfigParser\n",
        "import helpers\nfrom lib.deep import thing\n",
        "import pkg_resources, setuptools\nfrom google.colab import drive\n",
        "from google.unheard_of import thing\n",
        "from . import sibling\n",
        "import my_cuda_ext\n",
        "def later():\n    import obscure_extra\n",
    ],
)  # fmt: skip
def test_imports_that_need_no_declaration(code: str) -> None:
    files = {
        "main.py": code + "\nif __name__ == '__main__':\n    print(1)\n",
        "utils.py": "def is_einops_available():\n    return False\n",
        "helpers.py": "",
        "lib/deep/__init__.py": "",
        "csrc/my_cuda_ext.cu": "",
        "requirements.txt": "numpy\n",
    }
    assert failures("environment.undeclared_imports", context(files)) == []


@pytest.mark.parametrize(
    ("code", "declared"),
    [
        ("import sklearn", "scikit-learn"),
        ("import cv2", "opencv-python-headless"),
        ("import yaml", "PyYAML"),
        ("import PIL", "Pillow"),
        ("from google.protobuf import message", "protobuf"),
        ("import flash_attn", "flash_attn"),
        ("import tqdm", "transformers"),
        ("import memcache", "python-memcached"),
        ("import dotenv", "python-dotenv"),
        ("import Bio", "biopython"),
    ],
)
def test_distribution_names_differ_from_import_names(code: str, declared: str) -> None:
    files = {"main.py": f"{code}\nprint(1)\n", "requirements.txt": f"{declared}\n"}
    assert failures("environment.undeclared_imports", context(files)) == []


def test_what_another_package_brings_is_told_together() -> None:
    code = "import numpy\nimport pandas\nimport tqdm\nprint(1)\n"
    (outcome,) = outcomes(
        "environment.undeclared_imports", context({"main.py": code, "requirements.txt": "datasets\n"})
    )
    assert outcome.severity is Severity.INFO
    assert outcome.message == (
        "numpy (main.py, with datasets) and pandas (main.py, with datasets) are imported and not declared; other packages happen to bring them."
    )


def test_a_framework_that_another_package_brings_is_no_small_matter() -> None:
    files = {"main.py": "import torch\nprint(1)\n", "requirements.txt": "accelerate==1.0\n"}
    (outcome,) = outcomes("environment.undeclared_imports", context(files))
    assert outcome.severity is None


def test_imports_of_examples_and_for_single_features_are_told_together() -> None:
    files = {
        "train.py": "import torch\n\ndef quantize():\n    import bitsandbytes\n\nif __name__ == '__main__':\n    quantize()\n",
        "examples/demo.py": "import gradio\nimport spacy\nprint(1)\n",
        "requirements.txt": "torch\n",
    }
    found = outcomes("environment.undeclared_imports", context(files))
    assert [each.message for each in found] == [
        "gradio and spacy are imported by code beside the main path, and no manifest declares them.",
        "bitsandbytes is imported for single features, and no manifest, not even an extra, declares it.",
    ]
    assert all(each.severity is Severity.INFO for each in found)


def test_extras_and_locks_declare_too() -> None:
    files = {
        "main.py": "import wandb\nimport einops\nprint(1)\n",
        "pyproject.toml": "[project]\nname = 'x'\ndependencies = ['numpy']\noptional-dependencies = {log = ['wandb']}\n",
        "uv.lock": "version = 1\n[[package]]\nname = 'einops'\nversion = '0.8.0'\n",
    }
    assert failures("environment.undeclared_imports", context(files)) == []


def test_a_check_of_the_version_is_no_question_whether_it_is_there() -> None:
    code = "from utils import check_torch_version\nimport torch\ncheck_torch_version()\n"
    files = {
        "main.py": code,
        "utils.py": "def check_torch_version():\n    pass\n",
        "requirements.txt": "numpy\n",
    }
    assert failures("environment.undeclared_imports", context(files)) == [
        "main.py:2 imports torch, which no manifest declares."
    ]


def test_an_import_name_that_tells_no_distribution_is_not_turned_into_one() -> None:
    files = {"main.py": "import odd_Ext\nprint(odd_Ext)\n", "requirements.txt": "numpy\n"}
    (outcome,) = outcomes("environment.undeclared_imports", context(files))
    assert outcome.message == "main.py:1 imports odd_Ext, which no manifest declares."
    assert outcome.fix is not None
    assert (
        outcome.fix.text == "Declare what provides `odd_Ext` in the manifest, with the version that was used."
    )


def test_many_undeclared_imports_are_one_finding() -> None:
    names = ["torch", "pandas", "wandb", "timm", "gradio", "spacy"]
    code = "".join(f"import {name}\n" for name in names) + "print(1)\n"
    files = {"main.py": code, "README.md": "```\npython main.py\n```\n", "requirements.txt": "tqdm\n"}
    (outcome,) = outcomes("environment.undeclared_imports", context(files))
    assert outcome.message == (
        "6 packages are imported and no manifest declares them: gradio, pandas, spacy, timm, torch and wandb."
    )
    assert (outcome.key, len(outcome.evidence)) == ("many", 6)


def test_imports_of_a_services_tools_and_of_self_tests_do_not_count() -> None:
    files = {
        "train.py": "import torch\nimport scaler\n\nif __name__ == '__main__':\n    torch.manual_seed(scaler.SEED)\n",
        "scaler.py": "SEED = 1\n\nif __name__ == '__main__':\n    from old_scaler import Scaler\n    print(Scaler)\n",
        ".github/tools/report.py": "import pandas\nprint(pandas)\n",
        "README.md": "```\npython train.py\n```\n",
        "requirements.txt": "torch\n",
    }
    assert failures("environment.undeclared_imports", context(files)) == []


def test_without_manifests_imports_are_not_compared() -> None:
    assert status("environment.undeclared_imports", context(TORCH)) is Status.NOT_APPLICABLE


# Contradictions


def test_versions_that_exclude_each_other() -> None:
    files = {
        "requirements.txt": "torch==2.4.1\n",
        "setup.py": "from setuptools import setup\nsetup(name='x', install_requires=['torch<2'])\n",
    }
    (message,) = failures("environment.declared_twice", context(files))
    assert (
        message
        == "torch is declared twice with versions that exclude each other: torch==2.4.1 (requirements.txt:1) and torch<2 (setup.py:2)."
    )


@pytest.mark.parametrize(
    "files",
    [
        {
            "requirements.txt": "torch==2.4.1\n",
            "setup.py": "from setuptools import setup\nsetup(install_requires=['torch>=2'])\n",
        },
        {"requirements.txt": "torch==2.4.1\n", "requirements-cpu.txt": "torch==2.3.0\n"},
        {"requirements.txt": "torch==2.4.1\n", "old/requirements.txt": "torch==1.0\n"},
        {"requirements.txt": "numpy==1.26; python_version<'3.12'\nnumpy==2.0; python_version>='3.12'\n"},
        {"requirements.txt": "torch==1.7.0\n", "environment.yml": "dependencies:\n  - pytorch=1.7.0\n"},
        {"requirements.txt": "torch==1.7.0\n", "environment.yml": "dependencies:\n  - pytorch=1.7\n"},
        {
            "requirements.txt": "torch==2.4.1+cu121\n",
            "environment.yml": "dependencies:\n  - pip:\n    - torch==2.4.1\n",
        },
    ],
)
def test_versions_that_agree_or_belong_to_different_environments(files: dict[str, str]) -> None:
    assert failures("environment.declared_twice", context(files)) == []


def test_a_contradiction_between_conda_and_pip() -> None:
    files = {"requirements.txt": "torch==2.4.1\n", "environment.yml": "dependencies:\n  - pytorch=1.13\n"}
    assert len(failures("environment.declared_twice", context(files))) == 1
    assert status("environment.declared_twice", context()) is Status.NOT_APPLICABLE


def test_lines_that_are_no_requirements() -> None:
    files = {"requirements.txt": "torch\nnumpy = 1.26\n# a comment\n-r other.txt\n\n"}
    assert failures("environment.invalid_requirements", context(files)) == [
        "requirements.txt:2 is no requirement that pip accepts: 'numpy = 1.26'."
    ]
    assert status("environment.invalid_requirements", context({"requirements.txt": "torch\n"})) is Status.PASS
    assert status("environment.invalid_requirements", context()) is Status.NOT_APPLICABLE


# Python, addresses, indexes, containers


def test_the_python_version() -> None:
    assert status("environment.python_version", context(python_version=">=3.10")) is Status.PASS
    assert failures("environment.python_version", context()) == [
        "No file declares which Python version the code needs."
    ]
    assert status("environment.python_version", context({"README.md": "x"})) is Status.NOT_APPLICABLE


def test_addresses_without_a_commit() -> None:
    text = f"""\
        git+https://github.com/org/loose
        git+https://github.com/org/tagged@v1.2.0
        git+https://github.com/org/pinned@{COMMIT}
        https://github.com/org/moving/archive/main.zip
        git+https://github.com/someone/project
        ./local
        """
    found = outcomes("environment.vcs_commit", context({"requirements.txt": text}))
    assert [(each.key, each.severity) for each in found] == [
        ("loose", None),
        ("tagged", Severity.INFO),
        ("moving", None),
    ]
    assert found[0].message.startswith(
        "requirements.txt:1 installs loose from git+https://github.com/org/loose without a commit"
    )


def test_one_address_in_many_files_is_one_finding() -> None:
    files = {
        "a/requirements.txt": "git+https://github.com/org/logger#egg=logger\n",
        "b/requirements.txt": "logger @ git+https://github.com/org/logger.git\n",
        "c/requirements.txt": "git+ssh://git@github.com/org/logger.git@main\n",
    }
    (outcome,) = outcomes("environment.vcs_commit", context(files))
    assert outcome.message == (
        "a/requirements.txt:1 installs logger from git+https://github.com/org/logger without a commit, "
        "so it is whatever the branch holds on that day, and so do 2 other files."
    )
    assert [each.path for each in outcome.evidence] == list(files)


def test_of_one_address_with_and_without_a_tag_the_worse_is_told() -> None:
    files = {
        "a/requirements.txt": "git+https://github.com/org/x@v1.2.0\n",
        "b/requirements.txt": "git+https://github.com/org/x\n",
    }
    (outcome,) = outcomes("environment.vcs_commit", context(files))
    assert outcome.message.startswith(
        "b/requirements.txt:1 installs x from git+https://github.com/org/x without a commit"
    )


def test_a_version_in_the_name_of_a_branch_or_tag() -> None:
    files = {"requirements.txt": "git+https://github.com/org/core@core_v0.15.0\n"}
    (outcome,) = outcomes("environment.vcs_commit", context(files))
    assert outcome.message.endswith("@core_v0.15.0 by the name of a branch or tag, which can be moved.")


def test_addresses_with_a_commit_and_no_addresses() -> None:
    good = context({"requirements.txt": f"git+https://github.com/org/pinned@{COMMIT}\n"})
    assert status("environment.vcs_commit", good) is Status.PASS
    assert status("environment.vcs_commit", context({"requirements.txt": "torch\n"})) is Status.NOT_APPLICABLE


def test_indexes() -> None:
    text = "--extra-index-url https://pkgs.example.org/simple\n--index-url http://mirror.example.org/simple\ntorch\n"
    first, second = outcomes("environment.package_index", context({"requirements.txt": text}))
    assert "adds the package index pkgs.example.org to the public one" in first.message
    assert "http://mirror.example.org/simple without encryption" in second.message


def test_indexes_of_known_projects_and_folders() -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu121\n-f https://data.pyg.org/whl/x.html\n-f ./wheels\ntorch\n"
    assert status("environment.package_index", context({"requirements.txt": text})) is Status.PASS
    assert status("environment.package_index", context()) is Status.NOT_APPLICABLE


def test_a_script_that_adds_an_index() -> None:
    files = {"install.sh": "pip install --extra-index-url https://pkgs.example.org/simple ours\n"}
    (message,) = failures("environment.package_index", context(files))
    assert message.startswith("install.sh:1 adds the package index pkgs.example.org")


def test_containers() -> None:
    assert status("environment.container", context(container=True)) is Status.PASS
    assert status("environment.container", context()) is Status.FAIL
    assert status("environment.container", context({"README.md": "x"})) is Status.NOT_APPLICABLE


def test_base_images() -> None:
    digest = "a" * 64
    text = f"""\
        FROM pytorch/pytorch:latest AS base
        FROM base AS next
        FROM ubuntu:22.04
        FROM python@sha256:{digest}
        FROM project
        FROM scratch
        """
    found = outcomes("environment.base_image", context({"Dockerfile": text}))
    assert [(each.key, each.severity) for each in found] == [
        ("pytorch/pytorch:latest", Severity.WARNING),
        ("ubuntu:22.04", None),
    ]
    assert (
        found[0].message
        == "Dockerfile:1 builds on pytorch/pytorch:latest, which is another image after each release."
    )


@pytest.mark.parametrize(
    ("image", "moves"),
    [
        ("pytorch/pytorch:nightly-devel-cuda10.0-cudnn7", True),
        ("org/app:main", True),
        ("org/app:main-base", True),
        ("org/app:cuda12-latest", True),
        ("org/app", True),
        ("nvidia/cuda:12.6.3-cudnn-devel-ubuntu22.04", False),
        ("pytorch/pytorch:2.4.1-cuda12.1-cudnn9-devel", False),
        ("nvcr.io/nvidia/pytorch:24.02-py3", False),
        ("python:3.11-slim", False),
    ],
)
def test_tags_that_follow_releases_or_a_branch(image: str, moves: bool) -> None:
    (outcome,) = outcomes("environment.base_image", context({"Dockerfile": f"FROM {image}\n"}))
    assert outcome.severity is (Severity.WARNING if moves else None)


@pytest.mark.parametrize("path", [".gitpod.Dockerfile", ".devcontainer/Dockerfile"])
def test_the_image_of_an_editor_makes_no_results(path: str) -> None:
    (outcome,) = outcomes("environment.base_image", context({path: "FROM gitpod/workspace-full:latest\n"}))
    assert outcome.severity is Severity.INFO


def test_images_by_tag_are_one_finding_and_templates_none() -> None:
    files = {
        "Dockerfile": "FROM python:3.11\n",
        "docker/Dockerfile.dev": "FROM ubuntu:22.04\n",
        "ci/Dockerfile": "FROM org/base:{{ tag }}\n",
    }
    (outcome,) = outcomes("environment.base_image", context(files))
    assert outcome.message.startswith("2 container definitions build on ")
    assert {each.path for each in outcome.evidence} == {"Dockerfile", "docker/Dockerfile.dev"}


def test_base_images_by_digest_and_none() -> None:
    digest = "a" * 64
    assert (
        status("environment.base_image", context({"Dockerfile": f"FROM python:3.11@sha256:{digest}\n"}))
        is Status.PASS
    )
    assert status("environment.base_image", context()) is Status.NOT_APPLICABLE


# Edits that pin --------------------------------------------------------------------------------------------------------

LOCK = "version = 1\n[[package]]\nname = 'torch'\nversion = '2.4.1'\n[[package]]\nname = 'numpy'\nversion = '1.26.4'\n"
LOCKED = {
    "torch": CriticalDependency(">=2.0", exact=False, locked="2.4.1"),
    "numpy": CriticalDependency("", exact=False, locked="1.26.4"),
}


def test_the_advice_names_a_package_as_its_manifest_does() -> None:
    files = {"environment.yml": "name: x\ndependencies:\n  - pytorch>=1.13\n"}
    given = context(files, critical_dependencies={"torch": CriticalDependency(">=1.13", exact=False)})
    (outcome,) = outcomes("environment.critical_pinned", given)
    assert outcome.fix is not None
    assert outcome.fix.text.startswith("Write `pytorch==VERSION`,")


def test_a_list_beside_a_lock_gets_the_versions_of_the_lock() -> None:
    text = "# what we need\ntorch[extra] >=2.0 ; python_version > '3.8'  # the GPU build\nnumpy\n"
    given = context({"requirements.txt": text, "uv.lock": LOCK}, critical_dependencies=LOCKED)
    (outcome,) = outcomes("environment.critical_pinned", given)
    assert outcome.severity is Severity.INFO
    assert outcome.message.endswith(
        "while uv.lock pins them: who installs from requirements.txt gets other versions."
    )
    assert outcome.fix is not None and outcome.fix.safe
    assert outcome.fix.edits == (
        Edit("requirements.txt", 2, 2, "torch[extra]==2.4.1 ; python_version > '3.8'  # the GPU build\n"),
        Edit("requirements.txt", 3, 3, "numpy==1.26.4\n"),
    )


def test_a_list_of_exact_versions_beside_it_is_a_lock_too() -> None:
    open_torch = {"torch": CriticalDependency("", exact=False)}
    files = {"requirements.txt": "torch\n", "requirements.lock": "torch==2.4.1\nfilelock==3.15.4\n"}
    (outcome,) = outcomes("environment.critical_pinned", context(files, critical_dependencies=open_torch))
    assert outcome.fix is not None
    assert outcome.fix.edits == (Edit("requirements.txt", 1, 1, "torch==2.4.1\n"),)
    two = {**files, "constraints.txt": "torch==2.3.0\n"}
    (outcome,) = outcomes("environment.critical_pinned", context(two, critical_dependencies=open_torch))
    assert outcome.fix is not None and not outcome.fix.edits


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "torch>=2.5\n", "uv.lock": LOCK},  # another version than the lock has
        {"requirements.in": "torch\n", "uv.lock": LOCK},  # what a lock is made from
        {"requirements-dev.txt": "torch\n", "uv.lock": LOCK},
        {"requirements.txt": "torch\n", "part/uv.lock": LOCK, "part/pyproject.toml": ""},  # another project's
        {"requirements.txt": "torch\\\n>=2\n", "uv.lock": LOCK},  # not one line
        {"requirements.txt": "torch\n", "uv.lock": LOCK.replace("2.4.1", "2.4.1+cu121")},
        {"requirements.txt": "torch\n", "uv.lock": LOCK.replace("2.4.1", "two")},
        {"requirements.txt": "torch\n", "uv.lock": LOCK, "poetry.lock": LOCK.replace("2.4.1", "2.3.0")},
        {"pyproject.toml": "[project]\nname='x'\ndependencies=['torch>=2']\n", "uv.lock": LOCK},
    ],
)
def test_no_edit_where_it_would_be_a_guess(files) -> None:
    given = context(files, critical_dependencies={"torch": LOCKED["torch"]})
    for outcome in outcomes("environment.critical_pinned", given):
        assert outcome.fix is None or (not outcome.fix.edits and not outcome.fix.safe)


def test_a_line_with_a_credential_is_not_written_anew() -> None:
    secret = "ghp_" + "a1B2" * 9
    files = {"requirements.txt": f"torch  # token {secret}\n", "uv.lock": LOCK}
    given = context(files, critical_dependencies={"torch": LOCKED["torch"]})
    assert not [o for o in outcomes("environment.critical_pinned", given) if o.fix and o.fix.edits]
