"""The lock's file: one form, read back strictly, whatever somebody does to it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.documents.errors import DocumentError
from audit.documents.lock import SECTIONS, Lock, LockedManifest, LockSource, Path, Resolved
from audit.documents.state import Confidence, Source
from audit.lock.document import MAX_BYTES, ordered, read_lock, write
from audit.lock.projection import state_of

MOMENT = "2026-12-01T00:00:00Z"


def resolved(value: object, source: LockSource = LockSource.MANIFEST, note: str = "") -> Resolved:
    return Resolved(value, source, Confidence.DECLARED, MOMENT, note)  # type: ignore[arg-type]


def lock_of(values: dict[Path, Resolved]) -> Lock:
    return Lock(1, "ml-audit 0", LockedManifest("ml-audit.yaml", "a" * 64), values)


LOCK = lock_of(
    {
        ("training", "learning_rate"): resolved(2e-5),
        ("models", "primary", "id"): resolved("org/name"),
        ("environment", "packages", "ruamel.yaml", "locked"): resolved("1.10"),
        ("generation", "stop"): resolved(("\n\n", "yes", "1e3", "~"), note="two\nlines: and more"),
    }
)
TEXT = write(LOCK)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
)
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
paths = st.tuples(st.sampled_from(SECTIONS), names, names)


@given(st.dictionaries(paths, scalars | st.lists(scalars, max_size=4).map(tuple), max_size=6))
def test_what_is_written_is_read_back_the_same(values: dict[Path, object]) -> None:
    lock = lock_of({path: resolved(value) for path, value in values.items()})
    text = write(lock)
    back = read_lock(text.encode())
    assert back.values == ordered(lock.values)
    assert {path: type(each.value) for path, each in back.values.items()} == {
        path: type(value) for path, value in values.items()
    }
    assert write(back) == text


def test_sections_stand_in_one_order_whatever_the_order_of_finding() -> None:
    backwards = lock_of(dict(reversed(LOCK.values.items())))
    assert write(backwards) == TEXT
    assert re.findall(r"(?m)^(\w+):", TEXT) == [
        "schema_version", "tool", "manifest", "models", "generation", "training", "environment", "digest",
    ]  # fmt: skip


def test_each_value_knows_its_line() -> None:
    back = read_lock(TEXT.encode())
    lines = TEXT.splitlines()
    for path, line in back.lines.items():
        assert f"{path[-1]}:" in lines[line - 2]
        assert lines[line - 1].lstrip().startswith("value:")


def test_the_projection_keeps_value_source_and_place() -> None:
    leaf = state_of(read_lock(TEXT.encode())).leaves["models.primary.id"]
    assert (leaf.value, leaf.source, leaf.confidence) == ("org/name", Source.LOCK, Confidence.DECLARED)
    assert leaf.place is not None
    assert (leaf.place.path, leaf.place.line) == (
        "ml-audit.lock",
        read_lock(TEXT.encode()).lines["models", "primary", "id"],
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"ml-audit\.lock:1: one YAML mapping"),
        ("- 1", r":1: one YAML mapping"),
        ("a: [", r":2: not YAML"),
        ("a: 1", r":1: a is no section"),
        (TEXT + "models: {}\n", "stands twice"),
        (TEXT.replace("2.0e-05", "3.0e-05"), r"the values are not those that were written"),
        (TEXT.replace("schema_version: 1", "schema_version: 2"), r":2: schema_version 2 is not 1"),
        (TEXT.replace("source: manifest", "source: nobody", 1), r"models\.primary\.id.*nobody"),
        (TEXT.replace("confidence: declared", "confidence: observed", 1), "confidence is not"),
        (TEXT.replace(MOMENT, "yesterday", 1), "resolved_at"),
        (TEXT.replace("value: org/name", "value: {a: 1}"), "a plain value is expected"),
        (TEXT.replace("value: org/name", "value: !!python/object:os.system x"), "no place in a lock"),
        (TEXT.replace("value: org/name", "value: 0b1"), "not a number as a lock writes it"),
        (TEXT.replace("    id:\n", "    ? [a]\n    :\n"), "no plain word"),
        ("models: &a {primary: *a}", r"not YAML|no section|expected|schema_version"),
        ("<<<<<<< HEAD\n" + TEXT, r":1: a merge was not finished"),
        (TEXT + ">>>>>>> other\n", r"a merge was not finished"),
        ("models: " + "{a: " * 90 + "1" + "}" * 90, "schema_version none"),
        (
            "schema_version: 1\nmanifest: {path: a, sha256: b}\nmodels: " + "{a: " * 90 + "1" + "}" * 90,
            "bounds",
        ),
        ("schema_version: 1\nmanifest: 3\n", "manifest: path and sha256"),
    ],
)
def test_what_is_no_lock_is_refused_with_the_line(text: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        read_lock(text.encode())


def test_a_lock_that_is_too_large_or_no_text_is_refused() -> None:
    with pytest.raises(DocumentError, match="larger than 4 MiB"):
        read_lock(b"#" * (MAX_BYTES + 1))
    with pytest.raises(DocumentError, match="not UTF-8"):
        read_lock(b"\xff\xfe")


def test_aliases_cannot_explode() -> None:
    rows = ["schema_version: 1", "manifest: {path: a, sha256: b}", "models:", "  a: &a {x: {value: 1}}"]
    rows += [f"  b{n}: &b{n} [{', '.join([f'*b{n - 1}' if n else '*a'] * 9)}]" for n in range(12)]
    with pytest.raises(DocumentError):
        read_lock("\n".join(rows).encode())
    wide = ["schema_version: 1", "manifest: {path: a, sha256: b}", "models:", "  a0: &a0 {x: {y: z}}"]
    wide += [f"  a{n}: &a{n} {{{', '.join(f'k{i}: *a{n - 1}' for i in range(9))}}}" for n in range(1, 9)]
    with pytest.raises(DocumentError):
        read_lock("\n".join(wide).encode())


@given(st.binary(max_size=300))
def test_any_bytes_are_a_lock_or_a_document_error(data: bytes) -> None:
    try:
        read_lock(data)
    except DocumentError as error:
        assert error.message.startswith("ml-audit.lock")


@given(st.integers(0, len(TEXT) - 1), st.characters(exclude_categories=["Cs"]))
def test_an_edit_is_refused_or_changes_no_value(position: int, letter: str) -> None:
    try:
        back = read_lock((TEXT[:position] + letter + TEXT[position + 1 :]).encode())
    except DocumentError:
        return
    assert back.values == ordered(LOCK.values)
