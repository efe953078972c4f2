"""The hub: whether the models and data that numbers depend on, and the code that is taken along, stay the same."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.documents.signals import ApiModel, HubId
from audit.facts.classify import is_docs_path, is_example_path
from audit.facts.model import Command
from audit.facts.python.model import Call
from audit.rules.flags import literal
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted, listed
from audit.signals.hub import trusted_places
from audit.signals.judge import words
from audit.signals.literals import uses
from audit.signals.queries import querying_files
from audit.signals.training_path import resolve_target

_MOST_NAMED = 3
"""Ids of one role that are told one by one; the rest is told together."""

_FEW = 12
"""Up to so many ids of a role the code that runs is taken to be about them; a repository with more is a collection, where only documented runs count."""

_CATALOGUE = 40
"""More ids than this are a catalogue: those that no run uses are not told."""

_DEEPEST = 2
"""Folders between the root and a script whose runs the README's results are taken to come from."""

_JUDGES = frozenset(
    {"judge", "judges", "grader", "graders", "annotator", "evaluator", "evaluators", "verifier"}
)

# Who depends on it -------------------------------------------------------------------------------------------------


def publishes(context: Context) -> Place | None:
    """Where the repository shows results of its own: a README or document that speaks of results and trains or evaluates."""
    signals = context.signals
    if signals.training_loop.value == "none" and not signals.evaluation.value and not context.path.evaluating:
        return None
    readme = context.repository.readme
    body = context.repository.docs.get(readme or "")
    if readme is None or body is None:
        return None
    line = next((line for topic, line in body.topics if topic == "results"), None)
    return Place(readme, line, "results") if line is not None else None


class _Role(msgspec.Struct, frozen=True):
    """An id with the best place where an experiment uses it. `rank`: 3 in a documented run, 2 on the path of a run, 0 elsewhere."""

    id: str
    rank: int
    place: Place
    judge: bool = False


def _ranked(context: Context, ids: Iterable[HubId]) -> list[_Role]:
    """Ids without a pinned revision, those that a run surely uses first."""
    by_id: dict[str, list[HubId]] = defaultdict(list)
    names = _names_of_classes(context)
    for row in ids:
        if (row.path, row.line) not in names and not _NO_ID.search(row.id):
            by_id[row.id].append(row)
    told = _in_documented_runs(context)
    judged = _judging(context)
    chosen = _chosen_in_code(context)
    found = []
    for value, rows in by_id.items():
        if any(row.pinned for row in rows):
            continue
        rank, place = 0, Place(rows[0].path, rows[0].line)
        if value in told:
            rank, place = 3, told[value]
        elif value in chosen:
            rank, place = 2, chosen[value]
        found.append(_Role(value, rank, place, value in judged))
    return sorted(found, key=lambda role: (-role.rank, not role.judge, role.place.path, role.place.line or 0))


_NO_ID = re.compile(r"/(?:logits|test|train|valid|val|dev)$|profiles?/", re.I)
_CLASS_NAMES = re.compile(r"(?:^|\.)(?:names|classes|labels|categories)\.\d+$", re.I)


def _names_of_classes(context: Context) -> frozenset[tuple[str, int | None]]:
    """Places of settings that list the classes of a data set: "Cabinet/shelf" is no id."""
    return frozenset(
        (use.path, use.line)
        for use in uses(context.repository)
        if use.how == "setting" and _CLASS_NAMES.search(use.name)
    )


def _in_documented_runs(context: Context) -> dict[str, Place]:
    """Ids that a command of a document or script hands to an entry point."""
    known = {entry.path for entry in (*context.path.training, *context.path.evaluating)}
    found: dict[str, Place] = {}
    for file, command in context.path.commands:
        if "/" not in command.text or not command.target or file.startswith("."):
            continue
        if is_example_path(file) or (is_docs_path(file) and file != context.repository.readme):
            continue
        if (
            file.count("/") > _DEEPEST
        ):  # one example of a collection, which the README's results are not about
            continue
        if known.isdisjoint(resolve_target(context.repository, context.path.graph, command, file)):
            continue
        for value in _values(command):
            found.setdefault(value, Place(file, command.line))
    return found


def _values(command: Command) -> Iterator[str]:
    for flag in command.flags:
        yield flag.value.strip("'\"")
    for word in command.args:
        yield word.rpartition("=")[2].strip("'\"")


