"""Commands that start an entry point, and what each of them sets."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.facts.model import Command, ConfigFacts
from audit.signals.repository import Repository
from audit.state.observed.model import Rank
from audit.state.observed.options import Said, plain
from audit.state.observed.settings import Settings
from audit.state.observed.texts import is_placeholder, typed

_CONFIG_FLAG = re.compile(
    r"(?i)c|(?:[\w-]*[_-])?(?:config|cfg|conf|recipe|experiment|params|hparams|settings|yaml)(?:[_-](?:file|path|name|yaml))?"
)
_OTHER_PROGRAM = re.compile(r"(?i)deepspeed|ds_config|fsdp|accelerate|model_config|tokenizer_config")
_FILE = re.compile(r"[\w./@+\-]{1,300}\.(?:ya?ml|json|toml|ini|py|jsonnet|gin)")
_OVERRIDE = re.compile(r"[+~]{0,2}([A-Za-z_][\w.\-/@]{0,200})=(.*)", re.DOTALL)


_EVALUATES = re.compile(
    r"eval|evaluate|eval_only|only_eval|test|test_only|only_test|evaluate_only|inference|predict"
)


class Launch(msgspec.Struct, frozen=True):
    """One way to start an entry point. `origin`: the file that says it; `files`: the configurations that it names, in their order;
    `command` is None for a start without any; `lacks_file`: it names a configuration that is not there."""

    origin: str
    command: Command | None
    files: tuple[str, ...] = ()
    lacks_file: bool = False

    @property
    def is_template(self) -> bool:
        """Whether it shows how to call the entry point rather than a run: of its few flags, most are to be filled in."""
        if self.command is None:
            return False
        values = [text for _, text, _ in assigned(self.command) if text]
        gaps = sum(map(is_placeholder, values))
        return ("..." in self.command.args or gaps > 0) and 3 * gaps >= len(values)

    @property
    def only_evaluates(self) -> bool:
        """Whether the command says that a script which can train is to evaluate."""
        flags = self.command.flags if self.command else ()
        return any(
            _EVALUATES.fullmatch(plain(flag.name)) and flag.value.lower() in ("", "true", "1")
            for flag in flags
        )

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.origin, self.command.line if self.command else None)


def launch_of(repository: Repository, origin: str, command: Command) -> Launch:
    """The command with the configurations of this repository that it names."""
    found: list[str] = []
    lacks = False
    words = [
        flag.value
        for flag in command.flags
        if _CONFIG_FLAG.fullmatch(flag.name.lstrip("-")) and not _OTHER_PROGRAM.search(flag.name)
    ]
    words += [arg for arg in command.args if "=" not in arg]
    words += [arg.partition("=")[2] for arg in command.args if _CONFIG_FLAG.fullmatch(arg.partition("=")[0])]
    for word in words:
        for part in word.split():
            file = config_file(repository, part, origin)
            if file and not _OTHER_PROGRAM.search(file.rpartition("/")[2]):
                found.append(file)
            lacks = lacks or (file is None and part.endswith((".yaml", ".yml")))
    return Launch(origin, command, tuple(dict.fromkeys(found)), lacks)


def config_file(repository: Repository, word: str, origin: str) -> str | None:
    """The repository's configuration that a word of a command names: from the root, or from the folder of the file that says it."""
    word = word.strip("'\"")
    if not _FILE.fullmatch(word) or ".." in word:
        return None
    word = word.removeprefix("./").lstrip("/")
    folder = origin.rpartition("/")[0]
    for candidate in (word, f"{folder}/{word}" if folder else word):
        if candidate in repository.configs or (candidate.endswith(".py") and candidate in repository.code):
            return candidate
    # A name alone ("config.yaml") may be anybody's.
    ends = [path for path in repository.configs if path.endswith("/" + word)] if "/" in word else []
    return ends[0] if len(ends) == 1 else None


def add_config(settings: Settings, path: str, config: ConfigFacts, rank: int, prefix: str = "") -> None:
    """Adds what a configuration file says. Lists of plain values stay together."""
    lists: dict[str, list[tuple[str, int]]] = {}
    for setting in config.settings:
        parent, _, last = setting.key.rpartition(".")
        if last.isdigit() and parent:
            lists.setdefault(parent, []).append((setting.value, setting.line))
            continue
        said = Said(typed(setting.value), Place(path, setting.line), f"{setting.key} in {path}", rank)
        if isinstance(said.value, str) and is_placeholder(said.value):
            said = msgspec.structs.replace(said, value=None, known=False)
        _replace(settings, plain(prefix + setting.key), said)
    for key, rows in lists.items():
        if len(rows) <= 20:
            items = tuple(_scalar(value) for value, _ in rows)
            said = Said(items, Place(path, rows[0][1]), f"{key} in {path}", rank)
            _replace(settings, plain(prefix + key), said)


def _scalar(text: str) -> "str | int | float | bool | None":
    value = typed(text)
    return text if isinstance(value, tuple) else value


def _replace(settings: Settings, key: str, said: Said) -> None:
    settings.drop(key, said.rank)
    settings.add(key, said)


def add_command(settings: Settings, launch: Launch, *, strict: bool) -> None:
    """Adds what the command itself sets. `strict`: flags that nobody defines reach nothing."""
    if launch.command is None:
        return
    for name, text, line in assigned(launch.command):
        if strict and not settings.has(name) and "." not in name:
            continue
        value = typed(text) if text else True
        # What the parser refuses reaches no run: the command is wrong, and what is meant is not known.
        known = not is_placeholder(text) and (
            name not in settings.choices or str(value) in map(str, settings.choices[name])
        )
        where = Place(launch.origin, line)
        _replace(
            settings,
            name,
            Said(value if known else None, where, f"--{name} in {launch.origin}", Rank.LAUNCH, known),
        )


def assigned(command: Command) -> Iterator[tuple[str, str, int]]:
    """(name, value, line) of each flag and each `key=value` word."""
    for flag in command.flags:
        yield plain(flag.name), flag.value, flag.line or command.line
    for arg in command.args:
        match = _OVERRIDE.fullmatch(arg)
        if match:
            yield plain(match[1]), match[2], command.line
