"""Which settings of two states are the same one: at the same path, or moved, or renamed.

A path says where code states a setting. Code moves: a function is renamed, a literal becomes an option, a folder gets another name. What was
moved with its value is no change; what was moved and changed is one change and not an addition and a removal.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from keyword import iskeyword

import msgspec

from audit.documents.state import Confidence, Leaf, State, Value
from audit.state.settings.key import Name, parsed
from audit.state.values import is_verbatim, normal, same
from audit.state.versions import same_versions


class Item(msgspec.Struct, frozen=True):
    """One setting of one side."""

    path: str
    name: Name
    leaf: Leaf

    @property
    def resolved(self) -> bool:
        """Whether the code states a value and not an expression."""
        return self.leaf.confidence is not Confidence.UNRESOLVED


class Pair(msgspec.Struct, frozen=True):
    """A setting that both sides have, with two values."""

    before: Item
    after: Item


class Matched(msgspec.Struct, frozen=True):
    """`same`: how many agree; `changed`: pairs that do not; `removed`, `added`: what only one side has."""

    same: int
    changed: tuple[Pair, ...]
    removed: tuple[Item, ...]
    added: tuple[Item, ...]


def match(a: State, b: State) -> Matched:
    """Settings of two states, matched."""
    return _Matching(a, b).run()


def agree(before: Item, after: Item) -> bool:
    """Whether two settings have the same value as far as can be told."""
    if before.resolved and after.resolved:
        first, second = before.leaf.value, after.leaf.value
        if same(first, second, verbatim=is_verbatim(before.name.concept)):
            return True
        if before.name.concept.startswith(_VERSIONS):
            return same_versions(first, second)
        return _is_class(before.name) and _class_name(first) == _class_name(second)
    if before.resolved or after.resolved:
        return False
    return not _computes_otherwise(str(before.leaf.value), str(after.leaf.value))


_VERSIONS = (
    "environment.packages.",
    "development.packages.",
    "execution.python",
    "inference.backend_version",
)


def _is_class(name: Name) -> bool:
    return name.plain_key.endswith(("_target_", "class_path"))


def _class_name(path: Value) -> str:
    """The class of a dotted path: that a library moved its modules changes none."""
    return str(path).rpartition(".")[2]


_NAMES = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ARITHMETIC = re.compile(r"[x\d\s.+\-*/()e]{1,200}")


def _unnamed(match: re.Match[str]) -> str:
    return match[0] if iskeyword(match[0]) else "x"


def _computes_otherwise(before: str, after: str) -> bool:
    """Whether two expressions compute with other operations or numbers, whatever their names are called."""
    first, second = (_NAMES.sub(_unnamed, text) for text in (before, after))
    if "x(" in first or "x(" in second:
        return False  # what a call does to a value is not seen here
    return first != second and bool(_ARITHMETIC.fullmatch(first)) and bool(_ARITHMETIC.fullmatch(second))


_FEW = 2
"""Statements of one kind in one place of which each is the other's counterpart; of more, in other numbers, nobody knows which is which."""

_MOST_LOOKED_AT = 200
"""Candidates that one setting is held against: files with thousands of statements of one kind are generated, or meant to cost time."""
_CROWD, _REACH = 1_000, 8

Key = Callable[[Item], Hashable]


def _taken(rest: list[Item], old: Item, fits: Callable[[Item, Item], bool]) -> Item | None:
    """The first of `rest` that fits, taken out of it; in a crowd only the next few are looked at."""
    reach = _MOST_LOOKED_AT if len(rest) <= _CROWD else _REACH
    for index, new in enumerate(rest[:reach]):
        if fits(old, new):
            return rest.pop(index)
    return None


