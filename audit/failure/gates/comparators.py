"""What the comparators of test libraries allow: signatures, defaults and formulas.

Sources: torch.testing.assert_close (defaults by dtype), torch.allclose, numpy.isclose / allclose / testing, unittest.TestCase, chex
(1e-6, 0), jax.numpy, as documented by each.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from audit.failure.gates.values import V

TORCH_DEFAULTS: Final[dict[str, tuple[float, float]]] = {
    "float16": (1e-3, 1e-5),
    "half": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "double": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""(rtol, atol) that `torch.testing.assert_close` takes for a dtype; integers and bools must be equal."""


class Comparator(NamedTuple):
    """A function that compares two values within tolerances. `rtol`, `atol`: what holds where the call gives none; `at`: the
    positions of both among the arguments, -1 for keyword only. `decimal`: the tolerance is `1.5 * 10 ** -decimal` (NumPy) or
    `0.5 * 10 ** -places` (unittest). `symmetric`: the larger of both values is the reference, and the larger tolerance holds."""

    rtol: float
    atol: float
    at: tuple[int, int] = (2, 3)
    decimal: tuple[str, float, int] | None = None
    symmetric: bool = False


_CLOSE = Comparator(1e-5, 1e-8)
COMPARATORS: Final[dict[str, Comparator]] = {
    "torch.testing.assert_close": Comparator(1.3e-6, 1e-5, (-1, -1)),
    "torch.testing.assert_allclose": Comparator(1.3e-6, 1e-5),
    "math.isclose": Comparator(1e-9, 0.0, (-1, -1), symmetric=True),
    "torch.allclose": _CLOSE,
    "torch.isclose": _CLOSE,
    "numpy.allclose": _CLOSE,
    "numpy.isclose": _CLOSE,
    "jax.numpy.allclose": _CLOSE,
    "jax.numpy.isclose": _CLOSE,
    "numpy.testing.assert_allclose": Comparator(1e-7, 0.0),
    "numpy.testing.assert_almost_equal": Comparator(0.0, 1.5e-7, decimal=("decimal", 7, 2)),
    "numpy.testing.assert_array_almost_equal": Comparator(0.0, 1.5e-6, decimal=("decimal", 6, 2)),
    "numpy.testing.assert_array_equal": Comparator(0.0, 0.0),
    "numpy.testing.assert_equal": Comparator(0.0, 0.0),
    "chex.assert_trees_all_close": Comparator(1e-6, 0.0, (-1, -1)),
    "chex.assert_tree_all_close": Comparator(1e-6, 0.0, (-1, -1)),
    "tensorflow.debugging.assert_near": Comparator(1.2e-6, 1.2e-6),
}
METHODS: Final[dict[str, Comparator]] = {
    "assertAlmostEqual": Comparator(0.0, 0.5e-7, decimal=("places", 7, 2)),
    "assertAlmostEquals": Comparator(0.0, 0.5e-7, decimal=("places", 7, 2)),
    "assertAllClose": Comparator(1e-6, 1e-6),
    "assert_allclose": Comparator(1e-7, 0.0),
    "assert_close": Comparator(1.3e-6, 1e-5, (-1, -1)),
    "assert_trees_all_close": Comparator(1e-6, 0.0, (-1, -1)),
}
ORDERED: Final = {
    "assertGreater": ">",
    "assertGreaterEqual": ">=",
    "assertLess": "<",
    "assertLessEqual": "<=",
    "assertEqual": "==",
    "assertEquals": "==",
    "assertNotEqual": "!=",
}
"""Methods of unittest.TestCase that compare both arguments."""
TRUTHS: Final = {"assertTrue": True, "assertFalse": False, "assert_": True}


def tolerance(
    comparator: Comparator, args: Sequence[V], kwargs: dict[str, V]
) -> tuple[float | None, float | None]:
    """(rtol, atol) of one call: given by keyword or position, by decimals, else the defaults. None where an expression's value is not known."""
    if comparator.decimal is not None:
        return _by_decimals(comparator, args, kwargs)
    rtol = _given(("rtol", "rel_tol"), comparator.at[0], args, kwargs)
    atol = _given(("atol", "abs_tol"), comparator.at[1], args, kwargs)
    return (
        comparator.rtol if rtol is None else rtol.number,
        comparator.atol if atol is None else atol.number,
    )


def _given(names: Sequence[str], at: int, args: Sequence[V], kwargs: dict[str, V]) -> V | None:
    for name in names:
        if name in kwargs and kwargs[name].data is not None:
            return kwargs[name]
    return args[at] if 0 <= at < len(args) and args[at].data is not None else None


def _by_decimals(
    comparator: Comparator, args: Sequence[V], kwargs: dict[str, V]
) -> tuple[float, float | None]:
    name, usual, at = comparator.decimal or ("", 0, 0)
    delta = kwargs.get("delta")
    if delta is not None and delta.data is not None:
        return 0.0, delta.number
    given = kwargs.get(name) or (args[at] if at < len(args) else None)
    places = usual if given is None or given.data is None else given.number
    if places is None or not -300 < places < 300:
        return 0.0, None
    return 0.0, float((1.5 if name == "decimal" else 0.5) * 10 ** (-places))


def within(actual: float, expected: float, rtol: float, atol: float, symmetric: bool = False) -> bool:
    """torch's and NumPy's rule, in which `expected` is the reference: `abs(actual - expected) <= atol + rtol * abs(expected)`.

    Equal infinities are close, NaN is close to nothing.
    """
    if actual == expected:
        return True
    if actual - expected in (float("inf"), float("-inf")) or math.isnan(actual) or math.isnan(expected):
        return False
    if symmetric:
        return math.isclose(actual, expected, rel_tol=abs(rtol), abs_tol=abs(atol))
    return abs(actual - expected) <= atol + rtol * abs(expected)
