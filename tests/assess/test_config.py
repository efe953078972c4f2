import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.assess.config import Config, parse_config
from audit.documents.errors import DocumentError
from audit.facts.strict_yaml import MAX_BYTES

WHOLE = b"""# accepted
ignore:
  - rule: environment.container
    reason: A cluster image is used.
  - rule: notebooks.*
    paths: [examples/, "*/demo.ipynb"]
    reason: Illustrations only.
level: 0
fail_on: warning
profiles: [finetuning]
"""


def test_a_whole_file():
    config = parse_config(WHOLE)
    assert [(i.rule, i.paths, i.reason) for i in config.ignore] == [
        ("environment.container", (), "A cluster image is used."),
        ("notebooks.*", ("examples/", "*/demo.ipynb"), "Illustrations only."),
    ]
    assert (config.level, config.fail_on, config.profiles) == ("0", "warning", ("finetuning",))


@pytest.mark.parametrize(
    "data", [b"", b"# nothing\n", b"---\n", b"null\n", b"\xef\xbb\xbf# a byte-order mark\n"]
)
def test_an_empty_file_is_an_empty_configuration(data):
    assert parse_config(data) == Config()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            b"ignore:\n  - rule: a.b\n",
            ".ml-audit/config.yaml:2:5: ignore.0.reason: is missing: every suppression says why.",
        ),
        (
            b"ignore:\n  - rule: a.b\n    reason: '  '\n",
            ".ml-audit/config.yaml:3:5: ignore.0.reason: a text of 3 or more characters is expected",
        ),
        (
            b"level: 0\nfial_on: never\n",
            ".ml-audit/config.yaml:2:1: fial_on: this key is not known; perhaps fail_on?",
        ),
        (
            b"\nfail_on: CRITICAL\n",
            ".ml-audit/config.yaml:2:1: fail_on: one of critical, warning, info, never is expected, not `CRITICAL`; perhaps critical.",
        ),
        (
            b"ignore:\n  - rule: '*'\n    reason: all of it\n",
            ".ml-audit/config.yaml:2:5: ignore.0.rule: `*` does not fit",
        ),
        (b"- a\n- b\n", ".ml-audit/config.yaml:1:1: a table is expected: ignore, level, fail_on, profiles."),
        (b"level: 0\nlevel: 1\n", ".ml-audit/config.yaml:2:1: level is written twice, first in line 1"),
        (b"a: [1\nb: 2\n", ".ml-audit/config.yaml:2:2: this is no YAML"),
        (b"level: 0\n---\nlevel: 1\n", ".ml-audit/config.yaml:2:1: only one YAML document"),
        (b"level: \xff\n", "is not UTF-8"),
        (b"#" * (MAX_BYTES + 1), "is larger than 256 KiB"),
    ],
)
def test_mistakes_are_named_with_file_and_line(data, said):
    with pytest.raises(DocumentError) as caught:
        parse_config(data)
    assert said in caught.value.message


def test_an_alias_bomb_is_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="the anchor &a0 is not read"):
        parse_config("\n".join(lines).encode())


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_give_a_configuration_or_a_document_error(data):
    try:
        assert isinstance(parse_config(data), Config)
    except DocumentError as error:
        assert error.message
