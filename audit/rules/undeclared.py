"""Imports that no manifest declares, by how much they matter."""

import re
from collections.abc import Iterable

import msgspec

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.rules.brought import BRINGS
from audit.rules.imports import (
    NO_IMPORTS,
    Use,
    by_name,
    declarations,
    locked,
    mentions,
    normalise,
    outside_imports,
)
from audit.rules.rule import Context, Outcome, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted, listed
from audit.signals.imports import distributions_of
from audit.signals.knowledge import knowledge
from audit.signals.repository import Repository


def undeclared(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    if not any(True for _ in declarations(repository)):
        yield not_applicable("No manifest declares dependencies with which imports could be compared.")
        return
    uses = outside_imports(repository, context.path)
    if not uses:
        yield not_applicable(NO_IMPORTS)
        return
    given = _Given(repository)
    missing = [each for module, found in uses.items() if (each := _missing(module, found, given)) is not None]
    firm = [each for each in missing if each.kind == "firm"]
    for each in firm[:OUTCOME_LIMIT]:
        yield failed(
            f"{each.at} imports {each.said}, which no manifest declares.",
            *capped(use.place for use in each.uses),
            fix=f"Declare {each.name} in the manifest, with the version that was used.",
            key=each.name,
        )
    if len(firm) > OUTCOME_LIMIT:
        yield failed(f"{len(firm) - OUTCOME_LIMIT} further imported packages are not declared.", key="more")
    for kind, sentence in _LESSER.items():
        group = [each for each in missing if each.kind == kind]
        if group:
            yield _together(group, sentence)
    if not missing:
        number = counted(len(uses), "imported package")
        yield passed(f"{number} compared with the manifests: each is declared, or comes with one that is.")


_LESSER = {
    "elsewhere": "imported, and only install commands outside of the manifests name",
    "brought": "imported and not declared; other packages happen to bring",
    "side": "imported by code beside the main path, and no manifest declares",
    "optional": "imported for single features, and no manifest, not even an extra, declares",
}
"""Kinds of lesser cases, each told in one finding."""


class _Missing(msgspec.Struct, frozen=True):
    """An import that no manifest covers. `kind`: "firm", or one of `_LESSER`; `note`: what stands in for a declaration."""

    name: str
    said: str
    kind: str
    uses: tuple[Use, ...]
    note: str = ""

    @property
    def at(self) -> str:
        return f"{self.uses[0].path}:{self.uses[0].line}"


def _together(group: list[_Missing], sentence: str) -> Outcome:
    """One finding about several imports of the same lesser kind."""
    single = len(group) == 1
    names = listed([f"{each.said} ({each.note})" if each.note else each.said for each in group], 8)
    verb = "is" if single else "are"
    return failed(
        f"{names} {verb} {sentence} {'it' if single else 'them'}.",
        *capped((Place(each.uses[0].path, each.uses[0].line, f"imports {each.said}") for each in group), 10),
        fix=f"Declare {listed([each.name for each in group], 8)}, as an extra where it is optional.",
        key=" ".join(each.name for each in group),
        severity=None
        if any(each.kind == "brought" and each.name in _FRAMEWORKS for each in group)
        else Severity.INFO,
    )


_FRAMEWORKS = frozenset({"torch", "tensorflow", "jax"})
"""What decides the numbers most: its version must not be left to whatever another package takes."""

_WELL_KNOWN_GIVERS = frozenset({"torch", "tensorflow", "jax", "transformers", "lightning", "scikit-learn"})
"""Named first where several packages bring the same one along: a reader knows what these need."""


class _Given:
    """What installing from the manifests gives: by declaration, by lock, through another package; and what is said elsewhere."""

    def __init__(self, repository: Repository) -> None:
        self.declared = {normalise(each.requirement.name) for each in declarations(repository)} | set(
            locked(repository)
        )
        self.brought: dict[str, str] = {}
        queue = sorted(self.declared, key=lambda name: (name not in _WELL_KNOWN_GIVERS, name))
        while queue:
            giver = queue.pop(0)
            for name in BRINGS.get(giver, "").split():
                if name not in self.declared and name not in self.brought:
                    self.brought[name] = giver
                    queue.append(name)
        self.elsewhere = by_name(mentions(repository))
        self.compact = {_compact(name) for name in self.declared}

    def declares(self, module: str, names: tuple[str, ...]) -> bool:
        """Whether a declared distribution is, or by its name may well be, the one that provides `module`."""
        if not self.declared.isdisjoint(names):
            return True
        bare = _compact(module.partition(".")[0])
        if bare in self.compact:
            return True
        if module in knowledge().distributions or names[0] in _critical():
            return False
        return any(
            len(bare) > 2 and (bare in each or (len(each) > 3 and each in bare)) for each in self.compact
        )


def _compact(name: str) -> str:
    """A name without what distributions like to add to that of the module: "python-foo", "foo-py", "pyfoo"."""
    bare = re.sub(r"[-_.]", "", name).lower()
    bare = bare.removeprefix("python")
    return bare.removesuffix("python") or bare


def _critical() -> frozenset[str]:
    return frozenset(knowledge().critical)


def _missing(module: str, uses: list[Use], given: _Given) -> _Missing | None:
    """What is missing for one import name; None where it is declared, comes with something declared, or is guarded everywhere."""
    names = distributions_of(module)
    if given.declares(module, names):
        return None
    critical = not _critical().isdisjoint(names)
    firm = tuple(use for use in uses if not use.optional)
    if not firm and (not critical or uses[0].side):
        return None
    name = names[0]
    said = name if normalise(module) == name else f"{module} (from {name})"
    shown = firm or tuple(uses)
    brought = next((given.brought[each] for each in names if each in given.brought), "")
    if brought:
        return (
            _Missing(name, said, "brought", shown, f"{shown[0].path}, with {brought}") if critical else None
        )
    elsewhere = next((each for name in names for each in given.elsewhere.get(name, ())), None)
    if elsewhere is not None:
        return _Missing(name, said, "elsewhere", shown, elsewhere.at)
    if not firm:
        return _Missing(name, said, "optional", shown)
    if firm[0].side:
        return _Missing(name, said, "side", shown)
    return _Missing(name, said, "firm", shown)
