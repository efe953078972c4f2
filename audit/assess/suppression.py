"""Findings that a repository knowingly lives with: by `.ml-audit/config.yaml`, or by a comment where they stand.

A suppressed finding keeps its place in the report, with the reason, and is counted. A comment without a reason suppresses nothing and is
a finding itself; so is a rule name that does not exist, because it suppresses nothing either.
"""

import fnmatch
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from audit.documents.finding import Finding, Fix, Severity, Status
from audit.documents.place import Place
from audit.documents.rule import RuleText

if TYPE_CHECKING:  # pydantic is imported only where a repository has a configuration
    from audit.assess.config import Ignore


class Comment(msgspec.Struct, frozen=True, array_like=True):
    """An inline `# ml-audit: ignore[rule, rule] reason`; `reason` "" where none was given."""

    path: str
    line: int
    rules: tuple[str, ...]
    reason: str


NO_REASON = "suppression.reason"
UNKNOWN_RULE = "suppression.unknown-rule"
TEXTS: Mapping[str, RuleText] = {
    NO_REASON: RuleText(
        "A suppression says why",
        "Without a reason nobody can tell later whether the exception still holds, so the comment suppresses nothing.",
        "Write the reason behind the brackets: # ml-audit: ignore[rule] reason",
    ),
    UNKNOWN_RULE: RuleText(
        "A suppression names a rule that exists",
        "A misspelt rule suppresses nothing, and reads as if it did.",
        "Take the id from `ml-audit rules list`.",
    ),
}


def suppress(
    findings: Iterable[Finding],
    *,
    ignores: Sequence["Ignore"],
    comments: Sequence[Comment],
    known: Iterable[str],
) -> tuple[Finding, ...]:
    """The findings, those that are accepted marked SUPPRESSED with the reason behind their message, and findings about the suppressions
    themselves at the end. `known`: ids of all rules. Only failures are suppressed.

    A comment speaks for its own line and the next, and a finding is accepted when one stands at each of its places: what comes to a
    collected finding later is not hidden by a comment that was written before. An `ignore` with paths speaks for a finding all of whose
    places lie in them.
    """
    names = frozenset(known) | TEXTS.keys()
    by_line: dict[tuple[str, int], list[Comment]] = defaultdict(list)
    for comment in comments:
        if comment.reason:
            by_line[comment.path, comment.line].append(comment)
            by_line[comment.path, comment.line + 1].append(comment)
    done = tuple(_judged(finding, ignores, by_line) for finding in findings)
    return (*done, *_about_comments(comments, names), *_about_ignores(ignores, names))


def _judged(
    finding: Finding, ignores: Sequence["Ignore"], by_line: Mapping[tuple[str, int], list[Comment]]
) -> Finding:
    if finding.status is not Status.FAIL:
        return finding
    reason = _reason_of(finding, ignores, by_line)
    if reason is None:
        return finding
    return msgspec.structs.replace(
        finding, status=Status.SUPPRESSED, message=f"{finding.message} Suppressed: {reason}"
    )


def _reason_of(
    finding: Finding, ignores: Sequence["Ignore"], by_line: Mapping[tuple[str, int], list[Comment]]
) -> str | None:
    if reason := _commented(finding, by_line):
        return reason
    for ignore in ignores:
        if names_rule(ignore.rule, finding.rule) and _all_within(finding.evidence, ignore.paths):
            return ignore.reason
    return None


def _commented(finding: Finding, by_line: Mapping[tuple[str, int], list[Comment]]) -> str | None:
    """The reasons of the comments at the finding's places, None where one place has none."""
    reasons: dict[str, None] = {}
    for place in finding.evidence:
        here = by_line.get((place.path, place.line), ()) if place.line is not None else ()
        comment = next((c for c in here if any(names_rule(rule, finding.rule) for rule in c.rules)), None)
        if comment is None:
            return None
        reasons[comment.reason] = None
    return "; ".join(reasons) or None


def names_rule(pattern: str, rule: str) -> bool:
    """Whether `pattern`, an id or "category.*", means `rule`."""
    return pattern == rule or (pattern.endswith(".*") and rule.startswith(pattern[:-1]))


def _all_within(places: Sequence[Place], patterns: Sequence[str]) -> bool:
    if not patterns:
        return True
    return bool(places) and all(any(_within(place.path, pattern) for pattern in patterns) for place in places)


def _within(path: str, pattern: str) -> bool:
    if pattern.endswith("/"):
        return path.startswith(pattern)
    return fnmatch.fnmatchcase(path, pattern)


def _about_comments(comments: Sequence[Comment], names: frozenset[str]) -> Iterable[Finding]:
    for comment in comments:
        place = Place(comment.path, comment.line)
        if not comment.reason:
            yield _finding(
                NO_REASON,
                f"The comment that ignores {', '.join(comment.rules)} gives no reason and suppresses nothing.",
                place,
            )
        for pattern in comment.rules:
            if not any(names_rule(pattern, name) for name in names):
                yield _finding(UNKNOWN_RULE, f"There is no rule called {pattern}.", place)


def _about_ignores(ignores: Sequence["Ignore"], names: frozenset[str]) -> Iterable[Finding]:
    from audit.assess.config import CONFIG_PATH

    for ignore in ignores:
        if not any(names_rule(ignore.rule, name) for name in names):
            yield _finding(UNKNOWN_RULE, f"There is no rule called {ignore.rule}.", Place(CONFIG_PATH))


def _finding(rule: str, message: str, place: Place) -> Finding:
    key = hashlib.sha256(
        "\0".join((rule, place.path, message)).encode("utf-8", "surrogateescape")
    ).hexdigest()[:32]
    return Finding(
        rule, "suppression", Severity.WARNING, Status.FAIL, 0, message, (place,), Fix(TEXTS[rule].fix), key
    )
