"""The lock as YAML: written in one order, read back strictly and within bounds."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import yaml

from audit.documents.errors import DocumentError
from audit.documents.lock import LOCK_PATH, SCHEMA_VERSION, SECTIONS, Lock, LockedManifest, Path, Resolved
from audit.documents.state import Confidence
from audit.facts.yaml_nodes import YamlError, compose, line_of

MAX_BYTES = 4 * 2**20
_MAX_DEPTH = 24
"""A manifest may be 16 levels deep."""
_MAX_VALUES = 20_000
_HEAD = ("schema_version", "tool", "manifest", "digest")
_LEAF = frozenset({"value", "source", "confidence", "resolved_at"})
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ADVICE = "`ml-audit lock` writes it anew."
_TITLE = (
    "# Written by `ml-audit lock`. Commit it, review its changes like code, and let the command make them.\n"
)


# Writing -----------------------------------------------------------------------------------------------------------


def write(lock: Lock) -> str:
    """The file's text: the same lock gives the same bytes. Raises DocumentError where it would be too large to be read again."""
    document: dict[str, Any] = {
        "schema_version": lock.schema_version,
        "tool": lock.tool,
        "manifest": {"path": lock.manifest.path, "sha256": lock.manifest.sha256},
    }
    for path, resolved in ordered(lock.values).items():
        folder = document
        for name in path[:-1]:
            folder = folder.setdefault(name, {})
        folder[path[-1]] = _leaf(resolved)
    document["digest"] = digest(lock.values)
    text = yaml.dump(
        document,
        Dumper=_dumper(),
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=1_000_000,
    )
    text = _TITLE + str(text)
    if len(lock.values) > _MAX_VALUES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise DocumentError(
            f"{lock.manifest.path} asks for {len(lock.values):,} values, and a lock holds at most {_MAX_VALUES:,}, and {MAX_BYTES // 2**20} MiB.",
            "Declare tables of data as a file that `config_files` names: its digest is locked.",
        )
    return text


def ordered(values: Mapping[Path, Resolved]) -> dict[Path, Resolved]:
    """By section in the order of the file, then by name: a value that comes or goes moves no other."""
    rank = {name: number for number, name in enumerate(SECTIONS)}
    return dict(sorted(values.items(), key=lambda item: (rank.get(item[0][0], len(rank)), item[0])))


