"""What the formula evaluator knows of Python's built-ins, statistics, NumPy and torch: pure arithmetic on numbers and lists.

Each function takes values and answers one; what it cannot answer is `NOTHING`. None reads a file or calls anything.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final

from audit.failure.gates.values import (
    MAX_INT,
    MAX_ITEMS,
    NOTHING,
    Approximate,
    Array,
    PathText,
    V,
    items_of,
    merged,
    raw,
)

Known = Callable[[Sequence[V], dict[str, V]], V]


def bounded(data: Any, *origins_of: V) -> V:
    """A result, unless it is too large to keep."""
    if isinstance(data, int) and not isinstance(data, bool) and abs(data) >= MAX_INT:
        return NOTHING
    if isinstance(data, complex) or (isinstance(data, list | str) and len(data) > MAX_ITEMS):
        return NOTHING
    return V(data, merged(*origins_of))


def numbers(value: V) -> list[float] | None:
    """The numbers of a flat list; None where an item is no number."""
    items = items_of(value)
    if items is None or isinstance(value.data, str):
        return None
    found = []
    for item in items:
        number = item.number if not isinstance(item.data, bool) else float(item.data)
        if number is None:
            return None
        found.append(number)
    return found


def _everything(args: Sequence[V]) -> V:
    """Origins of an argument and of what it holds."""
    parts = list(args)
    for arg in args:
        parts.extend(items_of(arg) or ())
    return V(None, merged(*parts))


def _over(function: Callable[[list[float]], float]) -> Known:
    """A function of a list of numbers, as `statistics.median` and `numpy.median` are."""

    def apply(args: Sequence[V], _: dict[str, V]) -> V:
        values = numbers(args[0]) if args else None
        if not values:
            return NOTHING
        return bounded(function(values), _everything(args[:1]))

    return apply


def _elementwise(function: Callable[[float], Any]) -> Known:
    def apply(args: Sequence[V], kwargs: dict[str, V]) -> V:
        if not args:
            return NOTHING
        if args[0].number is not None:
            return bounded(function(args[0].number), args[0])
        items = items_of(args[0])
        if items is None or isinstance(args[0].data, str | dict):
            return NOTHING
        return V(Array(apply([item], kwargs) for item in items), args[0].origins)

    return apply


def _percentile(args: Sequence[V], kwargs: dict[str, V]) -> V:
    values = numbers(args[0]) if args else None
    at = args[1].number if len(args) > 1 else (kwargs.get("q") or NOTHING).number
    if not values or at is None or not 0 <= at <= 100:
        return NOTHING
    ordered = sorted(values)
    place = (len(ordered) - 1) * at / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return bounded(ordered[low] + (ordered[high] - ordered[low]) * (place - low), _everything(args[:1]))


def _std(args: Sequence[V], kwargs: dict[str, V]) -> V:
    """NumPy's standard deviation: of the population unless `ddof` says otherwise."""
    values = numbers(args[0]) if args else None
    ddof = (kwargs.get("ddof") or V(0)).number
    if not values or ddof is None or len(values) - ddof <= 0:
        return NOTHING
    mean = math.fsum(values) / len(values)
    return bounded(
        math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - ddof)), _everything(args[:1])
    )


def _extreme(pick: Callable[..., Any]) -> Known:
    """`min` and `max`: of several arguments or of one list, with `default`; tuples compare as Python compares them."""

    def apply(args: Sequence[V], kwargs: dict[str, V]) -> V:
        if "key" in kwargs:
            return NOTHING
        items = list(args) if len(args) > 1 else items_of(args[0]) if args else None
        if items is None:
            return NOTHING
        if not items:
            return kwargs.get("default", NOTHING)
        try:
            plain = [raw(item) for item in items]
            best = (
                plain.index(pick(plain))
                if not any(isinstance(p, float) and math.isnan(p) for p in plain)
                else _first_extreme(pick, plain)
            )
        except (ValueError, TypeError):
            return NOTHING
        chosen = items[best]
        return V(chosen.data, merged(*items)) if chosen.number is not None else chosen

    return apply


def _first_extreme(pick: Callable[..., Any], plain: list[Any]) -> int:
    """Python's own answer where NaN stands among the values: it depends on their order."""
    best = 0
    for index, item in enumerate(plain):
        if index and (item > plain[best] if pick is max else item < plain[best]):
            best = index
    return best


def _sum(args: Sequence[V], _: dict[str, V]) -> V:
    items = items_of(args[0]) if args else None
    if items is None:
        return NOTHING
    values = numbers(V(items))
    if values is None:
        return NOTHING
    whole = all(isinstance(item.data, int) for item in items)
    return bounded(int(sum(values)) if whole else sum(values), _everything(args[:1]))


