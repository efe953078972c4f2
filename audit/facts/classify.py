"""Which extractor a path belongs to, and what kind of place it stands in: from the path alone."""

import re
from typing import Final

from audit.facts.kinds import Kind

# A file's whole name, in lower case.
_NAMES: Final[dict[str, Kind]] = {
    "pyproject.toml": Kind.PYPROJECT,
    "setup.py": Kind.SETUP_PY,
    "__setup__.py": Kind.SETUP_PY,
    "setup.cfg": Kind.SETUP_CFG,
    "pipfile": Kind.PIPFILE,
    "uv.lock": Kind.LOCK,
    "poetry.lock": Kind.LOCK,
    "pdm.lock": Kind.LOCK,
    "pipfile.lock": Kind.LOCK,
    "pixi.lock": Kind.LOCK,
    "pylock.toml": Kind.LOCK,
    ".python-version": Kind.PYTHON_VERSION,
    "runtime.txt": Kind.PYTHON_VERSION,
    ".tool-versions": Kind.PYTHON_VERSION,
    "makefile": Kind.MAKEFILE,
    "gnumakefile": Kind.MAKEFILE,
    "devcontainer.json": Kind.DOCKERFILE,
    ".devcontainer.json": Kind.DOCKERFILE,
    "tox.ini": Kind.CI,
    "noxfile.py": Kind.CI,
    "citation": Kind.CITATION,
    "citation.cff": Kind.CITATION,
    "citation.bib": Kind.CITATION,
    "citation.txt": Kind.CITATION,
    "citation.md": Kind.CITATION,
    "citations.bib": Kind.CITATION,
    "citation.rst": Kind.CITATION,
    "codemeta.json": Kind.CITATION,
    ".zenodo.json": Kind.CITATION,
    "dvc.yaml": Kind.DVC,
    "dvc.lock": Kind.DVC,
    ".gitattributes": Kind.GIT_ATTRIBUTES,
    ".gitignore": Kind.GIT_IGNORE,
    ".dockerignore": Kind.GIT_IGNORE,
    ".dvcignore": Kind.GIT_IGNORE,
    ".env": Kind.ENV_FILE,
    ".envrc": Kind.ENV_FILE,
    ".flaskenv": Kind.ENV_FILE,
    ".netrc": Kind.KEY_FILE,
    "_netrc": Kind.KEY_FILE,
    ".npmrc": Kind.KEY_FILE,
    ".pypirc": Kind.KEY_FILE,
    ".pgpass": Kind.KEY_FILE,
    ".htpasswd": Kind.KEY_FILE,
    ".gitmodules": Kind.INI,
    "mlproject": Kind.YAML,
    # Locks and manifests of other ecosystems say nothing about a Python environment.
    "cargo.lock": Kind.OTHER,
    "cargo.toml": Kind.OTHER,
    "package-lock.json": Kind.OTHER,
    "yarn.lock": Kind.OTHER,
    "composer.lock": Kind.OTHER,
    "gemfile.lock": Kind.OTHER,
    "flake.lock": Kind.OTHER,
    "package.json": Kind.TEXT,
    "tsconfig.json": Kind.TEXT,
    # Settings of tools that touch no experiment: read for secrets alone.
    ".pre-commit-config.yaml": Kind.TEXT,
    ".pre-commit-config.yml": Kind.TEXT,
    ".pre-commit-hooks.yaml": Kind.TEXT,
    "mkdocs.yml": Kind.TEXT,
    "mkdocs.yaml": Kind.TEXT,
    ".readthedocs.yml": Kind.TEXT,
    ".readthedocs.yaml": Kind.TEXT,
    "readthedocs.yml": Kind.TEXT,
    "readthedocs.yaml": Kind.TEXT,
    "_toctree.yml": Kind.TEXT,
    "_config.yml": Kind.TEXT,
    "codecov.yml": Kind.TEXT,
    ".codecov.yml": Kind.TEXT,
    ".clang-format": Kind.OTHER,
    ".clang-tidy": Kind.OTHER,
    "robots.txt": Kind.TEXT,
    "cmakelists.txt": Kind.OTHER,
    ".ds_store": Kind.OTHER,
    ".gitkeep": Kind.OTHER,
    ".keep": Kind.OTHER,
}

# CI services read these at the root of the repository and nowhere else.
_ROOT_CI: Final = frozenset(
    {
        ".gitlab-ci.yml", ".gitlab-ci.yaml", ".travis.yml", ".appveyor.yml", "appveyor.yml", ".drone.yml",
        ".cirrus.yml", ".woodpecker.yml", "bitbucket-pipelines.yml", "buildspec.yml", "cloudbuild.yaml",
        "cloudbuild.yml",
    }
)  # fmt: skip

