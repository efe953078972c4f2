"""All gates that can be found and computed again: from the files in which they may stand to outcomes with numbers."""

import ast
from collections.abc import Iterable, Sequence
from typing import Final

from audit.failure.gates import flow
from audit.failure.gates.budgets import budget_outcomes
from audit.failure.gates.calc import Machine, OutOfBudgetError
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.commands import Called, called
from audit.failure.gates.entries import ScriptEntry, TestEntry, gate_files, is_test, scripts_for, tests_in
from audit.failure.gates.flow import Signal
from audit.failure.gates.model import GateOutcome
from audit.failure.gates.outcome import Found, outcomes_of
from audit.failure.gates.rundata import RunData
from audit.failure.gates.shown import Shown
from audit.failure.gates.stored import golden_outcomes
from audit.failure.gates.values import NOTHING, Class, Function, Namespace, V
from audit.failure.model import Reading
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Telemetry

MAX_ENTRIES: Final = 400
"""Most tests and scripts evaluated for one verdict."""
MAX_FAILED_STEPS: Final = 200_000
"""Steps of all scripts and of the tests that the log shows to have failed, together: some seconds."""
MAX_OTHER_STEPS: Final = 100_000
"""Steps of all other tests together: which of them hold is of interest, not worth much time."""


def evaluate(repo: Snapshot | None, telemetry: Telemetry, reading: Reading | None) -> list[GateOutcome]:
    """Every gate of the checkout that compares numbers, with how it comes out on the raw series; those that the log shows to have
    failed come first. Also stored ("golden") values that the telemetry brings along. Never raises for what is read.
    """
    checkout = Checkout(repo)
    shown = Shown(reading)
    data = RunData(telemetry, shown.number)
    calls = called(checkout, reading)
    found: list[Found] = []
    measured = bool(telemetry.series or telemetry.tables or telemetry.runs)
    modules: dict[str, Namespace] = {}
    failed: list[TestEntry | ScriptEntry] = []
    others: list[TestEntry | ScriptEntry] = []
    for entry in _entries(checkout, calls, reading, measured):
        told = isinstance(entry, ScriptEntry) or shown.failed(entry.id) is not None
        (failed if told else others).append(entry)
    for group, budget in ((failed, MAX_FAILED_STEPS), (others if measured else [], MAX_OTHER_STEPS)):
        left = budget
        for entry in group:
            if left <= 0:
                break
            machine = _machine(entry, checkout, data, modules)
            _follow(machine, entry)
            left -= machine.steps
            found += [Found(seen, entry) for seen in machine.seen]
    outcomes = outcomes_of(found, checkout, data, shown)
    outcomes += budget_outcomes(checkout, calls, reading)
    outcomes += golden_outcomes(checkout, telemetry, data, shown, outcomes)
    return sorted(outcomes, key=lambda o: (o.told is None, o.passed is not False, o.passed is None))


def _entries(
    checkout: Checkout, calls: Sequence[Called], reading: Reading | None, measured: bool
) -> Iterable[TestEntry | ScriptEntry]:
    count = 0
    for path in gate_files(checkout, calls, reading, measured):
        tree = checkout.tree(path)
        if tree is None:
            continue
        entries: list[TestEntry | ScriptEntry] = []
        if is_test(path, tree):
            entries += tests_in(path, tree)
        else:
            entries += scripts_for(path, checkout, calls)
        for entry in entries:
            count += 1
            if count > MAX_ENTRIES:
                return
            yield entry


def _machine(
    entry: TestEntry | ScriptEntry, checkout: Checkout, data: RunData, modules: dict[str, Namespace]
) -> Machine:
    """`modules` of the repository are followed once for all entries."""
    if isinstance(entry, ScriptEntry):
        return Machine(checkout, data, entry.argv, dict(entry.environ), entry.place, modules=modules)
    return Machine(checkout, data, modules=modules)


def _follow(machine: Machine, entry: TestEntry | ScriptEntry) -> None:
    """Evaluates an entry; what was seen up to the point where evaluation ends counts."""
    try:
        if isinstance(entry, TestEntry):
            _follow_test(machine, entry)
        else:
            _follow_script(machine, entry)
    except (OutOfBudgetError, Signal, RecursionError):
        return
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return  # code can be written to trip any evaluator: it costs its own gates only


def _follow_script(machine: Machine, entry: ScriptEntry) -> None:
    tree = machine.checkout.tree(entry.path)
    scope = Namespace(entry.path)
    scope.set("__name__", V("__main__"))
    scope.set("__file__", V(entry.path))
    machine.main = scope
    flow.run(machine, tree.body if tree else (), scope)


def _follow_test(machine: Machine, entry: TestEntry) -> None:
    module = flow.load(machine, entry.path)
    if module is None:
        return
    given = {name: machine.eval(node, module) for name, node in entry.parameters}
    owner = None
    if entry.owner is not None:
        owner = V(flow.instance(machine, Class(entry.owner, module)))
        _set_up(machine, owner)
    names = [
        a.arg for a in (*entry.node.args.posonlyargs, *entry.node.args.args, *entry.node.args.kwonlyargs)
    ]
    if owner is not None and names:
        names = names[1:]
    for name in names:
        if name not in given:
            given[name] = _fixture(machine, name, entry.path, module, 0)
    function = Function(entry.node, module, owner)
    machine.symbols.clear()
    flow.invoke(machine, function, [], given)


def _set_up(machine: Machine, owner: V) -> None:
    """`setUp` and `setup_method` set what the tests read."""
    for name in ("setUpClass", "setUp", "setup_method", "setup_class"):
        function = owner.data.fields.get(name)
        if function is not None and isinstance(function.data, Function):
            _quietly(machine, Function(function.data.node, function.data.scope, owner))


def _quietly(machine: Machine, function: Function, given: dict[str, V] | None = None) -> V:
    """A call whose own comparisons are no gates of the test."""
    machine.quiet += 1
    try:
        return flow.invoke(machine, function, [], given or {})
    except Signal:
        return NOTHING
    finally:
        machine.quiet -= 1


def _fixture(machine: Machine, name: str, path: str, module: Namespace, depth: int) -> V:
    """What a fixture of the test's file, or of a conftest above it, gives."""
    found = module.names.get(name)
    scope = module
    folder = path
    while not _is_fixture(found) and "/" in folder:
        folder = folder.rpartition("/")[0]
        scope = flow.load(machine, f"{folder}/conftest.py") or Namespace("")
        found = scope.names.get(name)
    if not _is_fixture(found):
        scope = flow.load(machine, "conftest.py") or Namespace("")
        found = scope.names.get(name)
    if found is None or not _is_fixture(found) or depth > 6:
        return NOTHING
    node = found.data.node
    needed = [a.arg for a in node.args.args]
    given = {n: _fixture(machine, n, path, module, depth + 1) for n in needed if n != name}
    return _quietly(machine, found.data, given)


def _is_fixture(value: V | None) -> bool:
    if value is None or not isinstance(value.data, Function) or isinstance(value.data.node, ast.Lambda):
        return False
    return any("fixture" in ast.unparse(d) for d in value.data.node.decorator_list)
