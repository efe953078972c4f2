"""Workflow commands: few, merged, exact, and no other than ours."""

from github_runner import commands

from audit.documents.finding import Finding, Fix, Severity, Status
from audit.documents.place import Place
from audit.report.workflow import render

from . import samples


def finding(number: int, path: str = "", severity: Severity = Severity.WARNING) -> Finding:
    places = (Place(path or f"f{number}.py", number + 1),)
    return Finding("r", "c", severity, Status.FAIL, 0, f"m{number}", places, Fix("Do it."))


def test_at_most_ten_of_a_level_and_the_rest_is_told() -> None:
    text = render(samples.report(findings=tuple(finding(n) for n in range(14))))
    assert len(commands(text)) == 10
    assert "4 more findings of level WARNING are in the report, not annotated." in text.split("\n")


def test_findings_of_one_rule_in_one_file_share_an_annotation() -> None:
    text = render(samples.report(findings=tuple(finding(n, "a.py") for n in range(3))))
    assert commands(text) == [
        "::warning file=a.py,line=1,title=r::m0%0AFix: Do it.%0Am1 (a.py:2)%0Am2 (a.py:3)"
    ]


def test_levels() -> None:
    text = render(
        samples.report(findings=tuple(finding(n, "", severity) for n, severity in enumerate(Severity)))
    )
    assert [line.split()[0] for line in commands(text)] == ["::error", "::warning", "::notice"]


def test_a_name_forges_neither_a_command_nor_a_property() -> None:
    evil = "a,line=9::x\n::error title=PWN::forged"
    text = render(samples.report(findings=(finding(0, evil),)))
    assert commands(text) == [
        "::warning file=a%2Cline=9%3A%3Ax\\n%3A%3Aerror title=PWN%3A%3Aforged,line=1,title=r::m0%0AFix: Do it."
    ]


def test_only_failures_are_annotated_and_the_verdict_closes() -> None:
    text = render(samples.report())
    assert len(commands(text)) == 4
    assert text.split("\n")[-4:] == [
        "ml-audit: score 6.4/10, risk MEDIUM, 2 critical, 1 warning, 1 info (1 new, 2 fixed)",
        "ml-audit: 1 passed, 1 suppressed, 1 not checked, 1 not applicable",
        "ml-audit: 42 files seen, 37 parsed, 1 in part, 2 skipped",
        "",
    ]


def test_messages_are_short_enough_for_the_runner() -> None:
    long = finding(0)
    many = tuple(finding(n, "a.py") for n in range(3_000))
    for text in (render(samples.report(findings=(*many, long))), render(samples.hostile())):
        for line in commands(text):
            assert (
                len(line.partition("::")[2].partition("::")[2].replace("%0A", "\n").replace("%25", "%"))
                <= 4_096
            )
