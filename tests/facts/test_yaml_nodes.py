import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.yaml_nodes import (
    MAX_CHARS,
    MAX_DEPTH,
    YamlError,
    compose,
    elements,
    get,
    items,
    line_of,
    text_of,
    walk_leaves,
)

SAMPLE = """\
model:
  name: tiny
  layers: [2, 4]
  extra: {}
train: &base
  lr: 2e-5
  tags: []
eval:
  <<: *base
  lr: 1.0
"""


def leaves(text: str) -> list[tuple[str, str, int]]:
    return list(walk_leaves(compose(text)[0]))


def test_leaves_have_dotted_keys_text_and_lines() -> None:
    assert leaves(SAMPLE) == [
        ("model.name", "tiny", 2),
        ("model.layers.0", "2", 3),
        ("model.layers.1", "4", 3),
        ("model.extra", "{}", 4),
        ("train.lr", "2e-5", 6),
        ("train.tags", "[]", 7),
        ("eval.lr", "1.0", 10),
        ("eval.tags", "[]", 7),
    ]


def test_all_documents_and_a_byte_order_mark() -> None:
    documents = compose("\ufeffa: 1\n---\n---\nb: 2\n")
    assert [text_of(get(d, k)) for d, k in ((documents[0], "a"), (documents[-1], "b"))] == ["1", "2"]
    assert compose("") == []
    assert compose("# only a comment\n") == []


def test_a_mistake_keeps_what_came_before_and_its_line() -> None:
    with pytest.raises(YamlError) as caught:
        compose("a: 1\n---\nb: [1,\n")
    assert caught.value.line >= 3
    assert text_of(get(caught.value.documents[0], "a")) == "1"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "a: \x00",
        "a: \ud800",
        "*nowhere",
        "a" * (MAX_CHARS + 1),
        "\t- a: b\n\t",
    ],
)
def test_what_cannot_be_read_is_one_error(text: str) -> None:
    with pytest.raises(YamlError):
        compose(text)


def test_aliases_do_not_explode() -> None:
    laughs = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    seen = 0
    with pytest.raises(YamlError, match="more than 1,000"):
        for _ in walk_leaves(compose(laughs)[0], limit=1_000):
            seen += 1
    assert 0 < seen <= 1_000
    empty = "a0: &a0 []\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    with pytest.raises(YamlError):
        list(walk_leaves(compose(empty)[0]))


def test_a_node_inside_itself_ends() -> None:
    with pytest.raises(YamlError):
        list(walk_leaves(compose("a: &a\n  b: *a\n  c: 1\n")[0]))
    assert [key for key, _, _ in items(compose("&a\n<<: *a\nb: 1\n")[0])] == ["b"]


def test_depth_is_bounded_and_the_rest_is_read() -> None:
    deep = "a: " + "[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5) + "\nb: 1\n"
    found = []
    with pytest.raises(YamlError, match="deeper"):
        for leaf in walk_leaves(compose(deep)[0]):
            found.append(leaf)
    assert found == [("b", "1", 2)]


def test_merge_lists_and_precedence() -> None:
    root = compose("x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  c: 3\n  <<: [*x, *y]\n")[0]
    assert {key: text_of(value) for key, _, value in items(get(root, "z"))} == {"c": "3", "a": "1", "b": "1"}


def test_elements() -> None:
    root = compose("a: [1, 2]\nb: one\nc:\nd: {k: v}\n")[0]
    assert [text_of(n) for n in elements(get(root, "a"))] == ["1", "2"]
    assert [text_of(n) for n in elements(get(root, "b"))] == ["one"]
    assert elements(get(root, "c")) == []
    assert len(elements(get(root, "d"))) == 1
    assert elements(None) == []
    assert line_of(root) == 1


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*<!|>'\"#\n \t?,%@"), max_size=200))
def test_never_anything_but_its_own_error(text: str) -> None:
    try:
        for root in compose(text):
            assert isinstance(root, yaml.Node)
            list(walk_leaves(root, limit=500))
    except YamlError:
        pass
