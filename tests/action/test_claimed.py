"""What a fork's artifact may say: only a report's own types, about the run's commit, within bounds."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.action.claimed import catalogue_texts, claimed_report
from audit.documents.errors import DocumentError
from audit.engine.audit import audit
from audit.engine.options import Options
from audit.report.json import dump
from tests.action.payloads import HEAD, REPOSITORY
from tests.engine.repositories import effects, repository


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> dict[str, Any]:
    """A real report, as the first stage writes it."""
    folder = tmp_path_factory.mktemp("claimed")
    report = audit(Options(str(repository(folder / "r"))), effects(folder)).report
    return json.loads(dump(msgspec.structs.replace(report, commit=HEAD)))


def taken(document: Any) -> Any:
    return claimed_report(json.dumps(document).encode(), HEAD, REPOSITORY)


def test_an_honest_report_is_taken_under_the_name_that_github_gives(honest):
    report = taken(honest)
    assert report.repository == REPOSITORY
    assert [each.rule for each in report.findings] == [each["rule"] for each in honest["findings"]]


def test_counts_and_risk_are_computed_anew(honest):
    lying = {
        **honest,
        "risk": "<b>LOW</b>",
        "summary": {**honest["summary"], "critical": 0, "warning": 0, "new": 7},
    }
    report = taken(lying)
    assert report.summary == taken(honest).summary
    assert report.summary.warning > 0
    assert report.summary.new is None
    assert report.risk in ("LOW", "MEDIUM", "HIGH")


def with_finding(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**document, "findings": [{**document["findings"][0], **changes}, *document["findings"][1:]]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: {**d, "extra": 1}, "unknown field `extra`"),
        (lambda d: with_finding(d, html="<script>"), "unknown field `html`"),
        (
            lambda d: with_finding(d, evidence=[{"path": "a", "line": 1, "note": "", "url": "x"}]),
            "unknown field `url`",
        ),
        (lambda d: {**d, "signals": {**d["signals"], "more": {}}}, "unknown field `more`"),
        (lambda d: {**d, "schema_version": 2}, "its schema version is not 1"),
        (lambda d: {**d, "commit": "a" * 40}, "another commit"),
        (lambda d: {**d, "commit": None}, "another commit"),
        (lambda d: {**d, "score": 11}, "a score is not between"),
        (lambda d: with_finding(d, rule="no.such_rule"), "a rule that this version does not have"),
        (lambda d: with_finding(d, message="x" * 20_001), "longer than 20000 characters"),
        (lambda d: {**d, "insights": ["x"] * 1_001}, "more than 1000 remarks"),
        (lambda d: {**d, "coverage": {**d["coverage"], "notes": ["x"] * 1_001}}, "more than 1000 remarks"),
        (lambda d: with_finding(d, severity="BLOCKER"), "Invalid enum value"),
        (
            lambda d: with_finding(d, evidence=[{"path": "../../settings", "line": 1, "note": ""}]),
            "outside of the repository",
        ),
        (
            lambda d: with_finding(d, evidence=[{"path": "/etc/passwd", "line": 1, "note": ""}]),
            "outside of the repository",
        ),
        (
            lambda d: with_finding(d, evidence=[{"path": "a.py", "line": 0, "note": ""}]),
            "outside of the repository",
        ),
        (
            lambda d: with_finding(d, evidence=[{"path": "a.py", "line": 1, "note": ""}] * 2_001),
            "more than 2000 places",
        ),
        (lambda d: [d], "no report of ml-audit"),
    ],
)
def test_anything_else_is_refused(honest, change, said):
    with pytest.raises(DocumentError) as caught:
        taken(change(honest))
    assert said in caught.value.message


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[" * 100_000, b'{"schema_version": 1}', b"null"])
def test_no_document_at_all(data):
    with pytest.raises(DocumentError):
        claimed_report(data, HEAD, REPOSITORY)


def test_a_secret_in_it_is_blackened(honest):
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    assert token not in taken(with_finding(honest, message=f"See {token}.")).findings[0].message


def test_every_rule_of_the_catalogue_has_words():
    assert all(text.title for text in catalogue_texts().values())


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=150,
)
@given(data=st.data())
def test_no_change_of_a_report_gets_anything_but_a_report_or_a_refusal(honest, data):
    document = json.loads(json.dumps(honest))
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(
        LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(st.text(max_size=5), LEAVES, max_size=3)
    )
    try:
        report = taken(document)
    except DocumentError:
        return
    assert report.commit == HEAD
    assert all(each.rule in catalogue_texts() for each in report.findings)
