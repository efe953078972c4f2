"""Determinism: whether the same command gives the same numbers twice."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_example_path
from audit.facts.python.model import Assign, Call
from audit.rules.imports import declarations, locked, normalise
from audit.rules.randomness import GENERATORS, Script, elsewhere, may_be_reached, scripts, unread_flag
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, not_checked, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted, listed
from audit.signals.graph import Reached
from audit.signals.seeds import seeds_of

NO_TRAINING = "Nothing in the repository's own code trains a model."

# Seeds -----------------------------------------------------------------------------------------------------------


def _seeded(generator: str) -> Callable[[Context], Iterable[Outcome]]:
    """The rule that asks whether training seeds one generator."""

    def check(context: Context) -> Iterable[Outcome]:
        found = scripts(context)
        if not found:
            yield not_applicable(NO_TRAINING)
            return
        drawing = [script for script in found if generator in script.draws]
        if not drawing:
            yield not_applicable(f"No training script was seen to draw from {GENERATORS[generator]}.")
            return
        bad = [script for script in drawing if not script.seeded(generator)]
        unsure = [script for script in bad if _perhaps(context, generator, script)]
        sure = [script for script in bad if script not in unsure]
        if sure:
            yield _unseeded(context, generator, sure, len(drawing))
        elif unsure:
            yield not_checked(
                f"Code that seeds {GENERATORS[generator]} is named on the way from {unsure[0].entry.path}, "
                "but whether it runs could not be followed."
            )
        else:
            yield passed(
                f"{_subject(drawing)} {GENERATORS[generator]}.",
                *capped(_seed_places(drawing, generator)),
            )

    return check


def _subject(drawing: list[Script]) -> str:
    if len(drawing) == 1:
        return f"{drawing[0].entry.path} seeds"
    return f"All {len(drawing)} training scripts that draw from it seed"


def _seed_places(drawing: list[Script], generator: str) -> Iterator[Place]:
    for script in drawing:
        for file, call in script.seeds.get(generator, ())[:1]:
            yield Place(file, call.line)


def _perhaps(context: Context, generator: str, script: Script) -> bool:
    return any(
        may_be_reached(context, file, call, script.nodes)
        for file, call in elsewhere(context, generator, script.nodes)
    )


def _unseeded(context: Context, generator: str, sure: list[Script], drawing: int) -> Outcome:
    first = sure[0]
    place = first.draws[generator]
    how = f"{place.note} at {place.path}:{place.line}"
    it = "them" if generator == "env" else "it"
    if len(sure) == 1:
        who = f"{first.entry.path} draws from {GENERATORS[generator]} ({how}) and never seeds {it}"
    else:
        names = listed([script.entry.path for script in sure], 4)
        count = (
            f"{len(sure)} of {drawing} training scripts"
            if drawing > len(sure)
            else f"{len(sure)} training scripts"
        )
        who = f"{count} ({names}) draw from {GENERATORS[generator]} and never seed {it}; {first.entry.path}, for example: {how}"
    others = elsewhere(context, generator, first.nodes) if len(sure) == drawing else []
    flag = unread_flag(context, first)
    hint = ""
    if flag is not None:
        hint = f"; {flag.path}:{flag.line} defines --seed and does not read it"
    elif others:
        hint = f"; {_where(others)} seeds {it}, but is not on the way"
    return failed(
        f"{who}{hint}.",
        *capped(
            [script.draws[generator] for script in sure]
            + [Place(f, c.line, "seeds, not on the way") for f, c in others[:2]]
        ),
        key=generator,
        severity=None if 2 * len(sure) >= drawing else Severity.INFO,
    )


def _where(others: list[tuple[str, Call]]) -> str:
    file, call = others[0]
    return f"{file}:{call.line}"


# Seeds that do not arrive ------------------------------------------------------------------------------------------


def processes(context: Context) -> Iterable[Outcome]:
    """Processes that are started by spawning begin with fresh generators: what their parent seeded is lost."""
    found = scripts(context)
    if not found:
        yield not_applicable(NO_TRAINING)
        return
    graph = context.path.graph
    spawning: dict[tuple[str, int], tuple[Script, Call]] = {}
    for script in found:
        for file, call in Reached(graph.python, script.nodes).calls():
            if re.fullmatch(r"(?:torch\.)?multiprocessing\.(?:spawn\.)?spawn", call.name):
                spawning.setdefault((file, call.line), (script, call))
    if not spawning:
        yield not_applicable("No training script spawns its processes itself.")
        return
    for (file, line), (script, call) in spawning.items():
        target = call.args[0] if call.args else call.kwargs.get("fn", "")
        node = graph.lookup(target, file, call.scope)
        if node is None:
            yield not_checked(f"{file}:{line} spawns processes with a function that could not be followed.")
            continue
        child = graph.reach([node])
        lost = sorted(
            generator
            for generator, calls in script.seeds.items()
            if generator in ("python", "numpy", "torch", "cuda")
            and all((f, c.scope) not in child for f, c in calls)
        )
        if lost and not _seeds_any(script, child):
            yield failed(
                f"{file}:{line} spawns the processes that train; {listed(lost)} {'is' if len(lost) == 1 else 'are'} "
                "seeded in the parent only, and a spawned process starts with fresh generators.",
                Place(file, line),
                *capped(
                    Place(f, c.line, f"seeds {name} in the parent")
                    for name in lost
                    for f, c in script.seeds[name][:1]
                ),
                key=target,
            )
        else:
            yield passed(
                f"What {file}:{line} spawns seeds its own generators, or nothing was seeded.",
                Place(file, line),
            )


def _seeds_any(script: Script, child: frozenset[tuple[str, int]]) -> bool:
    return any((f, c.scope) in child for calls in script.seeds.values() for f, c in calls)


def sources(context: Context) -> Iterable[Outcome]:
    """Seeds from the clock, the process or the operating system; generators that are seeded anew from nothing."""
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    notes = ("the seed comes from the clock", "seeds anew from the operating system")
    places = [place for place in context.signals.nondeterminism.value if place.note.startswith(notes)]
    guarded = _guarded_lines(context)
    branched = {(file, call.line) for file, call in context.path.reached.calls() if call.test}
    bad = [place for place in places if (place.path, place.line) not in guarded]
    for place in bad[:OUTCOME_LIMIT]:
        what = (
            "takes its seed from the clock or the process"
            if place.note.startswith("the seed")
            else "seeds the generator anew from the operating system, whatever was set before"
        )
        yield failed(
            f"{place.path}:{place.line} {what}.",
            Place(place.path, place.line),
            key=place.note,
            severity=Severity.INFO if (place.path, place.line) in branched else None,
        )
    if not bad:
        yield passed(
            "No seed on the training path comes from the clock, the process or the operating system."
        )


def _guarded_lines(context: Context) -> frozenset[tuple[str, int | None]]:
    """Calls that only run where no seed was given."""
    return frozenset(
        (file, call.line)
        for file, call in context.path.reached.calls()
        if re.search(r"seed.{0,40}(?:is None|== -1|< 0|is not None)|not [\w.]*seed|test|eval", call.test)
    )


def default(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    optional = any(
        seeds_of(call) and re.search(r"seed", call.test) for _, call in context.path.reached.calls()
    )
    places = [
        place
        for place in context.signals.nondeterminism.value
        if optional and place.note.startswith("the seed's default is")
    ]
    if not places:
        yield passed("No seed on the training path is off by default.")
        return
    first = places[0]
    value = first.note.split(":")[0].rpartition(" ")[2]
    more = f" (and in {counted(len(places) - 1, 'more place')})" if len(places) > 1 else ""
    given = _commands_give_a_seed(context)
    yield failed(
        f"The seed's default in {first.path}:{first.line} is {value}{more}: a run without the flag has no fixed seed"
        + (", and no documented command sets it." if not given else "."),
        *capped(Place(place.path, place.line) for place in places),
        severity=Severity.INFO if given or is_example_path(first.path) else None,
    )


def _commands_give_a_seed(context: Context) -> bool:
    return any(
        flag.name.lstrip("-").replace("-", "_") in ("seed", "random_seed", "manual_seed")
        for _, command in context.path.commands
        for flag in command.flags
    )


# Kernels -----------------------------------------------------------------------------------------------------------


def flags(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    found = context.signals.determinism_flags
    if found.value:
        yield passed(
            f"Deterministic kernels can be asked for: {listed(found.value)}.", *capped(found.evidence)
        )
        return
    framework = _gpu_framework(context)
    inherited = {loop.kind for loop in context.path.all_loops} & {"hf_trainer", "lightning"}
    if inherited:
        yield passed(
            "The inherited trainer has a setting for deterministic kernels.",
            *capped(context.path.primary_loop[1], 1),
        )
        return
    if not framework:
        yield not_applicable("No training script of PyTorch or TensorFlow was seen to use a GPU.")
        return
    wish = (
        "torch.use_deterministic_algorithms(True)"
        if framework == "PyTorch"
        else "tf.config.experimental.enable_op_determinism()"
    )
    yield failed(
        f"Training runs {framework} on a GPU and has no switch for deterministic kernels.",
        *capped(context.path.primary_loop[1], 2),
        fix=f"Offer a flag that calls {wish}, and say what it costs.",
    )


_KINDS = {
    "raw_torch": "PyTorch",
    "keras": "TensorFlow",
    "tf": "TensorFlow",
}
_ON_GPU = re.compile(r"cuda|gpu|autocast|GradScaler|DistributedDataParallel", re.I)


def _gpu_framework(context: Context) -> str:
    kinds = {loop.kind for loop in context.path.all_loops}
    names = {_KINDS[kind] for kind in kinds if kind in _KINDS}
    if "rl" in kinds:
        names |= {"PyTorch"} & ({"PyTorch"} if "torch" in context.signals.frameworks.value else set())
    if not names:
        return ""
    for _, call in context.path.reached.calls():
        if _ON_GPU.search(call.name) or any(
            _ON_GPU.search(text) for text in (*call.args, *call.kwargs.values())
        ):
            return "PyTorch" if "PyTorch" in names else "TensorFlow"
    return ""


def anti_flags(context: Context) -> Iterable[Outcome]:
    """Automatic choice of kernels by timing, most of all beside a wish for deterministic ones."""
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    benchmark = [
        (f, a)
        for f, a in context.path.reached.assigns()
        if a.target.endswith("cudnn.benchmark") and a.value in ("True", "1")
    ]
    if not benchmark:
        yield passed("Nothing on the training path lets cuDNN choose its kernels by timing.")
        return
    asked = [
        (f, a)
        for f, a in context.path.reached.assigns()
        if a.target.endswith("cudnn.deterministic") and a.value in ("True", "1")
    ]
    clashing = [(b, d) for b in benchmark for d in asked if _both_hold(b, d)]
    if clashing:
        (file, assign), (other, wish) = clashing[0]
        yield failed(
            f"{file}:{assign.line} sets cudnn.benchmark = True while {other}:{wish.line} asks for deterministic kernels: "
            "which kernel runs is still chosen by timing.",
            Place(file, assign.line),
            Place(other, wish.line),
            fix="Set cudnn.benchmark = False where determinism is asked for.",
            key="clash",
            severity=Severity.WARNING,
        )
        return
    where = [Place(f, a.line) for f, a in benchmark]
    off = any(
        a.target.endswith("cudnn.benchmark") and a.value in ("False", "0")
        for _, a in context.path.reached.assigns()
    )
    if off or asked:
        yield passed("cudnn.benchmark is on for speed, and the code can also turn it off.", *capped(where))
        return
    yield failed(
        f"{where[0].path}:{where[0].line} turns cudnn.benchmark on{_more(where)}: kernels are chosen by timing and may differ from run to run.",
        *capped(where),
        key="benchmark",
    )


def _more(places: list[Place]) -> str:
    return f" (and {counted(len(places) - 1, 'more place')})" if len(places) > 1 else ""


def _both_hold(first: tuple[str, Assign], second: tuple[str, Assign]) -> bool:
    """Whether both assignments run: in the same scope, under the same conditions."""
    (file, one), (other, two) = first, second
    return file == other and one.scope == two.scope and one.test == two.test


# Data order ----------------------------------------------------------------------------------------------------------


def workers(context: Context) -> Iterable[Outcome]:
    """Workers of loaders that draw from NumPy: before PyTorch 1.9 all of them draw the same numbers."""
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    found = [(script, _loaders(context, script)) for script in scripts(context)]
    working = [(script, loaders) for script, loaders in found if loaders]
    if not working:
        yield not_applicable("No loader with worker processes was seen on the training path.")
        return
    if context.signals.dataloader_worker_seeding.value:
        yield passed(
            "Loader workers are seeded.", *capped(context.signals.dataloader_worker_seeding.evidence)
        )
        return
    drawing = [(draw, loaders) for script, loaders in working if (draw := _drawn_in_items(context, script))]
    if not drawing:
        yield passed(
            "No dataset was seen to draw from NumPy's generator: PyTorch seeds the other generators of its workers."
        )
        return
    draw, loaders = drawing[0]
    known, old = _torch_before_1_9(context)
    if known and not old:
        yield passed("The declared PyTorch seeds NumPy in loader workers (1.9 and later).", draw)
        return
    yield failed(
        f"{draw.path}:{draw.line} draws from NumPy's generator in loader workers that nobody seeds ({loaders[0].path}:{loaders[0].line}): "
        + (
            "the pinned PyTorch, older than 1.9, gives every worker the same numbers."
            if known
            else "with PyTorch before 1.9, which no manifest rules out, all workers draw the same numbers."
        ),
        draw,
        *capped(loaders, 3),
        severity=None if known else Severity.INFO,
    )


def _loaders(context: Context, script: Script) -> list[Place]:
    """Loaders of the script that have worker processes."""
    return [
        Place(file, call.line, "loader without worker_init_fn")
        for file, call in Reached(context.path.graph.python, script.nodes).calls()
        if call.name.rpartition(".")[2] == "DataLoader"
        and call.kwargs.get("num_workers", "0") != "0"
        and call.name.startswith(("torch.", "DataLoader"))
    ]


_NO_DRAWS = frozenset("seed RandomState default_rng get_state set_state SeedSequence Generator".split())


def _drawn_in_items(context: Context, script: Script) -> Place | None:
    """A draw from NumPy's global generator in the `__getitem__` of a dataset that the script reaches."""
    for path, index in sorted(script.nodes):
        facts = context.path.graph.python[path]
        if facts.scopes[index].name != "__getitem__":
            continue
        for call in facts.calls:
            receiver, _, last = call.name.rpartition(".")
            if call.scope == index and receiver == "numpy.random" and last not in _NO_DRAWS:
                return Place(path, call.line, call.name)
    return None


