"""What the code of a snapshot shows of its experiments."""

from typing import TYPE_CHECKING

from audit.engine.options import Effects
from audit.facts.cache import FactCache
from audit.source.snapshot import Snapshot

if TYPE_CHECKING:  # the rooms of the projection are imported only where it is made
    from audit.state.observed import Experiment


def observed(
    snapshot: Snapshot, effects: Effects, kept: FactCache | None, jobs: int | None
) -> "tuple[Experiment, ...]":
    """The experiments of the snapshot, the main one first. `jobs`: processes, None for one per usable core."""
    from audit.facts.collect import collect, default_jobs
    from audit.signals.compute import compute_signals
    from audit.signals.repository import Repository
    from audit.signals.training_path import TrainingPath
    from audit.state.observed import experiments

    now = int(effects.clock())
    collection = collect(snapshot, jobs=jobs or default_jobs(), cache=kept, now=now, progress=effects.files)
    repository = Repository(snapshot, collection)
    path = TrainingPath(repository)
    return experiments(repository, path, compute_signals(repository, path))