def _chosen_in_code(context: Context) -> dict[str, Place]:
    """Ids that the code of a run loads as they stand: arguments of a loading call, defaults of its options and fields."""
    found: dict[str, Place] = {}
    reached = context.path.reached.scopes
    for use in uses(context.repository):
        if use.kind != "hub" or use.origin != "code" or use.path not in reached or is_example_path(use.path):
            continue
        last = use.call.rpartition(".")[2]
        loads = last in (
            "from_pretrained",
            "load_dataset",
            "SentenceTransformer",
            "CrossEncoder",
            "LLM",
            "pipeline",
        )
        if (use.how == "arg" and loads) or (use.how == "default" and last in ("add_argument", "field", "")):
            found.setdefault(use.value, Place(use.path, use.line))
    return found


def _judging(context: Context) -> frozenset[str]:
    """Values that stand under the name of a judge."""
    return frozenset(
        use.value
        for use in uses(context.repository)
        if words(use.name) & _JUDGES
        or words(use.holder) & _JUDGES
        or words(use.call.rpartition(".")[2]) & _JUDGES
    )


# Revisions -----------------------------------------------------------------------------------------------------------


def model_revision(context: Context) -> Iterable[Outcome]:
    data = {row.id for row in context.signals.dataset_ids.value}
    ids = tuple(row for row in context.signals.model_ids.value if row.id not in data)
    yield from _revisions(context, ids, "model")


def dataset_revision(context: Context) -> Iterable[Outcome]:
    loads = any(
        item.module.partition(".")[0] in _LOADS_DATA
        for facts in context.repository.code.values()
        for item in facts.imports
    )
    yield from _revisions(context, context.signals.dataset_ids.value if loads else (), "data set")


_LOADS_DATA = frozenset("datasets nlp huggingface_hub trl distilabel lighteval lm_eval litdata".split())
"""Libraries that load data sets of the hub: without one of them a name is one of another catalogue."""


def _revisions(context: Context, ids: tuple[HubId, ...], noun: str) -> Iterable[Outcome]:
    if not ids:
        yield not_applicable(f"No {noun} of the hub is named.")
        return
    loose = _ranked(context, ids)
    if not loose and not any(row.pinned for row in ids):
        yield not_applicable(f"No {noun} of the hub is named.")
        return
    if not loose:
        yield passed(
            f"Every {noun} of the hub is asked for by commit.",
            *capped(Place(i.path, i.line, i.id) for i in ids),
        )
        return
    results = publishes(context)
    least = 2 if len(loose) <= _FEW else 3
    main = [role for role in loose if role.rank >= least][:_MOST_NAMED] if results else []
    published = f", and {results.path} publishes results" if results else ""
    by_place: dict[Place, list[_Role]] = defaultdict(list)
    for role in main:
        by_place[role.place].append(role)
    for place, roles in by_place.items():
        yield _taken(place, roles, noun, published)
    rest = [role for role in loose if role not in main]
    if len(rest) > _CATALOGUE:
        rest = [role for role in rest if role.rank]
        if not rest and not main:
            yield not_applicable(
                f"{len(loose)} {noun}s of the hub are listed, and no documented run was seen to use one of them."
            )
    if rest:
        more = "further " if main else ""
        names = listed([role.id for role in rest], 4)
        plural = noun if len(rest) == 1 else noun + "s"
        yield failed(
            f"{len(rest)} {more}{plural} of the hub ({names}) {'is' if len(rest) == 1 else 'are'} named without a commit.",
            *capped(Place(role.place.path, role.place.line, role.id) for role in rest),
            key="rest",
            severity=Severity.INFO,
        )


def _taken(place: Place, roles: list[_Role], noun: str, published: str) -> Outcome:
    """The finding about what one place takes."""
    ids = listed([role.id for role in roles], 3)
    if len(roles) == 1:
        what, whose = "the judge" if roles[0].judge else f"the {noun}", "its repository has"
    else:
        what, whose = f"the {noun}s", "their repositories have"
    return failed(
        f"{place.path}:{place.line} takes {what} {ids} at whatever revision {whose} that day{published}.",
        place,
        fix=f'Ask for the commit that was used: revision="<40 hex digits>" for {ids}.',
        key=roles[0].id,
    )


# Code from elsewhere -----------------------------------------------------------------------------------------------------