def _torch_before_1_9(context: Context) -> tuple[bool, bool]:
    """Whether the version of PyTorch is known, and whether it is older than 1.9."""
    version = locked(context.repository).get("torch")
    texts = (
        [version[0]]
        if version
        else [
            each.requirement.specifier
            for each in declarations(context.repository)
            if normalise(each.requirement.name) == "torch"
        ]
    )
    lowest = [
        tuple(int(part) for part in match[1].split(".")[:2])
        for text in texts
        if (match := re.search(r"(?:>=|==|~=|\^|^=?|>)\s*(\d+\.\d+)", text))
    ]
    if not lowest or len(lowest) < len(texts):
        return False, False
    if min(lowest) >= (1, 9):
        return True, False
    exact = all(text.startswith("==") or version for text in texts)
    return exact, exact


_ORDER_NOTES = {
    "iterates over a set": (
        "iterates over a set, whose order changes with the hash seed",
        "Sort it: `for x in sorted(items)`.",
    ),
    "hash() of a string": (
        "uses hash(), which for strings differs from process to process",
        "Use hashlib, or zlib.crc32.",
    ),
    "the order of files": (
        "takes files in the order that the file system gives",
        "Wrap it: `sorted(os.listdir(folder))`.",
    ),
}


def order(context: Context) -> Iterable[Outcome]:
    """Iteration in an order that the machine decides; one finding a file and kind."""
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    groups: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in context.signals.nondeterminism.value:
        for begin in _ORDER_NOTES:
            if place.note.startswith(begin) and _feeds(context, place, begin):
                groups[place.path, begin].append(Place(place.path, place.line))
    for (path, begin), places in list(groups.items())[:OUTCOME_LIMIT]:
        said, mend = _ORDER_NOTES[begin]
        yield failed(
            f"{path}:{places[0].line} {said}{_more(places)}.",
            *capped(places),
            fix=mend,
            key=begin,
            severity=Severity.INFO if begin == "iterates over a set" else None,
        )
    if len(groups) > OUTCOME_LIMIT:
        yield failed(f"{len(groups) - OUTCOME_LIMIT} further files do the like.", key="more")
    if not groups:
        yield passed("Nothing was seen on the training path whose order the machine decides.")


