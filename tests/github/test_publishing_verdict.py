"""A failure verdict on a pull request: the answer on top, the log's line quoted, nothing of it alive."""

from pathlib import Path
from typing import Any

import pytest
from github_runner import Command, executed
from markdown_it import MarkdownIt
from publishing import Clock, destination_of, our_checks, our_comments, repository, set_up
from report import samples

from audit.documents.report import Tool
from audit.documents.verdict import (
    Alternative,
    Category,
    Cause,
    Claim,
    ClaimStatus,
    Confidence,
    Decision,
    Evidence,
    EvidenceKind,
    Fact,
    OtherCause,
    Role,
    TraceStep,
    Trust,
    Verdict,
)
from audit.github.check import open_check
from audit.github.destination import CommentMode, Wishes
from audit.github.publish import publish_verdict
from tests.fakegithub import FakeGitHub

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def verdict(
    category: Category = Category.INFRA_RUNTIME, texts: tuple[str, ...] = ("text",), many: int = 2
) -> Verdict:
    """A verdict with `many` of everything that there may be several of."""

    def text(number: int) -> str:
        return texts[number % len(texts)] or "-"

    numbers = range(many)
    return Verdict(
        schema_version=1,
        tool=Tool("ml-audit", "0.1.0"),
        category=category,
        decision=Decision.RERUN,
        confidence=Confidence.HIGH,
        cause=Cause("log.txt", 12, "##[error]CUDA out of memory " + text(0), "cuda_oom", None, text(1), 3),
        other_causes=tuple(
            OtherCause(text(n), n + 1, text(n), text(n), Category.CORRECTNESS, Decision.FIX_CODE)
            for n in numbers
        ),
        pre_existing=True,
        failing=tuple(map(text, numbers)),
        passed_checks=(),
        facts=tuple(Fact(text(n), 1.5, "s", text(n)) for n in numbers),
        claims=tuple(Claim(text(n), ClaimStatus.CONTRADICTED, text(n)) for n in numbers),
        evidence=tuple(
            Evidence(EvidenceKind.LOG, Trust.RAW, text(n), n + 1, text(n), Role.CONSEQUENCE) for n in numbers
        ),
        trace=tuple(TraceStep(text(n), n + 1, text(n), text(n)) for n in numbers),
        alternatives=tuple(Alternative(Category.CORRECTNESS, text(n)) for n in numbers),
        recommendation="Run it again on a larger machine. " + text(2),
        not_known=tuple(map(text, numbers)),
    )


def told(server: FakeGitHub, clock: Clock, given: Verdict, passed: bool, **wishes: Any) -> Any:
    pull = set_up(server, clock)
    destination = destination_of(server, pull)
    asked = Wishes(**({"comment": CommentMode.CHANGES} | wishes))
    check = open_check(destination, asked, clock.effects())
    return publish_verdict(given, passed, destination, asked, clock.effects(), check=check)


def test_the_verdict_stands_in_comment_check_and_summary(github_server: FakeGitHub, tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "summary.md"
    done = told(github_server, clock, verdict(), False, summary=path)
    assert done.warnings == ()
    [comment] = our_comments(github_server)
    [check] = our_checks(github_server)
    head = "Machine, network or runner (infra_runtime): run again; confidence high"
    assert f"\n## ❌ ML audit · {head.replace('_', chr(92) + '_')}\n" in comment.body
    assert "The base commit fails alike" in comment.body
    assert "`log.txt:12`" in comment.body
    assert path.read_text() == comment.body.split("\n", 1)[1]
    assert (check.title, check.conclusion) == (head, "failure")


def test_nothing_failed_and_no_comment_is_there(github_server: FakeGitHub) -> None:
    told(github_server, Clock(), verdict(Category.PASSED), True)
    assert repository(github_server).comments == {}
    assert [check.conclusion for check in our_checks(github_server)] == ["success"]


@pytest.mark.parametrize(
    ("category", "passed", "sign"),
    [
        (Category.INFRA_RUNTIME, True, "⚠"),
        (Category.INFRA_RUNTIME, False, "❌"),
        (Category.PASSED, True, "✅"),
    ],
)
def test_green_is_only_where_nothing_failed(
    github_server: FakeGitHub, category: Category, passed: bool, sign: str
) -> None:
    told(github_server, Clock(), verdict(category), passed, comment=CommentMode.ALWAYS)
    [comment] = our_comments(github_server)
    assert comment.body.split("\n")[1].startswith(f"## {sign} ML audit · ")


def test_a_quoted_line_of_the_log_commands_nothing(github_server: FakeGitHub) -> None:
    clock = Clock()
    told(github_server, clock, verdict(), False)
    assert executed("\n".join(clock.said)) == [Command("stop-commands", {}, "n0nce" * 5)]


@pytest.mark.parametrize("many", [1, 60])
def test_a_hostile_verdict_fits_and_is_inert(github_server: FakeGitHub, many: int) -> None:
    texts = (*samples.EVIL, "🙂" * 3_000)
    clock = Clock()
    done = told(github_server, clock, verdict(texts=texts, many=many), False)
    assert done.warnings == ()
    [comment] = our_comments(github_server)
    tokens = [child for token in READER.parse(comment.body) for child in (token, *(token.children or []))]
    assert not {"image", "fence"} & {token.type for token in tokens}
    links = {str(token.attrs["href"]) for token in tokens if token.type == "link_open"}
    assert links <= {"https://github.com/octo/demo/actions/runs/1"}
    assert "@octocat" not in "".join(token.content for token in tokens if token.type.startswith("text"))
