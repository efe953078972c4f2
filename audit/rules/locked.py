"""What a lock has to hold, level 2: exact identities of models, data, prompts and packages, and none that is out of date."""

from collections.abc import Callable, Iterable, Iterator

from audit.documents.finding import Severity
from audit.documents.lock import LOCK_PATH, Path, Resolved
from audit.documents.place import Place
from audit.documents.state import Confidence
from audit.facts.dependencies.line import normalise
from audit.lock.held import Held, Part
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, not_checked, passed
from audit.rules.wording import capped, counted, listed

Check = Callable[[Context], Iterable[Outcome]]

_WEIGHTIEST = frozenset({"primary", "judge"})
"""Roles whose model makes the numbers."""
_PINNED = frozenset({"dated_snapshot"})
_RELOCK = "Run `ml-audit lock`, and look at what changed before you commit it."
_NO_LOCK = f"There is no {LOCK_PATH}."


# What is resolved ----------------------------------------------------------------------------------------------------


def _from_the_hub(section: str, key: str, what: str, *, by_role: bool = False) -> Check:
    """A rule that the lock knows `key` of each role of a section. `by_role`: the weightiest roles keep the rule's severity, others have a lesser one."""

    def check(context: Context) -> Iterable[Outcome]:
        for role, path in _roles(context, section):
            severity = _graver(role) if by_role else None
            yield from _resolved(context, (*path, key), f"{what} {role}", severity)
        yield from _none(context, section)

    return check


def local_files(context: Context) -> Iterable[Outcome]:
    held = context.locked
    found = False
    for path, resolved in _values(held):
        if any(key.endswith("sha256") for key in path) and "datasets" in path:
            found = True
            yield from _told(held, path, resolved, f"the content of {'.'.join(path[:-1])}", None)
    if not found:
        yield not_applicable("No data set of the manifest lies in the repository.")


def prompts(context: Context) -> Iterable[Outcome]:
    held = context.locked
    declared = context.declared
    named = _prompts(context)
    if held is None or declared is None or not named:
        yield not_applicable("The manifest names no prompt's file." if held else _NO_LOCK)
        return
    for role, place in named:
        resolved = held.lock.values.get(("files", place))
        severity = Severity.CRITICAL if role == "judge" else None
        what = f"the prompt {role} ({place})"
        if resolved is None:
            yield failed(
                f"{LOCK_PATH} does not hold {what}.",
                Place(LOCK_PATH),
                fix=_RELOCK,
                key=role,
                severity=severity,
            )
        else:
            yield from _told(held, ("files", place), resolved, what, severity)


def backend(context: Context) -> Iterable[Outcome]:
    held = context.locked
    name = held.lock.values.get(("inference", "backend")) if held else None
    if held is None or name is None or not isinstance(name.value, str):
        yield not_applicable("The manifest names no backend." if held else _NO_LOCK)
        return
    package = normalise(name.value)
    columns = {
        path[-1]: resolved
        for path, resolved in held.lock.values.items()
        if path[:3] == ("environment", "packages", package)
    }
    known = [column for column, resolved in columns.items() if resolved.confidence is Confidence.EXACT]
    if not columns:
        yield not_checked(
            f"{name.value} is no package of this environment.", _place(held, ("inference", "backend"))
        )
    elif known:
        yield passed(
            f"The version of {package} is locked ({listed(known, 3)}).",
            _place(held, ("inference", "backend")),
        )
    else:
        yield failed(
            f"No version of the backend {package} is known: neither declared exactly, nor locked, nor installed.",
            *capped(_place(held, ("environment", "packages", package, column)) for column in columns),
            fix=f"Pin {package}=={{version}} where the dependencies are declared.",
            key=package,
        )


