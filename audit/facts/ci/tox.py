"""tox.ini: environments, what they install and what they run. Source:
https://tox.wiki/en/latest/config.html."""

import re

from audit.facts.ci.steps import Collector
from audit.facts.dependencies.line import is_project, parse_requirement
from audit.facts.dependencies.setup_cfg import read_ini
from audit.facts.extracted import Extracted

_FACTORS = re.compile(r"[\w.,!{}-]+:[ \t]+")
_COMMANDS = frozenset({"commands", "commands_pre", "commands_post", "install_command"})


def read(text: str) -> Extracted:
    """Each `[testenv…]` is a job; its commands stand in one step."""
    collector = Collector("tox", text)
    for section, key, values in read_ini(text):
        if not section.startswith("testenv"):
            continue
        name = section.partition(":")[2] or "testenv"
        if key in _COMMANDS and key != "install_command":
            first = next((number for value, number in values if value), 0)
            if first:
                collector.job(name, first, collector.text(_on_lines(values, first), first, name=key))
        elif key == "deps":
            for value, number in values:
                _dependency(collector, value, number, name)
    return Extracted(collector.facts(), collector.partial)


def _on_lines(values: list[tuple[str, int]], first: int) -> str:
    """The values as shell text with each on its own line of the file."""
    last = values[-1][1]
    lines = [""] * (last - first + 1)
    for value, number in values:
        if number >= first:
            bare = value.lstrip("- ") if value.startswith("-") and not value.startswith("--") else value
            lines[number - first] = _FACTORS.sub("", bare, count=1) if _FACTORS.match(bare) else bare
    return "\n".join(lines)


def _dependency(collector: Collector, value: str, line: int, group: str) -> None:
    value = _FACTORS.sub("", value, count=1) if _FACTORS.match(value) else value
    if not value or value.startswith("-") or "{[" in value or is_project(value):
        return
    requirement = parse_requirement(value, line, source="tox", group=group)
    if requirement is not None:
        collector.requirements.append(requirement)
