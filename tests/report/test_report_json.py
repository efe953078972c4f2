"""The JSON: the document exactly, in the design's order, and always readable."""

import json

import msgspec

from audit.documents.report import Report
from audit.report.json import render

from . import samples

KEYS = [
    "schema_version", "tool", "repository", "commit", "level", "generated_at", "score", "risk", "dimensions",
    "analysis", "quality", "patterns", "signals", "profiles", "findings", "insights", "summary", "coverage",
    "baseline",
]  # fmt: skip


def test_keys_stand_in_the_order_of_the_design() -> None:
    document = json.loads(render(samples.report()))
    assert list(document) == KEYS
    assert list(document["findings"][0]) == [
        "rule", "category", "severity", "status", "level", "message", "evidence", "fix", "fingerprint", "new",
    ]  # fmt: skip
    assert list(document["dimensions"]) == [
        "environment", "determinism", "documentation", "testing", "ci_cd", "benchmarking", "data", "configuration",
    ]  # fmt: skip
    assert document["findings"][3]["fix"] is None
    assert list(json.loads(render(samples.hostile()))) == KEYS


def test_it_reads_back_strictly_as_the_same_report() -> None:
    for report in (samples.report(), samples.clean()):
        assert msgspec.json.decode(render(report), type=Report) == report


def test_a_hostile_report_reads_back_with_its_bytes_shown() -> None:
    report = samples.hostile()
    back = msgspec.json.decode(render(report), type=Report)
    assert back.insights[samples.EVIL.index("\udcff\udc80caf\udce9.py")] == "\\xff\\x80caf\\xe9.py"
    kept = [text for text in samples.EVIL if not any("\ud800" <= c <= "\udfff" for c in text)]
    assert [text for text in back.insights if text in kept] == kept
    assert len(back.findings) == len(report.findings)


def test_what_cannot_be_seen_is_escaped_but_kept() -> None:
    text = render(samples.report(insights=("\u202e##[error]x",)))
    assert '"\\u202e\\u0023\\u0023[error]x"' in text
    assert json.loads(text)["insights"] == ["\u202e##[error]x"]