def pinnability(context: Context) -> Iterable[Outcome]:
    held = context.locked
    rows = [(path, each) for path, each in _values(held) if path[-1] == "pinnability"]
    for path, each in rows:
        name = held.lock.values.get((*path[:-1], "id")) if held else None
        model = f"{path[-2]} ({name.value if name else 'no id'})"
        if each.value in _PINNED:
            yield passed(f"The model {model} is {each.note}.", _place(held, path))
        else:
            yield failed(
                f"The model {model} is {each.note.partition(';')[0]}: which model answers may change.",
                _place(held, path),
                key=".".join(path),
                severity=Severity.WARNING if path[-2] in _WEIGHTIEST else Severity.INFO,
            )
    if not rows:
        yield not_applicable("The manifest names no model behind an API." if held else _NO_LOCK)


# What still holds ------------------------------------------------------------------------------------------------------


def lock_fresh(context: Context) -> Iterable[Outcome]:
    yield from _fresh(context, Part.OTHER, "what else the manifest declares")


def model_identity(context: Context) -> Iterable[Outcome]:
    yield from _fresh(context, Part.IDENTITY, "models and data sets")


def generation_params(context: Context) -> Iterable[Outcome]:
    yield from _fresh(context, Part.GENERATION, "parameters of generation")


def file_hashes(context: Context) -> Iterable[Outcome]:
    yield from _fresh(context, Part.FILE, "files")
    held = context.locked
    if held and held.unknown:
        names = listed([path[1] if path[0] == "files" else ".".join(path) for path in held.unknown], 4)
        yield not_checked(
            f"{counted(len(held.unknown), 'locked file')} cannot be looked at here: {names}.",
            *capped(_place(held, path) for path in held.unknown),
        )


def environment(context: Context) -> Iterable[Outcome]:
    yield from _fresh(context, Part.ENVIRONMENT, "dependencies")
    held = context.locked
    for path, resolved in _values(held):
        if path[:2] != ("environment", "packages") or path[-1] != "installed" or held is None:
            continue
        locked = held.lock.values.get((*path[:-1], "locked"))
        if locked and locked.value and resolved.value and _public(locked.value) != _public(resolved.value):
            yield failed(
                f"{path[2]} {resolved.value} was installed when the lock was made, and {locked.value} is locked.",
                _place(held, path),
                fix="Install what the dependency lock names, then run `ml-audit lock`.",
                key=path[2],
            )


def custom(context: Context) -> Iterable[Outcome]:
    yield from _fresh(context, Part.CUSTOM, "fields of the project's own")


def _fresh(context: Context, part: Part, what: str) -> Iterator[Outcome]:
    held = context.locked
    if held is None:
        yield not_applicable(_NO_LOCK)
        return
    stale = [one for one in held.stale if one.part is part]
    for one in stale:
        yield failed(one.message, _place(held, one.path), fix=_RELOCK, key=".".join(one.path))
    if not stale:
        yield passed(f"{LOCK_PATH} holds for {what}.", Place(LOCK_PATH))


def _public(version: object) -> str:
    """A version without its local part: 2.4.0+cu121 is 2.4.0 built for one CUDA."""
    return str(version).partition("+")[0]


# Looking things up -------------------------------------------------------------------------------------------------------


def _values(held: Held | None) -> Iterator[tuple[Path, Resolved]]:
    yield from held.lock.values.items() if held else ()


def _roles(context: Context, section: str) -> Iterator[tuple[str, Path]]:
    """(name for people, path) of each role of a section that the lock knows from the hub."""
    seen = dict.fromkeys(
        path[: path.index(section) + 2]
        for path, _ in _values(context.locked)
        if section in path[:3] and path[-1] in ("revision", "tokenizer_revision", "chat_template")
    )
    for path in seen:
        yield ".".join(path[:-2] + path[-1:]) if len(path) > 2 else path[-1], path


def _none(context: Context, section: str) -> Iterator[Outcome]:
    if next(_roles(context, section), None) is None:
        yield not_applicable(f"The lock holds no {section} of the hub." if context.locked else _NO_LOCK)


def _graver(role: str) -> Severity | None:
    return None if role.rpartition(".")[2] in _WEIGHTIEST else Severity.WARNING


def _resolved(context: Context, path: Path, what: str, severity: Severity | None = None) -> Iterator[Outcome]:
    held = context.locked
    resolved = held.lock.values.get(path) if held else None
    if held is not None and resolved is not None:
        yield from _told(held, path, resolved, what, severity)


