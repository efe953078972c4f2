"""Which kinds of experiment a repository is taken to hold, and what its manifest declares."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from audit.documents.errors import DocumentError
from audit.documents.report import DetectedProfile
from audit.engine.levels import Landmarks, landmarks
from audit.profiles.definitions import Profile, profiles, resolve, severities
from audit.source.snapshot import Snapshot

if TYPE_CHECKING:  # pydantic is imported only where there is a manifest
    from audit.engine.assessment import Inquiry
    from audit.state.manifest_reading import Declared


class Experiment(msgspec.Struct, frozen=True):
    """`known`: all profiles that there are; `names`: those that are declared, by option, configuration or manifest; `declared`: the manifest, None where
    there is none or none is asked for."""

    known: Mapping[str, Profile]
    names: tuple[str, ...] = ()
    declared: "Declared | None" = None

    @property
    def resolved(self) -> tuple[Profile, ...]:
        """The declared profiles with all that they extend."""
        return resolve(self.names, self.known)

    @property
    def severities(self) -> dict[str, str]:
        """What the declared profiles ask of rules."""
        return severities(self.names, self.known)

    def applicable(self, detected: Sequence[DetectedProfile]) -> dict[str, Profile]:
        """The profiles whose rules apply: the declared ones, else those that were detected with high confidence."""
        names = self.names or [each.profile for each in detected if each.confidence == "high"]
        return {each.name: each for each in resolve(names, self.known)}


def experiment(snapshot: Snapshot, inquiry: "Inquiry", rules: Sequence[str]) -> Experiment:
    """What the snapshot declares; `rules`: the ids that there are. Raises DocumentError where the manifest or a profile is not valid, or a name is unknown;
    a lenient inquiry passes over that."""
    there = landmarks(snapshot)
    try:
        known = _known(snapshot, there, rules)
        declared = _declared(snapshot, there) if inquiry.level >= 1 else None
        names = inquiry.profiles or (declared.manifest.profiles if declared else ())
        _check(names, known, declared)
    except DocumentError:
        if not inquiry.lenient:
            raise
        return Experiment(profiles(), tuple(name for name in inquiry.profiles if name in profiles()))
    return Experiment(known, names, declared)


def _known(snapshot: Snapshot, there: Landmarks, rules: Sequence[str]) -> Mapping[str, Profile]:
    if not there.profiles:
        return profiles()
    from audit.profiles.own import known_profiles

    return known_profiles(snapshot, rules)


def _declared(snapshot: Snapshot, there: Landmarks) -> "Declared | None":
    if there.manifest is None:
        return None
    [(entry, data)] = snapshot.reader.read([there.manifest])
    if isinstance(data, str):
        raise DocumentError(f"{entry.path} cannot be read: {data}.")
    from audit.state.manifests import read_any

    return read_any(data, entry.path)


def _check(names: Sequence[str], known: Mapping[str, Profile], declared: "Declared | None") -> None:
    for index, name in enumerate(names):
        if name in known:
            continue
        said = f"there is no profile called {name}"
        there = f"There are {', '.join(sorted(known))}."
        if declared is None or name not in declared.manifest.profiles:
            raise DocumentError(f"T{said[1:]}.", there)
        line, column = declared.positions.nearest(("experiment", "profiles", index))
        raise DocumentError(f"{declared.positions.name}:{line}:{column}: experiment.profiles: {said}.", there)
