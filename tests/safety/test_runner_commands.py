"""What is quoted into a step's log gives the runner no command, in either of its syntaxes."""

import pytest
from github_runner import Command, commands, executed
from hypothesis import given
from hypothesis import strategies as st

from audit.safety import sanitize

PIECES = (
    "::", "##[", "##", "[", "]", "error", "warning", "set-output", "add-mask", "stop-commands", "save-state", " ", "name=ok",
    ",", ";", "%0A", "%25", "%3A", "\n", "\r", "\r\n", "\t", "\x0b", "\x85", "\u2028", "\xa0", "\u3000", "\ufeff", "token", "file=a",
    "title=b", "=", "x", "\x1b[0m", "\udcff",
)  # fmt: skip
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=80),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("::error file=a.py,line=3::it%0Abroke", [Command("error", {"file": "a.py", "line": "3"}, "it\nbroke")]),
        ("  ::notice::x", [Command("notice", {}, "x")]),
        ("time ##[error code=7;x=a%3Bb]it broke", [Command("error", {"code": "7", "x": "a;b"}, "it broke")]),
        ("##[section]Starting", []),
        ("std::vector::size", []),
        ("::unknown::x", []),
        ("::stop-commands::t\n::error::x\n##[error]y\n::t::\n::debug::z",
         [Command("stop-commands", {}, "t"), Command("debug", {}, "z")]),
    ],
)  # fmt: skip
def test_the_parser_reads_what_the_runner_reads(output: str, expected: list[Command]) -> None:
    assert executed(output) == expected


@given(TEXT)
def test_quoted_lines_command_nothing_and_the_commands_after_them_work(text: str) -> None:
    quoted = sanitize.log_quote(text, "5f2d9a")
    after = "::notice::after"
    assert executed(f"{quoted}\n{after}") == [
        Command("stop-commands", {}, "5f2d9a"),
        Command("notice", {}, "after"),
    ]
    # Should the runner not heed the token, the lines still hold nothing.
    assert commands("\n".join(quoted.split("\n")[1:-1])) == []


@given(TEXT, TEXT, TEXT)
def test_a_command_of_ours_says_what_we_meant_and_nothing_else(name: str, title: str, message: str) -> None:
    line = sanitize.command("warning", message, {"file": name, "line": 7, "title": title})
    [command] = executed(line)
    assert command.name == "warning"
    assert command.properties["line"] == "7"
    for key, text in (("file", name), ("title", title)):
        shown = sanitize.printable(text).replace("##[", "#\\x23[")
        assert command.properties.get(key, "").strip() == shown.strip()
    assert set(command.properties) <= {"file", "line", "title"}
    assert "##[" not in line