_HOUSEKEEPING = re.compile(
    r"clean|remove|delete|prune|rotat|latest|last|resume|find_|checkpoint|ckpt|restore|exist|log|archive|copy|backup|size|count|check|upload|zip|"
    r"rm_|purge|version|import|discover|register|setup|print|plot|visual|report|config|plugin|cache|lock|params|dtype|device|sync|validate|verify|"
    r"assert|warn|unused|missing|keys|module|merge|save|push|model_card|metric|webui|gui|server|app\b|demo|eval|score",
    re.I,
)
_OTHER_FOLDERS = re.compile(
    r"out|log|snapshot|proc/|yaml|ckpt|checkpoint|save|result|cwd|cache|tmp|temp|model|run|experiment|weight|pretrained|repo|script|module|code|plugin|__file__|config|\bfs\.",
    re.I,
)
_OTHER_PATHS = re.compile(r"(?:^|/)\w*(?:checkpoint|webui|server|optim|infer|demo|eval)\w*/", re.I)
_ABOUT_DATA = re.compile(
    r"data(?!class)|corpus|sampl|split|vocab|token|image|episode|prepare|preproc|label|classes|shard", re.I
)


def _feeds(context: Context, place: Place, begin: str) -> bool:
    """Whether the place is likely to decide the order of data: by what it lists, and by the function and file around it."""
    facts = context.repository.code.get(place.path)
    if facts is None:
        return False
    line = place.line or 0
    around = [
        scope
        for scope in facts.scopes
        if scope.kind in ("function", "class") and scope.line <= line <= scope.end_line
    ]
    name = around[-1].name if around else ""
    if (
        _HOUSEKEEPING.search(name)
        or _HOUSEKEEPING.search(place.path.rpartition("/")[2])
        or is_example_path(place.path)
    ):
        return False
    calls = [call for call in facts.calls if call.line == line]
    if begin == "hash() of a string":
        return any(_seeds_with_hash(call, name) for call in calls if call.name == "hash")
    if begin == "the order of files":
        listing = [
            call
            for call in calls
            if call.name.rpartition(".")[2]
            in ("listdir", "glob", "iglob", "iterdir", "rglob", "scandir", "walk")
        ]
        if any(_OTHER_FOLDERS.search(" ".join((call.name, *call.args))) for call in listing):
            return False
    words = f"{place.path.rpartition('/')[2]} {name}"
    return bool(_ABOUT_DATA.search(words)) and not _OTHER_PATHS.search(place.path)


