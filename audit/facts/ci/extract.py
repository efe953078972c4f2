"""A CI file of any service: which one, its content tells (the path is not known here)."""

import re

import yaml

from audit.facts.ci import azure, circleci, github, gitlab, jenkins, nox, others, tox
from audit.facts.ci.steps import listed
from audit.facts.extracted import Extracted
from audit.facts.model import CiFacts
from audit.facts.yaml_nodes import YamlError, compose, get, items

_NOX = re.compile(r"^[ \t]*(?:import|from)[ \t]+nox\b|@nox\.session", re.MULTILINE)
_TOX = re.compile(r"(?:[ \t]*(?:[#;][^\n]*)?\n)*\[[\w:.,{}-]+\][ \t]*(?:\n|$)")
"""An INI section at the very start: tox.ini often carries the settings of other tools only."""

_GROOVY = re.compile(
    r"^[ \t]*(?:pipeline|node|stages?|@Library|properties|podTemplate|timestamps)\b[^\n:]*[{(]", re.MULTILINE
)


def extract(text: str) -> Extracted:
    """The facts of a CI file; of a YAML file that no service reads, a CiFacts without jobs, and why."""
    if _NOX.search(text):
        return nox.read(text)
    if _TOX.match(text.removeprefix("\ufeff").replace("\r\n", "\n")):
        return tox.read(text)
    if _GROOVY.search(text) and not re.search(r"^[\w-]+:[ \t]*$", text, re.MULTILINE):
        return jenkins.read(text)
    why = ""
    try:
        documents = compose(text)
    except YamlError as error:
        documents, why = list(error.documents), str(error)
    found = _read(documents, text) if documents else None
    if found is None:
        return Extracted(CiFacts(system=""), why or "a CI file of no known service")
    return Extracted(found.body, found.partial or why)


def _read(documents: list[yaml.Node], text: str) -> Extracted | None:
    root = documents[0]
    keys = {name for name, _, _ in items(root)}
    if "runs" in keys and "jobs" not in keys:
        return github.read_action(root, text)
    if "jobs" in keys and "on" in keys:
        return github.read_workflow(root, text)
    if "run" in keys and {"trigger", "machine", "image"} & keys:
        return others.read_lightning(root, text)
    if "pipelines" in keys:
        return others.read_bitbucket(root, text)
    if "phases" in keys:
        return others.read_codebuild(root, text)
    if "version" in keys and ({"workflows", "orbs", "commands", "executors"} & keys or _is_circle(root)):
        return circleci.read(root, text)
    if {"build_script", "test_script"} & keys:
        return others.read_appveyor(root, text)
    if any(key.endswith("_task") or key == "task" for key in keys):
        return others.read_cirrus(root, text)
    if "steps" in keys or "pipeline" in keys:
        return _by_steps(documents, keys, text)
    if {"jobs", "stages"} & keys and _is_azure(root):
        return azure.read(root, text)
    if ("language" in keys or "dist" in keys or "os" in keys) and {
        "script",
        "install",
        "jobs",
        "matrix",
    } & keys:
        return others.read_travis(root, text)
    if "jobs" in keys:
        return github.read_workflow(root, text)
    if _is_gitlab(root, keys):
        return gitlab.read(root, text)
    return others.read_travis(root, text) if "script" in keys else None


def _is_gitlab(root: yaml.Node, keys: set[str]) -> bool:
    """A job's keys at the second level, or a pipeline whose jobs stand in files that it includes."""
    if {"include", "workflow"} & keys and {"stages", "variables", "default", "workflow"} & keys:
        return True
    return any(
        get(value, "script") is not None or get(value, "extends") is not None for _, _, value in items(root)
    )


def _is_circle(root: yaml.Node) -> bool:
    return any(get(job, "steps") is not None for _, _, job in items(get(root, "jobs")))


def _is_azure(root: yaml.Node) -> bool:
    """Azure's jobs and stages are lists, where other services have mappings or names."""
    found = [get(root, key) for key in ("jobs", "stages")]
    return any(
        isinstance(item, yaml.MappingNode)
        for node in found
        if isinstance(node, yaml.SequenceNode)
        for item in listed(node)
    )


def _by_steps(documents: list[yaml.Node], keys: set[str], text: str) -> Extracted:
    """Files with `steps` at the top: what a step holds tells the service."""
    root = documents[0]
    steps = [{name for name, _, _ in items(step)} for step in listed(get(root, "steps"))]
    held = set().union(*steps) if steps else set()
    if {"kind", "pipeline"} & keys or {"commands", "name", "image"} <= held:
        return others.read_steps(documents, text, "drone" if "kind" in keys else "woodpecker")
    if {"script", "bash", "pwsh", "powershell", "task", "checkout"} & held and "args" not in held:
        return azure.read(root, text)
    if {"args", "entrypoint"} & held:
        return others.read_cloudbuild(root, text)
    if {"command", "commands", "wait", "block", "group"} & held:
        return others.read_buildkite(root, text)
    return others.read_steps(documents, text, "woodpecker")
