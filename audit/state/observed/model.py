"""What the code says that an experiment is: a name, where it starts, and its settings."""

import msgspec

from audit.documents.place import Place
from audit.documents.state import Leaf, State


class Experiment(msgspec.Struct, frozen=True):
    """One way in which the repository is run.

    `name`: from its script, configuration or entry point, unique in the repository, `[a-z0-9-]`. `entry`: path of the Python file that runs.
    `place`: where the command that starts it stands, else the entry itself. `profiles`: of the kinds that the repository holds, those of this
    experiment. `state`: leaves are sure, with what lost to them as alternatives. `candidates`: by path, what a setting may be where the code
    does not decide; never a path that `state` has.
    """

    name: str
    entry: str
    place: Place
    profiles: tuple[str, ...]
    state: State
    candidates: dict[str, tuple[Leaf, ...]] = {}


class Rank:
    """Whose word counts, the last most."""

    LIBRARY = 0
    DEFAULT = 1
    BASE = 2
    CONFIG = 3
    LAUNCH = 4
    CODE = 5
