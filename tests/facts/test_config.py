"""Configuration files as settings with lines."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.facts.config import (
    MAX_RECORDS,
    MAX_SETTINGS,
    MAX_VALUE,
    extract_ini,
    extract_json,
    extract_toml,
    extract_yaml,
)
from audit.facts.extracted import Extracted
from audit.facts.model import ConfigFacts


def read(extracted: Extracted) -> list[tuple[str, str, int]]:
    assert isinstance(extracted.body, ConfigFacts)
    return [(setting.key, setting.value, setting.line) for setting in extracted.body.settings]


def facts(extracted: Extracted) -> ConfigFacts:
    assert isinstance(extracted.body, ConfigFacts)
    return extracted.body


def test_yaml_settings_keep_what_is_written() -> None:
    text = "model:\n  _target_: pkg.Net\n  layers: [2, 3]\ntrain:\n  lr: 2e-5\n  amp: true\n  seed: null\n"
    assert read(extract_yaml(text)) == [
        ("model._target_", "pkg.Net", 2),
        ("model.layers.0", "2", 3),
        ("model.layers.1", "3", 3),
        ("train.lr", "2e-5", 5),
        ("train.amp", "true", 6),
        ("train.seed", "null", 7),
    ]
    assert facts(extract_yaml(text)).tags == ("_target_",)


def test_yaml_tags_and_documents() -> None:
    extracted = extract_yaml("process: !function utils.clean\nnote: wow!great\n---\ndefaults:\n- base\n")
    assert read(extracted) == [
        ("0.process", "utils.clean", 1),
        ("0.note", "wow!great", 2),
        ("1.defaults.0", "base", 5),
    ]
    assert facts(extracted).tags == ("!function", "defaults")


def test_broken_yaml_says_where() -> None:
    extracted = extract_yaml("a: 1\nb: [\nc: {{ x }}\n")
    assert read(extracted) == []
    assert "not YAML" in extracted.partial
    assert "line" in extracted.partial


def test_yaml_bomb_is_bounded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    extracted = extract_yaml("\n".join(lines))
    assert len(read(extracted)) == MAX_SETTINGS
    assert extracted.partial


def test_json_lines_comments_and_escapes() -> None:
    text = (
        '{\n  // ZeRO\n  "zero_optimization": {"stage": 3, "offload": {}},\n  "lr": 1e-4,\n  "on": true,\n'
        '  "name": "a\\"b\\u0041",\n  "list": [\n    1,\n    "two",\n  ],\n}\n'
    )
    assert read(extract_json(text)) == [
        ("zero_optimization.stage", "3", 3),
        ("zero_optimization.offload", "{}", 3),
        ("lr", "1e-4", 4),
        ("on", "true", 5),
        ("name", 'a"bA', 6),
        ("list.0", "1", 8),
        ("list.1", "two", 9),
    ]
    assert extract_json(text).partial == ""


@pytest.mark.parametrize(
    ("text", "count", "why"),
    [
        ('{"a": 1', 1, "ends too early"),
        ('{"a": 1}\n{"a": 2}\n', 1, "several JSON values"),
        ('{"a": 1]', 1, "not JSON (line 1)"),
        ('{"a": 1,\n\n "b": @}', 1, "not JSON (line 3)"),
        ("[" * 100_000, 0, "nested deeper"),
        ('{"a":' * 100_000, 0, "nested deeper"),
        ("[" + "1," * 10_000 + "1]", MAX_RECORDS, "more than 200 values"),
        ("{" + ",".join(f'"k{i}": {i}' for i in range(10_000)) + "}", MAX_SETTINGS, "more than 2,000 values"),
    ],
)
def test_json_that_is_not_whole(text: str, count: int, why: str) -> None:
    extracted = extract_json(text)
    assert len(read(extracted)) == count
    assert why in extracted.partial


def test_long_values_are_cut() -> None:
    (setting,) = read(extract_json('{"prompt": "' + "x" * 1_000_000 + '"}'))
    assert setting[1] == "x" * MAX_VALUE + "…"


def test_toml_lines() -> None:
    text = (
        'title = "x"\n[train]\nlr = 2e-5\nbetas = [\n  0.9,\n  0.95,\n]\nopt.name = "adam"\n'
        "[[stage]]\nepochs = 1\n[[stage]]\nepochs = 2\n[data.hub]\nshuffle = false\nextra = {}\n"
    )
    assert read(extract_toml(text)) == [
        ("title", "x", 1),
        ("train.lr", "2e-05", 3),
        ("train.betas.0", "0.9", 4),
        ("train.betas.1", "0.95", 4),
        ("train.opt.name", "adam", 8),
        ("stage.0.epochs", "1", 10),
        ("stage.1.epochs", "2", 12),
        ("data.hub.shuffle", "false", 14),
        ("data.hub.extra", "{}", 15),
    ]


@pytest.mark.parametrize(
    "text", ["a = ", "a." * 200_000 + "a = 1", "a = " + "[" * 100_000, "x = {" + "a." * 5000 + "b=1}"]
)
def test_toml_that_is_unreadable(text: str) -> None:
    extracted = extract_toml(text)
    assert read(extracted) == []
    assert extracted.partial


def test_ini_sections_comments_and_continuation() -> None:
    text = "; head\nname = base\n[train]\nlr: 0.1 # fast\npath = a:b\nlist =\n  x\n  y\n[train.sub]\nk=v\r\n"
    assert read(extract_ini(text)) == [
        ("name", "base", 2),
        ("train.lr", "0.1", 4),
        ("train.path", "a:b", 5),
        ("train.list", "\nx\ny", 6),
        ("train.sub.k", "v", 10),
    ]


def test_repeated_sections_are_counted() -> None:
    text = "[net]\nbatch=64\n[conv]\nfilters=32\n[conv]\nfilters=64\n"
    assert read(extract_ini(text)) == [
        ("net.batch", "64", 2),
        ("conv.0.filters", "32", 4),
        ("conv.1.filters", "64", 6),
    ]


def test_gin_bindings() -> None:
    text = (
        "import models\ninclude 'base.gin'\nLR = 0.1\n# comment\ntrain.lr = %LR  # macro\n"
        "train.models = [\n    @a,\n    @b()\n]\neval/train.seed = 3\n"
    )
    assert read(extract_ini(text)) == [
        ("LR", "0.1", 3),
        ("train.lr", "%LR", 5),
        ("train.models", "[ @a, @b() ]", 6),
        ("eval/train.seed", "3", 10),
    ]
    assert facts(extract_ini(text)).format == "gin"


def test_json_under_another_name() -> None:
    extracted = extract_ini('{\n "zero": {"stage": 2}\n}')
    assert read(extracted) == [("zero.stage", "2", 2)]
    assert facts(extracted).format == "json"


def test_a_server_configuration_has_no_settings() -> None:
    assert read(extract_ini("server {\n  listen 80;\n  proxy_pass http://x;\n}\n")) == []


def test_an_empty_document_stands_in_the_last_line() -> None:
    assert all(line == 1 for _, _, line in read(extract_yaml("---")))


ALL = [extract_yaml, extract_json, extract_toml, extract_ini]


@pytest.mark.parametrize("extract", ALL)
@given(text=st.text() | st.text(alphabet="{}[],:\"'\\ \n=.ab#!&*-/@%1"))
def test_never_raises(extract: Callable[[str], Extracted], text: str) -> None:
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as `decode` gives it
    for _, _, line in read(extract(text)):
        assert 1 <= line <= text.count("\n") + 1


LONG = [
    "a" * 1_000_000,
    '"' + "\\" * 1_000_000,
    "a=" * 500_000,
    "[" * 1_000_000,
    " " * 1_000_000 + "x",
    "/*" * 500_000,
    "a: " * 300_000,
    "'" * 1_000_000,
    "a." * 500_000,
    "a/" * 500_000 + "= 1",
    "{" + "\n" * 1_000_000,
    "!a" * 500_000,
]


@pytest.mark.parametrize("extract", ALL)
@pytest.mark.parametrize("text", LONG)
def test_long_lines_are_bounded(extract: Callable[[str], Extracted], text: str) -> None:
    assert len(read(extract(text))) <= MAX_SETTINGS
