# ruff: noqa: E501 (small files as one string each)
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.dependencies import conda, locks, pipfile, pyproject, setup_cfg, setup_py, versions
from audit.facts.extracted import Extracted, Extractor
from audit.facts.model import DependencyFacts, LockFacts, VersionFacts

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def facts(extracted: Extracted) -> DependencyFacts:
    assert isinstance(extracted.body, DependencyFacts)
    return extracted.body


def rows(found: DependencyFacts) -> list[tuple[str, str, bool, int, str]]:
    return [(r.name, r.specifier, r.exact, r.line, r.group) for r in found.requirements]


PEP621 = """\
[build-system]
requires = ["setuptools==1.0"]
[project]
name = "mine"
requires-python = ">=3.10"
license = "MIT"
dependencies = [
  "torch==2.1",
  # "torch-old",
  "numpy>=1 ; python_version >= '3.9'",
]
optional-dependencies.extra = [
  "rich",
]
[project.scripts]
mine = "mine.cli:main"
[dependency-groups]
dev = ["pytest", {include-group = "lint"}]
lint = ["ruff"]
[tool.uv.sources]
rich = {git = "https://host.example/rich", rev = "0123456789abcdef0123456789abcdef01234567"}
[[tool.uv.index]]
url = "https://u:p@index.example/simple"
"""


def test_pep_621() -> None:
    found = facts(pyproject.extract(PEP621))
    assert rows(found) == [
        ("torch", "==2.1", True, 8, ""),
        ("numpy", ">=1", False, 10, ""),
        ("rich", "", True, 13, "extra"),
        ("pytest", "", False, 18, "dev"),
        ("ruff", "", False, 19, "lint"),
    ]
    assert (found.name, found.python, found.python_line, found.license) == ("mine", ">=3.10", 5, "MIT")
    assert found.scripts == {"mine": "mine.cli:main"}
    assert found.requirements[2].commit == COMMIT
    assert found.indexes == (("https://index.example/simple", 23),)
    assert found.tools == ("uv",)


def test_a_name_inside_another_does_not_take_its_line() -> None:
    text = '[project]\nname = "x"\ndependencies = [\n  "torchvision",\n  # "torch",\n  "torch",\n  \'numpy\', "six",\n]\n'
    assert [(r.name, r.line) for r in facts(pyproject.extract(text)).requirements] == [
        ("torchvision", 4),
        ("torch", 6),
        ("numpy", 7),
        ("six", 7),
    ]
    inline = '[project]\nname = "x"\noptional-dependencies = {a = ["b"], "c" = [\n  "d"]}\n'
    assert rows(facts(pyproject.extract(inline))) == [("b", "", False, 3, "a"), ("d", "", False, 4, "c")]


def test_poetry() -> None:
    found = facts(
        pyproject.extract(
            '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\npython = "^3.9"\ntorch = "2.0.1"\n'
            'numpy = "^1.2"\nany = "*"\nopt = {version = "==1.0", optional = true}\n'
            f'g = {{git = "https://host.example/g.git", rev = "{COMMIT}"}}\n'
            '[tool.poetry.extras]\nmore = ["opt"]\n[tool.poetry.group.dev.dependencies]\npytest = "~7"\n'
        )
    )
    assert rows(found) == [
        ("torch", "2.0.1", True, 5, ""),
        ("numpy", "^1.2", False, 6, ""),
        ("any", "", False, 7, ""),
        ("opt", "==1.0", True, 8, "more"),
        ("g", "", True, 9, ""),
        ("pytest", "~7", False, 13, "dev"),
    ]
    assert (found.python, found.python_line) == ("^3.9", 4)


def test_pyproject_of_tools_only_and_dynamic_files() -> None:
    assert not facts(pyproject.extract("[tool.ruff]\nline-length = 1\n")).declares
    dynamic = '[project]\nname = "x"\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = {file = ["requirements.txt"]}\n'
    found = facts(pyproject.extract(dynamic))
    assert (found.declares, found.includes) == (True, ("requirements.txt",))
    broken = pyproject.extract("[project\n")
    assert broken.partial.startswith("not TOML")


