"""What the tests of publishing share: time that passes only by waiting, a pull request on the fake GitHub, reports about it,
and what is found there afterwards.
"""

import copy
import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from report import samples

from audit.assess.gate import FailOn, Gate, Scope, gate
from audit.documents.finding import Edit, Finding, Fix, Severity, Status
from audit.documents.place import Place
from audit.documents.report import Report
from audit.github.check import open_check
from audit.github.destination import CommentMode, Destination, Effects, Published, Token, Wishes
from audit.github.publish import publish
from tests.fakegithub import CheckRun, Comment, FakeGitHub, Pull, Repository

REPOSITORY = "octo/demo"
LINES = 130
KEY = "ci/audit"


@dataclass
class Clock:
    """Seconds that only sleeping spends. `said`: lines of the step's log."""

    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return 1_800_000_000.0 + self.seconds

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds

    def effects(self, timeout: float = 5.0) -> Effects:
        return Effects(
            now=self.now,
            sleep=self.sleep,
            say=self.said.append,
            nonce=lambda: "n0nce" * 5,
            wall=self.wall,
            timeout=timeout,
        )


def _finding(number: int, severity: Severity = Severity.WARNING, fix: Fix | None = None) -> Finding:
    return Finding(
        "determinism.seed",
        "determinism",
        severity,
        Status.FAIL,
        0,
        f"Finding number {number}.",
        (Place("train.py", number, f"line {number}"),),
        fix,
        f"{number:04x}",
        True,
    )


def pinned(line: int, name: str) -> Finding:
    """A finding with a safe edit of one line of the pull request's diff."""
    edit = Edit("requirements.txt", line, line, f"{name}==1.0\n")
    return Finding(
        "environment.lock",
        "environment",
        Severity.WARNING,
        Status.FAIL,
        0,
        f"{name} is not pinned.",
        (Place("requirements.txt", line, name),),
        Fix(f"Pin {name}.", True, (edit,)),
        f"aa{line:02x}",
        True,
    )


def report_of(pull: Pull, findings: tuple[Finding, ...]) -> Report:
    """A report about the pull request's head."""
    counts = samples.summary(findings, new=len(findings), fixed=0)
    return samples.report(repository=REPOSITORY, commit=pull.head_sha, findings=findings, summary=counts)


def first_findings() -> tuple[Finding, ...]:
    """So many that annotations need three requests, two of them with an edit."""
    many = tuple(_finding(number) for number in range(1, 119))
    return (*many, pinned(1, "numpy"), pinned(2, "torch"))


def second_findings() -> tuple[Finding, ...]:
    """After a push that mended one edit's finding, and brought another."""
    many = tuple(_finding(number) for number in range(1, 60))
    return (*many, pinned(2, "torch"), pinned(3, "scipy"))


def set_up(server: FakeGitHub, clock: Clock) -> Pull:
    """A pull request that rewrites two files; the server's time is the test's."""
    server.world.clock = clock.wall
    text = "".join(f"line {number}\n" for number in range(1, LINES + 1)).encode()
    head = {"train.py": text, "requirements.txt": b"numpy\ntorch\nscipy\n"}
    return server.add_pull(REPOSITORY, {"train.py": b"", "requirements.txt": b""}, head)


_after_first: list[Repository] = []


def set_up_again(server: FakeGitHub, clock: Clock) -> Pull:
    """The same an hour after a first run that met no fault. What that run left is the same each time, so it is made once."""
    pull = set_up(server, clock)
    if not _after_first:
        run(server, pull, clock, first_findings())
        _after_first.append(copy.deepcopy(repository(server)))
    server.world.repositories[REPOSITORY] = copy.deepcopy(_after_first[0])
    server.world.ids = itertools.count(4_000_000_001)
    server.requests.clear()
    clock.seconds = 3600.0
    clock.waits.clear()
    clock.said.clear()
    return repository(server).pulls[pull.number]


def destination_of(server: FakeGitHub, pull: Pull, run: int = 1, **more: Any) -> Destination:
    told: dict[str, Any] = {
        "api_url": server.api_url,
        "graphql_url": server.graphql_url,
        "server_url": server.server_url,
        "repository": REPOSITORY,
        "head_sha": pull.head_sha,
        "pull_number": pull.number,
        "run_id": run,
        "run_attempt": 1,
        "workflow": "ci",
        "job": "audit",
        "comment_key": KEY,
        "base_ref": "main",
        "token": Token(server.tokens.write),
    }
    return Destination(**{**told, **more})


@dataclass
class Run:
    """One publication: what it answered, and the gate that it was given."""

    published: Published
    gate: Gate


def run(
    server: FakeGitHub,
    pull: Pull,
    clock: Clock,
    findings: tuple[Finding, ...],
    *,
    number: int = 1,
    timeout: float = 5.0,
    wishes: Wishes | None = None,
    **more: Any,
) -> Run:
    """Opens the check, publishes, and closes the check, as the action does it."""
    wishes = wishes or Wishes(comment=CommentMode.ALWAYS, suggestions=True)
    destination = destination_of(server, pull, number, **more)
    effects = clock.effects(timeout)
    decided = gate(findings, FailOn.WARNING, Scope.NEW)
    check = open_check(destination, wishes, effects)
    try:
        report = report_of(pull, findings)
        published = publish(report, decided, destination, wishes, effects, rules=samples.RULES, check=check)
    finally:
        check.close()
    return Run(published, decided)


def repository(server: FakeGitHub) -> Repository:
    return server.world.repositories[REPOSITORY]


def our_comments(server: FakeGitHub) -> list[Comment]:
    return [one for one in repository(server).comments.values() if one.body.startswith("<!-- ml-audit:v1 ")]


def our_checks(server: FakeGitHub) -> list[CheckRun]:
    return list(repository(server).check_runs.values())


def run_told(comment: Comment) -> str:
    """The run that a comment's mark names."""
    found = re.search(r"run=(\d+)\.", comment.body)
    assert found
    return found[1]