_EXTENSIONS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("py", "pyw"), Kind.PYTHON),
    **dict.fromkeys(("ipynb",), Kind.NOTEBOOK),
    **dict.fromkeys(("yaml", "yml"), Kind.YAML),
    **dict.fromkeys(("json", "json5", "jsonc", "webmanifest"), Kind.JSON),
    **dict.fromkeys(("toml",), Kind.TOML),
    **dict.fromkeys(("ini", "cfg", "conf", "gin", "properties"), Kind.INI),
    **dict.fromkeys(
        ("sh", "bash", "zsh", "ksh", "slurm", "sbatch", "pbs", "lsf", "sge", "qsub", "job", "slurm_template"),
        Kind.SHELL,
    ),
    **dict.fromkeys(("mk",), Kind.MAKEFILE),
    **dict.fromkeys(("dockerfile", "containerfile", "def", "singularity"), Kind.DOCKERFILE),
    **dict.fromkeys(("md", "mdx", "markdown", "rst", "qmd", "rmd"), Kind.DOCS),
    **dict.fromkeys(("dvc",), Kind.DVC),
    **dict.fromkeys(("env",), Kind.ENV_FILE),
    **dict.fromkeys(("pem", "key", "p12", "pfx", "jks", "keystore", "ppk", "kdbx"), Kind.KEY_FILE),
    # Read for secrets: text in which people leave tokens.
    **dict.fromkeys(
        ("txt", "text", "tf", "tfvars", "js", "mjs", "ts", "jsx", "tsx", "bat", "cmd", "ps1"), Kind.TEXT
    ),
    **dict.fromkeys(
        ("r", "jl", "rb", "go", "java", "template", "tmpl", "jinja", "jinja2", "j2", "prompt"), Kind.TEXT
    ),
}

# No file system that Git checks out to allows more; patterns are not tried on what an archive may claim.
_LONGEST_NAME: Final = 255
_PROSE: Final = frozenset({"", "txt", "text", "md", "markdown", "rst"})
_WORD: Final = r"req(?:s|uir[a-z]{0,4}m[a-z]{0,4}ts?)?"  # also the common misspellings
_REQUIREMENTS: Final = re.compile(
    rf"(?:[\w.+-]*[-_.])?(?:{_WORD}|constraints?|pip[-_]?deps|dependencies)(?:[-_.][\w.+-]*)?\.(?:txt|in|pip|lock)"
    rf"|(?:[a-z]+)?requirements?\d*\.(?:txt|in|pip|lock)"
)
_REQUIREMENT_FOLDERS: Final = frozenset({"requirements", "requirement", "reqs", "constraints"})
_CONDA: Final = re.compile(
    r"(?:[\w.+-]*[-_.])?(?:environments?|conda)(?:[-_.]?[\w.+-]*)?\.ya?ml|(?:[\w+-]+[-_])?env(?:[-_][\w.+-]*)?\.ya?ml"
)
_CONFIG_FOLDERS: Final = frozenset(
    {"conf", "confs", "config", "configs", "cfg", "cfgs", "hydra", "tasks", "settings"}
)
_CONDA_LOCK: Final = re.compile(
    r"(?:[\w.+-]*[.-])?conda-lock[\w.+-]*\.ya?ml|conda-[\w.+-]*\.lock|pylock\.[\w.+-]*\.toml"
)
_CONTAINER: Final = re.compile(
    r"(?:[\w+-]+[._-])?(?:dockerfile|containerfile)(?:[._-][\w.+-]*)?|singularity(?:[._-][\w.+-]*)?"
)
_COMPOSE: Final = re.compile(r"(?:docker-)?compose(?:[.-][\w.+-]*)?\.ya?ml")
_LICENSE: Final = re.compile(
    r"(?:[\w .+-]*[-_ ])?(?:un)?licen[sc]es?(?:[-_. ][\w .+()-]*)?|copying(?:[-_.][\w .+-]*)?"
)
_DOCUMENT: Final = re.compile(
    r"(?:readme|install|installing|installation|usage|changelog|changes|contributing|history|news|faq|getting[-_]?started)"
    r"(?:[-_.][\w.+-]*)?"
)
_ENV: Final = re.compile(
    r"\.env[._-][\w.+-]*|[\w.+-]*\.env[._-](?:example|sample|template|dist|local|default|defaults)"
)
_KEY: Final = re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519)[\w.+-]*|credentials?[\w.+-]*|client_secrets?\.json")
_KEY_EXTENSIONS: Final = frozenset(
    {"", "json", "yml", "yaml", "ini", "cfg", "toml", "txt", "csv", "xml", "old", "bak"}
)
_CODE: Final = frozenset(
    {
        "py",
        "pyi",
        "pyw",
        "ipynb",
        "js",
        "ts",
        "c",
        "cc",
        "cpp",
        "h",
        "hpp",
        "cu",
        "rs",
        "go",
        "java",
        "sh",
        "bash",
        "html",
        "css",
    }
    | {
        "yml",
        "yaml",
        "json",
        "toml",
        "png",
        "jpg",
        "jpeg",
        "gif",
        "svg",
        "pdf",
        "csv",
        "tsv",
        "jsonl",
        "gz",
        "zip",
        "bin",
    }
)