def test_pdm_hatch_pixi() -> None:
    found = facts(
        pyproject.extract(
            '[tool.pdm.dev-dependencies]\ntest = ["pytest==8.0"]\n[tool.hatch.envs.docs]\ndependencies = ["sphinx"]\n'
            '[tool.pixi.dependencies]\npython = "3.11.*"\nnumpy = "==1.2.3"\n'
        )
    )
    assert rows(found) == [
        ("pytest", "==8.0", True, 2, "test"),
        ("sphinx", "", False, 4, "docs"),
        ("numpy", "==1.2.3", True, 7, ""),
    ]
    assert found.python == "3.11.*"


SETUP = """\
import os
from setuptools import setup
VERSION_SPEC = ">=3.8"
base = ["torch==1.0",
        "numpy"]
base += ["six"]
if os.name == "nt":
    base.append("pywin32; sys_platform == 'win32'")
extras = {"dev": ["pytest"]}
extras["all"] = extras["dev"] + ["black==22.1"]
def read(name):
    return open(name).read().split("\\n")
def reqs():
    with open("requirements/main.txt") as f:
        return f.readlines()
setup(
    name="na" + "me",
    python_requires=VERSION_SPEC,
    install_requires=base + reqs(),
    tests_require=read("test-requirements.txt"),
    extras_require=extras,
    license="MIT",
    entry_points={"console_scripts": ["go = pkg.main:run"]},
)
"""


def test_setup_py() -> None:
    found = facts(setup_py.extract(SETUP))
    assert rows(found) == [
        ("torch", "==1.0", True, 4, ""),
        ("numpy", "", False, 5, ""),
        ("six", "", False, 6, ""),
        ("pywin32", "", False, 8, ""),
        ("pytest", "", False, 9, "dev"),
        ("pytest", "", False, 9, "all"),
        ("black", "==22.1", True, 10, "all"),
    ]
    assert found.includes == ("requirements/main.txt", "test-requirements.txt")
    assert (found.name, found.python, found.python_line, found.license) == ("name", ">=3.8", 3, "MIT")
    assert found.scripts == {"go": "pkg.main:run"}


def test_setup_py_with_a_table_of_versions() -> None:
    text = (
        "import re\nfrom setuptools import setup\n_deps = [\n 'torch>=2',\n 'rich==1.0',\n]\n"
        "deps = {b: a for a, b in (re.findall('x', y)[0] for y in _deps)}\n"
        "def pick(*names):\n    return [deps[n] for n in names]\n"
        "setup(install_requires=[deps['torch']], extras_require={'x': pick('rich')})\n"
    )
    assert rows(facts(setup_py.extract(text))) == [
        ("torch", ">=2", False, 4, ""),
        ("rich", "==1.0", True, 5, "x"),
    ]


def test_setup_py_of_python_2_and_without_setup() -> None:
    old = setup_py.extract("print 'x'\nsetup(name='old',\n  install_requires=['a==1',\n  'b'])\n")
    assert rows(facts(old)) == [("a", "==1", True, 3, ""), ("b", "", False, 4, "")]
    assert "patterns" in old.partial
    assert not facts(setup_py.extract("import os\n")).declares
    assert not facts(setup_py.extract("from setuptools import setup\nsetup()\n")).declares


def test_setup_cfg() -> None:
    found = facts(
        setup_cfg.extract(
            "[metadata]\nname = mine\nlicense = MIT\n[options]\npython_requires = >=3.8\ninstall_requires"
            " =\n    torch==1.0\n    # no\n"
            "    numpy>=1 ; python_version < '3.9'\n[options.extras_require]\ndev =\n    pytest\nall = file:"
            " all.txt\n"
            "[options.entry_points]\nconsole_scripts =\n    go = pkg:main\n"
        )
    )
    assert rows(found) == [
        ("torch", "==1.0", True, 7, ""),
        ("numpy", ">=1", False, 9, ""),
        ("pytest", "", False, 12, "dev"),
    ]
    assert found.requirements[1].marker == "python_version < '3.9'"
    assert (found.name, found.python, found.python_line, found.includes) == ("mine", ">=3.8", 5, ("all.txt",))
    assert found.scripts == {"go": "pkg:main"}
    assert not facts(setup_cfg.extract("[flake8]\nmax-line-length = 1\n")).declares


