"""CircleCI. Source: https://circleci.com/docs/configuration-reference/."""

import yaml

from audit.facts.ci.steps import Collector, listed, name_of, plain_env
from audit.facts.extracted import Extracted
from audit.facts.model import CiStep
from audit.facts.yaml_nodes import get, items, line_of, text_of

_MAX_NESTING = 4


def read(root: yaml.Node, text: str) -> Extracted:
    """A configuration. Commands of its own are read in place of the steps that name them; orbs are `uses`."""
    collector = Collector("circleci", text)
    commands = {name: get(value, "steps") for name, _, value in items(get(root, "commands"))}
    for name, key, job in items(get(root, "jobs")):
        known = plain_env(get(job, "environment"))
        collector.job(name, line_of(key), _steps(collector, get(job, "steps"), commands, known, 0))
    return Extracted(collector.facts(name for name, _, _ in items(get(root, "workflows"))), collector.partial)


def _steps(
    collector: Collector,
    node: yaml.Node | None,
    commands: dict[str, yaml.Node | None],
    known: dict[str, str],
    depth: int,
) -> list[CiStep]:
    steps: list[CiStep] = []
    for step in listed(node):
        pairs = items(step) or [(text_of(step), step, step)]
        for name, _, value in pairs[:5]:
            if name == "run":
                body = get(value, "command") if isinstance(value, yaml.MappingNode) else value
                steps += collector.script(body, name=name_of(value, "name"), known=known, line=line_of(step))
            elif name in {"when", "unless"} and depth < _MAX_NESTING:
                steps += _steps(collector, get(value, "steps"), commands, known, depth + 1)
            elif name in commands and depth < _MAX_NESTING:
                steps += _steps(collector, commands[name], commands, known, depth + 1)
            elif "/" in name:
                steps += collector.script(None, uses=name[:200], line=line_of(step))
    return steps