def kind_of(path: str) -> Kind:
    """The kind of the file at `path` (relative, POSIX). Never raises; what is nothing known is `Kind.OTHER`.

    Templates (`.env.example`) get the kind of what they are templates of: the rules decide what that means.
    """
    folders, _, name = path.lower().rpartition("/")
    _, dot, extension = name.rpartition(".")
    if not dot:
        extension = ""
    elif name.count(".") == 1 and name[0] == ".":
        extension = ""  # a dot file such as ".bashrc" has a name, not an extension
    if len(name) > _LONGEST_NAME:
        return _EXTENSIONS.get(extension, Kind.OTHER)
    return (
        _ci(folders, name, extension)
        or _NAMES.get(name)
        or _environment(folders, name, extension)
        or _by_pattern(path, folders, name, extension)
        or _by_extension(folders, name, extension)
    )


def _ci(folders: str, name: str, extension: str) -> Kind | None:
    """Files that a CI service runs. No service reads a nested `.github` (of a vendored or moved project)."""
    if name.startswith("jenkinsfile") or name.endswith(".jenkinsfile"):
        return None if extension in _CODE else Kind.CI
    if extension not in ("yml", "yaml"):
        return Kind.CI if folders == ".buildkite" and extension in ("sh", "bash") else None
    if folders == ".github/workflows" or (
        folders.startswith(".github/actions/") and name.startswith("action.")
    ):
        return Kind.CI
    if not folders and name in _ROOT_CI:
        return Kind.CI
    top = folders.partition("/")[0]
    if top in (".azure-pipelines", ".azure", ".buildkite", ".gitlab", ".gitlab-ci", ".semaphore"):
        return Kind.CI
    if (
        folders in (".circleci", ".lightning/workflows")
        or name.startswith("azure-pipelines")
        or name.endswith(".gitlab-ci.yml")
    ):
        return Kind.CI
    # Issue forms, Dependabot, labels, or a workflow that nobody runs.
    if ".github" in folders.split("/") or name in _ROOT_CI:
        return Kind.TEXT
    return None


def _environment(folders: str, name: str, extension: str) -> Kind | None:
    """Dependency declarations, which have the most spellings."""
    if extension in ("txt", "in", "pip", "lock"):
        if _CONDA_LOCK.fullmatch(name):
            return Kind.LOCK
        if _REQUIREMENTS.fullmatch(name):
            return Kind.REQUIREMENTS
        above = folders.split("/")
        if (above[-1] in _REQUIREMENT_FOLDERS or "requirements" in above[:-1]) and not name.startswith(
            ("readme", "license")
        ):
            return Kind.REQUIREMENTS
    elif extension in ("yml", "yaml"):
        if _CONDA_LOCK.fullmatch(name):
            return Kind.LOCK
        # `configs/env.yaml` is an environment of reinforcement learning, not of conda.
        if _CONDA.fullmatch(name) and _CONFIG_FOLDERS.isdisjoint(folders.split("/")):
            return Kind.CONDA
        if _COMPOSE.fullmatch(name):
            return Kind.COMPOSE
    elif extension == "toml" and _CONDA_LOCK.fullmatch(name):
        return Kind.LOCK
    elif name == "requirements":
        return Kind.REQUIREMENTS
    return None


