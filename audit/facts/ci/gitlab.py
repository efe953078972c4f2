"""GitLab pipelines. Source: https://docs.gitlab.com/ci/yaml/."""

import yaml

from audit.facts.ci.steps import Collector, flatten, plain_env
from audit.facts.extracted import Extracted
from audit.facts.model import CiStep
from audit.facts.yaml_nodes import elements, get, items, line_of, text_of

_NOT_JOBS = frozenset(
    {"stages", "variables", "default", "include", "workflow", "image", "services", "cache", "before_script"}
    | {"after_script", "spec", "types"}
)
_MAX_EXTENDS = 10


def read(root: yaml.Node, text: str) -> Extracted:
    """A pipeline. Hidden jobs (`.name`) run only where a job extends them; what is included from elsewhere is
    not read."""
    collector = Collector("gitlab", text)
    jobs = {name: (key, job) for name, key, job in items(root) if name not in _NOT_JOBS}
    variables = plain_env(get(root, "variables"))
    for name, (key, job) in jobs.items():
        if name.startswith(".") or not isinstance(job, yaml.MappingNode):
            continue
        steps: list[CiStep] = []
        for part in ("before_script", "script", "after_script"):
            node = _inherited(part, job, jobs)
            if node is None and part != "script":
                node = get(root, "default", part) or get(root, part)
            known = {**variables, **plain_env(get(job, "variables"))}
            steps += collector.script(node if flatten(node) else None, name=part, known=known)
        if steps or get(job, "trigger") is not None:
            collector.job(name, line_of(key), steps)
    return Extracted(collector.facts(), collector.partial)


def _inherited(part: str, job: yaml.Node, jobs: dict[str, tuple[yaml.Node, yaml.Node]]) -> yaml.Node | None:
    """`part` of a job, or of what it extends: the last of several parents counts first."""
    pending = [job]
    for _ in range(_MAX_EXTENDS):
        if not pending:
            break
        current = pending.pop(0)
        found = get(current, part)
        if found is not None:
            return found
        parents = [text_of(node) for node in elements(get(current, "extends"))]
        pending += [jobs[parent][1] for parent in reversed(parents) if parent in jobs]
    return None
