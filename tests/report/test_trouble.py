from audit.report.trouble import AuditTrouble, render


def test_one_thing_is_a_sentence():
    text = render(AuditTrouble("The clone is broken.", "Fetch it again."))
    assert "\n\nThe clone is broken.\n\n→ Fetch it again.\n" in text


def test_every_mistake_of_a_document_has_a_line_of_its_own():
    text = render(AuditTrouble("ml-audit.yaml, line 1: a *star*.\nml-audit.yaml, line 2: more."))
    assert "- ml-audit.yaml, line 1: a \\*star\\*.\n- ml-audit.yaml, line 2: more.\n" in text


def test_a_line_of_the_document_breaks_out_of_nothing():
    text = render(AuditTrouble("a: <b>\n# x\n- [l](javascript:x)"))
    assert "<b>" not in text and "[l](javascript" not in text
    assert all(line.startswith(("- ", "## ", "<sub>")) for line in text.splitlines() if line)
