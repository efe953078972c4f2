"""One change to every text of a document, whatever its shape."""

from collections.abc import Callable
from typing import TypeVar, cast

import msgspec

T = TypeVar("T")


def with_texts(document: T, change: Callable[[str], str]) -> T:
    """`document` with `change` applied to every string in it, keys of dicts too; Structs, dicts, lists and tuples keep their shape.

    What holds no string that changes comes back as it is, so that a document without any costs no copy. Depth is that of the document's types.
    """
    return cast(T, _changed(document, change))


def _changed(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case msgspec.Struct():
            return _changed_struct(value, change)
        case dict():
            made = {_changed(key, change): _changed(item, change) for key, item in value.items()}
            same = all(a is b and value[a] is made[b] for a, b in zip(value, made, strict=False))
            return value if same and len(made) == len(value) else made
        case list() | tuple():
            items = [_changed(item, change) for item in value]
            if all(old is new for old, new in zip(value, items, strict=True)):
                return value
            return items if isinstance(value, list) else tuple(items)
    return value


def _changed_struct(value: msgspec.Struct, change: Callable[[str], str]) -> msgspec.Struct:
    changes = {
        name: new
        for name in value.__struct_fields__
        if (new := _changed(old := getattr(value, name), change)) is not old
    }
    return msgspec.structs.replace(value, **changes) if changes else value
