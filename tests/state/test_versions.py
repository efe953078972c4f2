"""Declarations of versions that mean the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.state.versions import clauses, same_versions


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("^2.0.0", "<3,>=2.0.0"),
        ("^0.7.2", ">=0.7.2,<0.8"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^3.10", "~=3.10"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~=1.2.3", ">=1.2.3, <1.3.0"),
        ("0.4.8", "==0.4.8"),
        ("==1.0", "==1.0.0"),
        ("===1.0", "==1.0"),
        ("=3.10", "==3.10.*"),
        ("*", "any version"),
        (">=1.0", ">=1"),
        ("(>=1,<2)", "<2,>=1"),
    ],
)
def test_the_same(a: str, b: str) -> None:
    assert same_versions(a, b)
    assert same_versions(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("==1.0", "==1.0.1"),
        ("==3.1", "==3.10"),
        (">=1", ">1"),
        ("^1.2", "^1.3"),
        ("==1.0", ">=1.0"),
        ("==1.0", "any version"),
        ("git+https://x/y@1", "git+https://x/y@2"),
        ("==1.0.*", "==1.0"),
        ("==1.0+cu118", "==1.0+cu121"),
    ],
)
def test_not_the_same(a: str, b: str) -> None:
    assert not same_versions(a, b)


@given(
    st.text(max_size=80)
    | st.from_regex(r"[\^~=<>!]{0,3}[\d.*a-z+]{0,20}(,[<>=]{1,2}[\d.]{1,9})?", fullmatch=True)
)
def test_never_raises(text: str) -> None:
    clauses(text)
    assert same_versions(text, text)
