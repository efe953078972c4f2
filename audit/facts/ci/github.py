"""GitHub workflows and composite actions.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax.
"""

from collections.abc import Mapping

import yaml

from audit.facts.ci.steps import Collector, listed, name_of, plain_env
from audit.facts.extracted import Extracted
from audit.facts.model import CiStep
from audit.facts.yaml_nodes import elements, get, items, line_of, text_of


def read_workflow(root: yaml.Node, text: str) -> Extracted:
    """A workflow. A job that calls a reusable workflow is a job with one step that `uses` it."""
    collector = Collector("github", text)
    for name, key, job in items(get(root, "jobs")):
        uses = name_of(job, "uses")
        title = name_of(job, "name")
        if uses:
            steps = [CiStep(name=title, uses=uses, line=line_of(get(job, "uses") or key))]
        else:
            known = plain_env(get(root, "env"), get(job, "env"))
            steps = _steps(collector, get(job, "steps"), known)
        collector.job(name, line_of(key), steps)
    return Extracted(collector.facts(_triggers(get(root, "on"))), collector.partial)


def read_action(root: yaml.Node, text: str) -> Extracted:
    """An action; one in JavaScript or in a container has no steps to read."""
    collector = Collector("github-action", text)
    runs = get(root, "runs")
    steps = _steps(collector, get(runs, "steps"), {})
    collector.job(name_of(root, "name"), line_of(runs) if runs is not None else 1, steps)
    return Extracted(collector.facts(), collector.partial)


def _steps(collector: Collector, node: yaml.Node | None, known: Mapping[str, str]) -> list[CiStep]:
    steps: list[CiStep] = []
    for step in listed(node):
        if not isinstance(step, yaml.MappingNode):
            continue
        shell = name_of(step, "shell")
        run = get(step, "run") if not shell.startswith(("python", "node", "perl")) else None
        steps += collector.script(
            run,
            name=name_of(step, "name", "id"),
            uses=name_of(step, "uses"),
            known={**known, **plain_env(get(step, "env"))},
            line=line_of(step),
        )
    return steps


def _triggers(node: yaml.Node | None) -> list[str]:
    if isinstance(node, yaml.MappingNode):
        return [name for name, _, _ in items(node)]
    return [text_of(item) for item in elements(node) if text_of(item)]