def trust(context: Context) -> Iterable[Outcome]:
    """At most two findings: what runs on the main path, and what stands beside it (examples, catalogues, scripts)."""
    signal = context.signals.trust_remote_code
    if not signal.value:
        if context.signals.hub_calls.value.total:
            yield passed("No loading call runs code of the hub.")
        else:
            yield not_applicable("Nothing is loaded from the hub.")
        return
    loose = [place for place in trusted_places(context.repository) if not _pinned_or_asked(context, place)]
    main = [
        place
        for place in loose
        if place.path in context.path.reached.scopes and not is_example_path(place.path)
    ]
    side = [place for place in loose if place not in main]
    for places, key, severity in ((main, "main", None), (side, "side", Severity.INFO)):
        if places:
            files = tuple(dict.fromkeys(place.path for place in places))
            where = (
                f"{places[0].path}:{places[0].line}"
                if len(places) == 1
                else f"{counted(len(places), 'place')} ({listed(files, 3)})"
            )
            yield failed(
                f"trust_remote_code is on in {where} and no commit is pinned: whoever can push to the loaded repository runs code with the user's rights.",
                *capped(places),
                key=key,
                severity=severity,
            )
    if not loose:
        yield passed(
            "Code of the hub is run only at a pinned commit, or when the user asks for it.",
            *capped(signal.evidence),
        )


def _pinned_or_asked(context: Context, place: Place) -> bool:
    """Whether the call names a commit, or only runs where the user has set the same option."""
    facts = context.repository.code.get(place.path)
    if facts is None:
        return False
    for call in facts.calls:
        if call.line == place.line and "trust_remote_code" in " ".join((*call.kwargs, call.test)):
            revision = literal(call.kwargs.get("revision", "")) or ""
            return bool(re.fullmatch(r"[0-9a-f]{40}", revision)) or "trust_remote_code" in call.test
    return any(assign.line == place.line and "trust_remote_code" in assign.test for assign in facts.assigns)


def code(context: Context) -> Iterable[Outcome]:
    """Code of other repositories that is fetched and run: `torch.hub.load`, a `.py` file of the hub."""
    found = [
        (path, call)
        for path, facts in context.repository.code.items()
        for call in facts.calls
        if call.name in ("torch.hub.load", "torch.hub.help", "torch.hub.list") or _fetches_code(call)
    ]
    remote = [(path, call) for path, call in found if literal(call.kwargs.get("source", "")) != "local"]
    if not remote:
        yield not_applicable("No code of another repository is fetched and run.")
        return
    bad: dict[str, list[Place]] = defaultdict(list)
    for path, call in remote:
        source = _source(call)
        revision = literal(call.kwargs.get("revision", "")) or ""
        if not source or _is_commit(source.partition(":")[2]) or _is_commit(revision):
            continue
        bad[source].append(Place(path, call.line))
    for source, places in list(bad.items())[:OUTCOME_LIMIT]:
        name, _, ref = source.partition(":")
        own = name.lower() == context.repository.snapshot.repository.lower()
        lesser = bool(ref) or own or all(is_example_path(place.path) for place in places)
        more = f" (and in {counted(len(places) - 1, 'more place')})" if len(places) > 1 else ""
        yield failed(
            f"{places[0].path}:{places[0].line} fetches and runs code of {name} from {f'`{ref}`' if ref else 'the default branch'}{more}, which can move.",
            *capped(places),
            fix="Name a commit: torch.hub.load('owner/repo:<commit>', …), or depend on a release of the package.",
            key=source,
            severity=Severity.INFO if lesser else None,
        )
    if not bad:
        yield passed(
            "Code of other repositories is fetched by commit.", *capped(Place(p, c.line) for p, c in remote)
        )


def _source(call: Call) -> str:
    """The repository that a call fetches, as it stands there; "" where it is no literal."""
    first = call.args[0] if call.args else call.kwargs.get("repo_or_dir", call.kwargs.get("repo_id", ""))
    return literal(first) or ""


