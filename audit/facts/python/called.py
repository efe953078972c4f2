"""What the name of a called function says by itself, before anybody looks at its arguments."""

from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from audit.facts.python.vocabulary import (
    CALLS,
    CONFIG_RECEIVERS,
    ENDINGS,
    EXTERNAL,
    PLAIN_METHODS,
    PREFIXES,
    ROOTS,
    TORCH_DRAWS,
)


class Keep(Enum):
    """When a call of some name is kept whole."""

    ALWAYS = auto()
    IN_LOOPS = auto()  # says something only where it is repeated
    WITH_ARGUMENTS = auto()
    VARIABLE_NAME = auto()  # `getattr(x, name)`: where the attribute is not written down
    BY_KEYWORD = auto()  # only where one of its keywords is in the vocabulary


class CalledName(NamedTuple):
    """`last`: its last part; `edge`: whether it can lead to code of the repository; `reads`: whether its argument names an attribute that it
    reads; `held`: attributes of configuration objects that the name itself reads (`root` in `args.root.glob`)."""

    last: str
    edge: bool
    keep: Keep
    reads: bool
    held: tuple[str, ...]


_IN_LOOPS = frozenset({"item", "cpu", "numpy", "tolist", "print"})
_LOADS = frozenset({"get", "getattr"})
_PREFIX_ROOTS = frozenset(prefix.partition(".")[0] for prefix in PREFIXES)


@lru_cache(1 << 16)  # the same few thousand names make up most of the calls of any repository
def called_name(name: str) -> CalledName:
    """`name`: the full dotted name after import resolution."""
    root, dot, rest = name.partition(".")
    last = rest.rpartition(".")[2] if dot else name
    outside = bool(dot) and (root in EXTERNAL or (last in PLAIN_METHODS and root not in ("self", "cls")))
    held: tuple[str, ...] = ()
    if "." in rest:
        chain = name.split(".")[:-1]
        held = tuple(read for holder, read in pairwise(chain) if holder in CONFIG_RECEIVERS)
    return CalledName(last, not outside, _keep(name, root, last), last in _LOADS, held)


def _keep(name: str, root: str, last: str) -> Keep:
    if last in CALLS:
        return Keep.IN_LOOPS if last in _IN_LOOPS else Keep.ALWAYS
    if root in ROOTS or (root in _PREFIX_ROOTS and name.startswith(PREFIXES)):
        return Keep.ALWAYS
    first = last[:1]
    if (first.isupper() or "_" in last) and (last.endswith(ENDINGS) or last.startswith("DEFINE_")):
        return Keep.ALWAYS
    if last.startswith(("save", "_save")):
        return Keep.WITH_ARGUMENTS
    if last == "getattr":
        return Keep.VARIABLE_NAME
    return Keep.ALWAYS if last in TORCH_DRAWS and root == "torch" else Keep.BY_KEYWORD