def _by_pattern(path: str, folders: str, name: str, extension: str) -> Kind | None:
    if _ENV.fullmatch(name):
        return Kind.ENV_FILE
    if _KEY.fullmatch(name) and extension in _KEY_EXTENSIONS:
        return Kind.KEY_FILE
    if extension in _CODE:
        return None
    if _CONTAINER.fullmatch(name) and extension not in ("md", "txt", "rst"):
        return Kind.DOCKERFILE
    if name.startswith("makefile."):
        return Kind.MAKEFILE
    if _LICENSE.fullmatch(name) or "LICENSES" in path.split("/")[:-1]:
        return Kind.LICENSE
    if extension in _PROSE and (_DOCUMENT.fullmatch(name) or (extension == "txt" and _in_docs(folders))):
        return Kind.DOCS
    return None


def _by_extension(folders: str, name: str, extension: str) -> Kind:
    if extension:
        return _EXTENSIONS.get(extension, Kind.OTHER)
    if folders.rpartition("/")[2] == ".dvc" and name == "config":
        return Kind.INI
    # Some task collections keep shared YAML under names without an extension, to hide it from their loader.
    return Kind.YAML if name.endswith(("_yaml", "-yaml")) else Kind.TEXT


_TEST_FOLDERS: Final = frozenset(
    {
        "tests",
        "test",
        "unit_tests",
        "unittests",
        "unittest",
        "integration_tests",
        "e2e",
        "testdata",
        "test_data",
        "test-data",
    }
    | {
        "test_utils",
        "__tests__",
        "tests_integration",
        "smoke_tests",
        "regression_tests",
        "testing",
        "end2end_tests",
    }
)
_TEST_FILE: Final = re.compile(r"(?:test_.*|.*_test|.*_tests|conftest|tests)\.pyw?")
_VENDOR_FOLDERS: Final = frozenset(
    {
        "third_party",
        "third-party",
        "thirdparty",
        "3rdparty",
        "3rd_party",
        "vendor",
        "vendors",
        "vendored",
        "_vendor",
        "_vendored",
    }
    | {
        "node_modules",
        "bower_components",
        "external",
        "externals",
        "extern",
        "site-packages",
        "dist-packages",
        "submodules",
    }
    | {
        ".venv",
        "venv",
        "virtualenv",
        ".tox",
        ".nox",
        ".eggs",
        "_deps",
        "external_libs",
        "external_lib",
        "thirdparties",
    }
)
_DOCS_FOLDERS: Final = frozenset({"docs", "doc", "documentation", "hfdocs", "website", "mkdocs", "sphinx"})
_EXAMPLE_FOLDERS: Final = frozenset(
    {
        "example",
        "examples",
        "demo",
        "demos",
        "tutorial",
        "tutorials",
        "cookbook",
        "cookbooks",
        "quickstart",
        "playground",
    }
)


def is_test_path(path: str) -> bool:
    """Whether `path` is test code or test data by its name.

    `test.py` is none: in research code it is the evaluation script. A `test_*.py` counts, as pytest would
    collect it; whether it holds a test function is for the reader of its facts to say.
    """
    *folders, name = path.lower().split("/")
    return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_FILE.fullmatch(name) is not None


_OWN_DOCUMENTS: Final = frozenset({"ml-audit.yaml", "ml-audit.lock", "reprollm.yaml", "reprollm.lock"})


def is_own_document(path: str) -> bool:
    """Whether the file is written for this program (or for the one whose users move here): it speaks about the experiment and is no part of it."""
    return path in _OWN_DOCUMENTS or path.startswith((".ml-audit/", ".reprollm/"))


def is_docs_path(path: str) -> bool:
    """Whether `path` lies in a documentation folder or is a document itself (README, Markdown, rst)."""
    return _in_docs(path.lower().rpartition("/")[0]) or kind_of(path) is Kind.DOCS


def is_vendored_path(path: str) -> bool:
    """Whether a folder on the way says that somebody else's code lies there.

    A fork under a name of its own is not seen here.
    """
    folders = path.lower().split("/")[:-1]
    return not _VENDOR_FOLDERS.isdisjoint(folders) or any(
        part.endswith((".egg-info", ".dist-info")) for part in folders
    )


def is_example_path(path: str) -> bool:
    """Whether `path` is an example, a demo or a tutorial by its name."""
    *folders, name = path.lower().split("/")
    if any(
        part in _EXAMPLE_FOLDERS or part.startswith(("example_", "examples_", "demo_", "tutorial_"))
        for part in folders
    ):
        return True
    stem = name.partition(".")[0]
    return stem in ("example", "demo", "tutorial") or stem.startswith(("example_", "demo_", "tutorial_"))


def _in_docs(folders: str) -> bool:
    return any(part in _DOCS_FOLDERS or part.startswith(("docs_", "docs-")) for part in folders.split("/"))
