"""Where names of models and data stand as literals: in code, configuration, commands and notebooks, with how they are used.

A string alone says little (`a/b` can be a folder, a media type, a time zone). What it is called where it stands, as the
keyword, the parameter, the flag, the key, or the call that takes it, says what it is for.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from audit.facts.classify import is_test_path
from audit.facts.model import Command, ConfigFacts, ScriptFacts
from audit.facts.python.identities import identity_kind
from audit.facts.python.model import Assign, Call, PythonFacts, Text
from audit.signals.once import once
from audit.signals.repository import Repository

_MAX_LINE_TOKENS = 400
_LOOK_BACK = 30


class Use(msgspec.Struct, frozen=True):
    """One literal in one place.

    `kind`: "hub" or "api" by its shape. `how`: "arg" (of `call`), "default", "assign", "item", "key", "choice", "compare",
    "return", "flag", "variable", "setting" or "other". `name`: the keyword, parameter, target, flag or dotted key that it
    goes by, "" where it has none. `holder`: the name of the container that it is an item of; of a comparison, of the function. `origin`: "code", "config",
    "script" or "notebook". `revision`: the revision that is asked for beside it; `repo_type` likewise ("dataset").
    `uploads`: the file pushes to the hub too.
    """

    kind: str
    value: str
    path: str
    line: int
    how: str
    name: str = ""
    call: str = ""
    holder: str = ""
    origin: str = "code"
    revision: str = ""
    repo_type: str = ""
    uploads: bool = False


@once
def uses(repository: Repository) -> tuple[Use, ...]:
    """All literals of the repository's own files, tests and documents left out."""
    return tuple(_all(repository))


def _all(repository: Repository) -> Iterator[Use]:
    for path, facts in repository.code.items():
        yield from _of_python(path, facts, "code")
    for path, config in repository.configs.items():
        yield from _of_config(path, config)
    for path, script in repository.scripts.items():
        yield from _of_script(path, script)
    for path, notebook in repository.notebooks.items():
        yield from _of_python(path, notebook.code, "notebook")
        for command in notebook.commands:
            yield from _of_command(path, command, "notebook")
    for path, container in repository.containers.items():
        if not is_test_path(path):
            for command in container.commands:
                yield from _of_command(path, command, "script")
            yield from _of_variables(path, container.env)


# Python ----------------------------------------------------------------------------------------------------------


def _of_python(path: str, facts: PythonFacts, origin: str) -> Iterator[Use]:
    places = _Places(facts)
    for text in facts.texts:
        if text.kind in ("hub", "api"):
            yield _use(path, text, places, origin)
    yield from _bare_names(path, facts, origin)


class _Places:
    """Calls and containers of one file, to find what a literal's own record does not say."""

    def __init__(self, facts: PythonFacts) -> None:
        self.facts = facts
        self.calls: dict[str, list[Call]] = {}
        for call in facts.calls:
            self.calls.setdefault(call.name.rpartition(".")[2], []).append(call)
        self.containers = [a for a in facts.assigns if a.value[:1] in "[{(" or a.value.startswith("dict(")]
        self.uploads = any(name in self.calls for name in ("push_to_hub", "upload_file", "upload_folder"))
        self.loaded = self._loaded()
        self.fields = {
            (scope, value): name
            for name, value, scope in ((a.target, a.value, a.scope) for a in facts.assigns if a.annotation)
        }

    def _loaded(self) -> dict[str, Call]:
        """Variables that a loading call of this file takes its id from."""
        found: dict[str, Call] = {}
        for last, word in LOADERS.items():
            for call in self.calls.get(last, ()):
                source = (call.args[0] if call.args else "") or call.kwargs.get(word, "")
                if _NAME.fullmatch(source):
                    found.setdefault(source.rpartition(".")[2], call)
        return found

    def call(self, last: str, text: Text) -> Call | None:
        """The call of that name that the literal is an argument of: the nearest one that starts at or above its line."""
        calls, literal = self.calls.get(last, []), repr(text.value)
        end = bisect_right(calls, text.line, key=_line_of)
        for call in reversed(calls[max(0, end - _LOOK_BACK) : end]):
            if any(literal in arg for arg in call.args) or any(
                literal in arg for arg in call.kwargs.values()
            ):
                return call
        return None

    def function(self, text: Text) -> str:
        """The name of the function that the text stands in."""
        return self.facts.scopes[text.scope].name if text.scope < len(self.facts.scopes) else ""

    def holder(self, text: Text) -> str:
        """The variable whose container literal the text stands in."""
        literal = repr(text.value)
        end = bisect_right(self.containers, text.line, key=_line_of)
        for assign in reversed(self.containers[max(0, end - _LOOK_BACK) : end]):
            if assign.scope == text.scope and (literal in assign.value or assign.value.endswith("…")):
                return assign.target
        return ""


def _line_of(record: Call | Assign) -> int:
    return record.line