def digest(values: Mapping[Path, Resolved]) -> str:
    """What a merge or an edit by hand does not keep: SHA-256 over all values, whatever the YAML's form."""
    rows = [[*path, msgspec.to_builtins(resolved)] for path, resolved in ordered(values).items()]
    text = json.dumps(rows, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _leaf(resolved: Resolved) -> dict[str, Any]:
    value = list(resolved.value) if isinstance(resolved.value, tuple) else resolved.value
    leaf = {
        "value": value,
        "source": resolved.source.value,
        "confidence": resolved.confidence.value,
        "resolved_at": resolved.resolved_at,
    }
    return leaf | ({"note": resolved.note} if resolved.note else {})


def _dumper() -> Any:
    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Without anchors: two equal lists are written out twice."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    return Dumper


# Reading -----------------------------------------------------------------------------------------------------------


def read_lock(data: bytes, name: str = LOCK_PATH) -> Lock:
    """The lock in `data`. Raises DocumentError with file and line: beyond the bounds, of another version, edited by hand, damaged by a merge."""
    fail = partial(_fail, name)
    if len(data) > MAX_BYTES:
        raise DocumentError(f"{name} is larger than {MAX_BYTES // 2**20} MiB.", _ADVICE)
    if conflict := re.search(rb"^(?:<{7}|>{7}) ", data, re.MULTILINE):
        line = data[: conflict.start()].count(b"\n") + 1
        raise DocumentError(
            f"{name}:{line}: a merge was not finished here.", "Take either side, then run `ml-audit lock`."
        )
    try:
        documents = compose(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise DocumentError(f"{name} is not UTF-8.", _ADVICE) from None
    except YamlError as error:
        raise DocumentError(f"{name}:{error.line or 1}: {error}.", _ADVICE) from None
    if len(documents) != 1 or not isinstance(documents[0], yaml.MappingNode):
        raise DocumentError(f"{name}:1: one YAML mapping is expected.", _ADVICE)
    head, sections = _parts(documents[0], fail)
    version, tool, manifest = (head.get(key) for key in _HEAD[:3])
    if version is None or version.value != str(SCHEMA_VERSION):
        said = getattr(version, "value", "none")
        fail(
            version or documents[0],
            f"schema_version {said} is not {SCHEMA_VERSION}, the one this program reads",
        )
    reading = _Reading(fail)
    for key, node in sections:
        reading.section(node, (key,))
    lock = Lock(
        SCHEMA_VERSION,
        str(getattr(tool, "value", "")),
        _manifest(manifest, documents[0], fail),
        reading.values,
        reading.lines,
    )
    if (said := head.get("digest")) is None or said.value != digest(lock.values):
        fail(said or documents[0], "the values are not those that were written: edited by hand, or merged")
    return lock


def _fail(name: str, node: yaml.Node, message: str) -> None:
    raise DocumentError(f"{name}:{line_of(node)}: {message}.", _ADVICE)


def _parts(root: yaml.MappingNode, fail: Any) -> tuple[dict[str, Any], list[tuple[str, yaml.Node]]]:
    head: dict[str, Any] = {}
    sections: dict[str, yaml.Node] = {}
    for key, value in root.value:
        known = isinstance(key, yaml.ScalarNode) and (key.value in _HEAD or key.value in SECTIONS)
        if not known or key.value in head or key.value in sections:
            fail(key, f"{getattr(key, 'value', 'a key')!s:.60} is no section of a lock, or stands twice")
        (head if key.value in _HEAD else sections)[key.value] = value
    return head, list(sections.items())


def _manifest(node: Any, root: yaml.Node, fail: Any) -> LockedManifest:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    said = {str(key.value): value for key, value in pairs}
    if set(said) != {"path", "sha256"} or not all(isinstance(v, yaml.ScalarNode) for v in said.values()):
        fail(node or root, "manifest: path and sha256 are expected")
    return LockedManifest(str(said["path"].value), str(said["sha256"].value))


class _Reading:
    """Values and their lines, from the nodes of the sections."""

    def __init__(self, fail: Any) -> None:
        self.values: dict[Path, Resolved] = {}
        self.lines: dict[Path, int] = {}
        self._fail = fail

    def section(self, node: yaml.Node, path: Path) -> None:
        """Adds what stands below `node`."""
        if not isinstance(node, yaml.MappingNode) or len(path) > _MAX_DEPTH or len(self.values) > _MAX_VALUES:
            self._fail(node, f"{'.'.join(path)[:100]}: values with their source are expected, within bounds")
            return
        said: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in said:
                self._fail(key, f"a key of {'.'.join(path)[:100]} is no plain word, or stands twice")
            said[key.value] = value
        if said.keys() >= _LEAF and not isinstance(said["source"], yaml.MappingNode):
            self._leaf(node, said, path)
            return
        for name, value in said.items():
            self.section(value, (*path, name))

    def _leaf(self, node: yaml.Node, said: Mapping[str, yaml.Node], path: Path) -> None:
        try:
            plain = {name: _plain(value) for name, value in said.items()}
            plain["resolved_at"] = str(plain["resolved_at"])
            resolved = msgspec.convert(plain, Resolved)
        except (msgspec.ValidationError, ValueError) as error:
            self._fail(node, f"{'.'.join(path)[:100]}: {error}")
            return
        if not _MOMENT.fullmatch(resolved.resolved_at) or resolved.confidence is Confidence.OBSERVED:
            self._fail(node, f"{'.'.join(path)[:100]}: resolved_at or confidence is not what a lock says")
        self.values[path] = resolved
        self.lines[path] = line_of(node)


def _plain(node: yaml.Node) -> Any:
    """A scalar or a list of scalars as Python values. Raises ValueError for anything else."""
    if isinstance(node, yaml.SequenceNode):
        return tuple(_plain_scalar(item) for item in node.value)
    return _plain_scalar(node)


_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,400})")


def _plain_scalar(node: yaml.Node) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError("a plain value is expected")
    kind, text = node.tag.rpartition(":")[2], str(node.value)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "int":
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"{text[:40]} is not a number as a lock writes it")
        return int(text)
    if kind == "float":
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if kind in ("str", "timestamp"):
        return text
    raise ValueError(f"the tag {node.tag[:60]} has no place in a lock")
