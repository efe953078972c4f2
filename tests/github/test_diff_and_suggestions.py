"""Which lines can be commented on, and what a suggestion would write there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report import samples

from audit.documents.finding import Edit, Finding, Fix, Severity, Status
from audit.github.diff import Hunk, hunks, lines_at
from audit.report.suggestion import body, suggestion

PATCH = """@@ -1,3 +1,4 @@ def head():
 one
-two
+zwei
+drei
 four
@@ -20,2 +21,2 @@
-old
+new
 last
\\ No newline at end of file"""
DIFF = {"a.txt": hunks(PATCH)}


def lines(path: str, first: int, last: int) -> tuple[str, ...] | None:
    return lines_at(DIFF, path, first, last)


def test_hunks_are_the_lines_of_the_new_file() -> None:
    assert hunks(PATCH) == (Hunk(1, ("one", "zwei", "drei", "four")), Hunk(21, ("new", "last")))
    assert lines("a.txt", 2, 4) == ("zwei", "drei", "four")
    assert lines("a.txt", 4, 5) is None
    assert lines("a.txt", 5, 5) is None
    assert lines("b.txt", 1, 1) is None
    assert hunks("") == ()


@given(st.text(max_size=300))
def test_any_patch_is_read(patch: str) -> None:
    for hunk in hunks(patch):
        assert hunk.lines


def finding(*edits: Edit) -> Finding:
    return Finding(
        "code.rule", "code", Severity.WARNING, Status.FAIL, 0, "It @is <b>so</b>.", (), Fix("Mend it.", True, edits), "f", True
    )  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit("a.txt", 2, 3, "x\n"), (2, 3, "x")),
        (Edit("a.txt", 2, 2, "x\ny\n"), (2, 2, "x\ny")),
        (Edit("a.txt", 2, 2, ""), (2, 2, "")),
        (Edit("a.txt", 2, 1, "x\n"), (2, 2, "x\nzwei")),
        (Edit("a.txt", 5, 4, "x\n"), (4, 4, "four\nx")),
        (Edit("a.txt", 1, 0, "x\n"), (1, 1, "x\none")),
        (Edit("a.txt", 2, 2, "zwei\n"), None),
        (Edit("a.txt", 4, 5, "x\n"), None),
        (Edit("a.txt", 9, 9, "x\n"), None),
        (Edit("a.txt", 2, 2, "x\u202ey\n"), None),
        (Edit("a.txt", 2, 2, "x\x1b[1m\n"), None),
        (Edit("a.txt", 2, 2, "x\ty\n"), (2, 2, "x\ty")),
        (Edit("b.txt", 2, 2, "x\n"), None),
    ],
)
def test_an_edit_becomes_a_suggestion_where_its_lines_are(
    edit: Edit, expected: tuple[int, int, str] | None
) -> None:
    made = suggestion(finding(edit), edit, "", lines)
    assert (made and (made.start_line, made.end_line, made.replacement)) == expected


def test_the_audited_folder_is_part_of_the_path() -> None:
    edit = Edit("txt", 1, 1, "x\n")
    made = suggestion(finding(edit), edit, "a", lambda path, *_: ("one",) if path == "a/txt" else None)
    assert made is not None
    assert made.path == "a/txt"


@pytest.mark.parametrize("replacement", ["```\nx\n", "````\n~~~\n", "@you [a](b) <b>\n", "- [ ] x\n"])
def test_the_block_holds_the_replacement_itself(replacement: str) -> None:
    edit = Edit("a.txt", 2, 2, replacement)
    made = suggestion(finding(edit), edit, "", lines)
    assert made is not None
    tokens = MarkdownIt("commonmark", {"html": True}).parse(body(made, samples.RULES))
    [fence] = [token for token in tokens if token.type == "fence"]
    assert (fence.info, fence.content) == ("suggestion", replacement)
    assert not [token for token in tokens if token.type == "html_block"]
    inline = [child.type for token in tokens for child in token.children or []]
    assert set(inline) <= {"text", "code_inline", "text_special", "softbreak"}
