"""One entry point: what runs once it is started, what can be set of it, and what it sets whoever starts it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

import msgspec

from audit.documents.place import Place
from audit.facts.python.model import Call
from audit.signals.graph import Node
from audit.signals.methods import LLM_HEADS
from audit.signals.queries import asks, generates, is_engine
from audit.signals.training_path import Entry, TrainingPath
from audit.state.observed.launches import add_config
from audit.state.observed.model import Rank
from audit.state.observed.options import COMMAND, Option, Said, constant_option
from audit.state.observed.settings import Settings
from audit.state.observed.shared import Shared
from audit.state.observed.vocabulary import KnownCall, known_call, vocabulary

_OPEN = frozenset(
    {
        "HfArgumentParser",
        "TrlParser",
        "H4ArgumentParser",
        "parse_known_args",
        "Fire",
        "LightningCLI",
        "from_cli",
        "cli",
        "add_config_arguments",
        "exec",
    }
)
"""Calls by which flags reach a run that no definition of this repository shows."""
_OTHER_CLASS = re.compile(r"Eval|Infer|Export|Serv|Test|Bench|Sampl|Generat|Dataset|Callback|Logg")
"""Names of settings' classes that are about something else than training."""
_SMALL = 60
"""Files that a run may reach for all of them to be looked at."""
_STEPS = 2
"""How many imports away a file of a larger one may stand."""
_HYDRA = re.compile(r"hydra\.main\((.*)\)", re.DOTALL)
_WORD = re.compile(r"(config_path|config_name)=['\"]([^'\"]{1,200})['\"]")
_LOADED = re.compile(r"['\"]([\w./\-]{1,200}\.(?:ya?ml|json|toml))['\"]")


