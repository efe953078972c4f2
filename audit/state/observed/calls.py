"""What library calls and named options say of a run's settings."""

import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.facts.python.model import Call
from audit.state.observed.model import Rank
from audit.state.observed.options import Said
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene
from audit.state.observed.shared import HANDED
from audit.state.observed.vocabulary import KnownCall, role_of_name, setting_of, settings_by_name, vocabulary

_JUDGED = {
    "generation.temperature": "evaluation.judge.temperature",
    "generation.top_p": "evaluation.judge.top_p",
    "generation.max_tokens": "evaluation.judge.max_tokens",
    "generation.seed": "evaluation.judge.seed",
    "generation.n": "evaluation.judge.repetitions",
}


_METHODS = {"RewardTrainer": "reward_modeling"}


class Group(msgspec.Struct, frozen=True):
    """What one call, or one option, says of one setting: the values by whose word counts, the last word first. `opaque`: it sets
    the setting to something that cannot be read."""

    setting: str
    said: tuple[Said, ...]
    sure: bool = True
    opaque: bool = False
    position: int = 0
    by_name: bool = False


def by_calls(scene: Scene, resolver: Resolver) -> Iterator[Group]:
    """What the known calls set, in the order in which they are met."""
    collected: dict[str, list[Said]] = defaultdict(list)
    for known, file, call in scene.known:
        holds = resolver.holds(call.test, file, call.scope)
        if holds is False or (known.trains and _is_for_evaluation(call)):
            continue
        judged = _is_judge(scene, file, call)
        for group in _of_call(scene, resolver, known, file, call):
            setting = _JUDGED.get(group.setting, group.setting) if judged else group.setting
            if known.seeds and not scene.trains:
                setting = "experiment.seed"
            if known.collects:
                collected[setting] += [
                    said for said in group.said[:1] if said.known and isinstance(said.value, str)
                ]
            else:
                yield msgspec.structs.replace(group, setting=setting, sure=group.sure and holds is True)
    for setting, rows in collected.items():
        values = tuple(dict.fromkeys(said.value for said in rows if isinstance(said.value, str)))
        if values:
            yield Group(setting, (msgspec.structs.replace(rows[0], value=values),))
    yield from _handed_on(scene, resolver)


_HANDED = {
    "temperature": "generation.temperature", "top_p": "generation.top_p", "top_k": "generation.top_k", "max_tokens": "generation.max_tokens",
    "max_new_tokens": "generation.max_tokens", "max_n_tokens": "generation.max_tokens",
}  # fmt: skip


def _handed_on(scene: Scene, resolver: Resolver) -> Iterator[Group]:
    """Generation parameters that the repository's own classes are made with (`Judge(temperature=0)`): where a name tells whose they are."""
    if not scene.speaks:
        return
    for file, call in scene.calls:
        if not (HANDED & call.kwargs.keys()) or scene.graph.lookup(call.name, file, call.scope) is None:
            continue
        holds = resolver.holds(call.test, file, call.scope)
        names = (
            call.name.rpartition(".")[2],
            call.within.partition(":")[2],
            call.kwargs.get("model_name", ""),
            call.kwargs.get("model", ""),
        )
        role = next((found for name in names if (found := role_of_name(name))), "primary")
        if holds is False or role not in ("primary", "judge"):
            continue
        last = call.name.rpartition(".")[2]
        for word, setting in _HANDED.items():
            if word in call.kwargs:
                said = resolver.values(call.kwargs[word], file, call.scope, call.line)
                if said:
                    rows = tuple(_told(each, f"{last}({word}=)") for each in said)
                    yield Group(
                        _JUDGED.get(setting, setting) if role == "judge" else setting,
                        rows,
                        sure=said[0].known and holds is True,
                    )


_EVALUATION = re.compile(
    r"(?i)(?:^|[._])(?:val|valid|validation|test|eval|dev)\w*|(?:val|test|eval)(?:_?(?:loader|set|data|ds|dataset))"
)


def _is_for_evaluation(call: Call) -> bool:
    """Whether a loader's names say that it feeds an evaluation."""
    return any(_EVALUATION.search(name) for name in (call.within.partition(":")[2], *call.args[:1]))


def _is_judge(scene: Scene, file: str, call: Call) -> bool:
    scopes = scene.graph.python[file].scopes
    names = [file.rpartition("/")[2].removesuffix(".py"), call.kwargs.get("model", "").rpartition(".")[2]]
    at = call.scope
    while at > 0:
        names.append(scopes[at].name)
        at = scopes[at].parent
    return any(role_of_name(name) == "judge" for name in names)


