"""Seeds, determinism flags and the seeding of loader workers, where training really passes them."""

import re
from collections import defaultdict

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.python.model import Assign, Call
from audit.signals.knowledge import effects_of
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

ORDER = ("python", "numpy", "torch", "cuda", "tensorflow", "jax", "env")
_NO_SEED = re.compile(
    r"^(None|)$|time\.time|datetime|getpid|urandom|uuid|secrets\.|SystemRandom|randint|randrange"
)
_TF = re.compile(
    r"tensorflow(\.compat\.v1)?\.(random\.)?set_(random_)?seed|tensorflow\.random\.set_random_seed"
)
_TF_DRAW = re.compile(r"tensorflow\..*(random|shuffle|initializer|dropout)")
_JAX = re.compile(
    r"(jax\.random\.(PRNGKey|key)|(flax\.)?nnx\.Rngs|haiku\.PRNGSequence|flax\.experimental\.nnx\.Rngs)"
)
_ENV_RECEIVER = re.compile(
    r"(^|[._])(e|envs?|env_\w+|environment|vec_env|\w*_envs?|action_space|observation_space|single_action_space)$"
)
_FLAG_VARIABLES = ("TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC", "CUBLAS_WORKSPACE_CONFIG", "XLA_FLAGS")


def seeds_of(call: Call) -> tuple[str, ...]:
    """The random number generators that a call seeds."""
    name, last = call.name, call.name.rpartition(".")[2]
    value = (
        call.args[0]
        if call.args
        else next((v for k, v in call.kwargs.items() if k in ("seed", "a", "x", "data")), "")
    )
    if name in (
        "random.seed",
        "numpy.random.seed",
        "numpy.random.RandomState",
        "numpy.random.default_rng",
        "numpy.random.SeedSequence",
    ):
        return () if _NO_SEED.search(value) else ("python" if name == "random.seed" else "numpy",)
    if name == "random.Random":
        return () if _NO_SEED.search(value) else ("python",)
    if last in ("manual_seed", "manual_seed_all"):
        return _torch(name, value)
    if _TF.fullmatch(name):
        return () if _NO_SEED.search(value) else ("tensorflow",)
    if _JAX.fullmatch(name):
        return () if _NO_SEED.search(value or "0") else ("jax",)
    if last == "reset" and "seed" in call.kwargs and not _NO_SEED.search(call.kwargs["seed"]):
        return ("env",)
    if last == "seed" and _ENV_RECEIVER.search(name.rpartition(".")[0]) and not _NO_SEED.search(value):
        return ("env",)
    if _TF_DRAW.match(name) and not _NO_SEED.search(call.kwargs.get("seed", "None")):
        return ("tensorflow",)
    found = [rng for effect in effects_of(name) for rng in effect.seeds]
    if not found and "random_state" in call.kwargs and not _NO_SEED.search(call.kwargs["random_state"]):
        return ("numpy",)
    return tuple(found)


def _torch(name: str, value: str) -> tuple[str, ...]:
    if _NO_SEED.search(value):
        return ()
    if name.startswith("torch.cuda."):
        return ("cuda",)
    return ("torch",) if name in ("torch.manual_seed", "torch.random.manual_seed", "torch.seed") else ()