def _use(path: str, text: Text, places: _Places, origin: str) -> Use:
    role, in_container = text.role, False
    while role.startswith("item:"):
        role, in_container = role[5:], True
    how, _, rest = role.partition(":")
    name = call = holder = revision = ""
    made: Call | None = None
    if how in ("arg", "kwarg"):
        last, _, word = rest.rpartition(":")
        made = places.call(last, text)
        call = made.name if made else last
        name = "" if how == "arg" else word
        revision = made.kwargs.get("revision", "") if made else ""
        how = "arg"
        if last == "add_argument" and made:
            how = "choice" if word == "choices" else "default"
            name = _flag_name(made)
        elif last in ("field", "Field") and word in ("default", "default_factory"):
            how, call = "default", ""
            name = places.fields.get((text.scope, repr(text.value)), "")
    elif how in ("default", "assign"):
        name = rest
    elif role.startswith("'"):
        how, name = "item", role.strip("'")
    if in_container and how not in ("default", "choice", "compare", "return"):
        holder = places.holder(text) or (name if how == "assign" else "")
        how = "item"
    elif how == "key":
        holder = places.holder(text)
    elif how == "compare":
        holder = places.function(text)
    loading = places.loaded.get(name.rpartition(".")[2]) if how in ("assign", "default") and name else None
    if loading and not call.endswith("add_argument"):
        made, call, revision = loading, loading.name, loading.kwargs.get("revision", "")
    repo_type = literal(made.kwargs.get("repo_type", "")) if made else ""
    return Use(
        text.kind, text.value, path, text.line, how, name, call, holder, origin, revision, repo_type, places.uploads
    )  # fmt: skip


def _flag_name(call: Call) -> str:
    """What an option is called: its destination, else its first long name."""
    words = [call.kwargs["dest"]] if "dest" in call.kwargs else []
    words += sorted(call.args, key=lambda arg: not arg.strip("'\"").startswith("--"))
    return words[0].strip("'\"").lstrip("-") if words else ""


_NAME = re.compile(r"[A-Za-z_][\w.]{0,80}")
LOADERS = {
    "from_pretrained": "pretrained_model_name_or_path", "load_dataset": "path", "hf_hub_download": "repo_id",
    "snapshot_download": "repo_id", "SentenceTransformer": "model_name_or_path", "LLM": "model",
}  # fmt: skip
# Builders that `datasets` ships: what they load is files, not a dataset of the hub.
BUILDERS = frozenset(
    "json csv text parquet arrow pandas sql imagefolder audiofolder videofolder webdataset xml generator spark hdf5".split()
)


def _bare_names(path: str, facts: PythonFacts, origin: str) -> Iterator[Use]:
    """Ids without an organisation (`gpt2`, `squad`) look like any word: only a loading call makes one of it."""
    for call in facts.calls:
        last = call.name.rpartition(".")[2]
        if last not in ("from_pretrained", "load_dataset") or "?" in call.name:
            continue
        if last == "load_dataset" and not call.name.startswith(("datasets.", "nlp.", "load_dataset")):
            continue  # a method of that name loads a split of something else
        value = literal(call.args[0] if call.args else call.kwargs.get(LOADERS[last], ""))
        if _BARE.fullmatch(value) and value not in BUILDERS and not identity_kind(value):
            revision = call.kwargs.get("revision", "")
            yield Use("hub", value, path, call.line, "arg", call=call.name, origin=origin, revision=revision)


_BARE = re.compile(r"[A-Za-z0-9][\w\-]{1,95}(?:\.\d[\w\-]*)?")


def literal(text: str) -> str:
    """The string that an expression's text spells, "" where it spells none."""
    if len(text) < 3 or text[0] not in "'\"":
        return ""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


# Configuration ---------------------------------------------------------------------------------------------------

_RECORD = re.compile(r"\d+\.")
_MIXED = re.compile(
    r"(?i)(?:^|\.)(?:[\w\-]*(?:mixer|mixture)|datasets?|data_?mix)\.([A-Za-z0-9][\w.\-]*/[\w.\-]+)$"
)
_ARGUMENT = re.compile(r"(?:^|[,\s])([A-Za-z_][\w.\-]*)=([^,\s'\"]{2,200})")


def _of_config(path: str, config: ConfigFacts) -> Iterator[Use]:
    if (
        config.format == "json"
        and config.settings
        and all(_RECORD.match(s.key) for s in config.settings[:20])
    ):
        return  # a list of records is data, and what it names are results
    revisions = {s.key: s.value for s in config.settings if s.key.endswith("revision")}
    for key, value, line in ((s.key, s.value, s.line) for s in config.settings):
        # Cheap questions first: trees of results hold numbers by the million.
        if "/" in key and (mixed := _MIXED.search(key)):
            yield Use("hub", mixed[1], path, line, "key", key[: mixed.start(1) - 1], origin="config")
        kind = identity_kind(value)
        if kind in ("hub", "api"):
            parent, _, last = key.rpartition(".")
            revision = _beside(revisions, parent + "." if parent else "", last)
            yield Use(kind, value, path, line, "setting", key, origin="config", revision=revision)
        elif "=" in value and "/" in value and len(value) < 1000:
            yield from _arguments(path, line, value, "config")
        elif is_bare_model(value) and _BARE_KEY.search(key):
            yield Use("hub", value, path, line, "setting", key, origin="config")


