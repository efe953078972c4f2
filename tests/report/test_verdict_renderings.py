"""Every rendering of a verdict: complete, harmless whatever the log holds, and the same bytes each time."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.cli.schema_command import schema_text
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
    FactInput,
    OtherCause,
    Role,
    TraceStep,
    Trust,
    Verdict,
)
from audit.failure.plots import Curve, Plot
from audit.report.verdict import FORMATS, renderer

HOSTILE = (
    "<script>alert(1)</script> @octocat ##[error]x ::error::y \x1b[31mred | `a` [z](javascript:q) \u202egnp"
)


def made(text: str = HOSTILE) -> Verdict:
    return Verdict(
        1,
        Tool("ml-audit", "1.0"),
        Category.ML_REGRESSION,
        Decision.BLOCK,
        Confidence.HIGH,
        Cause("logs.zip!job/1_a.txt", 3, text, "loss_not_finite", text, text, 2),
        (OtherCause("log.txt", 9, text, "disk_full", Category.INFRA_RUNTIME, Decision.RERUN),),
        None,
        (text,),
        (text,),
        (
            Fact("loss", 1.5, "nat", text, (FactInput(text, 2.0, "m.csv:3"),)),
            Fact("flag", True),
            Fact("none", None),
        ),
        (Claim(text, ClaimStatus.CONTRADICTED, text),),
        (Evidence(EvidenceKind.LOG, Trust.RAW, "log.txt", 9, text, Role.RECOVERED),),
        (TraceStep("src/a.py", 4, text, text),),
        (Alternative(Category.CORRECTNESS, text),),
        text,
        (text,),
    )


PLOTS = (Plot(HOSTILE, "step", (Curve(HOSTILE, (1.0, 2.0, 3.0, 4.0), (2.0, 1.0, None, 5e9)),), 3.0, 4.0),)


@pytest.mark.parametrize("form", FORMATS)
def test_it_ends_with_a_newline_and_is_the_same_each_time(form: str) -> None:
    text = renderer(form)(made(), PLOTS)
    assert text.endswith("\n")
    assert text == renderer(form)(made(), PLOTS)


def test_json_is_the_document_and_fits_its_schema() -> None:
    import jsonschema

    text = renderer("json")(made())
    assert msgspec.json.decode(text, type=Verdict) == made()
    jsonschema.validate(json.loads(text), json.loads(schema_text("verdict")))
    assert list(json.loads(text))[:5] == ["schema_version", "tool", "category", "decision", "confidence"]


def test_html_is_inert_and_shows_the_plot() -> None:
    text = renderer("html")(made(), PLOTS)
    assert "<script" not in text
    assert "\x1b" not in text
    assert "polyline" in text
    assert text.count("<polyline") == 2  # the value that is not finite parts the curve
    assert "http" not in text.replace("http-equiv", "")


def test_html_says_which_curve_is_whose_and_how_it_is_drawn() -> None:
    wide, even = Curve("base", (1.0, 2.0), (1.0, 5e9)), Curve("head", (1.0, 2.0), (1.0, 2.0))
    text = renderer("html")(made("x"), (Plot("loss", "step", (wide, even)), Plot("acc", "step", (even,))))
    assert text.count("logarithmic") == 1
    assert '<span class="k0">■</span> base' in text
    assert '<span class="k1">■</span> head' in text
    assert text.count("■") == 2  # a single curve needs no key


def test_markdown_notifies_nobody_and_starts_no_html() -> None:
    text = renderer("markdown")(made())
    assert "<script" not in text
    assert "@octocat" not in text.replace("`", "") or "&#64;" in text or "@\u200b" in text
    assert "\x1b" not in text


def test_text_starts_no_workflow_command_and_no_escape() -> None:
    text = renderer("text")(made())
    assert "\x1b" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "##[error]" not in text
    assert text.startswith("Model regression (ml_regression): block the change; confidence high")


def test_sarif_points_at_the_code_and_names_the_log() -> None:
    run = json.loads(renderer("sarif")(made()))["runs"][0]
    first, second = run["results"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/a.py"
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}
    assert second["level"] == "note"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "ml_regression/loss_not_finite",
        "infra_runtime/disk_full",
    ]


def test_a_verdict_without_a_cause_renders() -> None:
    bare = msgspec.structs.replace(
        made("x"), category=Category.INCONCLUSIVE, cause=None, other_causes=(), facts=(), claims=(), trace=()
    )
    for form in FORMATS:
        assert renderer(form)(bare)
    assert json.loads(renderer("sarif")(bare))["runs"][0]["results"] == []


@settings(max_examples=40)
@given(
    st.text(max_size=80),
    st.lists(
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False, width=32)),
        min_size=1,
        max_size=6,
    ),
)
def test_no_text_and_no_curve_breaks_a_rendering(text: str, values: list[float | None]) -> None:
    plot = Plot(text, text, (Curve(text, tuple(map(float, range(len(values)))), tuple(values)),))
    for form in FORMATS:
        out = renderer(form)(made(text), (plot,))
        assert "\x1b" not in out
