"""Where the data comes from, and whether it is the same data next year."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.classify import is_test_path
from audit.facts.model import Command, DvcFacts
from audit.facts.python.model import Call
from audit.signals.once import once
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_COMMIT = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_CHECKSUM = ("md5", "sha256", "checksum", "file_hash", "md5_hash", "known_hash", "hash", "tgz_md5")
_DOWNLOADS = frozenset(
    {
        "urlretrieve",
        "download_url",
        "get_file",
        "cached_path",
        "download_and_extract_archive",
        "download_file",
        "download",
    }
)
_COMMITTED = re.compile(r"\.(csv|tsv|jsonl|json|txt|parquet|npz|npy|arff|libsvm|mat|x|y|graph)$", re.I)
_DATA_FOLDER = re.compile(r"(^|/)(data|dataset|datasets|corpus|raw)(/|$)", re.I)
_NO_DATA = ("requirements", "readme", "license", "package", "tsconfig")
_ENVIRONMENTS = frozenset({"gym", "gymnasium", "envpool", "pettingzoo", "procgen"})


class Source(msgspec.Struct, frozen=True, order=True):
    """One way in which data gets in. `pinned`: None where the question does not arise."""

    kind: str
    pinned: bool | None
    path: str
    line: int | None


def sources(repository: Repository, path: TrainingPath) -> tuple[Source, ...]:
    """Every source of data that the repository's own code and scripts use."""
    found = list(_in_code(repository))
    for file, command in path.commands:
        found += _of_command(file, command)
    for file, body in repository.bodies(DvcFacts):
        found += [Source("dvc", bool(checksum), file, line) for _, checksum, line in body.outputs]
    found += _committed(repository)
    return tuple(sorted(set(found), key=lambda s: (s.kind, s.path, s.line or 0)))


@once
def _in_code(repository: Repository) -> tuple[Source, ...]:
    code = repository.code.items()
    return tuple(source for file, facts in code for call in facts.calls for source in _of_call(file, call))


def _of_call(file: str, call: Call) -> Iterator[Source]:
    name, last = call.name, call.name.rpartition(".")[2]
    first = (call.args[0] if call.args else call.kwargs.get("path", "")).strip("'\"")
    where = (file, call.line)
    if last in ("load_dataset", "load_dataset_builder") and name.startswith(
        ("datasets.", "nlp.", "load_dataset")
    ):
        if first in (
            "json",
            "csv",
            "text",
            "parquet",
            "imagefolder",
            "arrow",
            "pandas",
            "audiofolder",
            "webdataset",
        ):
            yield Source("local files", None, *where)
        else:
            yield Source("hub", bool(_COMMIT.search(call.kwargs.get("revision", ""))), *where)
    elif name.startswith("torchvision.datasets.") and last not in (
        "ImageFolder",
        "DatasetFolder",
        "FakeData",
        "VisionDataset",
        "utils",
    ):
        if last[:1].isupper():
            yield Source("torchvision", True, *where)
    elif name.startswith("torch_geometric.datasets.") and last[:1].isupper():
        yield Source("torch_geometric", False, *where)
    elif name.startswith("tensorflow_datasets.") and last in ("load", "builder"):
        yield Source("tensorflow_datasets", bool(re.search(r":\d+\.\d+\.\d+", first)), *where)
    elif last in ("ImageFolder", "load_from_disk", "read_csv", "read_parquet", "memmap", "fromfile"):
        if not first.startswith(("http://", "https://")):
            yield Source("local files", None, *where)
        else:
            yield Source("url", bool(_COMMIT.search(first)), *where)
    elif last in _DOWNLOADS and (
        "url" in name.lower() or last != "download" or name.startswith(("wget.", "gdown.", "kagglehub."))
    ):
        words = " ".join([*call.args, *call.kwargs.values()])
        yield Source(
            "url", any(word in call.kwargs for word in _CHECKSUM) or bool(_COMMIT.search(words)), *where
        )
    elif last == "make" and name.partition(".")[0] in _ENVIRONMENTS:
        yield Source("rl_env", None, *where)
    elif name.startswith(("sklearn.datasets.", "keras.datasets.", "tensorflow.keras.datasets.")):
        yield Source("library", True, *where)
    elif last == "fetch_openml":
        yield Source("openml", "data_id" in call.kwargs, *where)


def _of_command(file: str, command: Command) -> Iterator[Source]:
    if is_test_path(file):
        return
    if command.program in ("wget", "curl", "gdown", "kaggle", "aria2c"):
        urls = re.findall(r"https?://[^\s'\"]{4,400}", command.text)
        data = [
            url
            for url in urls
            if re.search(
                r"\.(zip|tar|tgz|gz|csv|json|jsonl|txt|parquet|npz|bz2|7z|xz)\b|/resolve/|/dataset", url
            )
        ]
        if data or command.program in ("gdown", "kaggle"):
            yield Source("url", any(_COMMIT.search(url) for url in data), file, command.line)


def _committed(repository: Repository) -> Iterator[Source]:
    """Data files that stand in the repository itself: the commit pins them."""
    for path in repository.paths:
        folder, _, name = path.rpartition("/")
        is_data = _COMMITTED.search(name) and not name.lower().startswith(_NO_DATA)
        if is_data and _DATA_FOLDER.search(folder) and not is_test_path(path):
            yield Source("committed", True, path, None)
            return


def dataset_sources(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """The kinds of source, sorted, each with its first place."""
    places: dict[str, Place] = {}
    for source in sources(repository, path):
        places.setdefault(source.kind, Place(source.path, source.line, source.kind))
    return Signal(tuple(sorted(places)), tuple(places[kind] for kind in sorted(places))[:6])


def dataset_pinned(repository: Repository, path: TrainingPath) -> Signal[str | None]:
    """ "yes" where every source is pinned, "no" where none is, "partial" between; None where nothing is there to pin."""
    known = [source for source in sources(repository, path) if source.pinned is not None]
    if not known:
        return Signal(None)
    loose = [source for source in known if not source.pinned]
    value = "yes" if not loose else "no" if len(loose) == len(known) else "partial"
    shown = loose or known
    return Signal(
        value,
        tuple(
            Place(s.path, s.line, f"{s.kind}, {'pinned' if s.pinned else 'not pinned'}") for s in shown[:4]
        ),
    )
