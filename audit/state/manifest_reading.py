"""The manifest's bytes, read as hostile: what is declared and where, or every mistake with file, line, column and mend."""

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from audit.documents.errors import DocumentError
from audit.facts.strict_yaml import MAX_MISTAKES, Mark, Mistake, Path, read_yaml, untyped
from audit.safety.redact import redact

if TYPE_CHECKING:  # pydantic is imported only where a manifest is read
    from pydantic import BaseModel

    from audit.documents.manifest import Manifest

ADVICE: Final = "See docs/manifest.md, or `ml-audit schema manifest`."


class Positions(msgspec.Struct, frozen=True):
    """Where each key of a manifest stands. `name`: the file's path; `marks`: line and column from 1, by the keys (and indices) that lead there."""

    name: str
    marks: dict[Path, Mark]

    def nearest(self, path: Path) -> Mark:
        """The mark of `path`, else of the closest table around it."""
        for end in range(len(path), -1, -1):
            if (mark := self.marks.get(path[:end])) is not None:
                return mark
        return (1, 1)


class Declared(msgspec.Struct, frozen=True):
    """A manifest with the places of its keys."""

    manifest: "Manifest"
    positions: Positions


def read_manifest(data: bytes, name: str = "ml-audit.yaml") -> "Manifest":
    """The manifest in `data`; `name` is the file's path in messages. Raises DocumentError, a line for every mistake."""
    return read_declared(data, name).manifest


def read_declared(data: bytes, name: str = "ml-audit.yaml") -> Declared:
    """The same, with the places."""
    from audit.documents.manifest import Manifest

    reading = read_yaml(data)
    positions = Positions(name, reading.marks)
    mistakes = list(reading.mistakes)
    value = {} if reading.value is None else reading.value
    manifest: Manifest | None = None
    if not isinstance(value, dict):
        mistakes.append(
            Mistake(*positions.nearest(()), f"a table is expected: {', '.join(Manifest.model_fields)}")
        )
    else:
        manifest = _validated(_prepared(value, ()), positions, mistakes)
    if manifest is not None:
        mistakes += _crossed(manifest, positions)
    if mistakes or manifest is None:
        raise document_error(mistakes, name)
    return Declared(manifest, positions)


def document_error(mistakes: list[Mistake], name: str, advice: str = ADVICE) -> DocumentError:
    """The error that tells all mistakes, in the order of the file."""
    ordered = sorted(set(mistakes))
    lines = [f"{name}:{each.line}:{each.column}: {each.what.rstrip('.')}." for each in ordered[:MAX_MISTAKES]]
    if len(ordered) > MAX_MISTAKES:
        lines.append(f"{name}: {len(ordered) - MAX_MISTAKES} more mistakes.")
    return DocumentError(redact("\n".join(lines)), advice)


_FREE: Final = frozenset({"params", "metadata"})


def _prepared(value: Any, path: Path) -> Any:
    """What is to be validated: keys that say nothing left out (a `TODO`), and YAML's own types where the manifest asks for none."""
    if path and (path[0] == "custom" or path[-1] in _FREE):
        return untyped(value)
    if isinstance(value, dict):
        return {key: _prepared(item, (*path, key)) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_prepared(item, (*path, index)) for index, item in enumerate(value)]
    return value if value is None else str(value)


def _validated(value: Any, positions: Positions, mistakes: list[Mistake]) -> "Manifest | None":
    from pydantic import ValidationError

    from audit.documents.manifest import Manifest

    try:
        return Manifest.model_validate(value)
    except ValidationError as error:
        mistakes += complaints(error, Manifest, positions)
        return None


# What is wrong, in words ------------------------------------------------------------------------------------------------