def _len(args: Sequence[V], _: dict[str, V]) -> V:
    items = items_of(args[0]) if args else None
    return NOTHING if items is None else V(len(items), merged(*args))


def _float(args: Sequence[V], _: dict[str, V]) -> V:
    return _converted(args, float)


def _int(args: Sequence[V], _: dict[str, V]) -> V:
    return _converted(args, int)


def _converted(args: Sequence[V], kind: Callable[[Any], Any]) -> V:
    if not args or not isinstance(args[0].data, str | int | float):
        return NOTHING
    text = args[0].data
    if isinstance(text, str) and len(text) > 400:
        return NOTHING
    try:
        return bounded(kind(text), args[0])
    except (ValueError, OverflowError):
        return NOTHING


def _round(args: Sequence[V], _: dict[str, V]) -> V:
    number = args[0].number if args else None
    places = args[1].data if len(args) > 1 else None
    if number is None or not math.isfinite(number) or not (places is None or isinstance(places, int)):
        return NOTHING
    return bounded(
        round(number, places) if places is not None and abs(places) < 400 else round(number), *args
    )


def _isclose(args: Sequence[V], kwargs: dict[str, V]) -> V:
    """`math.isclose`: symmetric, relative tolerance 1e-9 unless given."""
    if len(args) < 2 or args[0].number is None or args[1].number is None:
        return NOTHING
    rel = (kwargs.get("rel_tol") or V(1e-9)).number
    absolute = (kwargs.get("abs_tol") or V(0.0)).number
    if rel is None or absolute is None:
        return NOTHING
    return V(
        math.isclose(args[0].number, args[1].number, rel_tol=abs(rel), abs_tol=abs(absolute)), merged(*args)
    )


def _zip(args: Sequence[V], _: dict[str, V]) -> V:
    columns = [items_of(arg) for arg in args]
    if any(column is None for column in columns):
        return NOTHING
    return V([V(tuple(row)) for row in zip(*(c or [] for c in columns), strict=False)], merged(*args))


def _enumerate(args: Sequence[V], kwargs: dict[str, V]) -> V:
    items = items_of(args[0]) if args else None
    start = (kwargs.get("start") or (args[1] if len(args) > 1 else V(0))).data
    if items is None or not isinstance(start, int):
        return NOTHING
    return V([V((V(start + index), item)) for index, item in enumerate(items)], args[0].origins)


def _range(args: Sequence[V], _: dict[str, V]) -> V:
    bounds = [arg.data for arg in args]
    if not 1 <= len(bounds) <= 3 or not all(isinstance(b, int) for b in bounds):
        return NOTHING
    try:
        made = range(*bounds)
    except (ValueError, TypeError):
        return NOTHING
    return V([V(n) for n in made]) if abs(made.stop - made.start) <= MAX_ITEMS else NOTHING


def _sorted(args: Sequence[V], kwargs: dict[str, V]) -> V:
    items = items_of(args[0]) if args else None
    if items is None or "key" in kwargs:
        return NOTHING
    if all(isinstance(item.data, PathText) for item in items):
        return V(items, args[0].origins)
    descending = kwargs.get("reverse", V(False)).data is True
    try:
        return V(sorted(items, key=raw, reverse=descending), args[0].origins)
    except (ValueError, TypeError):
        return NOTHING


def _listed(args: Sequence[V], _: dict[str, V]) -> V:
    if not args:
        return V([])
    items = items_of(args[0])
    return NOTHING if items is None else V(items, args[0].origins)


def _set(args: Sequence[V], _: dict[str, V]) -> V:
    items = items_of(args[0]) if args else []
    if items is None:
        return NOTHING
    seen: dict[Any, V] = {}
    try:
        for item in items:
            seen.setdefault(raw(item), item)
    except (ValueError, TypeError):
        return NOTHING
    return V(list(seen.values()), merged(*args))


def _truth(every: bool) -> Known:
    def apply(args: Sequence[V], _: dict[str, V]) -> V:
        items = items_of(args[0]) if args else None
        if items is None or not all(isinstance(i.data, bool | int | float | str | None) for i in items):
            return NOTHING
        result = all(bool(i.data) for i in items) if every else any(bool(i.data) for i in items)
        return V(result, _everything(args[:1]).origins)

    return apply


def _bool(args: Sequence[V], _: dict[str, V]) -> V:
    return (
        V(bool(args[0].data), args[0].origins)
        if args and isinstance(args[0].data, bool | int | float | str)
        else NOTHING
    )


