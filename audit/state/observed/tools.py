"""Runs of other people's programs: a harness that evaluates a model, a trainer that a configuration is handed to."""

import re
from functools import cached_property

from audit.documents.place import Place
from audit.facts.model import Command
from audit.facts.python.model import Call
from audit.signals.graph import Node
from audit.signals.training_path import Entry, TrainingPath
from audit.state.observed.model import Rank
from audit.state.observed.options import Said, plain
from audit.state.observed.scene import Scene
from audit.state.observed.settings import Settings
from audit.state.observed.shared import Shared
from audit.state.observed.texts import is_placeholder, typed
from audit.state.observed.vocabulary import KnownTool, vocabulary

_PAIR = re.compile(r"([A-Za-z_]\w*)=([^,=]+)")


class ToolScene(Scene):
    """A run of a program that is not the repository's: its settings are those of the command and its configuration alone."""

    def __init__(self, path: TrainingPath, shared: Shared, tool: KnownTool) -> None:
        super().__init__(path, Entry("", (), True), shared)
        self.tool = tool

    @cached_property
    def nodes(self) -> frozenset[Node]:
        return frozenset()

    @cached_property
    def calls(self) -> tuple[tuple[str, Call], ...]:
        return ()

    @cached_property
    def trains(self) -> bool:
        return self.tool.kind == "training"

    @cached_property
    def speaks(self) -> bool:
        return not self.trains

    @property
    def is_llm(self) -> bool:
        return True


def tool_of(command: Command) -> KnownTool | None:
    """The tool that a command runs: by its program or the module behind `-m`, and by its sub-command where the tool has several uses."""
    for tool in vocabulary().tools:
        named = command.target in tool.modules if command.module else command.program in tool.programs
        if named and (not tool.commands or (command.args and command.args[0] in tool.commands)):
            return tool
    return None


def add_arguments(settings: Settings, tool: KnownTool, command: Command, origin: str) -> None:
    """Adds what the tool takes without a flag's name: a model in a position, `key=value` pairs in one word, the method by its sub-command."""
    where = Place(origin, command.line)
    words = list(command.args[1:] if tool.commands else command.args)
    if tool.model_first and words and not is_placeholder(words[0]):
        settings.add("model_name_or_path", Said(words[0], where, "the command", Rank.LAUNCH))
    pairs = [flag.value for flag in command.flags if plain(flag.name) in ("model_args", "gen_kwargs")]
    if tool.pairs:
        pairs += [word for word in words if _PAIR.match(word)]
    for text in pairs:
        for match in _PAIR.finditer(text.replace("'", "").replace('"', "")):
            known = not is_placeholder(match[2])
            said = Said(
                typed(match[2]) if known else None, where, f"{match[1]}= in {origin}", Rank.LAUNCH, known
            )
            settings.add("torch_dtype" if match[1] == "dtype" else plain(match[1]), said)
    if tool.commands and command.args and command.args[0] in vocabulary().accepted["training.method"]:
        settings.add("training_method", Said(command.args[0], where, "the command", Rank.LAUNCH))