def seed_control(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """The generators that are seeded on the training path, directly, through a helper, or by a trainer that inherits it."""
    places: dict[str, list[Place]] = defaultdict(list)
    for file, call in path.calls:
        for rng in seeds_of(call):
            if not _undone(path, file, call, rng):
                places[rng].append(Place(file, call.line, rng))
    for loop in path.all_loops:
        if loop.kind == "hf_trainer":
            for rng in ("python", "numpy", "torch"):
                places[rng].append(Place(loop.node[0], loop.line, f"{rng}: the Trainer seeds it"))
    for file, call in path.calls:
        if (
            "stable_baselines3" in path.heads(file)
            and "seed" in call.kwargs
            and not _NO_SEED.search(call.kwargs["seed"])
        ):
            for rng in ("python", "numpy", "torch", "env"):
                places[rng].append(Place(file, call.line, f"{rng}: Stable-Baselines3 seeds it"))
    found = tuple(rng for rng in ORDER if rng in places)
    return Signal(found, tuple(places[rng][0] for rng in found))


def _undone(path: TrainingPath, file: str, call: Call, rng: str) -> bool:
    """Whether the same scope seeds the generator anew, from nothing, further down."""
    names = {"python": "random.seed", "numpy": "numpy.random.seed"}
    return any(
        other.name == names.get(rng)
        and other.scope == call.scope
        and other.line > call.line
        and (not other.args or other.args[0] == "None")
        and not other.kwargs
        for other in path.source(file).calls
    )


# Flags -----------------------------------------------------------------------------------------------------------


def determinism_flags(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """Switches that ask for deterministic kernels, in code on the training path or in launch scripts."""
    places: dict[str, Place] = {}
    for file, assign in path.reached.assigns():
        if flag := _assigned_flag(assign):
            places.setdefault(flag, Place(file, assign.line, flag))
    for file, call in path.calls:
        if flag := _called_flag(call):
            places.setdefault(flag, Place(file, call.line, flag))
    for file, script in repository.scripts.items():
        for command in script.commands:
            for name, value in command.env:
                if flag := _variable(name, value):
                    places.setdefault(flag, Place(file, command.line, flag))
        for name, value, line in script.variables:
            if flag := _variable(name, value):
                places.setdefault(flag, Place(file, line, flag))
    return Signal(tuple(sorted(places)), tuple(places[flag] for flag in sorted(places))[:4])


def _assigned_flag(assign: Assign) -> str:
    target, value = assign.target, assign.value
    if target.endswith("cudnn.deterministic") and value not in ("False", "0"):
        return "cudnn.deterministic"
    if target.endswith("cudnn.benchmark") and value in ("False", "0"):
        return "cudnn.benchmark=False"
    if target.startswith("os.environ["):
        return _variable(target[len("os.environ[") : -1].strip("'\""), value.strip("'\""))
    return ""


def _variable(name: str, value: str) -> str:
    if name not in _FLAG_VARIABLES or value in ("0", "", "false"):
        return ""
    return "" if name == "XLA_FLAGS" and "deterministic" not in value else name


def _called_flag(call: Call) -> str:
    last = call.name.rpartition(".")[2]
    first = call.args[0] if call.args else call.kwargs.get("mode", "")
    if call.name in ("torch.use_deterministic_algorithms", "torch.set_deterministic") and first != "False":
        return "use_deterministic_algorithms"
    if last == "enable_op_determinism":
        return "enable_op_determinism"
    if last == "enable_full_determinism":
        return "enable_full_determinism"
    if last in ("setdefault", "putenv") and "environ" in call.name and len(call.args) == 2:
        return _variable(call.args[0].strip("'\""), call.args[1].strip("'\""))
    if last in ("Trainer", "from_argparse_args") and call.kwargs.get("deterministic") in ("True", "'warn'"):
        return "Trainer(deterministic=True)"
    return ""


# Workers ---------------------------------------------------------------------------------------------------------


def dataloader_worker_seeding(repository: Repository, path: TrainingPath) -> Signal[bool | None]:
    """Whether loader workers get seeds of their own; None where the training path has no loader."""
    seeded: list[Place] = []
    loaders: list[Place] = []
    for file, call in path.calls:
        last = call.name.rpartition(".")[2]
        is_loader = last.endswith(("DataLoader", "Loader")) and last not in (
            "FileSystemLoader",
            "SafeLoader",
            "FullLoader",
        )
        if is_loader:
            loaders.append(Place(file, call.line, "loader without worker seeding"))
        if _seeds_workers(call, last, is_loader) or (
            _shuffles_seeded(call, last) and path.heads(file) & _PIPELINES
        ):
            seeded.append(Place(file, call.line))
        elif "Fabric" in call.name and last == "seed_everything":
            seeded.append(Place(file, call.line, "Fabric seeds workers"))
    for file, assign in path.reached.assigns():
        if assign.target.endswith("['worker_init_fn']") and assign.value != "None":
            seeded.append(Place(file, assign.line))
    if seeded:
        return Signal(True, tuple(seeded[:3]))
    if any(loop.kind == "hf_trainer" for loop in path.all_loops) and not loaders:
        loaders.append(Place(path.all_loops[0].node[0], path.all_loops[0].line, "the Trainer's loader"))
    return Signal(False if loaders else None, tuple(loaders[:3]))


def _seeds_workers(call: Call, last: str, is_loader: bool) -> bool:
    if call.kwargs.get("worker_init_fn", "None") != "None":
        return True
    if is_loader and call.kwargs.get("generator", "None") != "None":
        return True
    # Fabric's own method seeds workers unless told otherwise.
    return last == "seed_everything" and (
        call.kwargs.get("workers") == "True"
        or call.name in ("fabric.seed_everything", "self.fabric.seed_everything")
    )


_PIPELINES = frozenset({"tensorflow", "tensorflow_datasets", "grain", "seqio"})


def _shuffles_seeded(call: Call, last: str) -> bool:
    """A shuffle of a data pipeline (tf.data, Grain) with a seed."""
    if last != "shuffle" or not re.search(r"(ds|dataset|data)\b|\?", call.name.rpartition(".")[0]):
        return False
    return call.kwargs.get("seed", "None") != "None" or len(call.args) > 1