class _Matching:
    def __init__(self, a: State, b: State) -> None:
        self.a, self.b = a, b
        self.removed: dict[str, Item] = {}
        self.added: dict[str, Item] = {}
        self.changed: list[Pair] = []
        self.same = 0
        self.renamed: dict[str, str] = {}
        self._indexes: dict[bool, dict[str, list[Item]]] = {}

    def run(self) -> Matched:
        self._at_their_paths()
        self._moved()
        self._to_and_from_options()
        self._moved_and_changed()
        self._renamed()
        removed, added = (
            tuple(items[path] for path in sorted(items)) for items in (self.removed, self.added)
        )
        return Matched(self.same, tuple(self.changed), removed, added)

    # Passes --------------------------------------------------------------------------------------------------

    def _at_their_paths(self) -> None:
        """Settings at equal paths; among several that differ by number alone, equal values first."""
        groups: dict[str, tuple[list[Item], list[Item]]] = defaultdict(lambda: ([], []))
        for side, state in enumerate((self.a, self.b)):
            for path, leaf in state.leaves.items():
                name = parsed(path)
                base = path[: len(path) - len(name.key) + len(name.plain_key)] if name.key else path
                groups[base][side].append(Item(path, name, leaf))
        for olds, news in groups.values():
            lost, gained = self._equal_ones(olds, news)
            if len(lost) == len(gained) or max(len(olds), len(news)) <= _FEW:
                self.changed += [Pair(old, new) for old, new in zip(lost, gained, strict=False)]
                lost, gained = lost[len(gained) :], gained[len(lost) :]
            self.removed |= {item.path: item for item in lost}
            self.added |= {item.path: item for item in gained}

    def _equal_ones(self, olds: Sequence[Item], news: Sequence[Item]) -> tuple[list[Item], list[Item]]:
        """Takes out what agrees; the rest of both sides, in order."""
        rest, lost = list(news), list[Item]()
        for old in olds:
            if _taken(rest, old, agree) is None:
                lost.append(old)
            else:
                self.same += 1
        return lost, rest

    def _moved(self) -> None:
        """The same name and value in another function or file."""
        went: Counter[tuple[str, str]] = Counter()
        for key in (_in_file, _anywhere):
            for old, new in self._pairs(key, agree):
                went[old.name.file, new.name.file] += 1
                self._settle(old, new)
        files_before = {parsed(path).file for path in self.a.leaves}
        for (old_file, new_file), _ in sorted(went.items(), key=lambda item: -item[1]):
            if new_file not in files_before and new_file not in self.renamed.values():
                self.renamed.setdefault(old_file, new_file)

    def _to_and_from_options(self) -> None:
        """A literal that became a variable, and the other way round: its value is where the variable comes from."""
        kept: list[Pair] = []
        for pair in self.changed:
            if pair.before.resolved == pair.after.resolved:
                kept.append(pair)
            elif pair.before.resolved:
                kept += self._followed(pair, pair.before, self.added, forward=True)
            else:
                kept += self._followed(pair, pair.after, self.removed, forward=False)
        self.changed = kept

    def _followed(self, pair: Pair, literal: Item, loose: dict[str, Item], *, forward: bool) -> list[Pair]:
        """What became of a literal: nothing where the variable's origin has its value, a change where that has another."""
        concept, file = literal.name.concept, literal.name.file
        mine = self._by_concept(forward)[concept]
        candidates = [item for item in mine if item.path in loose]
        near = [item for item in candidates if item.name.file == file] or candidates
        equal = next((item for item in near if agree(literal, item)), None)
        if equal is not None:
            del loose[equal.path]
            self.same += 1
            return []
        if any(agree(literal, other) for other in mine[:_MOST_LOOKED_AT]):
            self.same += 1
            return []
        if len(near) == 1:
            del loose[near[0].path]
            return [Pair(literal, near[0]) if forward else Pair(near[0], literal)]
        return [pair]

    def _by_concept(self, after: bool) -> dict[str, list[Item]]:
        """The values that one side states, by what they are."""
        if after not in self._indexes:
            index: dict[str, list[Item]] = defaultdict(list)
            for path, leaf in (self.b if after else self.a).leaves.items():
                item = Item(path, parsed(path), leaf)
                if item.resolved:
                    index[item.name.concept].append(item)
            self._indexes[after] = index
        return self._indexes[after]

    def _moved_and_changed(self) -> None:
        """The same name in another function of a file, or in a file under another name, with another value."""
        for key in (self._file_and_key, self._file_and_last):
            for old, new in self._pairs(key, lambda *_: True, alone=True):
                if agree(old, new):
                    self._settle(old, new)
                else:
                    self.changed.append(Pair(old, new))
                    del self.removed[old.path], self.added[new.path]

    def _renamed(self) -> None:
        """Another name for the same thing with the same value: `lr` and `learning_rate`, or a word nobody knows for a telling value."""
        for old, new in self._pairs(self._file_and_concept, agree):
            self._settle(old, new)
        for old, new in self._pairs(
            self._file_and_scope, lambda a, b: agree(a, b) and _telling(a.leaf), alone=False
        ):
            if old.name.concept.startswith("custom.") or new.name.concept.startswith("custom."):
                self._settle(old, new)

        for old, new in self._pairs(self._file_and_scope, agree, alone=True):
            self._settle(old, new)

    # Helpers -------------------------------------------------------------------------------------------------

    def _settle(self, old: Item, new: Item) -> None:
        del self.removed[old.path], self.added[new.path]
        self.same += 1

    def _pairs(
        self, key: Key, fits: Callable[[Item, Item], bool], *, alone: bool = False
    ) -> Iterable[tuple[Item, Item]]:
        """Removed and added settings with equal keys that fit each other; `alone`: only where each is the only one with its key."""
        news: dict[Hashable, list[Item]] = defaultdict(list)
        olds: dict[Hashable, list[Item]] = defaultdict(list)
        # Only code moves: the path of a manifest or lock is the setting itself.
        for side, items in ((news, self.added), (olds, self.removed)):
            for item in items.values():
                if item.name.file:
                    side[key(item)].append(item)
        found: list[tuple[Item, Item]] = []
        for name, group in olds.items():
            rest = news.get(name, [])
            if alone and (len(group) > 1 or len(rest) > 1):
                continue
            for old in group:
                if (new := _taken(rest, old, fits)) is not None:
                    found.append((old, new))
        return found

    def _file(self, item: Item) -> str:
        return self.renamed.get(item.name.file, item.name.file)

    def _file_and_key(self, item: Item) -> Hashable:
        return self._file(item), item.name.concept, item.name.plain_key

    def _file_and_last(self, item: Item) -> Hashable:
        return self._file(item), item.name.concept, item.name.plain_key.rpartition(".")[2]

    def _file_and_concept(self, item: Item) -> Hashable:
        return self._file(item), item.name.concept

    def _file_and_scope(self, item: Item) -> Hashable:
        return self._file(item), item.name.scope


def _in_file(item: Item) -> Hashable:
    return item.name.file, item.name.concept, item.name.plain_key


def _anywhere(item: Item) -> Hashable:
    return item.name.concept, item.name.plain_key


def _telling(leaf: Leaf) -> bool:
    """Whether a value is one that two settings hardly share by chance."""
    return normal(leaf.value) not in (None, True, False, 0, 1, "", (), 0.0, 1.0, -1, 2)