def _told(
    held: Held | None, path: Path, resolved: Resolved, what: str, severity: Severity | None
) -> Iterator[Outcome]:
    place = _place(held, path)
    if resolved.confidence is Confidence.UNRESOLVED:
        why = resolved.note.rpartition(" | ")[2].rstrip(".") or resolved.source.value
        yield failed(
            f"{LOCK_PATH} does not know {what}: {why}.",
            place,
            fix=_RELOCK,
            key=".".join(path),
            severity=severity,
        )
    else:
        yield passed(f"{LOCK_PATH} holds {what}.", place)


def _place(held: Held | None, path: Path) -> Place:
    return Place(LOCK_PATH, held.lock.lines.get(path) if held else None)


def _prompts(context: Context) -> list[tuple[str, str]]:
    """(role, path) of each prompt that the manifest names as a file."""
    return [
        (path[-2], str(each.value))
        for path, each in _values(context.locked)
        if path[-1] == "path" and "prompts" in path[:3]
    ]


_WHY_IDENTITY = (
    "A branch or a name moves: without the commit nobody can load again what the numbers were made with."
)


def lock_present(context: Context) -> Iterable[Outcome]:
    if context.declared is None:
        yield not_applicable("There is no manifest that could be locked.")
    elif any(entry.path == LOCK_PATH for entry in context.repository.snapshot.entries):
        yield passed(f"There is a {LOCK_PATH}.", Place(LOCK_PATH))
    else:
        yield failed(
            f"{context.declared.positions.name} is not locked: which commits and contents its names stand for is written down nowhere.",
            Place(context.declared.positions.name),
        )


