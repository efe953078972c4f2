"""What rules of level 1 ask of a manifest: whether it says something, where, and where the code shows what it does not say."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from audit.documents.finding import Fix, Severity
from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf
from audit.rules.manifest_edit import edits
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable
from audit.rules.wording import listed

if TYPE_CHECKING:  # computed only where something is missing
    from audit.state.manifest_reading import Declared
    from audit.state.observed import Experiment

Check = Callable[["View"], Iterable[Outcome]]

MANIFEST: Final = "ml-audit.yaml"
_SHOWN: Final = 3
"""Places in the code that one finding shows for what the manifest does not say."""
_LONGEST: Final = 60


def asked(*kinds: str) -> Callable[[Check], Callable[[Context], Iterable[Outcome]]]:
    """A check of the manifest as the check of a rule: it applies where there is a manifest, and one of `kinds` (none: any) applies."""

    def wrapped(check: Check) -> Callable[[Context], Iterable[Outcome]]:
        def rule(context: Context) -> Iterable[Outcome]:
            if context.declared is None:
                yield not_applicable("There is no manifest.")
            elif kinds and _kinds(context, context.declared).isdisjoint(kinds):
                yield not_applicable(
                    f"The experiment is not declared or seen to be {listed(kinds, 9, 'or')}."
                )
            else:
                yield from check(View(context, context.declared))

        return rule

    return wrapped


_GENERATE: Final = frozenset({"inference", "llm_judge", "safety", "rag", "agent"})
"""Kinds in which a model's output is drawn; `evaluation` extends the first, and scores classifiers, too."""
_OF_GENERATION: Final = re.compile(r"(?:stages\.[^.]+\.)?(?:generation|inference|prompts)\.")


def _kinds(context: Context, declared: "Declared") -> frozenset[str]:
    """The profiles that apply; `inference` only where a model generates, and not because something is scored."""
    kinds = frozenset(context.kinds)
    if "inference" not in kinds or "evaluation" not in kinds or _generates(context, declared):
        return kinds
    return kinds - {"inference"}


def _generates(context: Context, declared: "Declared") -> bool:
    """Whether something besides `evaluation` says that a model generates: another profile, the code, or the manifest."""
    heirs = {name for name, kind in context.kinds.items() if name in _GENERATE or "inference" in kind.extends}
    if heirs - {"evaluation", "inference"} or "inference" in declared.manifest.profiles:
        return True
    if any(each.profile in _GENERATE for each in context.detected) or context.signals.api_models.value:
        return True
    return any(_OF_GENERATION.match(path) for path in declared.state.leaves)


