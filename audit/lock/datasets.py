"""Datasets: the commit of a hub dataset and a fingerprint of its data, local ones by their files."""

import hashlib
import re
from collections.abc import Sequence

from audit.documents.lock import LockSource, Path
from audit.documents.state import Value
from audit.lock.found import Answers, Found, Surroundings, exact, offline, unavailable, unresolved
from audit.net.hub import Hub, HubFile, Repo, RepoType, UnavailableError

_DATA = re.compile(
    r"(?i)\.(?:parquet|arrow|jsonl?|csv|tsv|txt|zst|gz|zip|tar|xz|bz2|npy|npz|h5|hdf5|tfrecord|mds|bin|feather|sqlite|db"
    r"|wav|flac|mp3|jpe?g|png|mp4)$"
)
_NO_DATA = re.compile(
    r"(?i)(?:^|/)(?:readme|license|licence|citation|dataset_infos|dataset_dict|requirements|\.git)[^/]*$"
)
_CONVERTED = "refs/convert/parquet"
"""The branch where the hub keeps a conversion of `main` to Parquet, as SUBSET/SPLIT/NUMBER.parquet (documentation of the dataset viewer)."""


def resolve(around: Surroundings, path: Path) -> Answers:
    """All that is known of the dataset declared at `path` ("datasets", role)."""
    if places := _paths(around.said(*path, "path")):
        one = len(places) == 1
        return {(*path, "sha256", *(() if one else (place,))): around.files.digest(place) for place in places}
    name = around.text(*path, "id")
    if not name:
        return {}
    if around.files.holds(name.removeprefix("./")):
        return {(*path, "sha256"): around.files.digest(name)}
    revision = around.text(*path, "revision") or "main"
    asked = f"{name}@{revision}"
    wanted: list[Path] = [(*path, "revision"), (*path, "fingerprint")]
    if around.hub is None:
        return dict.fromkeys(wanted, offline(asked))
    around.step(f"Asking for {asked}")
    try:
        repo = around.hub.repo(RepoType.DATASET, name, revision)
    except UnavailableError as error:
        return dict.fromkeys(wanted, unavailable(error, asked))
    note = "" if revision == repo.commit else f"{revision} was this commit"
    if repo.id != name:
        note = "; ".join(filter(None, (note, f"{name} is called {repo.id} now")))
    return {
        wanted[0]: exact(repo.commit, LockSource.HUB_API, note, asked),
        wanted[1]: _fingerprint(around, around.hub, repo, path, asked),
    }


def _paths(value: Value) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),) if value else ()


def _fingerprint(around: Surroundings, hub: Hub, repo: Repo, path: Path, asked: str) -> Found:
    """A digest of the data alone: a new README is a new commit and the same data."""
    try:
        data = [file for file in hub.tree(RepoType.DATASET, repo.id, repo.commit) if _is_data(file.path)]
        if data:
            return _of(data, "of the repository", asked)
        return _converted(around, hub, repo, path, asked)
    except UnavailableError as error:
        return unavailable(error, asked)


def _converted(around: Surroundings, hub: Hub, repo: Repo, path: Path, asked: str) -> Found:
    """The fingerprint of the hub's own conversion, where the repository holds no data but a script that loads it."""
    if hub.repo(RepoType.DATASET, repo.id, "main").commit != repo.commit:
        return unresolved(
            LockSource.HUB_API, "the repository holds no data, and its conversion is of another commit", asked
        )
    subset, split = around.text(*path, "subset"), around.text(*path, "split")
    listed = [
        file
        for file in hub.tree(RepoType.DATASET, repo.id, _CONVERTED)
        if file.path.endswith(".parquet") and _is_part(file.path, subset, split)
    ]
    if not listed:
        return unresolved(
            LockSource.HUB_API, "neither the repository nor its conversion holds such data", asked
        )
    return _of(listed, "of the hub's conversion to Parquet", asked)


def _is_part(path: str, subset: str, split: str) -> bool:
    parts = path.split("/")
    if len(parts) < 3:
        return False
    named = re.split(r"[\[+]", split)[0]  # `train[:10%]` reads of train
    return (not subset or parts[0] == subset) and (not named or parts[-2] in (named, f"partial-{named}"))


def _is_data(path: str) -> bool:
    return bool(_DATA.search(path)) and not _NO_DATA.search(path)


def _of(files: Sequence[HubFile], what: str, asked: str) -> Found:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.path}\0{file.size}\0{file.digest}\n".encode("utf-8", "surrogateescape"))
    size = sum(file.size for file in files)
    note = f"{len(files)} data file{'s' if len(files) > 1 else ''} {what}, {size} bytes"
    return exact(f"sha256:{digest.hexdigest()}", LockSource.HUB_API, note, asked)