def _seeds_with_hash(call: Call, function: str) -> bool:
    """Whether the hash of what is surely a string makes a seed or a split."""
    text = call.args[0] if call.args else ""
    string = text[:1] in "'\"" or text.startswith(("f'", "str(")) or ".join(" in text or "name" in text
    return string and bool(re.search(r"seed|split|bucket|fold", f"{call.within} {function}", re.I))


# Taking up again -----------------------------------------------------------------------------------------------------


def resuming(context: Context) -> Iterable[Outcome]:
    checkpoint = context.signals.checkpoint.value
    if not context.path.training or checkpoint is None:
        yield not_applicable(NO_TRAINING)
    elif not context.signals.resume.value:
        yield not_applicable("Training is not resumed from a checkpoint.")
    elif not {loop.kind for loop in context.path.all_loops} & {"raw_torch", "rl", "lightning"}:
        yield not_applicable(
            "The framework keeps random numbers in the program's own state, or writes them itself."
        )
    elif checkpoint.rng_state or _keeps_its_state(context):
        yield passed(
            "Checkpoints carry the state of the random number generators.",
            *capped(context.signals.checkpoint.evidence),
        )
    else:
        yield failed(
            "Training can be resumed, and its checkpoints do not carry the state of the random number generators: "
            "a resumed run draws other numbers than one that was not interrupted.",
            *capped([*context.signals.resume.evidence, *context.signals.checkpoint.evidence], 4),
        )


