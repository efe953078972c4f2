"""What all CI readers share: a YAML scalar as shell text on its true lines, and steps within bounds."""

from collections.abc import Iterable, Mapping

import yaml

from audit.facts.commands.shell import read_script
from audit.facts.model import CiFacts, CiJob, CiStep, Command, Requirement
from audit.facts.yaml_nodes import elements, items, line_of, text_of

MAX_JOBS = 500
MAX_STEPS = 2_000
"""Most steps of one file."""


class Collector:
    """Gathers the jobs of one file. `text` is the file's; `requirements` what its commands install."""

    def __init__(self, system: str, text: str) -> None:
        self.system = system
        self.lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.jobs: list[CiJob] = []
        self.requirements: list[Requirement] = []
        self.partial = ""
        self._steps = 0

    def job(self, name: str, line: int, steps: Iterable[CiStep]) -> None:
        """Adds a job; what exceeds the bounds is left out, and said."""
        if len(self.jobs) >= MAX_JOBS:
            self.partial = f"only the first {MAX_JOBS} jobs were read"
            return
        self.jobs.append(CiJob(name=name, line=line, steps=tuple(steps)))

    def script(
        self,
        scripts: yaml.Node | None,
        *,
        name: str = "",
        uses: str = "",
        known: Mapping[str, str] | None = None,
        line: int = 0,
    ) -> list[CiStep]:
        """One step of the commands in a scalar or in a list of scalars (each a line of its own shell)."""
        found = [(script_text(node, self.lines), node) for node in flatten(scripts)]
        if not found and not uses:
            return []
        self._steps += 1
        if self._steps > MAX_STEPS:
            self.partial = f"only the first {MAX_STEPS:,} steps were read"
            return []
        commands: list[Command] = []
        for (text, first), _ in found:
            read = read_script(text, first, "ci", known)
            commands += read.commands
            self.requirements += read.requirements
        start = line or (line_of(found[0][1]) if found else 1)
        return [CiStep(name=name, uses=uses, line=start, commands=tuple(commands))]

    def text(
        self, text: str, first: int, *, name: str = "", known: Mapping[str, str] | None = None
    ) -> list[CiStep]:
        """One step of shell text that stands on line `first`."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            self.partial = f"only the first {MAX_STEPS:,} steps were read"
            return []
        read = read_script(text, first, "ci", known)
        self.requirements += read.requirements
        return [CiStep(name=name, uses="", line=first, commands=read.commands)]

    def facts(self, triggers: Iterable[str] = ()) -> CiFacts:
        """Everything gathered."""
        return CiFacts(
            system=self.system,
            jobs=tuple(self.jobs),
            triggers=tuple(triggers),
            requirements=tuple(self.requirements),
        )


def flatten(node: yaml.Node | None, depth: int = 0) -> list[yaml.ScalarNode]:
    """The scalars of a scalar or of (nested) lists: an alias in a `script` list is a list inside a list."""
    if isinstance(node, yaml.ScalarNode):
        return [node] if text_of(node) else []
    if isinstance(node, yaml.SequenceNode) and depth < 5:
        return [leaf for child in node.value[:MAX_STEPS] for leaf in flatten(child, depth + 1)][:MAX_STEPS]
    return []


def script_text(node: yaml.ScalarNode, lines: list[str]) -> tuple[str, int]:
    """The shell text of a scalar, and the line of the file on which its first line stands.

    What YAML folds into one line (`>`, plain text over several lines) keeps its lines, joined by
    continuations.
    """
    first, last = node.start_mark.line, node.end_mark.line
    value = str(node.value)
    if node.style == "|":
        # Comments may follow the indicator; blank lines at the start are part of the value.
        return value, first + 2
    if first == last or node.style in {"'", '"'}:
        return value, first + 1
    if node.style == ">":
        return _unfolded(lines[first + 1 : last]), first + 2
    column = node.start_mark.column
    body = [lines[first][column:], *lines[first + 1 : last]]
    if node.end_mark.column:
        body.append(lines[last][: node.end_mark.column])
    return _unfolded(body), first + 1


def _unfolded(body: list[str]) -> str:
    """Folded lines as continued ones; a blank line ends the command, as it ends YAML's line."""
    while body and not body[-1].strip():
        body = body[:-1]
    out = []
    for index, line in enumerate(body):
        joined = index + 1 < len(body) and bool(body[index + 1].strip()) and bool(line.strip())
        bare = line.rstrip()
        out.append(bare + " \\" if joined and not bare.endswith("\\") else bare)
    return "\n".join(out)


def plain_env(*nodes: yaml.Node | None) -> dict[str, str]:
    """Variables of `env` mappings, later ones first in rank; expressions (`${{ … }}`) are not plain
    values."""
    known: dict[str, str] = {}
    for node in nodes:
        for name, _, value in items(node)[:500]:
            text = text_of(value)
            if "{{" not in text and len(text) < 1_000:
                known[name] = text
    return known


def name_of(node: yaml.Node | None, *keys: str) -> str:
    """The first text under one of `keys`, at most 200 characters."""
    found = {name: value for name, _, value in items(node)}
    return next((text_of(found[key])[:200] for key in keys if key in found and text_of(found[key])), "")


def listed(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a list within bounds."""
    return elements(node)[:MAX_STEPS]