def test_pipfile() -> None:
    found = facts(
        pipfile.extract(
            '[[source]]\nurl = "https://a:b@i.example/s"\n[packages]\ntorch = "==1.0"\nx = "*"\n[dev-packages]\ny = {version = ">1"}\n[requires]\npython_version = "3.9"\n'
        )
    )
    assert rows(found) == [
        ("torch", "==1.0", True, 4, ""),
        ("x", "", False, 5, ""),
        ("y", ">1", False, 7, "dev"),
    ]
    assert (found.python, found.python_line, found.indexes) == ("3.9", 9, (("https://i.example/s", 2),))


def test_conda_environment() -> None:
    found = facts(
        conda.extract(
            "name: env\nchannels: [pytorch]\ndependencies:\n  - python=3.8\n  - pytorch==1.7.0\n  -"
            " numpy=1.2=py38_0\n  - pip:\n"
            "    - transformers==4.3.1\n    - -e git+https://host.example/a/b.git@main#egg=b\n    - -r"
            " requirements.txt\n    - -e .\n"
        )
    )
    assert rows(found) == [
        ("python", "=3.8", False, 4, ""),
        ("pytorch", "==1.7.0", True, 5, ""),
        ("numpy", "=1.2=py38_0", True, 6, ""),
        ("transformers", "==4.3.1", True, 8, ""),
        ("b", "", False, 9, ""),
    ]
    assert (found.name, found.python, found.python_line, found.includes) == (
        "env",
        "=3.8",
        4,
        ("requirements.txt",),
    )
    assert [r.source for r in found.requirements] == ["conda"] * 3 + ["pip"] * 2
    assert not found.conda_export
    exported = "dependencies:\n" + "".join(f"- p{i}=1.{i}=h_{i}\n" for i in range(6))
    assert facts(conda.extract(exported)).conda_export
    assert not facts(conda.extract("server:\n  port: 1\n")).declares


LOCKS = {
    "uv": 'version = 1\nrequires-python = ">=3.9"\n[[package]]\nname = "Torch_x"\nversion = "2.0"\nsource = { registry = "r" }\ndependencies = [\n    { name = "no" },\n]\nwheels = [{ hash = "sha256:aa" }]\n'
    '[[package]]\nname = "mine"\nversion = "0"\nsource = { editable = "." }\n',
    "poetry": '# @generated by Poetry\n[[package]]\nname = "torch-x"\nversion = "2.0"\npython-versions = "*"\nfiles = [{hash = "sha256:aa"}]\n[package.dependencies]\nversion = "9"\n[metadata]\npython-versions = ">=3.9"\ncontent-hash = "a"\n',
    "pdm": '# @generated by PDM\n[metadata]\nlock_version = "4.5"\n[[metadata.targets]]\nrequires_python = ">=3.9"\n[[package]]\nname = "torch-x"\nversion = "2.0"\nrequires_python = ">=3"\nfiles = [{hash = "sha256:aa"}]\n',
    "pylock": 'lock-version = "1.0"\nrequires-python = ">=3.9"\n[[packages]]\nname = "torch-x"\nversion = "2.0"\nwheels = [{hashes = {sha256 = "aa"}}]\n',
    "pipfile": '{"_meta": {"requires": {"python_version": ">=3.9"}}, "default": {"torch_x": {"version": "==2.0", "hashes": ["sha256:aa"]}}}',
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LOCKS))
def test_locks(name: str) -> None:
    extracted = locks.extract(LOCKS[name])
    assert extracted == Extracted(
        LockFacts(format=name, packages={"torch-x": "2.0"}, hashed=True, python=">=3.9"), ""
    )


