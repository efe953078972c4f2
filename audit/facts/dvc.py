"""DVC: `.dvc` files, `dvc.yaml` and `dvc.lock` (https://dvc.org/doc/user-guide/project-structure)."""

from typing import Final

import yaml

from audit.facts.extracted import Extracted
from audit.facts.model import Command, DvcFacts
from audit.facts.yaml_nodes import YamlError, compose, elements, get, items, line_of, text_of

MAX_OUTPUTS: Final = 5_000
MAX_STAGES: Final = 500
_CHECKSUMS: Final = ("md5", "etag", "checksum", "hash")


def extract(text: str) -> Extracted:
    """Outputs (path, checksum, line), "" where the checksum stands in the lock alone; stages and their
    commands."""
    why = ""
    try:
        documents = compose(text)
    except YamlError as error:
        documents, why = list(error.documents), str(error)
    outputs: list[tuple[str, str, int]] = []
    stages: list[str] = []
    commands: list[Command] = []
    for document in documents[:1]:
        _read_outputs(document, outputs, ("outs",))
        for name, _, stage in items(get(document, "stages"))[:MAX_STAGES]:
            stages.append(name[:200])
            # A stage of `foreach` keeps its definition under `do`.
            inner = get(stage, "do") or stage
            _read_outputs(inner, outputs)
            for command in elements(get(inner, "cmd")):
                commands += _commands(command)
    if len(outputs) > MAX_OUTPUTS:
        why = f"more than {MAX_OUTPUTS:,} outputs: the rest was left out"
    facts = DvcFacts(outputs=tuple(outputs[:MAX_OUTPUTS]), commands=tuple(commands), stages=tuple(stages))
    return Extracted(facts, why)


def _read_outputs(
    node: yaml.Node | None,
    outputs: list[tuple[str, str, int]],
    sections: tuple[str, ...] = ("outs", "metrics", "plots"),
) -> None:
    for section in sections:
        for out in elements(get(node, section)):
            if isinstance(out, yaml.MappingNode):
                path = text_of(get(out, "path"))
                # `- model.pkl: {cache: false}` has the path for its only key.
                if not path and len(out.value) == 1:
                    path = text_of(out.value[0][0])
                checksum = next((text_of(found) for key in _CHECKSUMS if (found := get(out, key))), "")
            else:
                path, checksum = text_of(out), ""
            if path:
                outputs.append((path[:1_000], checksum[:200], line_of(out)))


def _commands(node: yaml.Node) -> tuple[Command, ...]:
    from audit.facts.commands.shell import parse_commands

    # A block scalar's text starts on the line after its indicator.
    offset = 1 if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else 0
    return parse_commands(text_of(node), line_of(node) + offset)
