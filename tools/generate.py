"""Writes everything that is made from the code: rule and signature pages, command reference, schemas, README blocks, the picture.

python tools/generate.py            writes what differs
python tools/generate.py --check    writes nothing; fails, naming them, where files differ
"""

import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from audit.assess import risk
from audit.assess.score import WEIGHTS
from audit.assess.suppression import TEXTS
from audit.cli.main import COMMANDS, PROGRAM, cli
from audit.cli.schema_command import NAMES, schema_text
from audit.engine.exit_codes import MEANINGS
from audit.rules.catalogue import RULES
from audit.rules.rule import Rule
from tools import action_files, profile_page, severity_page, signature_pages

ROOT = Path(__file__).resolve().parent.parent
RULE_PAGES = ROOT / "docs" / "rules"
SIGNATURE_PAGES = ROOT / "docs" / "signatures"
_BLOCK = re.compile(r"(<!-- generated: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.S)


def documents() -> Iterator[tuple[Path, str]]:
    """Every generated file with its content."""
    yield RULE_PAGES / "README.md", rule_index()
    for rule in RULES:
        yield RULE_PAGES / f"{rule.id}.md", rule_page(rule)
    for identifier, text in TEXTS.items():
        yield (
            RULE_PAGES / f"{identifier}.md",
            f"# {identifier}\n\n**{text.title}.**\n\n{text.why}\n\n{text.fix}\n",
        )
    yield from signature_pages.pages(SIGNATURE_PAGES)
    yield ROOT / "docs" / "profiles.md", profile_page.text()
    yield ROOT / "docs" / "drift-severities.md", severity_page.text()
    yield ROOT / "docs" / "cli.md", command_reference()
    for name in NAMES:
        yield ROOT / "schemas" / f"{name}.schema.json", schema_text(name)
    yield ROOT / "schemas" / "action-inputs.json", action_files.schema()
    yield ROOT / "action.yml", action_files.container_action()
    yield ROOT / "composite" / "action.yml", action_files.composite_action(ROOT)
    for written in WRITTEN:
        yield (
            written,
            _BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match[2]]()}{match[4]}", written.read_text("utf-8")),
        )


def rule_index() -> str:
    parts = ["# Rules\n", "Made from the code by `make generate`.\n"]
    for category in dict.fromkeys(rule.category for rule in RULES):
        parts.append(f"## {category}\n")
        parts.append("| rule | severity | costs | what it asks |\n|---|---|---|---|")
        parts += [
            f"| [{rule.id}]({rule.id}.md) | {rule.severity.value} | {_cost(rule)} | {_cell(rule.title)} |"
            for rule in RULES
            if rule.category == category
        ]
        parts.append("")
    parts.append("## suppression\n")
    parts += [f"- [{name}]({name}.md): {text.title}." for name, text in TEXTS.items()]
    return "\n".join(parts) + "\n"


def rule_page(rule: Rule) -> str:
    parts = [
        f"# {rule.id}\n",
        f"**{rule.title}**\n",
        f"{rule.severity.value} · level {rule.level} · costs {_cost(rule)}\n",
        f"## Why\n\n{rule.why}\n",
        f"## Fix\n\n{rule.fix}\n",
    ]
    for title, example in (("Passes", rule.passing), ("Fails", rule.failing)):
        if example:
            fence = "`" * max(3, max(map(len, re.findall(r"`+", example)), default=0) + 1)
            parts.append(f"## {title}\n\n{fence}\n{example.strip()}\n{fence}\n")
    return "\n".join(parts)


def _cost(rule: Rule) -> str:
    return f"{rule.points:g} of {rule.dimension}" if rule.dimension and rule.points else "nothing"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def command_reference() -> str:
    parts = ["# Commands\n", "Made from the code by `make generate`.\n"]
    for path, command in _commands():
        context = _context(command, " ".join(path))
        parts.append(f"## {' '.join(path)}\n\n```text\n{_help(command, context)}\n```\n")
    return "\n".join(parts)


def _commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield (PROGRAM,), cli
    context = _context(cli, PROGRAM)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield (PROGRAM, name), command
        if isinstance(command, click.Group):
            yield from (((PROGRAM, name, below), each) for below, each in sorted(command.commands.items()))


def _context(command: click.Command, name: str) -> click.Context:
    return click.Context(
        command, info_name=name, help_option_names=["-h", "--help"], max_content_width=100, terminal_width=100
    )


def _help(command: click.Command, context: click.Context) -> str:
    return "\n".join(line.rstrip() for line in command.get_help(context).strip().splitlines())


def help_block() -> str:
    context = _context(cli, PROGRAM)
    return f"```text\n{_help(cli, context)}\n```\n"


def score_block() -> str:
    rows = [f"| {name} | {weight:.0%} | {_most_costly(name)} |" for name, weight in WEIGHTS.items()]
    return (
        "Each dimension starts at 10 and loses the points of its failing rules, each rule once; every point lost names its rule. A "
        "dimension to which nothing applies has no score and no weight: a library without training is not punished for having no "
        "training loop. The score is the weighted mean.\n\n"
        "| dimension | weight | what costs most |\n|---|---|---|\n" + "\n".join(rows) + "\n\n"
        f"Risk is HIGH below {risk.HIGH_BELOW} or where {risk.HIGH_CRITICALS} or more rules have critical findings, LOW from {risk.LOW_FROM} without a "
        "critical finding, and MEDIUM between.\n"
    )


def _most_costly(dimension: str) -> str:
    rules = sorted(
        (rule for rule in RULES if rule.dimension == dimension), key=lambda rule: (-rule.points, rule.id)
    )
    return ", ".join(f"[{rule.id}](docs/rules/{rule.id}.md)" for rule in rules[:3])


def exit_code_block() -> str:
    rows = "\n".join(f"| {code.value} | {meaning} |" for code, meaning in MEANINGS.items())
    return f"| code | meaning |\n|---|---|\n{rows}\n"


BLOCKS = {
    "help": help_block,
    "score": score_block,
    "exit-codes": exit_code_block,
    "action-inputs": action_files.input_table,
    "action-outputs": action_files.output_table,
}
WRITTEN = (ROOT / "README.md", ROOT / "docs" / "action.md")
"""Documents that people write, with blocks that are generated."""


def stale() -> list[Path]:
    """Pages of rules and of families of signatures that are gone."""
    known = {f"{rule.id}.md" for rule in RULES} | {f"{name}.md" for name in TEXTS} | {"README.md"}
    families = {path.name for path, _ in signature_pages.pages(SIGNATURE_PAGES)}
    return sorted(
        [path for path in RULE_PAGES.glob("*.md") if path.name not in known]
        + [path for path in SIGNATURE_PAGES.glob("*.md") if path.name not in families]
    )


def main() -> int:
    """0 where everything is as the code says, or was made so; 1 where --check found a difference."""
    check = "--check" in sys.argv[1:]
    differing = []
    for path, text in documents():
        before = path.read_text("utf-8") if path.exists() else ""
        if before == text:
            continue
        differing.append(path)
        if check:
            lines = difflib.unified_diff(
                before.splitlines(), text.splitlines(), "committed", "generated", lineterm="", n=1
            )
            print("\n".join([f"{path.relative_to(ROOT)} differs", *list(lines)[:20]]))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    for path in stale():
        differing.append(path)
        print(f"{path.relative_to(ROOT)} belongs to nothing")
        if not check:
            path.unlink()
    if check and differing:
        print("Run `make generate` and commit what it writes.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
