"""Words and orders that every rendering of a verdict shares."""

from audit.documents.verdict import Category, Decision, Fact, Verdict

CATEGORIES = {
    Category.ML_REGRESSION: "Model regression",
    Category.CORRECTNESS: "Bug in the code",
    Category.DATA_CONFIG: "Data or configuration",
    Category.INFRA_RUNTIME: "Machine, network or runner",
    Category.METRIC_POLICY: "Only a gate was missed",
    Category.UNSUPPORTED_CLAIM: "A claim that the telemetry does not bear out",
    Category.INCONCLUSIVE: "The evidence cannot decide",
    Category.PASSED: "Nothing failed",
}
DECISIONS = {
    Decision.BLOCK: "block the change",
    Decision.ALLOW: "allow",
    Decision.RERUN: "run again",
    Decision.FIX_CONFIG: "fix configuration or data",
    Decision.FIX_CODE: "fix the code",
    Decision.NEED_EVIDENCE: "supply evidence",
}


def headline(verdict: Verdict) -> str:
    """One line: what it is, what to do, how sure."""
    return f"{CATEGORIES[verdict.category]} ({verdict.category.value}): {DECISIONS[verdict.decision]}; confidence {verdict.confidence.value}"


def place(file: str, line: int | None) -> str:
    """`log.txt:12`."""
    return f"{file}:{line}" if line is not None else file


def value(fact: Fact) -> str:
    """A fact's value with its unit, six digits."""
    number = fact.value
    text = f"{number:.6g}" if isinstance(number, float) else str(number)
    return f"{text} {fact.unit}".strip()
