"""Services whose files are lists of scripts: Travis, AppVeyor, Bitbucket, Buildkite, Drone, Woodpecker,
Cirrus,
AWS CodeBuild, Google Cloud Build, Lightning."""

import shlex

import yaml

from audit.facts.ci.steps import Collector, flatten, listed, name_of, plain_env
from audit.facts.extracted import Extracted
from audit.facts.model import CiStep
from audit.facts.yaml_nodes import get, items, line_of, text_of

_TRAVIS = ("before_install", "install", "before_script", "script", "after_success", "after_script")
_APPVEYOR = ("init", "install", "before_build", "build_script", "before_test", "test_script", "after_test")
_PHASES = ("install", "pre_build", "build", "post_build")


def read_travis(root: yaml.Node, text: str) -> Extracted:
    """Travis: the phases at the top, and those of `jobs.include`."""
    collector = Collector("travis", text)
    collector.job("build", 1, _phases(collector, root, _TRAVIS))
    for job in [*listed(get(root, "jobs", "include")), *listed(get(root, "matrix", "include"))]:
        steps = _phases(collector, job, _TRAVIS)
        if steps:
            collector.job(name_of(job, "name", "stage"), line_of(job), steps)
    return Extracted(collector.facts(), collector.partial)


def read_appveyor(root: yaml.Node, text: str) -> Extracted:
    """AppVeyor: a phase's items may say which shell runs them (`- ps: …`)."""
    collector = Collector("appveyor", text)
    steps: list[CiStep] = []
    for phase in _APPVEYOR:
        for item in listed(get(root, phase)):
            body = next((value for key, _, value in items(item) if key in {"cmd", "sh", "ps"}), item)
            steps += collector.script(body, name=phase)
    collector.job("build", 1, steps)
    return Extracted(collector.facts(), collector.partial)


def read_buildkite(root: yaml.Node, text: str) -> Extracted:
    """Buildkite: each step is a job of one script."""
    collector = Collector("buildkite", text)
    for step in listed(get(root, "steps")):
        nested = listed(get(step, "steps")) or [step]
        for each in nested:
            body = get(each, "command") or get(each, "commands")
            found = collector.script(body, name=name_of(each, "label", "name", "key"), line=line_of(each))
            if found:
                collector.job(name_of(each, "label", "name", "key"), line_of(each), found)
    return Extracted(collector.facts(), collector.partial)


def read_bitbucket(root: yaml.Node, text: str) -> Extracted:
    """Bitbucket: steps of every pipeline, parallel ones too."""
    collector = Collector("bitbucket", text)
    pending = [(value, 0) for _, _, value in reversed(items(get(root, "pipelines")))]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, yaml.SequenceNode) and depth < 6:
            pending.extend((child, depth + 1) for child in reversed(listed(node)))
            continue
        for key, _, value in items(node):
            if key == "step":
                steps = collector.script(get(value, "script"), name=name_of(value, "name"))
                collector.job(name_of(value, "name"), line_of(value), steps)
            elif depth < 6:
                pending.append((value, depth + 1))
    return Extracted(collector.facts(), collector.partial)


def read_steps(documents: list[yaml.Node], text: str, system: str) -> Extracted:
    """Drone, Woodpecker: documents with `steps` (or `pipeline`), a list or a mapping, of `commands`."""
    collector = Collector(system, text)
    for document in documents:
        node = get(document, "steps") or get(document, "pipeline")
        steps: list[CiStep] = []
        pairs = [(name, value) for name, _, value in items(node)] or [
            (name_of(s, "name"), s) for s in listed(node)
        ]
        for name, step in pairs:
            steps += collector.script(get(step, "commands"), name=name, line=line_of(step))
        if steps:
            collector.job(name_of(document, "name"), line_of(document), steps)
    return Extracted(collector.facts(), collector.partial)


def read_cirrus(root: yaml.Node, text: str) -> Extracted:
    """Cirrus: tasks with keys that end in `_script`."""
    collector = Collector("cirrus", text)
    for key, key_node, task in items(root):
        if not key.endswith("task"):
            continue
        steps: list[CiStep] = []
        for name, _, value in items(task):
            if name == "script" or name.endswith("_script"):
                steps += collector.script(value, name=name)
        collector.job(name_of(task, "name") or key, line_of(key_node), steps)
    return Extracted(collector.facts(), collector.partial)


def read_codebuild(root: yaml.Node, text: str) -> Extracted:
    """AWS CodeBuild: the commands of its phases."""
    collector = Collector("codebuild", text)
    steps: list[CiStep] = []
    for phase in _PHASES:
        steps += collector.script(get(root, "phases", phase, "commands"), name=phase)
    collector.job("build", 1, steps)
    return Extracted(collector.facts(), collector.partial)


def read_cloudbuild(root: yaml.Node, text: str) -> Extracted:
    """Google Cloud Build: an entry point with its arguments, or a script, in each step."""
    collector = Collector("cloudbuild", text)
    steps: list[CiStep] = []
    for step in listed(get(root, "steps")):
        words = [text_of(node) for node in [*flatten(get(step, "entrypoint")), *flatten(get(step, "args"))]]
        image = name_of(step, "name")
        steps += collector.script(
            get(step, "script"), name=name_of(step, "id"), uses=image, line=line_of(step)
        )
        if words:
            steps += collector.text(shlex.join(words), line_of(step), name=name_of(step, "id"))
    collector.job("build", 1, steps)
    return Extracted(collector.facts(), collector.partial)


def read_lightning(root: yaml.Node, text: str) -> Extracted:
    """Lightning's own CI: one script on one machine."""
    collector = Collector("lightning", text)
    collector.job("run", 1, collector.script(get(root, "run"), known=plain_env(get(root, "env"))))
    return Extracted(collector.facts(name for name, _, _ in items(get(root, "trigger"))), collector.partial)


def _phases(collector: Collector, node: yaml.Node, names: tuple[str, ...]) -> list[CiStep]:
    return [step for name in names for step in collector.script(get(node, name), name=name)]
