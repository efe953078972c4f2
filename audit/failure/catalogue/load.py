"""The signature catalogue: one YAML file a family, checked entry by entry against what an entry may hold.

Adding a signature is adding an entry; `docs/signatures/README.md` says how. An error names the file, the line, the key, and what is allowed there.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import yaml

from audit.failure.catalogue.entry import UNITS, Entry
from audit.failure.model import Category, Role, Signature
from audit.failure.scan.trigger import UnsupportedPatternError, literals, trigger

POLICIES = range(1, 11)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST_SAMPLE = 4000
_NEEDED = ("id", "category", "role", "patterns", "positive")
_KEYS = (
    "id",
    "name",
    "category",
    "role",
    "policy",
    "patterns",
    "unless",
    "captures",
    "decoys",
    "advice",
    "positive",
    "negative",
)


class CatalogueError(ValueError):
    """An entry is not what it must be. `args[0]`: `file:line: what is wrong and what is allowed`."""


def load(paths: Iterable[Path]) -> tuple[Entry, ...]:
    """All entries of the files, in order. Raises CatalogueError; an id that occurs twice is one too."""
    entries: dict[str, Entry] = {}
    for path in paths:
        for entry, line in _family(path):
            if entry.signature.id in entries:
                raise CatalogueError(f"{path.name}:{line}: the id {entry.signature.id} is taken")
            entries[entry.signature.id] = entry
    return tuple(entries.values())


def _family(path: Path) -> Iterable[tuple[Entry, int]]:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path.name}: not YAML: {error}") from None
    top = _Reader(path.name)
    keys = top.mapping(root, ("family", "ordinary", "signatures"), ("family", "ordinary", "signatures"))
    family = top.text(keys["family"], "family")
    if family != path.stem:
        raise top.error(keys["family"], "family", f"must be {path.stem}, as the file is named")
    if not isinstance(keys["signatures"], yaml.SequenceNode):
        raise top.error(keys["signatures"], "signatures", "must be a list")
    ordinary = top.samples(keys["ordinary"], "ordinary")
    for node in keys["signatures"].value:
        yield top.entry(node, family, ordinary), node.start_mark.line + 1


class _Reader:
    """Reads nodes of one file and knows how to complain about them."""

    def __init__(self, name: str) -> None:
        self._name = name

    def error(self, node: Any, key: str, why: str) -> CatalogueError:
        return CatalogueError(f"{self._name}:{node.start_mark.line + 1}: {key}: {why}")

    def mapping(self, node: Any, allowed: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise CatalogueError(f"{self._name}: must be a mapping with {', '.join(allowed)}")
        found: dict[str, Any] = {}
        for key, value in node.value:
            if key.value not in allowed:
                raise self.error(key, str(key.value), f"unknown; allowed are {', '.join(allowed)}")
            if key.value in found:
                raise self.error(key, key.value, "given twice")
            found[key.value] = value
        for key in needed:
            if key not in found:
                raise self.error(node, key, "missing")
        return found

    def text(self, node: Any, key: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:str":
            raise self.error(node, key, "must be a text (in quotes where YAML would read something else)")
        return str(node.value)

    def texts(self, node: Any, key: str) -> tuple[str, ...]:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise self.error(node, key, "must be a list with at least one text")
        return tuple(self.text(item, key) for item in node.value)

    def one_of(self, node: Any, key: str, allowed: tuple[str, ...]) -> str:
        text = self.text(node, key)
        if text not in allowed:
            raise self.error(node, key, f"{text!r} is not one of {', '.join(allowed)}")
        return text

    def entry(self, node: Any, family: str, ordinary: tuple[str, ...]) -> Entry:
        keys = self.mapping(node, _KEYS, _NEEDED)
        patterns = self._patterns(keys["patterns"], "patterns")
        for pattern in patterns:
            self._findable(keys["patterns"], pattern)
        return Entry(
            self._signature(keys, family),
            patterns,
            self._patterns(keys["unless"], "unless") if "unless" in keys else (),
            self._captures(keys.get("captures"), keys["patterns"], patterns),
            self.samples(keys["positive"], "positive"),
            self.samples(keys["negative"], "negative") if "negative" in keys else (),
            ordinary,
        )

    def _signature(self, keys: dict[str, Any], family: str) -> Signature:
        names = {key: self.text(keys[key], key) for key in ("id", "name", "decoys", "advice") if key in keys}
        for key in ("id", "name"):
            if key in names and not _NAME.fullmatch(names[key]):
                raise self.error(keys[key], key, "must be snake_case: a-z, 0-9 and single underscores")
        return Signature(
            id=names["id"],
            name=names.get("name", names["id"]),
            family=family,
            category=self.one_of(keys["category"], "category", get_args(Category)),  # type: ignore[arg-type]
            role=self.one_of(keys["role"], "role", get_args(Role)),  # type: ignore[arg-type]
            policy=self._policy(keys["policy"]) if "policy" in keys else (),
            decoys=names.get("decoys", ""),
            advice=names.get("advice", ""),
        )

    def _policy(self, node: Any) -> tuple[int, ...]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, "policy", "must be a list of clauses of the label policy")
        clauses = tuple(int(item.value) if item.value.isdigit() else 0 for item in node.value)
        if not all(clause in POLICIES for clause in clauses):
            raise self.error(node, "policy", f"clauses are {POLICIES.start} to {POLICIES.stop - 1}")
        return clauses

    def _patterns(self, node: Any, key: str) -> tuple[str, ...]:
        patterns = self.texts(node, key)
        for item, pattern in zip(node.value, patterns, strict=True):
            try:
                trigger(pattern)
            except UnsupportedPatternError as error:
                raise self.error(item, key, f"{pattern!r}: {error}") from None
        return patterns

    def _findable(self, node: Any, pattern: str) -> None:
        item = next(item for item in node.value if item.value == pattern)
        try:
            literals(pattern)
        except UnsupportedPatternError as error:
            raise self.error(item, "patterns", f"{pattern!r}: {error}") from None

    def _captures(self, node: Any, where: Any, patterns: tuple[str, ...]) -> dict[str, str]:
        groups = {group for pattern in patterns for group in re.compile(pattern).groupindex}
        captures: dict[str, str] = {}
        if node is not None:
            if not isinstance(node, yaml.MappingNode):
                raise self.error(node, "captures", "must map a group's name to its unit")
            captures = {key.value: self.one_of(value, "captures", UNITS) for key, value in node.value}
        if groups != set(captures):
            odd = ", ".join(sorted(groups ^ set(captures)))
            raise self.error(node or where, "captures", f"must name the patterns' groups, each once: {odd}")
        return captures

    def samples(self, node: Any, key: str) -> tuple[str, ...]:
        samples = self.texts(node, key)
        for item, sample in zip(node.value, samples, strict=True):
            if "\n" in sample or len(sample) > _LONGEST_SAMPLE:
                raise self.error(item, key, f"a sample is one line of at most {_LONGEST_SAMPLE} characters")
        return samples
