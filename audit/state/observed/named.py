"""Models and data sets that options, keys and configurations name, where no call shows where the names go."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator

import msgspec

from audit.documents.place import Place
from audit.documents.state import Scalar
from audit.facts.python.identities import identity_kind
from audit.signals.hub import is_foreign, role_of
from audit.signals.literals import Use, is_bare_model, uses
from audit.signals.once import once
from audit.signals.repository import Repository
from audit.state.observed.calls import Group
from audit.state.observed.model import Rank
from audit.state.observed.options import Said
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene
from audit.state.observed.vocabulary import role_of_name, vocabulary, without_role

SPLITS = {
    "train": "train",
    "validation": "validation",
    "val": "validation",
    "valid": "validation",
    "dev": "validation",
    "test": "test",
    "eval": "evaluation",
}
"""Words for parts of data, and the role of a data set of which they speak."""

_NO_ID = re.compile(r".*\.(?:py|ya?ml|json|txt|csv|jsonl|sh|md)$|.*\s.*|\d+(?:\.\d+)?|", re.DOTALL)


def is_id(value: object) -> bool:
    """Whether a value can be the name of a model or a data set: a text that is no file of another kind, no sentence, no number."""
    return isinstance(value, str) and len(value) < 300 and not _NO_ID.fullmatch(value)


_NO_NAME = frozenset(
    (
        "scratch resume auto none null default best last latest base small medium large xl tiny true false random all "
        "train test val main custom model pretrained json csv"
    ).split()
)


def by_names(scene: Scene, resolver: Resolver, folder: str) -> Iterator[Group]:
    """Options that name a model or a data set, where no call shows where they go."""
    best: dict[str, tuple[int, Group]] = {}
    for key in resolver.settings.names():
        said = resolver.settings.about(key)
        if not said or all(each.value is None and each.known for each in said):
            continue
        for setting, index in _meant(key.rpartition(".")[2], key, "train" if scene.trains else "evaluation"):
            about = (
                _as_model(scene, setting, key, said, resolver.settings.choices.get(key, ()))
                if setting.startswith("models.")
                else _as_data(scene, setting, said, folder)
            )
            if about is not None:
                group = msgspec.structs.replace(about, position=index)
                if group.setting not in best or index < best[group.setting][0]:
                    best[group.setting] = (index, group)
    for _, group in best.values():
        yield group


def _as_model(
    scene: Scene, setting: str, key: str, said: tuple[Said, ...], choices: tuple[Scalar, ...]
) -> Group | None:
    rows = tuple(
        each for each in said if not each.known or each.value is None or _names_model(scene, each.value)
    )
    if any(each.value is not None for each in rows):
        return Group(setting, rows, sure=rows[0] == said[0] and rows[0].known, by_name=True)
    own = [each for each in said if each.known and isinstance(each.value, str)]
    where = own[-1].place if own else said[0].place
    aliases = [use for each in own for use in _aliased(scene, str(each.value))]
    meant = [
        Said(
            use.value,
            Place(use.path, use.line),
            f"what {use.value.rpartition('/')[2]} may stand for",
            Rank.DEFAULT,
            known=False,
        )
        for use in aliases
    ]
    offered = [str(each) for each in choices if identity_kind(str(each)) in ("hub", "api")]
    meant += [Said(each, where, f"a choice of --{key}", Rank.DEFAULT, known=False) for each in offered]
    return Group(setting, tuple(meant), sure=False, by_name=True) if meant else None


def _aliased(scene: Scene, name: str) -> tuple[Use, ...]:
    """Ids in files that run whose last part is `name`: what the repository's own name of a model may stand for."""
    end = "/" + name.lower()
    found = {
        use.value: use
        for use in reversed(uses(scene.repository))
        if use.path in scene.files and use.value.lower().endswith(end)
    }
    # Where some are an API's, the run asks it: what else has the name is a table of weights that it does not load.
    asked = {value for value, use in found.items() if use.kind == "api"}
    return tuple(found[value] for value in sorted(asked or found))


def _names_model(scene: Scene, value: object) -> bool:
    if not isinstance(value, str) or not is_id(value) or value.lower() in _NO_NAME:
        return False
    if not scene.is_llm:
        return bool(re.fullmatch(r"[A-Za-z][\w.\-/]{2,80}", value))
    return (
        identity_kind(value) in ("hub", "api", "path")
        or is_bare_model(value)
        or value.startswith(("./", "~/", "/", "../"))
        or value.count("/") > 1
    )


