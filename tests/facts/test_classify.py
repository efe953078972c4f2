"""Kinds and places by path alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.facts.classify import is_docs_path, is_example_path, is_test_path, is_vendored_path, kind_of
from audit.facts.kinds import Kind

CASES = {
    Kind.PYTHON: (
        "train.py src/pkg/__init__.py tool.pyw requirements.py license_utils.py credentials.py environment.py"
    ),
    Kind.NOTEBOOK: "demo.ipynb Colab/A.IPYNB",
    Kind.REQUIREMENTS: (
        "requirements.txt requirement.txt requirements-dev.txt requirements_gpu.txt dev-"
        "requirements.txt test_requirements.txt requirements.in requirements/base.txt "
        "requirements/gpu.in requirements.lock reqs.txt req.txt constraints.txt constraints-cpu.txt "
        "a/b/requirements.txt requirments.txt Requirements.txt requirements requirements2.txt "
        "requirements.cpu.txt devrequirements.txt .github/analytics/requirements.txt "
        "docs/requirements.txt dependencies.txt requirements/pytorch/extra.txt"
    ),
    Kind.PYPROJECT: "pyproject.toml sub/pyproject.toml",
    Kind.SETUP_PY: "setup.py pkg/setup.py",
    Kind.SETUP_CFG: "setup.cfg",
    Kind.PIPFILE: "Pipfile",
    Kind.CONDA: (
        "environment.yml environment.yaml environment-gpu.yml conda.yml conda_env.yml env.yaml "
        "envs/env_gpu.yml docs/conda_env.yml ldm_environment.yaml my_env.yml"
    ),
    Kind.LOCK: (
        "uv.lock poetry.lock pdm.lock Pipfile.lock pylock.toml pylock.gpu.toml conda-lock.yml conda-"
        "lock-gpu.yml pixi.lock sub/uv.lock conda-linux-64.lock"
    ),
    Kind.PYTHON_VERSION: ".python-version runtime.txt .tool-versions",
    Kind.YAML: (
        "config.yaml conf/model/base.yml tasks/_default_template_yaml configs/env.yaml "
        "conf/environment.yaml params.yaml MLproject requirements.yaml action.yml"
    ),
    Kind.JSON: "ds_config.json configs/model.JSON license.json",
    Kind.TOML: "config.toml .streamlit/secrets.toml",
    Kind.INI: "pytest.ini yolov3.cfg configs/base.gin .gitmodules .dvc/config accelerate.conf",
    Kind.SHELL: "run.sh scripts/a.bash job.slurm job.sbatch job.pbs x.zsh",
    Kind.MAKEFILE: "Makefile makefile GNUmakefile rules.mk Makefile.gpu",
    Kind.DOCKERFILE: (
        "Dockerfile Dockerfile.gpu docker/Dockerfile-cpu gpu.dockerfile .gitpod.Dockerfile "
        "Containerfile Singularity Singularity.v1 image.def .devcontainer/devcontainer.json"
    ),
    Kind.COMPOSE: ("docker-compose.yml docker/docker-compose.gpu.yaml compose.yaml compose.override.yml"),
    Kind.CI: (
        ".github/workflows/ci.yml .github/actions/setup/action.yml .gitlab-ci.yml .circleci/config.yml "
        "azure-pipelines.yml .azure-pipelines/gpu.yml Jenkinsfile .travis.yml tox.ini noxfile.py "
        ".buildkite/pipeline.yml ci/azure-pipelines-gpu.yml"
    ),
    Kind.DOCS: (
        "README README.md README.zh.md INSTALL INSTALL.txt docs/usage.txt guide.rst docs/x.mdx "
        "CHANGELOG Dockerfile.md"
    ),
    Kind.LICENSE: (
        "LICENSE LICENSE.md LICENCE COPYING COPYING.LESSER UNLICENSE LICENSE-MIT MODEL_LICENSE "
        "third_party/x/LICENSE.txt LICENSES/MIT.txt LICENSE.Apache"
    ),
    Kind.CITATION: "CITATION.cff CITATION CITATION.bib codemeta.json .zenodo.json",
    Kind.DVC: "dvc.yaml dvc.lock data/train.csv.dvc",
    Kind.GIT_ATTRIBUTES: ".gitattributes data/.gitattributes",
    Kind.GIT_IGNORE: ".gitignore .dockerignore .dvcignore",
    Kind.ENV_FILE: ".env .env.example .env.local prod.env .envrc prod.env.sample",
    Kind.KEY_FILE: (
        "server.pem deploy.key id_rsa id_ed25519_ci credentials credentials.json .netrc .npmrc .pypirc "
        "a/b.p12 c.jks"
    ),
    Kind.TEXT: (
        "run notes.txt VERSION justfile .bashrc .github/dependabot.yml sub/.github/workflows/ci.yml "
        "mkdocs.yml model.tf NOTICE config.yaml.template"
    ),
    Kind.OTHER: (
        "Cargo.lock yarn.lock data.jsonl image.png x.pyi CMakeLists.txt weights.bin id_rsa.pub a.csv "
        "license.png"
    ),
}


@pytest.mark.parametrize(
    ("path", "kind"), [(path, kind) for kind, paths in CASES.items() for path in paths.split()]
)
def test_kind(path: str, kind: Kind) -> None:
    assert kind_of(path) is kind


def test_places() -> None:
    tests = ["tests/a.py", "pkg/tests/data/x.json", "src/test_model.py", "src/model_test.py", "conftest.py"]
    assert [
        path for path in [*tests, "test.py", "attest.py", "latest/x.py", "contest.py"] if is_test_path(path)
    ] == tests
    vendored = [
        "third_party/apex/setup.py",
        "x/node_modules/y.js",
        "a/site-packages/b.py",
        "vendor/z.py",
        "a.egg-info/PKG-INFO",
    ]
    assert [
        path for path in [*vendored, "vendor.py", "env/cartpole.py"] if is_vendored_path(path)
    ] == vendored
    docs = ["docs/conf.py", "docs_nnx/x.py", "README.md", "sub/guide.rst"]
    assert [path for path in [*docs, "src/docs.py", "documents/x.py"] if is_docs_path(path)] == docs
    examples = ["examples/a.py", "x/tutorials/b.ipynb", "demo.py", "example_usage.py"]
    assert [
        path for path in [*examples, "src/demonstrate.py", "data/samples/x.txt"] if is_example_path(path)
    ] == examples


@given(st.text(max_size=300))
def test_never_raises(path: str) -> None:
    assert isinstance(kind_of(path), Kind)
    for place in (is_test_path, is_docs_path, is_vendored_path, is_example_path):
        assert place(path) in (True, False)


@pytest.mark.parametrize(
    "name", ["requirements-" * 20_000 + ".txt!", "env_" * 50_000 + ".yml", "." * 100_000, "/" * 100_000]
)
def test_long_names_are_bounded(name: str) -> None:
    assert isinstance(kind_of(name), Kind)
