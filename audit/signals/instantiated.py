"""Objects that configuration files ask a framework to make: Hydra's `_target_`, Lightning's `class_path`, and their like.

To the signals they are calls like any other, only that they stand in a YAML file.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from audit.facts.model import ConfigFacts, Setting
from audit.facts.python.model import Call

_TARGETS = ("_target_", "class_path", "target")
_WORDS = {"true": "True", "false": "False", "null": "None", "none": "None", "~": "None", "": "None"}


def instantiations(configs: Mapping[str, ConfigFacts]) -> Iterator[tuple[str, Call]]:
    """The calls that configuration describes, with the file and line of the target."""
    for path, config in configs.items():
        if not any(setting.key.endswith(_TARGETS) for setting in config.settings):
            continue
        groups: dict[str, dict[str, Setting]] = defaultdict(dict)
        for setting in config.settings:
            prefix, _, key = setting.key.rpartition(".")
            groups[prefix][key] = setting
        for prefix, group in groups.items():
            for key in _TARGETS:
                target = group.get(key)
                if target is not None and _is_name(target.value):
                    arguments = {k: text_of(s.value) for k, s in group.items() if k != key}
                    for inner in ("init_args", "params"):
                        below = f"{prefix}.{inner}" if prefix else inner
                        arguments |= {k: text_of(s.value) for k, s in groups.get(below, {}).items()}
                    yield path, Call(target.value, target.line, 0, (), arguments)


def _is_name(value: str) -> bool:
    """Whether a value reads as a dotted name of Python."""
    return "." in value and all(part.isidentifier() for part in value.split("."))


def text_of(value: str) -> str:
    """A configuration value as expression text, as a call in code would carry it."""
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        float(value)
    except ValueError:
        return repr(value)
    return value
