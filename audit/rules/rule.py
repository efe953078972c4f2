"""What a rule is, what it sees, and what it answers."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from audit.documents.finding import Fix, Severity, Status
from audit.documents.place import Place
from audit.documents.report import DetectedProfile
from audit.documents.signals import Signals
from audit.profiles.definitions import Profile
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

if TYPE_CHECKING:  # pydantic is imported only where there is a manifest, resolvers only where there is a lock
    from audit.lock.held import Held
    from audit.state.manifest_reading import Declared


class Context(msgspec.Struct, frozen=True):
    """All that a rule may look at: facts by path, the training path, the signals.

    `declared`: the manifest with the places of its keys, None below level 1 or where there is none. `kinds`: the profiles that apply, parents first: the
    declared ones, else those that were detected with high confidence. `detected`: all that the code speaks for.
    `locked`: the lock and what of it no longer holds, None below level 2 or where there is none.
    """

    repository: Repository
    path: TrainingPath
    signals: Signals
    declared: "Declared | None" = None
    kinds: dict[str, Profile] = {}
    detected: tuple[DetectedProfile, ...] = ()
    locked: "Held | None" = None


class Outcome(msgspec.Struct, frozen=True):
    """One answer of a rule. A rule gives one per thing that a person would mend on its own, at least one in all.

    `message`: one sentence, what is the case here and not in general. `key`: what identifies this finding besides its path when lines move
    (a package name, the text of a call); `severity` only where it differs from the rule's own (a lesser case).
    """

    status: Status
    message: str
    evidence: tuple[Place, ...] = ()
    fix: Fix | None = None
    key: str = ""
    severity: Severity | None = None


class Rule(msgspec.Struct, frozen=True):
    """A rule with everything that its page in the catalogue says.

    `id`: "category.name". `why`: what goes wrong when it fails. `fix`: the mend in general. `dimension`: one of the report's eight dimensions,
    "" for a rule that costs no points; `points` (0 to 10) lost in it when the rule fails at its own severity. `passing`, `failing`: short examples.
    `security_severity`: 0.0 to 10.0 for code scanning, 0 for a rule that is not about security. `level`: 0 works without a manifest.
    `of_git`: it looks at the state of Git alone, at no file's content.
    """

    id: str
    severity: Severity
    title: str
    why: str
    fix: str
    dimension: str
    points: float
    passing: str
    failing: str
    check: Callable[[Context], Iterable[Outcome]]
    level: int = 0
    security_severity: float = 0.0
    of_git: bool = False

    @property
    def category(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]


def passed(message: str, *evidence: Place) -> Outcome:
    """The rule looked and found it in order."""
    return Outcome(Status.PASS, message, evidence)


def failed(
    message: str,
    *evidence: Place,
    fix: Fix | str | None = None,
    key: str = "",
    severity: Severity | None = None,
) -> Outcome:
    """The rule found what it looks for."""
    return Outcome(Status.FAIL, message, evidence, Fix(fix) if isinstance(fix, str) else fix, key, severity)


def not_applicable(message: str) -> Outcome:
    """The question does not arise in this repository, and why."""
    return Outcome(Status.NOT_APPLICABLE, message)


def not_checked(message: str, *evidence: Place) -> Outcome:
    """The rule could not look, and why."""
    return Outcome(Status.NOT_CHECKED, message, evidence)
