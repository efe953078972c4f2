"""Hydra's way to put a configuration together: a base file, its list of defaults, groups that a command chooses."""

import re

from audit.facts.model import Command
from audit.signals.repository import Repository
from audit.state.observed.launches import add_config
from audit.state.observed.model import Rank
from audit.state.observed.settings import Settings

_ITEM = re.compile(r"defaults\.\d+(?:\.(?:override )?/?([\w\-/@]+))?")
_GROUP = re.compile(r"[+~]{0,2}/?([\w\-/]+(?:@[\w.\-]+)?)=([\w\-./]+)")
_MAX_FILES = 40


def compose(
    settings: Settings, repository: Repository, folder: str, name: str, command: Command | None
) -> None:
    """Adds what the base file and the chosen groups say; a file that is not there is passed over."""
    chosen: dict[str, str] = {}
    if command is not None:
        for flag in command.flags:
            if flag.name in ("--config-name", "-cn"):
                name = flag.value.removesuffix(".yaml")
        for arg in command.args:
            match = _GROUP.fullmatch(arg)
            if match and _file(repository, folder, f"{match[1].partition('@')[0]}/{match[2]}"):
                chosen[match[1].partition("@")[0]] = match[2]
    _add(settings, repository, folder, name, "", chosen, set())
    for group, value in chosen.items():
        _add(
            settings,
            repository,
            folder,
            f"{group}/{value}",
            group.replace("/", ".") + ".",
            {},
            set(),
            Rank.CONFIG,
        )


def _add(
    settings: Settings,
    repository: Repository,
    folder: str,
    name: str,
    prefix: str,
    chosen: dict[str, str],
    seen: set[str],
    rank: int = Rank.BASE,
) -> None:
    file = _file(repository, folder, name)
    if file is None or file in seen or len(seen) > _MAX_FILES:
        return
    seen.add(file)
    config = repository.configs[file]
    parent = name.rpartition("/")[0]
    for setting in config.settings:
        match = _ITEM.fullmatch(setting.key)
        if match is None or setting.value in ("_self_", "null", ""):
            continue
        group = (match[1] or "").partition("@")[0]
        if group in chosen:
            continue
        inner = f"{group}/{setting.value}" if group else setting.value
        below = f"{parent}/{inner}" if parent else inner
        if _file(repository, folder, below) is None:
            below = inner
        _add(
            settings,
            repository,
            folder,
            below,
            (prefix + group.replace("/", ".") + ".") if group else prefix,
            {},
            seen,
            rank,
        )
    add_config(settings, file, config, rank, prefix)


def _file(repository: Repository, folder: str, name: str) -> str | None:
    base = f"{folder}/{name.lstrip('/')}" if folder else name.lstrip("/")
    base = base.removesuffix(".yaml")
    return next((path for path in (base + ".yaml", base + ".yml") if path in repository.configs), None)
