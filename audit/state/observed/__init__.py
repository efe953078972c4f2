"""What the code says that the repository's experiments are."""

from audit.state.observed.experiments import experiments, started_by
from audit.state.observed.model import Experiment

__all__ = ["Experiment", "experiments", "started_by"]
