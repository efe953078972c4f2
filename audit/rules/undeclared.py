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
from audit.rules.wording import capped, counted, listed
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
    for each in firm if len(firm) <= _SINGLY else ():
        yield failed(
            f"{each.at} imports {each.said}, which no manifest declares.",
            *capped(use.place for use in each.uses),
            fix=f"Declare {_declared([each])} in the manifest, with the version that was used.",
            key=each.name,
        )
    if len(firm) > _SINGLY:
        yield failed(
            f"{counted(len(firm), 'package')} are imported and no manifest declares them: {listed([each.said for each in firm], 12)}.",
            *capped(
                (Place(each.uses[0].path, each.uses[0].line, f"imports {each.said}") for each in firm), 20
            ),
            fix="Declare them in the manifest of the part that imports them, with the versions that were used.",
            key="many",
        )
    for kind, sentence in _LESSER.items():
        group = [each for each in missing if each.kind == kind]
        if group:
            yield _together(group, sentence)
    if not missing:
        number = counted(len(uses), "imported package")
        yield passed(f"{number} compared with the manifests: each is declared, or comes with one that is.")


_SINGLY = 5
"""Undeclared packages that are told one by one: of more, somebody writes a list in one go."""

_LESSER = {
    "elsewhere": "imported, and only install commands outside of the manifests name",
    "brought": "imported and not declared; other packages happen to bring",
    "side": "imported by code beside the main path, and no manifest declares",
    "optional": "imported for single features, and no manifest, not even an extra, declares",
}
"""Kinds of lesser cases, each told in one finding."""


class _Missing(msgspec.Struct, frozen=True):
    """An import that no manifest covers. `kind`: "firm", or one of `_LESSER`; `known`: whether `name` is known to be a distribution, and not just
    the import name; `note`: what stands in for a declaration."""

    name: str
    said: str
    kind: str
    known: bool
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
        fix=f"Declare {_declared(group)}, as an extra where it is optional.",
        key=" ".join(each.name for each in group),
        severity=None
        if any(each.kind == "brought" and each.name in _FRAMEWORKS for each in group)
        else Severity.INFO,
    )


def _declared(group: list[_Missing]) -> str:
    """What to declare: distributions by their names; of an import name that tells none, what provides it."""
    named = list(dict.fromkeys(each.name for each in group if each.known))
    unknown = [f"`{each.said}`" for each in group if not each.known]
    parts = [listed(named, 8)] if named else []
    if unknown:
        parts.append(f"what provides {listed(unknown, 8)}")
    return " and ".join(parts)


_DISTRIBUTIONS = frozenset(BRINGS) | {name for brought in BRINGS.values() for name in brought.split()}
"""Names that are known to be distributions, and not just those of modules."""

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
    name, shown = names[0], firm or tuple(uses)
    known = (
        module in knowledge().distributions or critical or name in _DISTRIBUTIONS or name in given.elsewhere
    )
    said = module if not known else name if normalise(module) == name else f"{module} (from {name})"
    kind, note = _kind(names, firm, given)
    if kind == "brought":
        if not critical:
            return None
        note = f"{shown[0].path}, {note}"
    return _Missing(name, said, kind, known, shown, note)


def _kind(names: tuple[str, ...], firm: tuple[Use, ...], given: _Given) -> tuple[str, str]:
    """The kind of a missing declaration, and what stands in for it."""
    brought = next((given.brought[each] for each in names if each in given.brought), "")
    if brought:
        return "brought", f"with {brought}"
    elsewhere = next((each for name in names for each in given.elsewhere.get(name, ())), None)
    if elsewhere is not None:
        return "elsewhere", elsewhere.at
    if not firm:
        return "optional", ""
    return "side" if firm[0].side else "firm", ""
