"""What a manifest declares, as a State."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source, State, Value

if TYPE_CHECKING:  # pydantic is imported only where a manifest is read
    from audit.documents.manifest import Manifest
    from audit.documents.mistakes import Positions

_NO_SETTING = (
    ("schema_version",),
    ("experiment", "profiles"),
    ("project", "description"),
    ("experiment", "description"),
)

Path = tuple[str | int, ...]


def state_of(manifest: "Manifest", positions: "Positions | None" = None) -> State:
    """The manifest's values by path; with `positions`, each with its line. What a stage leaves out is not filled in."""
    leaves = {}
    for path, value in _leaves(manifest.model_dump(exclude_none=True, exclude_unset=True), ()):
        if path in _NO_SETTING:
            continue
        place = Place(positions.name, positions.nearest(path)[0]) if positions else None
        leaves[".".join(map(str, path))] = Leaf(value, Source.MANIFEST, Confidence.DECLARED, "", place)
    return State(dict(sorted(leaves.items())))


def twice(manifest: "Manifest") -> Iterator[tuple[Path, str]]:
    """Keys of a table of one's own that come to the path of another one: `{a.b: 1, a: {b: 2}}` has two values for a.b."""
    seen: set[str] = set()
    for path, _ in _leaves(manifest.model_dump(exclude_none=True, exclude_unset=True), ()):
        dotted = ".".join(map(str, path))
        if dotted in seen:
            yield path, dotted
        seen.add(dotted)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Value]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        if any(isinstance(item, (dict, list, tuple)) for item in value):
            for index, item in enumerate(value):
                yield from _leaves(item, (*path, index))
        else:
            plain = tuple(_plain(item) for item in value)
            # One file and a list of one file are the same.
            yield path, plain[0] if len(plain) == 1 and path[-1] == "path" else plain
    elif value is not None:
        yield path, _plain(value)


def _plain(value: Any) -> Any:
    """`3` for 3.0, as people write it."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value
