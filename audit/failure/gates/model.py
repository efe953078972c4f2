"""What is known of a gate: the comparison in the code, the numbers that went into it, and how it came out when it was done anew."""

import enum

import msgspec

from audit.documents.verdict import Fact


class Origin(msgspec.Struct, frozen=True, order=True, gc=False):
    """Where a number comes from. `kind`: "metric" (telemetry), "stored" (a value or configuration file of the repository),
    "constant" (a literal of the code), "argument" (a command line), "environment" (a default of the code for a variable of
    the environment). `name`: the metric, the key, the constant. `place`: `path:line` or `path`.
    """

    kind: str
    name: str
    place: str


class Subject(enum.Enum):
    """What a gate looks at: whether the model is good, or whether the run was fast, small, quiet, complete."""

    QUALITY = "quality"
    PERFORMANCE = "performance"
    MEMORY = "memory"
    COUNT = "count"
    NUMERICS = "numerics"
    POLICY = "policy"
    UNKNOWN = "unknown"


class Series(msgspec.Struct, frozen=True):
    """A series held against stored values, step by step. Relative errors are `abs(actual - golden) / abs(golden)`; a golden value
    of zero has none. `missing`: golden steps that the run does not have. `over`: steps whose error is greater than the gate's
    tolerance, None where the gate has none for each step; `first_over` the first of them, `allowance` how many may be.
    """

    steps: int
    missing: int
    worst_relative: float
    worst_relative_step: int
    worst_absolute: float
    worst_absolute_step: int
    final_step: int
    final_actual: float
    final_golden: float
    first_different: int | None = None
    over: int | None = None
    first_over: int | None = None
    allowance: int | None = None
    same_sign: bool = False


class GateOutcome(msgspec.Struct, frozen=True):
    """One comparison of a gate, and how it comes out on the raw numbers.

    `name`: the test's id as pytest prints it, or the script and the label that it prints. `path`, `line`, `symbol`: the
    comparison in the code. `rule`: its text. `metric`: what is compared ("" where no one metric is). `passed`: None where a side
    is not known (`why` says which). `actual` and `limit`: both sides of the comparison; for a comparison with a stored value
    `reference` is that value. `derived`: the actual side is a relative or absolute error, not the metric itself.
    `margin`: how far `actual` is on the good side of `limit`, as a fraction of it (negative: missed). `told`: the line of
    the log (source, line) that shows this comparison failed, where there is one. `noise`: the relative run-to-run deviation that the
    repository states for the reference, None where it states none.
    """

    name: str
    path: str
    line: int
    symbol: str
    rule: str
    subject: Subject
    passed: bool | None
    metric: str = ""
    operator: str = ""
    actual: float | None = None
    limit: float | None = None
    reference: float | None = None
    derived: bool = False
    margin: float | None = None
    rtol: float | None = None
    atol: float | None = None
    series: Series | None = None
    noise: float | None = None
    origins: tuple[Origin, ...] = ()
    told: tuple[str, int] | None = None
    facts: tuple[Fact, ...] = ()
    why: str = ""


class NotRun(msgspec.Struct, frozen=True):
    """A gate that cannot fail, or that looked at nothing. `kind`: "no_tests", "all_skipped", "no_metrics", "key_mismatch",
    "missing_both", "ignored_status", "continue_on_error", "no_match". `path` is a file of the repository or a log, `line` in it (None: the file as a whole).
    """

    kind: str
    path: str
    line: int | None
    name: str
    why: str


class Assertion(msgspec.Struct, frozen=True):
    """Numbers that an assertion's text states. `kind`: "tensors", "arrays", "scalars", "compare", "approx", "places", "coverage", "limit".

    `actual`, `expected`: the sides; `operator` the comparison that was asserted. `absolute`, `relative`: the greatest differences,
    with what was allowed (`atol`, `rtol`) where the text says so. `mismatched` of `total` elements differ. `line` of `source`
    is the text's first line.
    """

    kind: str
    source: str
    line: int
    actual: float | None = None
    expected: float | None = None
    operator: str = ""
    absolute: float | None = None
    relative: float | None = None
    atol: float | None = None
    rtol: float | None = None
    mismatched: int | None = None
    total: int | None = None
    places: int | None = None
