"""Data: where it comes from, whether it is the same next year, and whether its split is."""

import re
from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_example_path
from audit.facts.python.model import Call
from audit.rules.randomness import Script, scripts
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, listed
from audit.signals.analysis import analysis
from audit.signals.data import Source, sources

NO_TRAINING = "Nothing in the repository's own code trains a model."


def _training_files(context: Context) -> frozenset[str]:
    return frozenset(context.path.reached.scopes) if context.path.training else frozenset()


# Sources ---------------------------------------------------------------------------------------------------------


def stated(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    if not ({loop.kind for loop in context.path.all_loops} - {"rl"}):
        yield not_applicable("Training learns from environments, not from a data set.")
        return
    signal = context.signals.dataset_sources
    named = [kind for kind in signal.value if kind != "local files"]
    told = _told(context)
    hub = context.signals.dataset_ids
    if named or hub.value:
        yield passed(
            f"The data comes from {listed(named) if named else 'the hub'}.",
            *capped(signal.evidence or hub.evidence),
        )
    elif told:
        yield passed("A document says which data is used.", *capped(told, 3))
    elif known := _well_known(context):
        yield passed("A well-known data set is named.", known)
    else:
        yield failed(
            "Training reads local files, and neither the code nor a document says where they come from."
            if "local files" in signal.value
            else "Neither the code nor a document says on which data training runs.",
            *capped(signal.evidence or context.path.primary_loop[1], 3),
        )


def _told(context: Context) -> list[Place]:
    """Where documents speak about the data set."""
    return [
        Place(path, line)
        for path, body in context.repository.docs.items()
        for topic, line in body.topics
        if topic == "dataset"
    ]


_WELL_KNOWN = re.compile(
    r"(?:^|[^a-z])(imagenet|cifar-?10{1,2}|mnist|coco|wikitext|openwebtext|librispeech|ljspeech|lj ?speech|squad|glue|laion|the ?pile|c4|"
    r"pascal ?voc|voc20\d\d|kitti|cityscapes|celeba|ffhq|lsun|shakespeare|wmt|cora|citeseer|pubmed|movielens|criteo|iwslt|wikipedia|"
    r"bookcorpus|snli|mnli|imdb|ade20k|kinetics|vctk|common ?voice|alpaca|sharegpt)(?:[^a-z]|$)",
    re.I,
)


def _well_known(context: Context) -> Place | None:
    """Where a document, a script or the name of a file on the training path names a data set that everybody knows."""
    for path, body in context.repository.docs.items():
        for text, _, line in body.headings:
            if _WELL_KNOWN.search(text):
                return Place(path, line)
    for path, command in context.path.commands:
        if _WELL_KNOWN.search(command.text):
            return Place(path, command.line)
    for path in context.path.reached.scopes:
        if _WELL_KNOWN.search(path):
            return Place(path)
    return None


def documentation(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    if not ({loop.kind for loop in context.path.all_loops} - {"rl"}):
        yield not_applicable("Training learns from environments, not from a data set.")
    elif analysis(context.repository, context.signals).has_dataset_docs or _told(context):
        yield passed("A document speaks about the data.", *capped(_told(context), 3))
    elif known := _well_known(context):
        yield passed("A well-known data set is named.", known)
    else:
        yield failed("No document says what the data is: its source, size, licence, preparation and splits.")


# Pins ------------------------------------------------------------------------------------------------------------


def downloads(context: Context) -> Iterable[Outcome]:
    """Files that code or a script downloads without comparing a checksum; one finding a file."""
    found = [source for source in sources(context.repository, context.path) if source.kind == "url"]
    relevant = [source for source in found if _for_data(context, source)]
    if not relevant:
        yield not_applicable("No data is downloaded from a plain address.")
        return
    loose = [source for source in relevant if not source.pinned]
    files = tuple(dict.fromkeys(source.path for source in loose))
    told = files[:_MOST_FILES] if len(files) > _MOST_FILES + 1 else files
    for path in told:
        places = [Place(path, source.line) for source in loose if source.path == path]
        what = "a file" if len(places) == 1 else f"{len(places)} files"
        yield failed(
            f"{path} downloads {what} and compares no checksum: whatever the address answers is used.",
            *capped(places),
            severity=Severity.INFO if is_example_path(path) else None,
        )
    rest = files[len(told) :]
    if rest:
        yield failed(
            f"{len(rest)} further files download data and compare no checksum ({listed(rest, 3)}).",
            *capped(Place(path) for path in rest),
            key="more",
            severity=Severity.INFO,
        )
    if not loose:
        yield passed(
            "Downloads of data compare a checksum or name a commit.",
            *capped(Place(s.path, s.line) for s in relevant),
        )


_MOST_FILES = 3
_DATA_NAME = re.compile(
    r"data|corpus|corpora|download|prepare|imagenet|squad|glue|wmt|wikitext|librispeech|ljspeech|coco|mnist",
    re.I,
)
_NOT_DATA = re.compile(
    r"model|weight|checkpoint|ckpt|pretrained|stage|token|vocab|triton|runner|cicd|(?:^|/)ci/|docker|install|util|demo|deploy|hub|storage|server|entrypoint|env",
    re.I,
)
_CHECKS = re.compile(r"(?:md5|sha1|sha256|sha512|shasum|md5sum|hashlib|checksum)", re.I)


def _for_data(context: Context, source: Source) -> bool:
    """Whether the download belongs to data, and nothing beside it checks what came."""
    name = source.path.rpartition("/")[2]
    if _NOT_DATA.search(source.path) or not _DATA_NAME.search(name) or source.path.startswith("."):
        return False
    facts = context.repository.code.get(source.path)
    if facts is not None:
        return not any(item.module == "hashlib" for item in facts.imports)
    script = context.repository.scripts.get(source.path)
    return script is not None and not any(_CHECKS.search(command.text) for command in script.commands)


def versions(context: Context) -> Iterable[Outcome]:
    """Data sets of catalogues that keep versions, asked for without one."""
    found = [
        s for s in sources(context.repository, context.path) if s.kind in ("tensorflow_datasets", "openml")
    ]
    files = _training_files(context) or frozenset(context.path.reached.scopes)
    used = [source for source in found if source.path in files]
    if not used:
        yield not_applicable("No data set of a catalogue with versions is used.")
        return
    loose = [source for source in used if not source.pinned and not _says_a_version(context, source)]
    if not loose:
        yield passed(
            "Data sets of catalogues are asked for by version.", *capped(Place(s.path, s.line) for s in used)
        )
        return
    names = {"tensorflow_datasets": "TensorFlow Datasets", "openml": "OpenML"}
    places = [Place(source.path, source.line) for source in loose]
    yield failed(
        f"{places[0].path}:{places[0].line} takes {'a data set' if len(places) == 1 else 'data sets'} of {names[loose[0].kind]} "
        f"without a version{f' (and {len(places) - 1} more)' if len(places) > 1 else ''}: the newest is used.",
        *capped(places),
    )


def _says_a_version(context: Context, source: Source) -> bool:
    """Whether the name is passed in from outside, where it may carry a version."""
    for call in context.repository.code[source.path].calls:
        if call.line == source.line and call.name.rpartition(".")[2] in ("load", "builder", "fetch_openml"):
            first = call.args[0] if call.args else call.kwargs.get("name", "")
            return first[:1] not in "'\"" or "version" in call.kwargs
    return True


# Splits ----------------------------------------------------------------------------------------------------------


def splits(context: Context) -> Iterable[Outcome]:
    """Random splits without a seed of their own, one finding each."""
    found = scripts(context)
    if not found:
        yield not_applicable(NO_TRAINING)
        return
    looked: list[Place] = []
    bad: dict[tuple[str, int], Outcome] = {}
    for script in found:
        for file, call in _calls(context, script):
            generator = _splits_with(call)
            if not generator:
                continue
            looked.append(Place(file, call.line))
            if _has_own_seed(call):
                continue
            seeded = script.seeded(generator)
            if (file, call.line) in bad and seeded:
                continue
            bad[file, call.line] = _split(file, call, generator, seeded)
    yield from list(bad.values())[:OUTCOME_LIMIT]
    if not looked:
        yield not_applicable("Training makes no random split.")
    elif not bad:
        yield passed("Random splits are seeded.", *capped(looked))


def _calls(context: Context, script: Script) -> Iterable[tuple[str, Call]]:
    for path, index in sorted(script.nodes):
        for call in context.path.graph.python[path].calls:
            if call.scope == index:
                yield path, call


_SHUFFLED_FOLDS = frozenset(
    {"KFold", "StratifiedKFold", "GroupKFold", "RepeatedKFold", "RepeatedStratifiedKFold"}
)


def _splits_with(call: Call) -> str:
    """The generator from which a random split draws where it gets no seed of its own, "" for no random split."""
    receiver, _, last = call.name.rpartition(".")
    if last == "train_test_split":
        return "" if call.kwargs.get("shuffle") == "False" else "numpy"
    if last == "random_split" and (receiver.startswith("torch") or not receiver):
        return "torch"
    if last in ("ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit"):
        return "numpy"
    if last in _SHUFFLED_FOLDS and receiver.startswith("sklearn") and call.kwargs.get("shuffle") == "True":
        return "numpy"
    return ""


def _has_own_seed(call: Call) -> bool:
    if "**" in call.kwargs:
        return True
    given = [call.kwargs.get(word, "None") for word in ("random_state", "seed", "generator")]
    if any(value != "None" for value in given):
        return True
    return call.name.endswith("random_split") and len(call.args) > 2


def _split(file: str, call: Call, generator: str, seeded: bool) -> Outcome:
    last = call.name.rpartition(".")[2]
    own = call.name.startswith("sklearn") or last == "random_split"
    word = "generator" if last == "random_split" else "random_state" if own else "seed"
    if seeded:
        said = f"{file}:{call.line} splits the data with {last} and no {word}: the split changes with everything that draws random numbers before it."
    else:
        said = f"{file}:{call.line} splits the data with {last} and no {word}, and nothing seeds the generator: every run trains and tests on other examples."
    mend = "generator=torch.Generator().manual_seed(seed)" if word == "generator" else f"{word}=seed"
    return failed(
        said,
        Place(file, call.line),
        fix=f"Pass `{mend}`, with a seed for the split that stays the same when the seed for training changes.",
        key=last,
        severity=Severity.INFO if seeded else None,
    )


RULES = (
    Rule(
        "data.source",
        Severity.WARNING,
        "The source of the data is stated",
        "Code that reads files nobody else has cannot be run by anybody else.",
        "Say in the README which data is used and how to get it, or load it by name.",
        "data",
        4,
        "load_dataset('imdb'), or a README section about the data.",
        "open(args.data) and no word about what it is.",
        stated,
    ),
    Rule(
        "data.documentation",
        Severity.INFO,
        "The data is described",
        "Version, size, licence, cleaning and splits decide what a number means.",
        "Add a section or a data card: source, version, licence, size, preparation, splits.",
        "data",
        2,
        "docs/data.md with source, size and splits.",
        "No document mentions the data.",
        documentation,
    ),
    Rule(
        "data.checksums",
        Severity.WARNING,
        "Downloads are checked",
        "The file behind an address changes or is replaced without notice; a checksum notices.",
        "Write down the SHA-256 and compare it after the download.",
        "data",
        2,
        "download_url(url, root, md5='…')",
        "urllib.request.urlretrieve(url, 'train.csv')",
        downloads,
    ),
    Rule(
        "data.versions",
        Severity.INFO,
        "Data sets are asked for by version",
        "Catalogues correct and extend their data sets: without a version the next run may read another one.",
        "Name the version: `tfds.load('mnist:3.0.1')`, `fetch_openml(data_id=…)`.",
        "data",
        1,
        "tfds.load('mnist:3.0.1')",
        "tfds.load('mnist')",
        versions,
    ),
    Rule(
        "data.split_seeded",
        Severity.WARNING,
        "Random splits are seeded",
        "With another split the test set is another one, and two results are not about the same task.",
        "Give the split a seed of its own.",
        "data",
        3,
        "train_test_split(x, y, random_state=0)",
        "train_test_split(x, y)",
        splits,
    ),
)