def _str(args: Sequence[V], _: dict[str, V]) -> V:
    if not args:
        return V("")
    if isinstance(args[0].data, PathText):
        return V(args[0].data.path, args[0].origins)
    return V(str(args[0].data), args[0].origins) if isinstance(args[0].data, str | int | float) else NOTHING


def _same(args: Sequence[V], _: dict[str, V]) -> V:
    """`float32(x)`, `iter(x)`: the numbers as they are (their rounding is not modelled)."""
    return args[0] if args else NOTHING


def _array(args: Sequence[V], _: dict[str, V]) -> V:
    items = items_of(args[0]) if args else None
    if items is None:
        return args[0] if args and args[0].number is not None else NOTHING
    return V(Array(items), _everything(args[:1]).origins)


def _approx(args: Sequence[V], kwargs: dict[str, V]) -> V:
    if not args:
        return NOTHING
    rel = kwargs.get("rel") or (args[1] if len(args) > 1 else None)
    absolute = kwargs.get("abs") or (args[2] if len(args) > 2 else None)
    return V(Approximate(args[0], rel, absolute), merged(args[0]))


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if all(map(math.isfinite, values)) else sum(values) / len(values)


def _safe(function: Callable[..., float]) -> Callable[[float], Any]:
    def apply(number: float) -> Any:
        try:
            return function(number)
        except (ValueError, OverflowError):
            return math.nan

    return apply


_BUILTINS: Final[dict[str, Known]] = {
    "abs": _elementwise(abs),
    "all": _truth(True),
    "any": _truth(False),
    "bool": _bool,
    "enumerate": _enumerate,
    "float": _float,
    "int": _int,
    "iter": _same,
    "len": _len,
    "list": _listed,
    "max": _extreme(max),
    "min": _extreme(min),
    "range": _range,
    "reversed": lambda args, _: (
        V(list(reversed(items_of(args[0]) or [])), args[0].origins) if args else NOTHING
    ),
    "round": _round,
    "set": _set,
    "frozenset": _set,
    "sorted": _sorted,
    "str": _str,
    "sum": _sum,
    "tuple": _listed,
    "zip": _zip,
}

_STATISTICS: Final[dict[str, Known]] = {
    "median": _over(statistics.median),
    "mean": _over(_mean),
    "fmean": _over(_mean),
    "average": _over(_mean),
    "nanmean": _over(lambda v: _mean([x for x in v if not math.isnan(x)] or [math.nan])),
    "nanmedian": _over(lambda v: statistics.median([x for x in v if not math.isnan(x)] or [math.nan])),
    "stdev": _over(lambda v: statistics.stdev(v) if len(v) > 1 else math.nan),
    "pstdev": _over(statistics.pstdev),
    "std": _std,
    "percentile": _percentile,
    "max": _extreme(max),
    "amax": _extreme(max),
    "min": _extreme(min),
    "amin": _extreme(min),
    "sum": _sum,
    "abs": _elementwise(abs),
    "absolute": _elementwise(abs),
    "array": _array,
    "asarray": _array,
    "tensor": _array,
    "float32": _same,
    "float64": _same,
    "sqrt": _elementwise(_safe(math.sqrt)),
    "exp": _elementwise(_safe(math.exp)),
    "log": _elementwise(_safe(math.log)),
    "log2": _elementwise(_safe(math.log2)),
    "log10": _elementwise(_safe(math.log10)),
    "isfinite": _elementwise(math.isfinite),
    "isnan": _elementwise(math.isnan),
    "isinf": _elementwise(math.isinf),
    "floor": _elementwise(_safe(math.floor)),
    "ceil": _elementwise(_safe(math.ceil)),
    "fabs": _elementwise(abs),
    "any": _truth(False),
    "all": _truth(True),
    "sort": _sorted,
}
_MODULES: Final = frozenset({"statistics", "numpy", "math", "torch", "jax.numpy"})


def known_function(name: str) -> Known | None:
    """The function of a full dotted name ("statistics.median", "len", "numpy.abs"), None where it is not known."""
    if name in _BUILTINS:
        return _BUILTINS[name]
    module, _, last = name.rpartition(".")
    if name == "math.isclose":
        return _isclose
    if name == "pytest.approx":
        return _approx
    return _STATISTICS.get(last) if module in _MODULES else None


def reduction(name: str) -> Known | None:
    """A method of a list of numbers (array, tensor, column): `x.mean()`, `x.max()`."""
    return _STATISTICS.get(name)
