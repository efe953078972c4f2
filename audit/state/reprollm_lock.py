"""`reprollm.lock`, the lock of the tool whose users move here, as a State: so that its runs can be compared with ours.

Written from what reprollm 0.6.1 writes: the sections of its manifest, in which a resolved value is a table of `value`, `source`, `confidence`,
`resolved_at` and `note`; digests beside them.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from audit.documents.manifest import Manifest
from audit.documents.mistakes import Hints, Mistake, Path, Positions, complaints, document_error
from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source, State
from audit.facts.strict_yaml import Reading, read_yaml
from audit.state.manifest import state_of
from audit.state.manifest_reading import prepared
from audit.state.reprollm import converted, marks_of, renamed, tree_of

NAME: Final = "reprollm.lock"
_ADVICE: Final = "Write it anew with reprollm, or lock with `ml-audit lock`."
_MODEL: Final = "provider id revision tokenizer adapter dtype quantization trust_remote_code".split()
_DATASET: Final = "provider id revision subset split".split()
_AS_DECLARED: Final = "generation inference training evaluation privacy".split()


class _Cell(msgspec.Struct, frozen=True):
    """How sure a resolved value is, and what the tool noted of it."""

    confidence: Confidence
    note: str


def read_reprollm_lock(data: bytes, name: str = NAME) -> State:
    """What the lock says, by the paths of ours. Raises DocumentError, a line for every mistake."""
    reading = read_yaml(data)
    if not reading.whole or reading.mistakes:
        raise document_error(reading.mistakes, name, _ADVICE)
    if not isinstance(reading.value, dict):
        raise document_error([Mistake(1, 1, "a table is expected")], name, _ADVICE)
    cells: dict[Path, _Cell] = {}
    whole = _plain(reading.value, (), cells)
    declared = Reading(_as_manifest(whole), reading.marks, ())
    moved, mistakes = converted(declared)
    positions = Positions(name, marks_of(moved, declared))
    positions_of_lock = Positions(name, reading.marks)
    try:
        state = state_of(Manifest.model_validate(prepared(tree_of(moved), ())), positions)
    except ValidationError as error:
        mistakes += complaints(error, Manifest, positions, Hints())
        raise document_error(mistakes, name, _ADVICE) from None
    if mistakes:
        raise document_error(mistakes, name, _ADVICE)
    found = {".".join(map(str, each.target)): cells[each.source] for each in moved if each.source in cells}
    leaves = {path: _leaf(leaf.value, found.get(path), leaf.place) for path, leaf in state.leaves.items()}
    for path, cell in found.items():
        leaves.setdefault(path, _leaf(None, cell, Place(name, positions.nearest(tuple(path.split(".")))[0])))
    for keys, value, source in _digests(whole):
        place = Place(name, positions_of_lock.nearest(source)[0])
        leaves[".".join(keys)] = _leaf(str(value), cells.get(source, _SEEN), place)
    return State(dict(sorted(leaves.items())))


def _leaf(value: Any, cell: _Cell | None, place: Place | None) -> Leaf:
    confidence = cell.confidence if cell else Confidence.DECLARED
    return Leaf(value, Source.LOCK, confidence, cell.note if cell else "", place)


def _plain(value: Any, path: Path, cells: dict[Path, _Cell]) -> Any:
    """The value with resolved ones in place of the tables around them, whose rest goes to `cells`."""
    if isinstance(value, list):
        return [_plain(item, (*path, index), cells) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if path and value.keys() >= {"value", "source", "confidence"}:
        sure = str(value["confidence"])
        known = {each.value: each for each in Confidence}
        note = value.get("note") or value["source"] or ""
        cells[path] = _Cell(known.get(sure, Confidence.UNRESOLVED), str(note))
        return value["value"]
    return {key: _plain(item, (*path, key), cells) for key, item in value.items()}


_SEEN: Final = _Cell(Confidence.EXACT, "")
"""Of what the tool computed itself: digests, versions."""


def _table(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _as_manifest(whole: dict[str, Any]) -> dict[str, Any]:
    """What of the lock stands in the tool's manifest, too."""
    made: dict[str, Any] = {key: whole[key] for key in _AS_DECLARED if whole.get(key) is not None}
    made["models"] = {role: _kept(model, _MODEL) for role, model in _table(whole, "models").items()}
    for model in made["models"].values():
        if isinstance(model.get("adapter"), dict):
            model["adapter"] = _kept(model["adapter"], ["id", "revision"])
    made["datasets"] = {role: _kept(dataset, _DATASET) for role, dataset in _table(whole, "datasets").items()}
    for role, dataset in made["datasets"].items():
        files = [row.get("path") for row in _rows(_table(whole, "datasets", role).get("files"))]
        if files:
            dataset["files"] = files
    made["prompts"] = {role: _kept(prompt, ["path"]) for role, prompt in _table(whole, "prompts").items()}
    evaluation = _table(made, "evaluation")
    if isinstance(evaluation.get("metrics"), list):
        rows = [_kept(row, ["name", "implementation"]) for row in _rows(evaluation["metrics"])]
        made["evaluation"] = {**evaluation, "metrics": rows}
    return made


def _kept(value: Any, keys: list[str]) -> dict[str, Any]:
    """These keys of a table; an empty text is none."""
    return {key: value[key] for key in keys if isinstance(value, dict) and value.get(key, "") != ""}


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


_Digest = tuple[tuple[str, ...], Any, Path]
"""A path in ours, the value, and where it stands."""


def _digests(whole: dict[str, Any]) -> Iterator[_Digest]:
    """What only a lock knows."""
    names = renamed(whole)
    for role, model in _table(whole, "models").items():
        for ours, theirs in _OF_MODEL.items():
            value = _table(model, *theirs[:-1]).get(theirs[-1])
            if value is not None:
                yield ("models", names.get(("models", role), role), ours), value, ("models", role, *theirs)
    for role, dataset in _table(whole, "datasets").items():
        rows = list(_of_files(_table(dataset).get("files"), ("datasets", role, "files")))
        for path, digest, source in rows:
            last = () if len(rows) == 1 else (path,)
            yield ("datasets", names.get(("datasets", role), role), "sha256", *last), digest, source
    for path, digest, source in _of_files(whole.get("files"), ("files",)):
        yield ("files", path), digest, source
    for role, prompt in _table(whole, "prompts").items():
        file, content = _table(prompt).get("path"), _table(prompt).get("sha256")
        if file and content:
            yield ("files", str(file)), content, ("prompts", role, "sha256")
    yield from _environment(_table(whole, "environment"))


def _of_files(rows: Any, at: Path) -> Iterator[tuple[str, Any, Path]]:
    """Path and digest of each file of a list."""
    for index, row in enumerate(_rows(rows)):
        if row.get("path") and row.get("sha256"):
            yield str(row["path"]), row["sha256"], (*at, index, "sha256")


def _environment(environment: dict[str, Any]) -> Iterator[_Digest]:
    for key in ("python", "platform"):
        if isinstance(value := environment.get(key), str):
            yield ("environment", key), value, ("environment", key)
    for package, version in _table(environment, "packages").items():
        if isinstance(version, str):
            at = ("environment", "packages", package)
            yield (*at, "installed"), version, at


_OF_MODEL: Final = {
    "pinnability": ("pinnability",),
    "chat_template": ("chat_template", "sha256"),
    "config": ("config_sha256",),
    "adapter_config": ("adapter", "config_sha256"),
    "sha256": ("local", "weights", "sha256"),
}