def complaints(error: Any, model: "type[BaseModel]", positions: Positions) -> Iterator[Mistake]:
    """The mistakes that pydantic's ValidationError of `model` tells, at most MAX_MISTAKES of them."""
    for item in error.errors(include_url=False)[:MAX_MISTAKES]:
        path: Path = ()
        for part in item["loc"]:
            if part not in _TAGS or (*path, part) in positions.marks:
                path = (*path, part)
        where = ".".join(map(str, path)) or "the file"
        yield Mistake(*positions.nearest(path), f"{where}: {_said(item, path, model)}")


_TAGS: Final = frozenset({"[key]", "line", "table", "int", "float", "bool", "str"})
"""What pydantic puts between the keys: which alternative of a type it tried."""


def _said(item: Mapping[str, Any], path: Path, model: "type[BaseModel]") -> str:
    kind, given = item["type"], _given(item.get("input"))
    limits = item.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(path, model)
    if kind == "literal_error":
        return f"one of {', '.join(_choices(path, model)) or limits.get('expected', '')} is expected, not {given}{_near_value(item, path, model)}"
    if kind == "value_error":
        return str(limits.get("error", item["msg"]))
    if kind == "missing":
        return "is missing"
    if kind == "string_pattern_mismatch":
        return f"{given} does not fit {limits.get('pattern')}{_NAMED if 'a-z][a-z0-9_]{0,31}' in limits.get('pattern', '') else ''}"
    if kind in _BOUNDS:
        return f"{_BOUNDS[kind].format(**limits)} is expected, not {given}"
    if kind in _EXPECTED:
        return f"{_EXPECTED[kind]} is expected, not {given}"
    return f"{item['msg'][:1].lower()}{item['msg'][1:]}"


_NAMED: Final = ": a name of lower-case letters, digits and underscores, at most 32"
_BOUNDS: Final = {
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "{le:g} or less",
    "too_long": "at most {max_length} entries",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "a text that is not empty",
}
_EXPECTED: Final = {
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "tuple_type": "a list",
    "list_type": "a list",
}


def _given(value: object) -> str:
    """What stands there instead, short."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    text = " ".join(str(value).split())
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


def _section_at(path: Path, model: "type[BaseModel]") -> "type[BaseModel] | None":
    """The section that `path` leads to, keys of one's own skipped."""
    from audit.documents.manifest import sections_of

    section: type[BaseModel] | None = model
    keys = iter(path)
    for key in keys:
        field = section.model_fields.get(str(key)) if section is not None else None
        if field is None:
            return None
        section, keyed = sections_of(field.annotation)
        if keyed:
            next(keys, None)
    return section


def _choices(path: Path, model: "type[BaseModel]") -> list[str]:
    section = _section_at(path[:-1], model)
    field = section.model_fields.get(str(path[-1])) if section else None
    found: list[str] = []
    pending = [field.annotation] if field else []
    while pending:
        args = get_args(pending.pop())
        found += [each for each in args if isinstance(each, str)]
        pending += [each for each in args if not isinstance(each, str)]
    return found


def _near_value(item: Mapping[str, Any], path: Path, model: "type[BaseModel]") -> str:
    near = difflib.get_close_matches(str(item.get("input", "")).lower()[:100], _choices(path, model), 1, 0.6)
    return f"; perhaps {near[0]}" if near else ""


