"""Settings of configuration files: YAML, JSON, TOML, INI and gin."""

import re
from collections import defaultdict
from collections.abc import Iterator

from audit.documents.state import Scalar, Value
from audit.facts.model import ConfigFacts, Setting
from audit.state.names import concept, plain
from audit.state.settings.key import Found
from audit.state.settings.vocabulary import words

_FOLDERS = frozenset(
    "conf confs config configs cfg cfgs recipes recipe experiment experiments hparams hyperparameters hyperparams params args settings tasks".split()
)
# Files whose content a run writes, or that describe something other than an experiment.
_OTHER = re.compile(
    r"(?:^|/)(?:vocab\w*|tokenizer|merges|added_tokens|special_tokens_map|results?[\w.-]*|metrics?|scores?|leaderboard[\w.-]*|package(?:-lock)?|trainer_state|all_results|train_results|eval_results"
    r"|[\w.-]*index|index[\w.-]*|labels?|classes|id2label|label2id|manifest|dataset_infos?|dataset_dict|state|codecov|renovate|dependabot|launch|tasks\.schema|[\w.-]*schema|mypy|ruff|pytest|tox|flake8|pylintrc"
    r"|release-please[\w.-]*|cspell|typos|lychee|zensical|book|_config|funding|mergify|stale|labeler|citation|netlify|vercel|wandb-metadata|wandb-summary)\.(?:json5?|ya?ml|toml|ini|cfg|conf)$",
    re.I,
)
_RUN_FOLDER = re.compile(
    r"(?:^|/)(?:results?|outputs?|logs?|runs|wandb|mlruns|leaderboard|leaderboards|assets|static|locales?|i18n|\.[^/]+|node_modules|benchmark_results|baselines_results|fixtures|golden|snapshots)/",
    re.I,
)
_INDEX = re.compile(r"\.(\d{1,6})(?=\.|$)")
_NAMING = (
    "name",
    "_target_",
    "metric",
    "id",
    "path",
    "type",
    "function",
    "task",
    "class_path",
    "dataset",
    "key",
    "repo_id",
    "title",
)
_CLUSTER = frozenset({"apiversion", "kind"})
_LONGEST_LIST = 500


def config_settings(file: str, config: ConfigFacts) -> Iterator[Found]:
    """The settings of one file; none where nothing in it says that it configures an experiment."""
    if _OTHER.search("/" + file) or _RUN_FOLDER.search(file) or not _configures(file, config):
        return
    hydra = "defaults" in config.tags
    for key, value, line in _joined(_with_names(config.settings)):
        name, meant = _of_hydra(key, value) if hydra else (key, value)
        found = concept(name) or "custom." + (_last(name) or "value")
        yield Found(found, "", name, meant, line, f"{name} of {config.format.upper()}")


_DEFAULTS = re.compile(r"(?:defaults|.*\.defaults)\.(?:\d{1,6}|\[[^\]]*\])\.(.+)")


def _of_hydra(key: str, value: Value) -> tuple[str, Value]:
    """An item of a list of defaults by its group alone: neither its place in the list nor the ending of the file's name is part of the choice."""
    match = _DEFAULTS.fullmatch(key)
    if match is None and key.rpartition(".")[2] != "defaults":
        return key, value
    value = tuple(map(_without_ending, value)) if isinstance(value, tuple) else _without_ending(value)
    group = match[1].removeprefix("override ").removeprefix("optional ").strip("/") if match else ""
    return f"defaults.{group}" if match else key, value


def _without_ending(value: Scalar) -> Scalar:
    return value.removesuffix(".yaml").removesuffix(".yml") if isinstance(value, str) else value


def _configures(file: str, config: ConfigFacts) -> bool:
    """Whether the file says something about an experiment: by the folder it lies in, or by two keys that only experiments have."""
    settings = config.settings
    if not settings:
        return False
    if config.format == "json" and all(s.key[:1].isdigit() for s in settings[:20]):
        return False  # a list of records is data
    top = {plain(s.key.partition(".")[0]) for s in settings[:50]}
    if top >= _CLUSTER:
        return False
    known = {found for s in settings[:400] if (found := concept(s.key)) and _is_telling(found, s.key)}
    if len(known) >= 2 or "gin" in config.format or "_target_" in config.tags:
        return True
    return bool(known) and not _FOLDERS.isdisjoint(file.lower().split("/")[:-1])


def _is_telling(found: str, key: str) -> bool:
    """Whether a key is one that hardly anything but an experiment has."""
    last = plain(key).rpartition(".")[2]
    return (
        found.startswith(
            ("training.", "generation.", "evaluation.", "privacy.", "models.", "datasets.", "inference.")
        )
        and last not in words().common
    )


def _last(key: str) -> str:
    parts = [part for part in plain(key).split(".") if not part.isdigit() and not part.startswith("[")]
    return re.sub(r"[^\w]", "_", parts[-1])[:60] if parts else ""


def _with_names(settings: tuple[Setting, ...]) -> Iterator[tuple[str, str, int]]:
    """The settings with an item of a list named by what it calls itself instead of by its place: one that is put in front moves no other."""
    names: dict[str, str] = {}
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for setting in settings:
        parent, _, last = setting.key.rpartition(".")
        if (
            last in _NAMING
            and _INDEX.search(parent + ".")
            and parent.rpartition(".")[2].isdigit()
            and parent not in names
        ):
            holder = parent.rpartition(".")[0]
            label = f"[{last}={setting.value[:60]}]"
            counts[holder, label] += 1
            number = counts[holder, label]
            names[parent] = label if number == 1 else f"[{last}={setting.value[:60]} {number}]"
    for setting in settings:
        yield _renamed(setting.key, names) if names else setting.key, setting.value, setting.line


def _renamed(key: str, names: dict[str, str]) -> str:
    parts, spelt, out = key.split("."), "", list[str]()
    for part in parts:
        spelt = f"{spelt}.{part}" if spelt else part
        out.append(names.get(spelt, part))
    return ".".join(out)


def _joined(settings: Iterator[tuple[str, str, int]]) -> Iterator[tuple[str, Value, int]]:
    """Lists of plain values as one value each."""
    lists: dict[str, list[str]] = {}
    order: list[tuple[str, str | None, int]] = []
    for key, value, line in settings:
        parent, _, last = key.rpartition(".")
        if parent and last.isdigit() and (last == "0" or parent in lists):
            if parent not in lists:
                lists[parent] = []
                order.append((parent, None, line))
            if len(lists[parent]) < _LONGEST_LIST:
                lists[parent].append(value)
        else:
            order.append((key, value, line))
    for key, single, line in order:
        yield key, tuple(lists[key]) if single is None else single, line
