"""Places that make two runs differ although both were given the same seed."""

import re
from collections.abc import Iterator

from audit.documents.place import Place
from audit.documents.signals import Checkpoint, Signal
from audit.facts.python.model import Call
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_LISTINGS = frozenset({"listdir", "glob", "iglob", "iterdir", "rglob", "scandir"})
_CLOCK = re.compile(r"(time\.time|time_ns|datetime\.|getpid|urandom|uuid)")
_SEEDERS = re.compile(
    r"(^|[._])(seed|manual_seed|manual_seed_all|set_seed|seed_everything|set_random_seed|PRNGKey|RandomState|default_rng)$"
)
_SORTS = frozenset({"sort", "sorted", "natsorted"})
_ORDERLESS = frozenset(
    {
        "arg:sorted",
        "arg:len",
        "arg:set",
        "arg:max",
        "arg:min",
        "arg:sum",
        "arg:any",
        "arg:all",
        "arg:natsorted",
        "arg:frozenset",
        "compare",
    }
)
_MOST = 40


def nondeterminism(
    repository: Repository,
    path: TrainingPath,
    seeds: tuple[str, ...],
    checkpoint: Checkpoint | None,
    resume: bool,
) -> Signal[tuple[Place, ...]]:
    """Places on the training path, at most 40, in path order. `seeds`, `checkpoint`, `resume`: those signals' values."""
    if not path.training and not path.evaluating:
        return Signal(())
    found: list[Place] = []
    for file, call in path.calls:
        note = _of_call(path, file, call, seeds)
        if note:
            found.append(Place(file, call.line, note))
    for file, assign in path.reached.assigns():
        if assign.target.endswith("cudnn.benchmark") and assign.value in ("True", "1"):
            found.append(
                Place(
                    file,
                    assign.line,
                    "cudnn.benchmark picks kernels by timing, which may differ from run to run",
                )
            )
    found += _defaults(path)
    if resume and checkpoint is not None and not checkpoint.rng_state and path.training:
        where = next(
            (call.line for file, call in path.calls if file == path.training[0].path and "load" in call.name),
            None,
        )
        found.append(
            Place(
                path.training[0].path,
                where,
                "training resumes without the state of its random number generators",
            )
        )
    places = tuple(sorted(set(found), key=lambda p: (p.path, p.line or 0, p.note)))[:_MOST]
    return Signal(places, places[:4])


def _of_call(path: TrainingPath, file: str, call: Call, seeds: tuple[str, ...]) -> str:
    name, last = call.name, call.name.rpartition(".")[2]
    first = call.args[0] if call.args else ""
    if _SEEDERS.search(name):
        if _CLOCK.search(" ".join([*call.args, *call.kwargs.values()])):
            return "the seed comes from the clock or the process"
        if name in ("random.seed", "numpy.random.seed") and first in ("", "None") and not call.kwargs:
            return "seeds anew from the operating system"
    if (
        name in ("set", "frozenset")
        and call.args
        and call.within in ("iter", "arg:list", "arg:enumerate", "arg:tuple")
    ):
        return (
            ""
            if _sorted_later(path, file, call)
            else "iterates over a set, whose order of strings changes with the hash seed"
        )
    if name == "hash" and first and not first[0].isdigit():
        return "hash() of a string changes with the hash seed"
    if (
        last in _LISTINGS
        and call.within not in _ORDERLESS
        and "." in name
        and not _sorted_later(path, file, call)
    ):
        return (
            "the order of files is the file system's; sort it"
            if call.within in ("iter", "arg:list") or call.within.startswith("assign:")
            else ""
        )
    if last == "is_bf16_supported":
        return "the number format depends on the GPU"
    if (
        name
        in (
            "random.shuffle",
            "random.sample",
            "random.choice",
            "random.choices",
            "random.randint",
            "random.random",
        )
        and "python" not in seeds
    ):
        return "draws from Python's random generator, which training does not seed"
    if (
        name.startswith("numpy.random.")
        and "numpy" not in seeds
        and last in ("shuffle", "permutation", "choice", "rand", "randn", "randint", "normal", "uniform")
    ):
        return "draws from NumPy's random generator, which training does not seed"
    return ""


def _sorted_later(path: TrainingPath, file: str, call: Call) -> bool:
    """Whether what the call gives is sorted in place, or handed to `sorted`, in the same scope."""
    target = call.within.partition(":")[2] if call.within.startswith("assign:") else ""
    return any(
        other.scope == call.scope and other.name.rpartition(".")[2] in _SORTS and (
            (target and (other.name.rpartition(".")[0] == target or target in other.args)) or other.line == call.line
        )
        for other in path.source(file).calls
    )  # fmt: skip


def _defaults(path: TrainingPath) -> Iterator[Place]:
    """Seeds whose default asks for none."""
    for file, call in path.calls:
        if call.name.rpartition(".")[2] == "add_argument" and any(
            re.fullmatch(r"'--?(random[_-]|manual[_-]?)?seed'", arg) for arg in call.args
        ):
            default = call.kwargs.get("default", "None")
            if default in ("None", "-1") and call.kwargs.get("required") != "True":
                yield Place(
                    file, call.line, f"the seed's default is {default}: runs without the flag are not seeded"
                )
    for file, indices in path.reached.scopes.items():
        for assign in path.source(file).assigns:
            if (
                assign.scope in indices
                and assign.annotation
                and assign.target == "seed"
                and assign.value in ("None", "-1")
            ):
                yield Place(
                    file,
                    assign.line,
                    f"the seed's default is {assign.value}: runs that do not set it are not seeded",
                )