class View:
    """The manifest as a rule sees it."""

    def __init__(self, context: Context, declared: "Declared") -> None:
        self.context = context
        self.name = declared.positions.name
        self._positions = declared.positions
        self._leaves = declared.state.leaves
        self._stages = tuple(declared.manifest.stages)
        self._kinds = _kinds(context, declared)

    def is_any(self, *kinds: str) -> bool:
        """Whether one of these profiles applies."""
        return not self._kinds.isdisjoint(kinds)

    def leaf(self, path: str) -> Leaf | None:
        """What the manifest says of `path`, at the top or in a stage."""
        for each in (path, *(f"stages.{stage}.{path}" for stage in self._stages)):
            if (found := self._leaves.get(each)) is not None:
                return found
        return None

    def paths(self) -> tuple[str, ...]:
        """Every path that has a value at the top, those of stages left out."""
        return tuple(path for path in self._leaves if not path.startswith("stages."))

    def says(self, *paths: str) -> bool:
        """Whether one of these paths has a value."""
        return any(self.leaf(path) is not None for path in paths)

    def table(self, path: str) -> bool:
        """Whether something is declared at `path` or below it."""
        heads = (path, *(f"stages.{stage}.{path}" for stage in self._stages))
        return any(name == head or name.startswith(head + ".") for name in self._leaves for head in heads)

    def text(self, path: str) -> str:
        """The value as text, "" where there is none."""
        found = self.leaf(path)
        return "" if found is None or found.value is None else str(found.value)

    def number(self, path: str) -> float | None:
        """The value where it is a number."""
        found = self.leaf(path)
        value = found.value if found else None
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def roles(self, section: str) -> tuple[str, ...]:
        """The roles of `models`, `datasets` or `prompts`, those of stages too, in the order of the paths."""
        found: dict[str, None] = {}
        for name in self._leaves:
            parts = name.split(".")
            if parts[0] == "stages" and len(parts) > 2:
                parts = parts[2:]
            if parts[0] == section and len(parts) > 1:
                found.setdefault(parts[1])
        return tuple(found)

    def place(self, path: str, note: str = "") -> Place:
        """The line of `path` in the manifest, else of the table around it, else the first."""
        for each in (path, *(f"stages.{stage}.{path}" for stage in self._stages)):
            if (leaf := self._leaves.get(each)) is not None and leaf.place is not None:
                return Place(self.name, leaf.place.line, note)
        line, _ = self._positions.nearest(tuple(path.split(".")))
        return Place(self.name, line, note)

    def lacks(
        self,
        what: str,
        *paths: str,
        every: bool = False,
        fix: str = "",
        key: str = "",
        severity: Severity | None = None,
    ) -> Outcome:
        """The failure that the manifest does not say `what`, which stands at one of `paths`, or at `every` one; with where the code shows it, and the
        line to add where the code is sure."""
        seen = [found for path in paths for found in candidates(self.context, path)]
        shown = f"; {_told(seen[0])}" if seen else ""
        sure = [found for found in seen if found[1].confidence is Confidence.OBSERVED]
        return failed(
            f"{self.name} does not say {what}{shown}.",
            self.place(paths[0]),
            *(
                Place(leaf.place.path, leaf.place.line, f"{path} may be {_short(leaf)}")
                for path, leaf in seen[:_SHOWN]
                if leaf.place
            ),
            fix=self._line_to_add(sure if every else sure[:1]) or fix or None,
            key=key or paths[0],
            severity=severity,
        )

    def _line_to_add(self, found: list[tuple[str, Leaf]]) -> Fix | None:
        """What the code has, as lines of the manifest."""
        declared = self.context.declared
        if declared is None or self.name != MANIFEST or not found:
            return None
        made = edits(declared, found)
        lines = [line.partition("  #")[0].strip() for edit in made for line in edit.replacement.splitlines()]
        text = f"Add {listed([f'`{line}`' for line in lines], 9)} if that is what ran."
        return Fix(text, safe=True, edits=made) if made else None


def _told(found: tuple[str, Leaf]) -> str:
    """Where the code has a value; what it leaves to a library is the library's."""
    path, leaf = found
    name, place = path.rpartition(".")[2], leaf.place
    if leaf.detail.startswith("library default"):
        return f"the code leaves {name} to the library, whose default is {_short(leaf)}"
    where = "the code" if place is None else f"{place.path}:{place.line}" if place.line else place.path
    return f"{where} has {name} {_short(leaf)}"


def _short(leaf: Leaf) -> str:
    text = ", ".join(map(str, leaf.value)) if isinstance(leaf.value, tuple) else str(leaf.value)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def candidates(context: Context, path: str) -> list[tuple[str, Leaf]]:
    """What the code of the experiment shows at `path` (with that path): a value that is sure, else what it may be."""
    experiment = observed(context)
    if experiment is None:
        return []
    leaf = experiment.state.leaves.get(path)
    found = (leaf,) if leaf is not None else experiment.candidates.get(path, ())
    return [(path, each) for each in found if each.place is not None and each.value is not None]


def observed(context: Context) -> "Experiment | None":
    """The experiment of the code that the manifest is about: what its command starts, the one of its name, else the main one."""
    from audit.rules.observing import meant

    return meant(context).experiment if context.declared is not None else None


def missing(view: View, *paths: str) -> list[str]:
    """Those of the paths that the manifest does not say."""
    return [path for path in paths if not view.says(path)]


def named(paths: Sequence[str]) -> str:
    """The last parts of the paths, as a list in a sentence."""
    return listed([path.rpartition(".")[2] for path in paths], 9)


def or_else(found: Iterable[Outcome], otherwise: Outcome) -> Iterator[Outcome]:
    """The outcomes, or `otherwise` where there is none."""
    outcomes = list(found)
    yield from outcomes or [otherwise]


def declaring(
    identifier: str,
    severity: Severity,
    title: str,
    why: str,
    fix: str,
    passing: str,
    failing: str,
    check: Check,
    *kinds: str,
) -> Rule:
    """A rule of level 1: it costs no points, since a repository without a manifest says still less."""
    return Rule(identifier, severity, title, why, fix, "", 0, passing, failing, asked(*kinds)(check), level=1)