_BARE_KEY = re.compile(
    r"(?i)(?:model|tokenizer|name_or_path|pretrained|checkpoint|backbone|encoder)s?(?:\.\d+|_name|_id|_path)?$"
)
_BARE_MODEL = re.compile(
    r"gpt2(?:-medium|-large|-xl)?|openai-gpt|distilgpt2|(?:distil)?bert-(?:base|large)(?:-[a-z0-9]+)*|(?:xlm-|distil)?roberta-(?:base|large)(?:-[a-z0-9]+)*"
    r"|albert-(?:base|large|xlarge|xxlarge)-v[12]|t5-(?:small|base|large|3b|11b)|xlnet-(?:base|large)-cased|camembert-base|xlm-mlm-[a-z0-9\-]+"
)


def is_bare_model(value: str) -> bool:
    """Whether a word is one of the hub's old model ids without an organisation."""
    return len(value) < 60 and bool(_BARE_MODEL.fullmatch(value))


def _beside(revisions: dict[str, str], prefix: str, last: str) -> str:
    for word in (
        last + "_revision",
        last.replace("name_or_path", "revision"),
        last.partition("_")[0] + "_revision",
        "revision",
    ):
        if prefix + word in revisions:
            return repr(revisions[prefix + word])
    return ""


def _arguments(path: str, line: int, text: str, origin: str) -> Iterator[Use]:
    """`pretrained=org/name,dtype=float16`: arguments written into one string."""
    for match in _ARGUMENT.finditer(text[:2000]):
        kind = identity_kind(match[2])
        if kind in ("hub", "api"):
            yield Use(kind, match[2], path, line, "flag", match[1], origin=origin)


# Commands --------------------------------------------------------------------------------------------------------


def _of_script(path: str, script: ScriptFacts) -> Iterator[Use]:
    for command in script.commands:
        yield from _of_command(path, command, "script")
    yield from _of_variables(path, script.variables)


def _of_variables(path: str, variables: tuple[tuple[str, str, int], ...]) -> Iterator[Use]:
    for name, value, line in variables:
        for word in value.split()[:_MAX_LINE_TOKENS]:
            word = word.strip("'\"(),")  # noqa: PLW2901
            kind = identity_kind(word)
            if kind in ("hub", "api"):
                yield Use(kind, word, path, line, "variable", name, origin="script")
            elif is_bare_model(word) and _BARE_KEY.search(name):
                yield Use("hub", word, path, line, "variable", name, origin="script")


def _of_command(path: str, command: Command, origin: str) -> Iterator[Use]:
    """Values of flags (several where a flag takes a list), `key=value` words, and the words of tools that take an id as such."""
    lines = {flag.name.lstrip("-"): flag.line for flag in command.flags}
    name = ""
    words = command.text.split()[:_MAX_LINE_TOKENS]
    for word in words:
        word = word.strip("'\"")  # noqa: PLW2901
        if word.startswith("-"):
            name, _, value = word.lstrip("-").partition("=")
        elif "=" in word and not name:
            left, _, value = word.partition("=")
            yield from _word(path, command, left.lstrip("+~"), value, command.line, origin)
            continue
        else:
            value = word
        if value:
            yield from _word(path, command, name, value, lines.get(name, command.line), origin)


def _word(path: str, command: Command, name: str, value: str, line: int, origin: str) -> Iterator[Use]:
    value = value.strip("'\"(),")
    if "=" in value:
        yield from _arguments(path, line, value, origin)
        return
    kind = identity_kind(value)
    if kind in ("hub", "api"):
        call = "" if name else _positional(command, value)
        if name or call:
            kept = next((f.value for f in command.flags if f.name in ("--repo-type", "--repo_type")), "")
            yield Use(kind, value, path, line, "flag", name, call, origin=origin, repo_type=kept)
    elif name and is_bare_model(value) and _BARE_KEY.search(name.replace("-", "_")):
        yield Use("hub", value, path, line, "flag", name, origin=origin)


_TOOLS = {
    "huggingface-cli": "hf_download", "hf": "hf_download", "vllm": "LLM", "ollama": "LLM", "mlc_llm": "LLM",
    "text-generation-launcher": "LLM", "litgpt": "LLM", "optimum-cli": "LLM",
}  # fmt: skip


def _positional(command: Command, value: str) -> str:
    """What a tool does with an id that stands without a flag, "" where that is not known."""
    if command.target and not command.module:
        return ""
    tool = _TOOLS.get(command.program, "")
    if tool == "hf_download" and not any(
        word in command.args[:2] for word in ("download", "scan-cache", "cache")
    ):
        return "upload"
    return tool if value in command.args else ""