class Scene:
    """Computed once an entry point; a run adds its own settings."""

    def __init__(self, path: TrainingPath, entry: Entry, shared: Shared) -> None:
        self.path, self.entry, self.graph, self.repository, self.shared = (
            path,
            entry,
            path.graph,
            path.repository,
            shared,
        )

    @cached_property
    def nodes(self) -> frozenset[Node]:
        return self.graph.reach(self.entry.starts)

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset(file for file, _ in self.nodes)

    @cached_property
    def calls(self) -> tuple[tuple[str, Call], ...]:
        """The calls that can run and say something, those of the entry's own file first."""
        found: list[tuple[str, Call]] = []
        near = self.near
        for file in self._ordered:
            if file in near:
                found += [
                    (file, call) for call in self.shared.calls(file) if (file, call.scope) in self.nodes
                ]
        return tuple(found)

    @cached_property
    def near(self) -> frozenset[str]:
        """The files that run, of a large library those alone that stand near the entry point: what it could do elsewhere, this run does not do."""
        if len(self.files) <= _SMALL:
            return self.files
        found = {self.entry.path}
        edge = {self.entry.path}
        for _ in range(_STEPS):
            edge = {module for file in edge for module in self.graph.imported_modules(file)} - found
            found |= edge
        return frozenset(found & self.files)

    @cached_property
    def _ordered(self) -> list[str]:
        return sorted(self.files, key=lambda each: (each != self.entry.path, each))

    @cached_property
    def trains(self) -> bool:
        """Whether a training loop runs; a classifier that is fitted beside a language model is none."""
        return bool(self.loop_kinds) and not (self.loop_kinds == {"sklearn"} and self.is_llm)

    @cached_property
    def loop_kinds(self) -> frozenset[str]:
        return frozenset(
            loop.kind for node in self.nodes & self.path.loops.keys() for loop in self.path.loops[node]
        )

    @cached_property
    def speaks(self) -> bool:
        """Whether a language model makes text."""
        return any(
            asks(call.name) or is_engine(call) or generates(call, self.graph.python[file])
            for file, call in self.calls
        )

    @cached_property
    def heads(self) -> frozenset[str]:
        return frozenset().union(*(self.path.heads(file) for file in self.files))

    @property
    def is_llm(self) -> bool:
        """Whether language models are loaded, trained or asked."""
        return self.speaks or bool(self.heads & LLM_HEADS)

    @cached_property
    def known(self) -> tuple[tuple[KnownCall, str, Call], ...]:
        """The calls of which it is known what they set."""
        found = []
        for file, call in self.calls:
            known = known_call(call.name)
            if known is not None and (self.trains or not known.trains):
                found.append((known, file, call))
        return tuple(found)

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """All options that the run defines, those of the entry's own file last: they win. Fields of dataclasses count where the parser is given the
        class; where no parser names its classes, all do."""
        found: list[Option] = []
        parsed = self._parsed_classes
        for file in reversed(self._ordered):
            own, scopes = file == self.entry.path, self.graph.python[file].scopes
            for scope, option in self.shared.options(file):
                if scope == COMMAND:
                    if own:
                        found.append(option)
                elif (file, scope) in self.nodes:
                    name = scopes[scope].name if scopes[scope].kind == "class" else ""
                    # Hydra fills classes from files, and what those do not say is not decided here.
                    foreign = self.hydra is not None or (self.trains and _OTHER_CLASS.search(name))
                    if not name or ((file, scope) in parsed if parsed else not foreign):
                        found.append(option)
        return tuple(found)

    @cached_property
    def strict(self) -> bool:
        """Whether only flags that the repository's own code defines reach the run."""
        return any(call.name.endswith("add_argument") for _, call in self.calls) and not any(
            call.name.rpartition(".")[2] in _OPEN for _, call in self.calls
        )

    @cached_property
    def _ambiguous(self) -> frozenset[str]:
        """Fields that several classes have with different defaults, where no parser says which class it fills in."""
        if self._parsed_classes:
            return frozenset()
        values: dict[str, set[object]] = defaultdict(set)
        for option in self.options:
            if option.said is not None and option.said.detail.partition(".")[2].isidentifier():
                values[option.name].add(option.said.value)
        return frozenset(name for name, held in values.items() if len(held) > 1)

    @cached_property
    def settings(self) -> Settings:
        """Defaults of options, and what configurations say that are always read."""
        found = Settings()
        for name in self.library_defaults:
            defaults = vocabulary().defaults[name]
            for field, setting in defaults.fields.items():
                detail = f"library default of {defaults.of}"
                found.add(field, Said(defaults.values[setting], Place(self.entry.path), detail, Rank.LIBRARY))
        unsure = self._ambiguous
        for option in self.options:
            said = option.said
            if said is not None and option.name in unsure:
                said = msgspec.structs.replace(said, known=False)
            found.drop(option.name, Rank.DEFAULT)
            found.add(option.name, said)
            if option.choices:
                found.choices[option.name] = option.choices
        if self._constants_are_options:
            for assign in self.graph.python[self.entry.path].assigns:
                if assign.scope == 0 and assign.target.isidentifier():
                    constant = constant_option(self.entry.path, assign)
                    if constant is not None:
                        found.add(constant.name, constant.said)
        for file in self.base_files:
            add_config(found, file, self.repository.configs[file], Rank.BASE)
        return found

    @property
    def _constants_are_options(self) -> bool:
        """Whether the entry's own constants can be set from outside: a configurator that is run by `exec`, or Fire over globals."""
        return any(call.name == "exec" and file == self.entry.path for file, call in self.calls)

    @cached_property
    def hydra(self) -> tuple[str, str] | None:
        """(folder, name) of the configuration that Hydra starts from."""
        for file in self._ordered:
            for index, decorator in self.shared.hydra(file):
                match = _HYDRA.fullmatch(decorator) if (file, index) in self.nodes else None
                if match:
                    words = dict(_WORD.findall(match[1]))
                    folder = _joined(file.rpartition("/")[0], words.get("config_path", ""))
                    return folder, words.get("config_name", "config").removesuffix(".yaml")
        return None

    @cached_property
    def base_files(self) -> tuple[str, ...]:
        """Configurations that are read whatever the command says: Hydra's, and those that a loading call names."""
        found: list[str] = []
        configs = self.repository.configs
        if self.hydra is None:
            for file, call in self.calls:
                if (
                    call.name.rpartition(".")[2] in ("safe_load", "load", "full_load", "params_show")
                    and call.args
                ):
                    for word in _LOADED.findall(call.args[0]):
                        for name in (word.removeprefix("./"), _joined(file.rpartition("/")[0], word)):
                            if name in configs:
                                found.append(name)
                                break
        return tuple(dict.fromkeys(found))

    @cached_property
    def _parser_names(self) -> tuple[tuple[str, str, int], ...]:
        """(class, file, scope) of what parsers of dataclasses are given."""
        found = []
        for file, call in self.calls:
            if call.name.rpartition(".")[2] in ("HfArgumentParser", "TrlParser", "H4ArgumentParser") and (
                call.args or call.kwargs
            ):
                text = call.args[0] if call.args else next(iter(call.kwargs.values()))
                found += [(name, file, call.scope) for name in re.findall(r"[A-Za-z_.][\w.]*", text)]
        return tuple(found)

    @cached_property
    def _parsed_classes(self) -> frozenset[Node]:
        """The classes of this repository among them, with their bases."""
        nodes = [
            node
            for name, file, scope in self._parser_names
            if (node := self.graph.lookup(name, file, scope)) is not None
        ]
        return frozenset(each for node in nodes for each in self.graph.family(node))

    @cached_property
    def library_defaults(self) -> tuple[str, ...]:
        """Libraries' dataclasses that a parser of this run fills in, as keys of `defaults`."""
        found: list[str] = []
        for name, file, scope in self._parser_names:
            found += self._defaults_of(name, file, scope)
        return tuple(dict.fromkeys(found))

    def _defaults_of(self, name: str, file: str, scope: int) -> Iterator[str]:
        node = self.graph.lookup(name, file, scope)
        names = [name] if node is None else list(self.graph.ancestry(node))
        for each in names:
            known = known_call(each)
            if known is not None and known.defaults in vocabulary().defaults:
                yield known.defaults


def _joined(folder: str, name: str) -> str:
    parts = folder.split("/") if folder else []
    for part in name.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
