"""Azure Pipelines. Source: https://learn.microsoft.com/en-us/azure/devops/pipelines/yaml-schema/."""

import yaml

from audit.facts.ci.steps import Collector, listed, name_of
from audit.facts.extracted import Extracted
from audit.facts.model import CiStep
from audit.facts.yaml_nodes import get, line_of, text_of

_SCRIPTS = ("script", "bash", "pwsh", "powershell")


def read(root: yaml.Node, text: str) -> Extracted:
    """A pipeline with stages, jobs or steps at its top; templates of other files are `uses`."""
    collector = Collector("azure", text)
    stages = listed(get(root, "stages")) or [root]
    for stage in stages:
        for job in listed(get(stage, "jobs")) or [stage]:
            nodes = get(job, "steps") or get(job, "strategy", "runOnce", "deploy", "steps")
            if nodes is not None:
                name = name_of(job, "job", "deployment", "stage", "displayName")
                collector.job(name, line_of(job), _steps(collector, nodes))
    triggers = [name for key, name in (("trigger", "push"), ("pr", "pull_request"), ("schedules", "schedule"))
                if get(root, key) is not None and text_of(get(root, key)) != "none"]  # fmt: skip
    return Extracted(collector.facts(triggers), collector.partial)


def _steps(collector: Collector, node: yaml.Node) -> list[CiStep]:
    steps: list[CiStep] = []
    for step in listed(node):
        if not isinstance(step, yaml.MappingNode):
            continue
        body = next((found for key in _SCRIPTS if (found := get(step, key)) is not None), None)
        if body is None:
            body = get(step, "inputs", "script")
        steps += collector.script(
            body,
            name=name_of(step, "displayName"),
            uses=name_of(step, "task", "template"),
            line=line_of(step),
        )
    return steps
