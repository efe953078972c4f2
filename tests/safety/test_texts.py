"""One change to every text of a document."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from audit.safety.redact import redacted
from audit.safety.texts import with_texts


class Leaf(msgspec.Struct, frozen=True):
    name: str
    number: int = 0


class Tree(msgspec.Struct, frozen=True, array_like=True):
    leaves: tuple[Leaf, ...]
    by_name: dict[str, list[str]]
    other: str | None = None


def test_every_text_is_changed_keys_too() -> None:
    tree = Tree((Leaf("a", 1),), {"k": ["v", "w"]})
    assert with_texts(tree, str.upper) == Tree((Leaf("A", 1),), {"K": ["V", "W"]})


def test_what_does_not_change_is_the_same_object() -> None:
    tree = Tree((Leaf("A"),), {"K": ["V"]}, "X")
    assert with_texts(tree, lambda text: text) is tree


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(inner).map(tuple),
)


@given(NESTED)
def test_shapes_stay(document: object) -> None:
    assert with_texts(document, lambda text: text + "") == document


def test_redacted_blackens_wherever_it_stands() -> None:
    token = "ghp_" + "a8Kq3ZpL0xWv7RtY2bNm5CdE1fGh9JiUo4Ts"
    told = "[redacted: GitHub token]"
    assert redacted(Tree((Leaf(f"x {token}"),), {token: [f"gpt-4o-{token}"]})) == Tree(
        (Leaf(f"x {told}"),), {told: [f"gpt-4o-{told}"]}
    )
