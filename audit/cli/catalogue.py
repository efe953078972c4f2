"""The words of all rules, for renderings and for `ml-audit rules`."""

from audit.assess.suppression import TEXTS
from audit.documents.rule import RuleText
from audit.rules.catalogue import RULES


def rule_texts() -> dict[str, RuleText]:
    """Title, reason and mend by rule id, those about suppressions too."""
    return {rule.id: RuleText(rule.title, rule.why, rule.fix) for rule in RULES} | dict(TEXTS)