def test_conda_locks() -> None:
    lock = "version: 1\nmetadata:\n  platforms: [linux-64]\npackage:\n- name: python\n  version: 3.9.1\n  manager: conda\n  hash:\n    md5: aa\n- name: Torch_x\n  version: '2.0'\n  manager: pip\n  hash:\n    sha256: aa\n"
    packages = {"python": "3.9.1", "torch-x": "2.0"}
    assert locks.extract(lock).body == LockFacts(
        format="conda-lock", packages=packages, hashed=True, python="3.9.1"
    )
    explicit = "# platform: linux-64\n@EXPLICIT\nhttps://c.example/linux-64/python-3.9.1-h_0.conda#aa\nhttps://c.example/noarch/torch_x-2.0-py_0.tar.bz2#bb\n"
    assert locks.extract(explicit).body == LockFacts(
        format="conda-lock", packages=packages, hashed=True, python="3.9.1"
    )
    pixi = (
        "version: 6\nenvironments:\n  default:\n    packages:\n      linux-64:\n      - conda:"
        " https://c.example/linux-64/python-3.9.1-h_0.conda\n"
        "packages:\n- conda: https://c.example/linux-64/python-3.9.1-h_0.conda\n  sha256: aa\n"
        "- pypi: https://f.example/torch_x-2.0-py3-none-any.whl\n  name: torch-x\n  version: '2.0'\n"
    )
    found = locks.extract(pixi).body
    assert isinstance(found, LockFacts)
    assert (found.format, found.packages, found.python) == ("pixi", packages, "3.9.1")
    assert locks.extract("[[patch]]\n").partial == "a lock file of no known format"


@pytest.mark.parametrize(
    ("text", "version", "line"),
    [
        ("3.11.4\n", "3.11.4", 1),
        ("# c\n3.10\n3.9\n", "3.10", 2),
        ("python-3.9.1\n", "3.9.1", 1),
        ("nodejs 18.0\npython 3.12.1 3.11\n", "3.12.1", 2),
        ("cpython-3.12\n", "3.12", 1),
        ("pypy3.10-7.3\n", "pypy3.10-7.3", 1),
        ("nodejs 18.0\n", "", 1),
    ],
)
def test_versions(text: str, version: str, line: int) -> None:
    assert versions.extract(text).body == VersionFacts(python=version, line=line)


ALL: list[Extractor] = [m.extract for m in (conda, locks, pipfile, pyproject, setup_cfg, setup_py, versions)]


@pytest.mark.parametrize("extractor", ALL)
@settings(deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=200),
        st.text(alphabet="ab=[]{}\"'.,:- \n#(){}+", max_size=200),
        st.lists(
            st.sampled_from(PEP621.split("\n") + SETUP.split("\n") + LOCKS["pdm"].split("\n")), max_size=30
        ).map("\n".join),
    )
)
def test_never_raises(extractor: Extractor, text: str) -> None:
    extractor(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "setup(" + "(" * 50_000,
        "a = " + "[" * 5_000,
        "x" + ".a" * 100_000,
        "a: [" * 50_000,
        '{"a":' * 50_000,
    ],
)
def test_deep_nesting_ends(text: str) -> None:
    for extractor in ALL:
        extractor(text)


def test_setup_py_whose_version_is_put_together_from_numbers() -> None:
    text = (
        "from setuptools import setup\nMAJOR = 3\nMINOR = 7\n"
        "setup(name='x', python_requires=f'>={MAJOR}.{MINOR}')\n"
    )
    assert facts(setup_py.extract(text)).python == ">=3.7"


def test_keywords_of_setup_that_a_function_returns() -> None:
    text = "def setup_args():\n    return {'name': 'x', 'python_requires': '>=3.10', 'install_requires': ['torch>=2']}\n"
    found = facts(setup_py.extract(text))
    assert (found.name, found.python, [each.name for each in found.requirements]) == (
        "x",
        ">=3.10",
        ["torch"],
    )
    assert facts(setup_py.extract("def settings():\n    return {'name': 'x'}\n")).name == ""