def _of_call(scene: Scene, resolver: Resolver, known: KnownCall, file: str, call: Call) -> Iterator[Group]:
    last = call.name.rpartition(".")[2]
    texts = dict(call.kwargs)
    for position, word in enumerate(known.args):
        if position < len(call.args) and word not in texts and not call.args[position].startswith("*"):
            texts[word] = call.args[position]
    open_ended = "**" in texts or any(arg.startswith("*") for arg in call.args)
    where = Place(file, call.line)
    told: set[str] = set()
    for word, setting in _words(known, texts):
        if word not in texts:
            continue
        told.add(setting)
        said = resolver.values(texts[word], file, call.scope, call.line)
        if not said:
            yield Group(setting, (), opaque=True)
            continue
        detail = f"{last}({word}=)" if word in call.kwargs else f"{last}()"
        yield Group(setting, tuple(_told(each, detail) for each in said), sure=said[0].known)
    for word, (setting, value) in known.flags.items():
        said = resolver.values(texts.get(word, ""), file, call.scope, call.line)
        if said and said[0].known and said[0].value is True:
            yield Group(setting, (msgspec.structs.replace(_told(said[0], f"{last}({word}=)"), value=value),))
    for setting, value in known.sets.items():
        yield Group(setting, (Said(value, where, f"{last}()", Rank.CODE),))
    if known.named:
        value = (
            _METHODS.get(last, last.removesuffix("Trainer").lower())
            if known.named == "training.method"
            else last
        )
        yield Group(known.named, (Said(value, where, f"{last}()", Rank.CODE),))
    if known.defaults and not open_ended:
        defaults = vocabulary().defaults[known.defaults]
        for setting, default in defaults.values.items():
            # What a run that trains draws now and then is not worth what nobody sets.
            if setting not in told and not (scene.trains and setting.startswith("generation.")):
                yield Group(
                    setting, (Said(default, where, f"library default of {defaults.of}", Rank.LIBRARY),)
                )


def _words(known: KnownCall, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    yield from known.words.items()
    if known.reads:
        for word in texts:
            if word not in known.words:
                best = min(settings_by_name().get(word, ()), key=lambda row: row[1], default=None)
                if best is not None and best[0].startswith("training."):
                    yield word, best[0]


def _told(said: Said, detail: str) -> Said:
    return msgspec.structs.replace(said, detail=f"{said.detail}, read by {detail}" if said.detail else detail)


def by_names(scene: Scene, resolver: Resolver) -> Iterator[Group]:
    """What options and keys set by their names alone."""
    settings, wanted = resolver.settings, _wanted(scene)
    accepted = vocabulary().accepted
    found: dict[str, list[tuple[str, Group]]] = defaultdict(list)
    for key in settings.names():
        for setting, index in setting_of(key):
            said = settings.about(key) if setting.startswith(wanted) else ()
            if setting in accepted:
                said = tuple(
                    each
                    for each in said
                    if isinstance(each.value, str) and each.value.lower() in accepted[setting]
                )
            if setting.startswith("training.") and _ASIDE.search(key):
                continue
            role = role_of_name(key.replace(".", "_"))
            if setting.startswith("models.primary.") and role not in ("", "primary"):
                setting = setting.replace(".primary.", f".{role}.")  # noqa: PLW2901
            elif role == "judge":
                setting = _JUDGED.get(setting, setting)  # noqa: PLW2901
            elif role not in ("", "primary") and setting.startswith("generation."):
                continue
            if setting == "training.seed" and not scene.trains:
                setting = "experiment.seed"  # noqa: PLW2901
            if said:
                group = Group(setting, said, sure=said[0].known, by_name=True, position=index)
                found[setting].append((key, group))
    for setting in sorted(found):
        yield _most_telling(found[setting])
    for name, (setting, value) in vocabulary().switches.items():
        said = settings.about(name)
        if said and said[0].known and said[0].value is True and setting.startswith(wanted):
            rows_ = tuple(msgspec.structs.replace(each, value=value) for each in said if each.value is True)
            yield Group(setting, rows_, by_name=True)


_MAIN_TABLE = re.compile(
    r"(?:^|[._])(?:train\w*|optim\w*|solver|hparams|hyper\w*|model|generation|args|params|config)\."
)


def _most_telling(rows: list[tuple[str, Group]]) -> Group:
    """Of the keys that may mean a setting, the one with a value whose name tells most, in the table that is about it. Where such keys of several
    tables differ, none is sure."""

    def order(row: tuple[str, Group]) -> tuple[bool, int, bool, bool]:
        key, group = row
        return group.said[0].value is None, group.position, "." in key, not _MAIN_TABLE.search(key)

    rows = sorted(rows, key=lambda row: (order(row), row[0]))
    key, best = rows[0]
    equals = [group for other, group in rows if order((other, group)) == order((key, best))]
    if len({str(group.said[0].value) for group in equals}) > 1:
        said = tuple(
            msgspec.structs.replace(each, known=False) for group in equals for each in group.said[:1]
        )
        return msgspec.structs.replace(best, said=said, sure=False)
    return best


_ASIDE = re.compile(
    r"(?:^|[._])(?:eval|val|valid|test|evaluation|validation|inference|sampling|ema|discriminator|logger|callbacks?|hydra|export|profiler)\w*\."
    r"|(?:^|[._])(?:dataset|datasets|data|dataset_mixture|dataset_mixer)\.(?:\w+\.)*\w*seed$"
)
"""Keys of tables that are about something else than training."""


def _wanted(scene: Scene) -> tuple[str, ...]:
    """The beginnings of settings that a run of this kind has."""
    holds = {"training": scene.trains, "generation": scene.speaks, "llm": scene.is_llm}
    seeds = () if scene.trains else ("training.seed",)
    return (
        tuple(prefix for kind, prefixes in vocabulary().kinds.items() if holds[kind] for prefix in prefixes)
        + seeds
    )
