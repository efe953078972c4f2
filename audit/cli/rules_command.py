"""`ml-audit rules list` and `ml-audit rules show ID`."""

import difflib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # none of this is imported for --help
    from audit.rules.rule import Rule


@click.group(
    "rules", epilog="\b\nExamples:\n  ml-audit rules list --json\n  ml-audit rules show environment.lock\n"
)
def rules_command() -> None:
    """List the rules, or explain one."""


@rules_command.command("list")
@click.option("--category", help="Only the rules of this category.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with everything that is known of each rule.")
def list_command(category: str | None, as_json: bool) -> None:
    """List all rules: severity, id, title."""
    from audit.cli.output import write_stdout
    from audit.rules.catalogue import RULES

    categories = sorted({rule.category for rule in RULES})
    if category is not None and category not in categories:
        raise click.BadParameter(f"one of {', '.join(categories)} is expected.", param_hint="--category")
    chosen = [rule for rule in RULES if category in (None, rule.category)]
    if as_json:
        from audit.report.json import dump

        write_stdout(dump([_as_data(rule) for rule in chosen]))
        return
    width = max(len(rule.id) for rule in chosen)
    write_stdout("".join(f"{rule.severity.value:<8}  {rule.id:<{width}}  {rule.title}\n" for rule in chosen))


@rules_command.command("show")
@click.argument("identifier", metavar="ID")
def show_command(identifier: str) -> None:
    """Explain the rule ID: why it matters, how to mend it, an example of each outcome."""
    from audit.assess.suppression import TEXTS
    from audit.cli.output import write_stdout
    from audit.rules.catalogue import RULES, rule

    if (
        identifier in TEXTS
    ):  # findings about suppressions themselves: no rule checks them, and a report names them all the same
        text = TEXTS[identifier]
        write_stdout(
            f"{identifier}  WARNING\n{text.title}\n\nWhy:   {text.why}\nFix:   {text.fix}\nCosts: no points\n"
        )
        return
    try:
        found = rule(identifier)
    except KeyError:
        near = difflib.get_close_matches(identifier, [each.id for each in RULES] + list(TEXTS), 3, 0.4)
        hint = f" Perhaps {' or '.join(near)}?" if near else " `ml-audit rules list` names them all."
        raise click.BadParameter(f"there is no rule called {identifier}.{hint}", param_hint="ID") from None
    write_stdout(_page(found))


def _as_data(rule: "Rule") -> dict[str, object]:

    return {
        name: getattr(rule, name) for name in rule.__struct_fields__ if name not in ("check", "severity")
    } | {"severity": rule.severity.value, "category": rule.category}


def _page(rule: "Rule") -> str:
    cost = (
        f"up to {rule.points:g} points of {rule.dimension}" if rule.dimension and rule.points else "no points"
    )
    parts = [
        f"{rule.id}  {rule.severity.value}",
        rule.title,
        "",
        f"Why:   {rule.why}",
        f"Fix:   {rule.fix}",
        f"Costs: {cost}",
        f"Level: {rule.level}",
    ]
    for title, example in (("Passes", rule.passing), ("Fails", rule.failing)):
        if example:
            parts += ["", f"{title}:", *(f"  {line}" for line in example.strip("\n").splitlines())]
    return "\n".join(parts) + "\n"