def _is_commit(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{7,40}", text) is not None


def _fetches_code(call: Call) -> bool:
    if call.name.rpartition(".")[2] not in ("hf_hub_download", "cached_download"):
        return False
    name = literal(call.kwargs.get("filename", "") or (call.args[1] if len(call.args) > 1 else ""))
    return bool(name and name.endswith(".py"))


# Models behind an API --------------------------------------------------------------------------------------------------


def api_models(context: Context) -> Iterable[Outcome]:
    """Ids that a provider points to another model without notice; those that judge first, one finding for each role."""
    rows = context.signals.api_models.value if querying_files(context.repository) else ()
    if not rows:
        yield not_applicable("No model behind an API is asked by name.")
        return
    moving = [row for row in rows if row.pinnability == "mutable_alias"]
    judged = _judging(context)
    results = publishes(context)
    judges = [row for row in moving if row.id in judged]
    others = [row for row in moving if row.id not in judged]
    if judges:
        yield _aliases(
            judges,
            "scores outputs" if len(judges) == 1 else "score outputs",
            results,
            Severity.WARNING if results else Severity.INFO,
            "judge",
        )
    if others:
        asked = [row for row in others if row.path in context.path.reached.scopes]
        yield _aliases(
            asked or others,
            "is asked" if len(asked or others) == 1 else "are asked",
            results,
            Severity.WARNING
            if results and asked and context.signals.training_loop.value == "none"
            else Severity.INFO,
            "model",
        )
    names = [row for row in rows if row.id.startswith(("azure/", "azure_ai/", "sagemaker/"))]
    if names:
        yield failed(
            f"{listed([row.id for row in names], 4)} {'is a name' if len(names) == 1 else 'are names'} of one account's deployment: "
            "which model answers is known there alone.",
            *capped(Place(row.path, row.line, row.id) for row in names),
            fix="Write down which model and version the deployment serves.",
            key="deployment",
            severity=Severity.INFO,
        )
    if not moving and not names:
        yield passed(
            "Models behind an API are named by snapshot or version.",
            *capped(Place(r.path, r.line, r.id) for r in rows),
        )


def _aliases(rows: list[ApiModel], does: str, results: Place | None, severity: Severity, key: str) -> Outcome:
    names = listed(tuple(dict.fromkeys(row.id for row in rows)), 4)
    many = len({row.id for row in rows}) > 1
    tail = f", and {results.path} publishes results" if results and severity is Severity.WARNING else ""
    return failed(
        f"{names} {does} under {'names' if many else 'a name'} that the provider points to newer models{tail}.",
        *capped(Place(row.path, row.line, row.id) for row in rows),
        key=key,
        severity=severity,
    )


RULES = (
    Rule(
        "hub.model_revision",
        Severity.WARNING,
        "Models of the hub are asked for by commit",
        "Weights, tokenizer and chat template of a hub repository are replaced without a new name: published numbers then belong to a model that is gone.",
        "Pass revision= with the commit that was used, and record it beside the results.",
        "data",
        2,
        "from_pretrained('org/model', revision='<40 hex digits>')",
        "from_pretrained('org/model') and a table of results in the README.",
        model_revision,
    ),
    Rule(
        "hub.dataset_revision",
        Severity.WARNING,
        "Data sets of the hub are asked for by commit",
        "A data set of the hub gains, loses and changes rows without a new name.",
        "Pass revision= with the commit that was used.",
        "data",
        2,
        "load_dataset('org/data', revision='<40 hex digits>')",
        "load_dataset('org/data') and a table of results in the README.",
        dataset_revision,
    ),
    Rule(
        "hub.trust_remote_code",
        Severity.WARNING,
        "Code of the hub is not run unasked",
        "trust_remote_code runs the Python files of the model's repository with all rights of the user, at each load, in whatever state they then are.",
        "Leave it off where the library knows the architecture; else pin the commit, and let the user ask for it with a flag.",
        "data",
        1,
        "from_pretrained(name, trust_remote_code=args.trust_remote_code, revision=commit)",
        "from_pretrained(name, trust_remote_code=True)",
        trust,
        security_severity=7.0,
    ),
    Rule(
        "hub.code",
        Severity.WARNING,
        "Code of other repositories is fetched by commit",
        "torch.hub and downloads of .py files run whatever stands at a branch today.",
        "Name a commit, or depend on a released package.",
        "data",
        1,
        "torch.hub.load('owner/repo:3f2504e', 'model')",
        "torch.hub.load('owner/repo', 'model')",
        code,
        security_severity=6.0,
    ),
    Rule(
        "hub.api_models",
        Severity.WARNING,
        "Models behind an API are named by snapshot",
        "A provider moves an alias to a newer model: scores given by the old one cannot be compared with those of the new.",
        "Use the dated id where the provider has one (as gpt-4o-2024-08-06), and record what the answers say which model gave them.",
        "data",
        2,
        "judge='gpt-4o-2024-08-06'",
        "judge='gpt-4'",
        api_models,
    ),
)