_STATES = re.compile(
    r"(?:.*\.)?get_rng_state(?:_all)?|random\.getstate|numpy\.random\.get_state|(?:.*\.)?(?:rng|generator|gen)\.get_state"
)


def _keeps_its_state(context: Context) -> bool:
    """Whether some code reads the generators' state, or seeds them anew at each epoch or step, so that a resumed run finds its place."""
    return any(
        _STATES.fullmatch(call.name)
        or (
            seeds_of(call)
            and re.search(r"epoch|update|step|iter", " ".join((*call.args, *call.kwargs.values())))
        )
        for _, call in context.path.reached.calls()
    )


# The rules -------------------------------------------------------------------------------------------------------------


def _seed_rule(generator: str, severity: Severity, points: float, why: str, call: str) -> Rule:
    return Rule(
        f"determinism.seed_{generator}",
        severity,
        f"Training seeds {GENERATORS[generator]}",
        why,
        f"Call {call} with a seed from the command line, before the data is read and the model is built.",
        "determinism",
        points,
        call,
        f"{GENERATORS[generator]} is drawn from, and nothing on the way seeds it.",
        _seeded(generator),
    )


RULES = (
    _seed_rule(
        "torch",
        Severity.WARNING,
        3,
        "Initial weights, dropout and the order of a shuffling loader come from it: without a seed no two runs are alike, and a difference "
        "between two models cannot be told from chance.",
        "torch.manual_seed(args.seed)",
    ),
    _seed_rule(
        "numpy",
        Severity.WARNING,
        2,
        "Permutations, augmentation and sampling by NumPy differ from run to run.",
        "numpy.random.seed(args.seed)",
    ),
    _seed_rule(
        "python",
        Severity.WARNING,
        1.5,
        "Shuffles and choices by the random module differ from run to run.",
        "random.seed(args.seed)",
    ),
    _seed_rule(
        "tensorflow",
        Severity.WARNING,
        3,
        "Initial weights, dropout and shuffles of tf.data come from it.",
        "tf.random.set_seed(args.seed)",
    ),
    _seed_rule(
        "env",
        Severity.WARNING,
        1.5,
        "Each run meets other starting states and other episodes; returns of two runs are then not comparable.",
        "env.reset(seed=args.seed)",
    ),
    Rule(
        "determinism.seeds_in_processes",
        Severity.WARNING,
        "Spawned processes seed themselves",
        "A process that is spawned starts a new interpreter: the seeds of its parent do not reach it.",
        "Seed at the beginning of the function that is spawned, with the rank added where processes must differ.",
        "determinism",
        2,
        "def worker(rank, args): torch.manual_seed(args.seed + rank)",
        "torch.manual_seed(0); mp.spawn(worker, …), and worker seeds nothing.",
        processes,
    ),
    Rule(
        "determinism.seed_source",
        Severity.WARNING,
        "Seeds are numbers that can be given again",
        "A seed from the clock or from nothing makes every run another one, and nobody knows which it was.",
        "Take the seed from the command line, and write the one that was used to the log.",
        "determinism",
        1.5,
        "random.seed(args.seed)",
        "random.seed(time.time())",
        sources,
    ),
    Rule(
        "determinism.seed_default",
        Severity.WARNING,
        "The seed is on by default",
        "Whoever runs the documented command without the flag gets other numbers each time.",
        "Give the flag a number as its default.",
        "determinism",
        0.5,
        "parser.add_argument('--seed', type=int, default=42)",
        "parser.add_argument('--seed', type=int, default=None)",
        default,
    ),
    Rule(
        "determinism.flags",
        Severity.INFO,
        "Deterministic kernels can be asked for",
        "Many GPU kernels add in an order that differs from run to run; with the same seed results then differ in the last digits, and after an epoch visibly.",
        "Offer a flag for deterministic kernels, and say what it costs.",
        "determinism",
        1,
        "torch.use_deterministic_algorithms(True)",
        "Training on a GPU, no switch for deterministic kernels.",
        flags,
    ),
    Rule(
        "determinism.kernel_choice",
        Severity.INFO,
        "Kernels are not chosen by timing",
        "cuDNN's benchmark mode measures kernels and takes the fastest, which may be another one next time, with other rounding.",
        "Set torch.backends.cudnn.benchmark = False in runs that are to be reproduced.",
        "determinism",
        0.5,
        "torch.backends.cudnn.benchmark = not args.deterministic",
        "torch.backends.cudnn.benchmark = True",
        anti_flags,
    ),
    Rule(
        "determinism.loader_workers",
        Severity.WARNING,
        "Loader workers draw different numbers",
        "Worker processes inherit one state of NumPy's generator: with PyTorch before 1.9 all of them draw the same augmentations, in every epoch.",
        "Pass a worker_init_fn that seeds NumPy from torch.initial_seed(), or require torch>=1.9.",
        "determinism",
        1,
        "DataLoader(…, worker_init_fn=seed_worker, generator=g)",
        "np.random in __getitem__, DataLoader(num_workers=4), torch==1.4",
        workers,
    ),
    Rule(
        "determinism.order",
        Severity.WARNING,
        "Data comes in an order that the code decides",
        "The order of a directory or of a set differs between machines and runs: a seeded shuffle of another order is another shuffle.",
        "Sort before iterating.",
        "determinism",
        1,
        "for name in sorted(os.listdir(folder))",
        "for name in os.listdir(folder)",
        order,
    ),
    Rule(
        "determinism.resume",
        Severity.INFO,
        "A resumed run continues the same random numbers",
        "Without the generators' states a resumed run is not the run that was interrupted.",
        "Save torch.get_rng_state(), numpy.random.get_state() and random.getstate() with each checkpoint, and set them again.",
        "determinism",
        0.5,
        "{'model': …, 'optimizer': …, 'rng_state': torch.get_rng_state()}",
        "{'model': …, 'optimizer': …, 'epoch': …}",
        resuming,
    ),
)
