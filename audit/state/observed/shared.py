"""What all entry points of a repository share: the calls and options of each file, looked through once."""

from functools import cache

from audit.facts.python.model import Call
from audit.signals.graph import CallGraph
from audit.signals.queries import asks
from audit.state.observed.options import Option, options_of_file
from audit.state.observed.vocabulary import known_call, known_load

_NAMES = frozenset(
    (
        "add_argument HfArgumentParser TrlParser H4ArgumentParser parse_known_args Fire LightningCLI from_cli cli add_config_arguments exec "
        "safe_load load full_load generate chat LLM AsyncLLMEngine LLMEngine AsyncLLM Engine Runtime gen Llama pipeline load_dataset from_pretrained"
    ).split()
)
HANDED = frozenset({"temperature", "top_p", "top_k", "max_tokens", "max_new_tokens", "max_n_tokens"})
"""Keywords of which the repository's own classes are told how to generate."""


class Shared:
    """Caches by file."""

    def __init__(self, graph: CallGraph) -> None:
        self.graph = graph
        self._calls: dict[str, tuple[Call, ...]] = {}
        self._options: dict[str, tuple[tuple[int, Option], ...]] = {}
        self._hydra: dict[str, tuple[tuple[int, str], ...]] = {}

    def calls(self, file: str) -> tuple[Call, ...]:
        """The calls that can say something of an experiment."""
        if file not in self._calls:
            calls = self.graph.python[file].calls
            self._calls[file] = tuple(
                call for call in calls if _says(call.name) or (call.kwargs and HANDED & call.kwargs.keys())
            )
        return self._calls[file]

    def hydra(self, file: str) -> tuple[tuple[int, str], ...]:
        """Decorators by Hydra, each with the scope that bears it."""
        if file not in self._hydra:
            scopes = enumerate(self.graph.python[file].scopes)
            self._hydra[file] = tuple(
                (index, name)
                for index, scope in scopes
                for name in scope.decorators
                if name.startswith("hydra.main")
            )
        return self._hydra[file]

    def options(self, file: str) -> tuple[tuple[int, Option], ...]:
        """The options that the file defines, each with the scope that does."""
        if file not in self._options:
            self._options[file] = tuple(options_of_file(self.graph, file))
        return self._options[file]


@cache
def _says(name: str) -> bool:
    return name.rpartition(".")[2] in _NAMES or known_call(name) is not None or known_load(name) or asks(name)