RULES = (
    Rule(
        "consistency.lock_present",
        Severity.INFO,
        "The manifest is locked",
        "A manifest names models, data and prompts; what those names stood for when the numbers were made, only a lock says.",
        "Run `ml-audit lock`, and commit ml-audit.lock.",
        "",
        0,
        "ml-audit.lock beside ml-audit.yaml",
        "ml-audit.yaml alone",
        lock_present,
        level=1,
    ),
    Rule(
        "model.revision_pinned",
        Severity.CRITICAL,
        "The lock knows the commit of each model",
        _WHY_IDENTITY,
        _RELOCK,
        "",
        0,
        "models.primary.revision with a commit of the hub in ml-audit.lock",
        "The lock was made offline: the revision is unresolved.",
        _from_the_hub("models", "revision", "the commit of the model", by_role=True),
        level=2,
    ),
    Rule(
        "model.tokenizer_pinned",
        Severity.WARNING,
        "The lock knows the commit of each tokenizer",
        "Another tokenizer cuts the same text into other tokens: losses, lengths and answers are other ones.",
        _RELOCK,
        "",
        0,
        "models.primary.tokenizer_revision with a commit",
        "models.primary.tokenizer_revision is unresolved.",
        _from_the_hub("models", "tokenizer_revision", "the commit of the tokenizer of"),
        level=2,
    ),
    Rule(
        "model.chat_template_hashed",
        Severity.WARNING,
        "The lock knows the chat template",
        "The template is part of every prompt, and is changed on the hub without a new model. That there is none is an answer, too.",
        _RELOCK,
        "",
        0,
        "models.primary.chat_template: sha256:…, or null with the note that there is none",
        "The repository is gated and no token was set: the template is unresolved.",
        _from_the_hub("models", "chat_template", "the chat template of"),
        level=2,
    ),
    Rule(
        "dataset.revision_pinned",
        Severity.WARNING,
        "The lock knows the commit of each data set",
        "A data set of the hub gains, loses and changes rows without a new name.",
        _RELOCK,
        "",
        0,
        "datasets.train.revision with a commit",
        "datasets.train.revision is unresolved.",
        _from_the_hub("datasets", "revision", "the commit of the data set"),
        level=2,
    ),
    Rule(
        "dataset.local_files_hashed",
        Severity.CRITICAL,
        "The lock knows the content of local data",
        "A file keeps its name when its rows change.",
        "Put the files where the manifest says they are, then run `ml-audit lock`.",
        "",
        0,
        "datasets.train.sha256: sha256:…",
        "The file that datasets.train.path names was not there when the lock was made.",
        local_files,
        level=2,
    ),
    Rule(
        "prompt.hashed",
        Severity.WARNING,
        "The lock knows the text of each prompt",
        "One word in a prompt changes scores by points; the judge's prompt decides all of them.",
        _RELOCK,
        "",
        0,
        "files.prompts/judge.txt: sha256:…",
        "prompts.judge.path names a file that is not there.",
        prompts,
        level=2,
    ),
    Rule(
        "gen.backend_version_locked",
        Severity.WARNING,
        "The version of the inference backend is known",
        "Kernels, sampling and defaults of a backend change between versions, and the outputs with them.",
        "Pin the backend where the dependencies are declared, or lock from the environment that runs it.",
        "",
        0,
        "vllm==0.6.3 in requirements.txt",
        "vllm is declared without a version, and locked nowhere.",
        backend,
        level=2,
    ),
    Rule(
        "judge.pinnability_recorded",
        Severity.WARNING,
        "Models behind an API are named so that they cannot change",
        "A provider moves a name to a newer model: scores by the old one cannot be compared with those by the new.",
        "Use the dated id where the provider has one, and record which model the answers say gave them.",
        "",
        0,
        "models.judge.id: gpt-4o-2024-08-06",
        "models.judge.id: gpt-4o",
        pinnability,
        level=2,
    ),
    Rule(
        "consistency.model_identity",
        Severity.CRITICAL,
        "The lock is of the models and data that are declared",
        "A lock of another model vouches for nothing.",
        _RELOCK,
        "",
        0,
        "models.primary.id is the same in manifest and lock.",
        "models.primary.id was changed in the manifest, and the lock is still of the old one.",
        model_identity,
        level=2,
    ),
    Rule(
        "consistency.generation_params",
        Severity.CRITICAL,
        "The lock is of the generation parameters that are declared",
        "Temperature and length decide the outputs: a lock with others is of another experiment.",
        _RELOCK,
        "",
        0,
        "generation.temperature is the same in manifest and lock.",
        "generation.temperature is 0.7 in the manifest and 0 in the lock.",
        generation_params,
        level=2,
    ),
    Rule(
        "consistency.file_hashes",
        Severity.CRITICAL,
        "Files are what they were when they were locked",
        "A prompt, a configuration or metric code that was edited after the lock makes other numbers under the same lock.",
        _RELOCK,
        "",
        0,
        "prompts/judge.txt has the digest that the lock holds.",
        "prompts/judge.txt was edited after the lock was made.",
        file_hashes,
        level=2,
    ),
    Rule(
        "consistency.env_vs_lock",
        Severity.WARNING,
        "Dependencies are what they were when they were locked",
        "Numbers move with the versions of torch, transformers and their like.",
        _RELOCK,
        "",
        0,
        "torch==2.4.0 in requirements.txt and in the lock.",
        "requirements.txt asks for torch==2.5.0, the lock holds 2.4.0.",
        environment,
        level=2,
    ),
    Rule(
        "consistency.custom_fields",
        Severity.WARNING,
        "The lock is of the project's own fields as they are declared",
        "What a project declares under custom is part of what it compares.",
        _RELOCK,
        "",
        0,
        "custom.max_steps is the same in manifest and lock.",
        "custom.max_steps is 20 in the manifest and 10 in the lock.",
        custom,
        level=2,
    ),
    Rule(
        "consistency.lock_fresh",
        Severity.WARNING,
        "The lock is of the manifest as it is",
        "A lock that is older than the manifest vouches for another experiment.",
        _RELOCK,
        "",
        0,
        "`ml-audit lock --check` says nothing.",
        "training.learning_rate was changed in the manifest after the lock was made.",
        lock_fresh,
        level=2,
    ),
)
