"""YAML as nodes with line marks, within bounds: nothing is constructed, no tag is resolved, no alias can
explode.

libyaml composes about 2 MB of small nodes a second and refuses nesting deeper than 1,000 levels by itself (a
RecursionError in the pure Python reader); an alias is the very node of its anchor, so that composing is
linear in the text. Only walking can explode: `walk_leaves` and `items` count their steps.
"""

from collections.abc import Iterator

import yaml

Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_CHARS = 8_000_000
"""Longest text composed: some seconds of work."""
MAX_DEPTH = 100
"""Deepest level walked; real files stay below 20."""
MAX_STEPS = 50_000
"""Most nodes visited by one walk."""
MAX_KEY = 1_000
"""Longest dotted key, in characters; the rest is cut off."""

_MERGE = "tag:yaml.org,2002:merge"


class YamlError(ValueError):
    """The text is no YAML, or is beyond the bounds. `documents`: what was composed before the mistake; `line`
    of it, 0 if unknown."""

    def __init__(self, message: str, documents: tuple[yaml.Node, ...] = (), line: int = 0) -> None:
        super().__init__(message)
        self.documents = documents
        self.line = line


BREAKS = {0x85: " ", 0x2028: " ", 0x2029: " "}
"""YAML ends a line at these, too; Git and everybody's editor do not, and lines must be theirs."""


def compose(text: str) -> list[yaml.Node]:
    """The root nodes of all documents of `text` that are not empty. Raises YamlError only."""
    if len(text) > MAX_CHARS:
        raise YamlError(f"longer than {MAX_CHARS:,} characters")
    documents: list[yaml.Node] = []
    try:
        loader = Loader(text.removeprefix("\ufeff").translate(BREAKS))
        try:
            while loader.check_node():
                node = loader.get_node()
                if node is not None:
                    documents.append(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise YamlError(f"not YAML: {problem}", tuple(documents), line) from error
    except (RecursionError, UnicodeError, ValueError) as error:
        raise YamlError(f"not YAML: {type(error).__name__}", tuple(documents)) from error
    return documents


def line_of(node: yaml.Node) -> int:
    """The line, from 1, where `node` starts; that of a block scalar's indicator, not of its first text
    line."""
    return int(node.start_mark.line) + 1


def text_of(node: yaml.Node | None) -> str:
    """The text of a scalar as written (`null` is ""), "" for anything else."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
        return ""
    return str(node.value)


def items(node: yaml.Node | None) -> list[tuple[str, yaml.Node, yaml.Node]]:
    """(key, key node, value node) of a mapping in order, with what `<<` merges in after its own keys and
    never over them.

    A key that is no scalar is left out. Anything but a mapping has none. A merge chain is followed to
    MAX_DEPTH and every merged mapping once.
    """
    own: list[tuple[str, yaml.Node, yaml.Node]] = []
    seen: set[str] = set()
    visited: set[int] = set()
    stack: list[tuple[yaml.Node | None, int]] = [(node, 0)]
    while stack:
        current, depth = stack.pop()
        if isinstance(current, yaml.SequenceNode) and depth:
            stack.extend(
                (child, depth) for child in reversed(current.value) if isinstance(child, yaml.MappingNode)
            )
            continue
        if not isinstance(current, yaml.MappingNode) or id(current) in visited or depth > MAX_DEPTH:
            continue
        visited.add(id(current))
        fresh: list[tuple[str, yaml.Node, yaml.Node]] = []
        for key, value in current.value:
            if key.tag == _MERGE and depth < MAX_DEPTH:
                stack.append((value, depth + 1))
            elif isinstance(key, yaml.ScalarNode) and key.value not in seen:
                fresh.append((key.value, key, value))
        seen.update(name for name, _, _ in fresh)
        own += fresh
    return own


def get(node: yaml.Node | None, *path: str) -> yaml.Node | None:
    """The value under the nested keys `path`, None where there is none. The last of duplicate keys counts, as
    in YAML readers."""
    for name in path:
        node = next((value for key, _, value in reversed(items(node)) if key == name), None)
    return node


def elements(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a sequence; a mapping or a non-empty scalar is a list of itself, nothing is an empty
    one."""
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if isinstance(node, yaml.MappingNode) or text_of(node):
        return [] if node is None else [node]
    return []


def walk_leaves(node: yaml.Node, limit: int = MAX_STEPS) -> Iterator[tuple[str, str, int]]:
    """(dotted key, value as text, line) of every scalar below `node`, in the order of the text; list items by
    index; "[]" and "{}" for empty collections. The value is the node's own string, however long: cap it
    before you keep it. An alias is walked where it stands, with the lines of its anchor; `<<` as `items`
    says.

    Raises YamlError after the last leaf where `limit` nodes were visited, or where something lies deeper than
    MAX_DEPTH (that is left out).
    """
    # Iterators, not lists: a wide collection under many aliases must not fill the memory with entries that
    # the limit never reaches.
    stack: list[Iterator[tuple[str, yaml.Node]]] = [iter([("", node)])]
    steps = 0
    too_deep = False
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        key, current = entry
        steps += 1
        if steps > limit:
            raise YamlError(f"more than {limit:,} values")
        if isinstance(current, yaml.ScalarNode):
            yield key, str(current.value), line_of(current)
        elif not current.value:
            yield key, "{}" if isinstance(current, yaml.MappingNode) else "[]", line_of(current)
        elif len(stack) > MAX_DEPTH:
            too_deep = True
        else:
            stack.append(_children(key, current))
    if too_deep:
        raise YamlError(f"deeper than {MAX_DEPTH} levels")


def _children(key: str, node: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    prefix = f"{key}." if key else ""
    if isinstance(node, yaml.MappingNode):
        return (((prefix + name)[:MAX_KEY], value) for name, _, value in items(node))
    return ((f"{prefix}{index}"[:MAX_KEY], value) for index, value in enumerate(node.value))