def _as_data(scene: Scene, setting: str, said: tuple[Said, ...], directory: str) -> Group | None:
    """A data set's id where it is the hub's, its path where it is a file or folder; a name of the repository's own is a candidate."""
    top = next((each for each in said if each.value is not None), None)
    role = setting.rpartition(".")[0]
    if top is None or not isinstance(top.value, str):
        return Group(setting, said, sure=False, by_name=True) if top is None or not top.known else None
    value = top.value.removeprefix("./")
    heads = (f"{directory}/" if directory else "", "", "data/", "datasets/", "dataset/")
    folder = next((f"{head}{value}" for head in heads if _exists(scene, f"{head}{value}")), "")
    if folder or re.search(r"\.(?:jsonl?|csv|tsv|txt|parquet|arrow|npz|npy|bin|pkl|h5|zip|gz|zst)$", value):
        rows = tuple(
            msgspec.structs.replace(each, value=(folder or value) if each is top else each.value)
            for each in said
        )
        return Group(
            f"{role}.path",
            rows,
            sure=top is said[0] and top.known and not value.startswith(("/", "~", "..")),
            by_name=True,
        )
    if identity_kind(value) == "hub" and not is_foreign(value, scene.repository, frozenset()):
        return Group(setting, said, sure=top is said[0] and top.known, by_name=True)
    if is_id(value) and value.lower() not in _NO_NAME and not value.startswith(("/", "~", ".")):
        return Group(setting, said, sure=False, by_name=True)
    return None


def _exists(scene: Scene, name: str) -> bool:
    name = name.rstrip("/")
    return name in scene.repository.path_set or name in own_folders(scene.repository)


def _meant(last: str, key: str, main: str) -> Iterator[tuple[str, int]]:
    known = vocabulary()
    role = role_of_name(key.replace(".", "_")) or "primary"
    bare = last if last in known.models else without_role(key)
    if last not in known.models and role != "primary" and last == role:
        bare = "model"  # `--judge gpt-4`
    parent = key.rpartition(".")[0].rpartition(".")[2]
    if bare in known.models:
        yield f"models.{role}.id", known.models.index(bare)
    elif last in ("path", "name", "id", "partial_pretrain", "repo_id") and parent in (
        "model",
        "models",
        "llm",
        "policy",
        "pretrained_model",
        "base_model",
    ):
        yield f"models.{role}.id", len(known.models)
    elif last in known.datasets:
        words = set(re.split(r"[^a-z]+", last))
        kind = next((each for word, each in SPLITS.items() if word in words), "")
        yield f"datasets.{kind or main}.id", known.datasets.index(last)


@once
def own_folders(repository: Repository) -> frozenset[str]:
    """Every folder of the repository."""
    found: set[str] = set()
    for path in repository.paths:
        at = path.find("/")
        while at >= 0:
            found.add(path[:at])
            at = path.find("/", at + 1)
    return frozenset(found)


def in_files(scene: Scene, files: Collection[str]) -> Iterator[Group]:
    """Data sets that a configuration of the run holds where no option's name tells: keys of a mixture (`org/name: 0.5`), items of a list."""
    found: dict[str, list[Said]] = defaultdict(list)
    for use in uses(scene.repository):
        if (
            use.path not in files
            or use.kind != "hub"
            or role_of(use) != "dataset"
            or is_foreign(use.value, scene.repository, frozenset())
        ):
            continue
        last = use.name.rpartition(".")[2]
        if use.how != "key" and last in vocabulary().datasets:
            continue
        words = set(re.split(r"[^a-z]+", use.name.lower()))
        role = next(
            (each for word, each in SPLITS.items() if word in words and each != "train"),
            "train" if scene.trains else "evaluation",
        )
        found[role].append(
            Said(use.value, Place(use.path, use.line), f"{use.name} in {use.path}", Rank.CONFIG)
        )
    for role, rows in found.items():
        single = len({said.value for said in rows}) == 1
        known = tuple(rows) if single else tuple(msgspec.structs.replace(said, known=False) for said in rows)
        yield Group(f"datasets.{role}.id", known, sure=single, by_name=True)
