from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.dependencies.line import is_exact, parse_conda, parse_requirement, without_credentials
from audit.facts.dependencies.requirements import extract
from audit.facts.model import DependencyFacts

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def facts(text: str) -> DependencyFacts:
    body = extract(text).body
    assert isinstance(body, DependencyFacts)
    return body


def test_lines_of_every_shape() -> None:
    found = facts(
        "\ufeff# comment\n"
        "-r base.txt\n"
        "-cconstraints.txt\n"
        "--index-url=https://user:token@index.example/simple\n"
        "--find-links https://wheels.example/a.html\n"
        "Torch_Vision == 0.20.0  # pinned\n"
        "numpy>=1.2,<2 ; python_version >= '3.9'\n"
        "requests[socks]~=2.0\n"
        "-e .\n"
        f"git+https://user:pw@host.example/org/tool.git@{COMMIT}#egg=Tool\n"
        "git+https://host.example/org/other.git@main\n"
        "https://host.example/pkg-1.0-py3-none-any.whl\n"
        "named @ https://host.example/archive/x.zip\n"
        "./libs/mine\n"
        "flask==2.* \n"
        "jinja2==3.1.2 \\\n"
        "    --hash=sha256:aa \\\n"
        "    --hash=sha256:bb\n"
        "this is not one\n"
    )
    rows = [(r.name, r.specifier, r.exact, r.line, r.marker, r.hashed) for r in found.requirements]
    assert rows == [
        ("torch-vision", "== 0.20.0", True, 6, "", False),
        ("numpy", ">=1.2,<2", False, 7, "python_version >= '3.9'", False),
        ("requests", "~=2.0", False, 8, "", False),
        ("tool", "", True, 10, "", False),
        ("other", "", False, 11, "", False),
        ("pkg", "", True, 12, "", False),
        ("named", "", False, 13, "", False),
        ("mine", "", False, 14, "", False),
        ("flask", "==2.*", False, 15, "", False),
        ("jinja2", "==3.1.2", True, 16, "", True),
    ]
    assert found.includes == ("base.txt", "constraints.txt")
    assert found.constraints == ("constraints.txt",)
    assert found.indexes == (("https://index.example/simple", 4), ("https://wheels.example/a.html", 5))
    assert found.invalid == (("this is not one", 19),)
    tool = found.requirements[3]
    assert (tool.commit, "pw" in tool.url) == (COMMIT, False)


def test_conda_export_under_the_name_of_requirements() -> None:
    found = facts(
        "# This file may be used to create an environment using:\n# $ conda"
        " create\n_libgcc_mutex=0.1=main\nnumpy=1.21.0=py38_0\nblack=22.1=pypi_0\n"
    )
    assert found.conda_export
    assert [(r.name, r.exact, r.source, r.line) for r in found.requirements] == [
        ("libgcc-mutex", True, "conda", 3),
        ("numpy", True, "conda", 4),
        ("black", True, "conda", 5),
    ]


def test_pip_freeze_of_a_conda_environment() -> None:
    found = facts("numpy @ file:///tmp/build/numpy_1/work\ntorch==2.0.1+cu118\nodd=1.0\n")
    assert [(r.name, r.exact, r.url) for r in found.requirements] == [
        ("numpy", False, "file:///tmp/build/numpy_1/work"),
        ("torch", True, ""),
    ]
    assert found.invalid == (("odd=1.0", 3),)
    assert not found.conda_export


def test_an_empty_file_declares_nothing() -> None:
    assert not facts("# nothing\n").declares
    assert facts("-r other.txt\n").declares


def test_exactness() -> None:
    assert is_exact("==1.0") and is_exact("===1.0") and is_exact(">=1,==1.2")
    assert not any(is_exact(s) for s in ("", ">=1", "==1.*", "~=1.0", "=="))
    exact = {
        text: parse_conda(text, 1)
        for text in ("a=1.0", "a==1.0", "a=1.0=py_0", "c::a=1.0", "a>=1,<2", "a", "a 1.0 py_0")
    }
    assert {text: r.exact for text, r in exact.items() if r} == {
        "a=1.0": False,
        "a==1.0": True,
        "a=1.0=py_0": True,
        "c::a=1.0": False,
        "a>=1,<2": False,
        "a": False,
        "a 1.0 py_0": True,
    }


def test_credentials() -> None:
    assert without_credentials("https://a:b@h/x") == "https://h/x"
    assert without_credentials("git+ssh://git@h/x") == "git+ssh://git@h/x"
    assert without_credentials("https://token@h/x@main") == "https://h/x@main"


@settings(deadline=None)
@given(st.one_of(st.text(max_size=200), st.text(alphabet="ab=<>~!;@#[]()., -\\\n\"'/:", max_size=200)))
def test_never_raises(text: str) -> None:
    found = facts(text)
    assert all(r.name for r in found.requirements)
    parse_requirement(text, 1)
    parse_conda(text, 1)
