"""What every format must do: the same findings, the same counts, and nothing hostile let through."""

import gzip
import html as html_module
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from github_runner import commands

from audit.documents.report import Report
from audit.report import FORMATS, renderer

from . import samples

GOLDEN = Path(__file__).parent / "golden"
SUFFIXES = {
    "text": "txt",
    "json": "json",
    "markdown": "md",
    "sarif": "sarif",
    "html": "html",
    "github": "log",
}
MANY = samples.hostile(10_000)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("sample", ["usual", "clean", "hostile"])
def test_golden(name: str, sample: str, golden) -> None:
    report = {
        "usual": samples.report,
        "clean": samples.clean,
        "hostile": lambda: samples.hostile(12, samples.EVIL[:-2]),
    }[sample]()
    rules = samples.evil_rules() if sample == "hostile" else samples.RULES
    golden(GOLDEN / f"{sample}.{SUFFIXES[name]}", renderer(name)(report, rules=rules))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("rules", [None, samples.evil_rules()], ids=["no-catalogue", "evil-catalogue"])
def test_nothing_hostile_gets_through(name: str, rules) -> None:
    text = renderer(name)(samples.hostile(), rules=rules)
    assert not {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert text.encode()
    if name == "github":
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in commands(text))
        assert len(commands(text)) <= 30
    else:
        assert commands(text) == []


@pytest.mark.parametrize("name", FORMATS)
def test_ten_thousand_findings(name: str) -> None:
    text = renderer(name)(MANY)
    if name == "json":
        assert len(json.loads(text)["findings"]) == 10_000
    else:
        failing = MANY.summary.critical + MANY.summary.warning + MANY.summary.info
        assert failing > 2_000
        assert f"{MANY.summary.critical} critical" in text
        # Code scanning refuses more than 10 MB packed; nothing of ours is far bigger than that unpacked.
        assert len(gzip.compress(text.encode(), 1)) < 10_000_000


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("report", [samples.report(), samples.hostile(60)], ids=["usual", "hostile"])
def test_same_bytes_twice(name: str, report: Report) -> None:
    assert renderer(name)(report, rules=samples.RULES) == renderer(name)(report, rules=samples.RULES)


def said(name: str) -> str:
    """What a reader of the format sees of the usual report, without the format's own quoting."""
    text = renderer(name)(samples.report(), rules=samples.RULES)
    if name == "markdown":
        text = text.replace("\\", "")
    return html_module.unescape(text) if name in ("markdown", "html") else text.replace("%2C", ",")


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_findings_counts_and_coverage_in_every_format(name: str) -> None:
    text = said(name)
    for finding in samples.FINDINGS:
        if finding.status.value == "fail":
            assert finding.rule in text
            assert finding.message in text
    if name == "json":
        document = json.loads(text)
        assert document["summary"]["suppressed"] == 1
        assert document["coverage"]["files"] == 42
    else:
        assert "1 suppressed" in text
        assert "42 files seen, 37 parsed, 1 in part, 2 skipped" in text
        assert "2 critical" in text and "6.4" in text and "MEDIUM" in text
        assert "1 new" in text and "2 fixed" in text
    if name not in ("github",):
        assert "legacy/old.py" in text and "larger than 10 MB" in text


def test_no_format_is_imported_before_it_is_asked_for() -> None:
    code = "import sys, audit.report; print(sorted({'rich', 'jinja2', 'urllib', 'yaml'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(KeyError):
        renderer("pdf")
