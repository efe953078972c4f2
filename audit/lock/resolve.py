"""From a manifest to a lock: every question is asked at once, and an answer that did not change keeps its date."""

import hashlib
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from audit.documents.lock import SCHEMA_VERSION, Lock, LockedManifest, LockSource, Path, Resolved
from audit.documents.state import Confidence
from audit.lock import containers, datasets, machine, models, packages
from audit.lock.document import ordered
from audit.lock.found import TRANSIENT, Answers, Found, Surroundings
from audit.safety.redact import redacted
from audit.safety.sanitize import printable

_MACHINE = frozenset({"python", "platform", "gpu", "driver"})


def resolve(
    around: Surroundings, manifest: LockedManifest, before: Lock | None, tool: str, moment: str
) -> Lock:
    """The lock of the manifest `around` as things are now. `before`: the lock that it takes the place of; `moment`: now, in UTC."""
    earlier = before.values if before is not None else {}
    values = {path: _dated(found, earlier.get(path), moment) for path, found in answers_of(around).items()}
    if not around.machine:
        values |= {path: value for path, value in earlier.items() if is_of_machine(path)}
    values = ordered(values)
    if before is not None and before.manifest == manifest and before.values == values:
        return before
    return Lock(SCHEMA_VERSION, tool, manifest, values)


def answers_of(around: Surroundings) -> Answers:
    """Every value that the manifest asks for, as it is now, fit to be shown: no credential, each question and note on one line."""
    answers: Answers = dict(_declared(around))
    questions = list(_questions(around))
    with ThreadPoolExecutor(max_workers=max(1, around.jobs)) as pool:
        for answered in pool.map(lambda ask: ask(), questions):
            answers |= answered
    return {path: _plain(found) for path, found in redacted(answers).items()}


def is_of_machine(path: Path) -> bool:
    """Whether a value tells about the machine that the lock was made on, not about the experiment."""
    return path[:1] == ("environment",) and (path[1] in _MACHINE or path[-1] == "installed")


def _declared(around: Surroundings) -> Iterator[tuple[Path, Found]]:
    """What the manifest says, as it stands: the lock alone tells the whole experiment."""
    leaves = around.declared.leaves
    for path, leaf in leaves.items():
        yield _keys(path, leaves), Found(leaf.value, LockSource.MANIFEST, Confidence.DECLARED)


def _keys(path: str, leaves: Container[str]) -> Path:
    """A dotted path as keys. Where one names another's folder (metrics `f1` and `f1.macro`), the dot is part of the last key."""
    keys = path.split(".")
    for count in range(1, len(keys)):
        if ".".join(keys[:count]) in leaves:
            return (*keys[: count - 1], ".".join(keys[count - 1 :]))
    return tuple(keys)


def _questions(around: Surroundings) -> Iterator[Callable[[], Answers]]:
    for stage in ((), *(("stages", name) for name in around.names("stages"))):
        for role in around.names(*stage, "models"):
            yield partial(models.resolve, around, (*stage, "models", role))
        for role in around.names(*stage, "datasets"):
            yield partial(datasets.resolve, around, (*stage, "datasets", role))
        yield partial(containers.resolve, around, (*stage, "execution", "container"))
    yield partial(_files, around)
    yield partial(packages.resolve, around)
    if around.machine:
        yield partial(machine.resolve, around)


_FILES = frozenset({"implementation", "definitions", "few_shot", "chat_template", "preprocessing"})
"""Fields that hold a file's path, or something else."""


def _files(around: Surroundings) -> Answers:
    """Digests of prompts, metric code, configurations and scripts: what is declared as a path, and what a command names."""
    named: set[str] = set()
    for path, leaf in around.declared.leaves.items():
        keys = path.split(".")
        for value in leaf.value if isinstance(leaf.value, tuple) else (leaf.value,):
            if isinstance(value, str):
                named |= set(_named(around, keys, value))
    return {("files", place): around.files.digest(place) for place in named}


def _named(around: Surroundings, keys: list[str], value: str) -> list[str]:
    """The files that one value of the manifest names."""
    if "config_files" in keys or (keys[-1] == "path" and "datasets" not in keys and "artifacts" not in keys):
        return [value.removeprefix("./").rstrip("/")]
    if keys[-1] == "command":
        return _of_words(around, value.replace("=", " ").split()[:500])
    if keys[0] == "bindings" or _FILES & set(keys[-2:]):
        return _of_words(around, [value.partition(":")[0]])
    return []


def _of_words(around: Surroundings, words: list[str]) -> list[str]:
    """The words that name a file of the repository."""
    plain = [word.strip("'\"").removeprefix("./") for word in words]
    return [word for word in plain if "." in word and around.files.holds(word)]


def _dated(found: Found, earlier: Resolved | None, moment: str) -> Resolved:
    """The answer with the moment since when it holds. An earlier answer to the same question outlives a network that does not answer."""
    now = Resolved(found.value, found.source, found.confidence, moment, _note(found))
    if earlier is None:
        return now
    same_question = asked_of(earlier) == found.asked if found.asked else earlier.source not in TRANSIENT
    if found.source in TRANSIENT and same_question:
        return earlier
    same = msgspec.structs.replace(now, resolved_at=earlier.resolved_at)
    return earlier if same == earlier else now


_SEPARATOR = " | "
_MAX_ASKED = 300


def _plain(found: Found) -> Found:
    """An answer whose question and note are each one line, the question short enough to be found again in a note."""
    asked = printable(found.asked).replace(_SEPARATOR, " ¦ ")
    if len(asked) > _MAX_ASKED:
        asked = f"{asked[:200]}… (sha256:{hashlib.sha256(asked.encode('utf-8', 'replace')).hexdigest()[:16]})"
    note = asked if found.note == found.asked else printable(found.note)
    if (asked, note) == (found.asked, found.note):
        return found
    return msgspec.structs.replace(found, asked=asked, note=note)


def _note(found: Found) -> str:
    """What was asked for, then what there is to say: the first is how a later run knows that it asks the same."""
    return _SEPARATOR.join(filter(None, (found.asked, found.note if found.note != found.asked else "")))[:800]


def asked_of(earlier: Resolved) -> str:
    """What was asked for, "" where no network was."""
    return earlier.note.partition(_SEPARATOR)[0]