_CALLED: Final = {
    "lr": "learning_rate",
    "num_train_epochs": "epochs",
    "num_epochs": "epochs",
    "n_epochs": "epochs",
    "max_epochs": "epochs",
    "per_device_train_batch_size": "batch_size",
    "train_batch_size": "batch_size",
    "micro_batch_size": "batch_size",
    "gradient_accumulation_steps": "gradient_accumulation",
    "lr_scheduler": "scheduler",
    "lr_scheduler_type": "scheduler",
    "optim": "optimizer",
    "max_grad_norm": "gradient_clipping",
    "max_seq_length": "max_length",
    "mixed_precision": "precision",
    "total_steps": "max_steps",
    "timesteps": "total_timesteps",
    "r": "rank",
    "lora_r": "rank",
    "lora_alpha": "alpha",
    "lora_dropout": "dropout",
    "torch_dtype": "dtype",
    "max_new_tokens": "max_tokens",
    "max_length_tokens": "max_tokens",
    "temp": "temperature",
    "num_return_sequences": "n",
    "stop_sequences": "stop",
    "tensor_parallel_size": "tensor_parallel",
    "version": "backend_version",
    "engine": "backend",
    "model": "id",
    "model_name": "id",
    "model_name_or_path": "id",
    "name": "id",
    "file": "path",
    "config": "subset",
    "config_name": "subset",
    "commit": "revision",
    "sha": "revision",
    "metric": "metrics",
    "cmd": "command",
    "docker": "container",
    "image": "container",
    "cli": "flag",
    "model_ref": "id",
}
"""What libraries call a setting -> what the manifest calls it."""


def _unknown_key(path: Path, model: "type[BaseModel]") -> str:
    key = str(path[-1])
    section = _section_at(path[:-1], model)
    known = list(section.model_fields) if section else []
    near = _CALLED.get(key.lower())
    if near not in known:
        near = next(iter(difflib.get_close_matches(key.lower()[:100], known, 1, 0.6)), None)
    allowed = f" Allowed: {', '.join(known)}" if known else ""
    if near:
        return f"this key is not known; perhaps {near}?{allowed}"
    elsewhere = _elsewhere(key.lower(), path, model)
    return f"this key is not known here{'; perhaps ' + elsewhere + '?' if elsewhere else '.'}{allowed}"


def _elsewhere(key: str, path: Path, model: "type[BaseModel]") -> str:
    """Where a key of this name belongs, the place closest to the one where it was written."""
    name = _CALLED.get(key, key)
    found = [
        each
        for each in _known_settings()
        if each.rpartition(".")[2] == name or each.rpartition(".")[2] == key
    ]
    if not found or model.__name__ != "Manifest":
        return ""
    return min(found, key=lambda each: (each.split(".")[0] != str(path[0]), each.count("."), each)).replace(
        "*", "ROLE"
    )


@cache
def _known_settings() -> tuple[str, ...]:
    from audit.documents.manifest import settings

    return tuple(each for each in settings() if not each.startswith("stages."))


# What fits together -----------------------------------------------------------------------------------------------------


def _crossed(manifest: "Manifest", positions: Positions) -> Iterator[Mistake]:
    """What is right by itself and wrong beside the rest."""
    from audit.documents.manifest import is_setting

    for setting in manifest.bindings:
        if not is_setting(setting):
            near = difflib.get_close_matches(setting[:200], _known_settings(), 1, 0.6)
            hint = f"; perhaps {near[0].replace('*', 'ROLE')}" if near else ""
            yield Mistake(
                *positions.nearest(("bindings", setting)),
                f"bindings.{setting}: this names no setting of the manifest{hint}",
            )
    for name, stage in manifest.stages.items():
        for index, needed in enumerate(stage.needs):
            if needed not in manifest.stages:
                near = difflib.get_close_matches(needed, manifest.stages, 1, 0.6)
                hint = f"; perhaps {near[0]}" if near else f"; there are {', '.join(manifest.stages)}"
                mark = positions.nearest(("stages", name, "needs", index))
                yield Mistake(*mark, f"stages.{name}.needs: there is no stage {needed}{hint}")
    for name in _circular({name: stage.needs for name, stage in manifest.stages.items()}):
        yield Mistake(
            *positions.nearest(("stages", name, "needs")),
            f"stages.{name}.needs: the stage needs itself, directly or through others",
        )


def _circular(needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Names that reach themselves; at most 50 names, so that asking for each is cheap."""
    found = []
    for start in needs:
        reached: set[str] = set()
        pending = list(needs[start])
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += needs.get(name, ())
        if start in reached:
            found.append(start)
    return found
