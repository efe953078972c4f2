"""Contexts whose signals are computed from the files: for rules that are about what code really does."""

from collections.abc import Mapping

from audit.documents.finding import Severity, Status
from audit.rules.catalogue import rule
from audit.rules.rule import Context, Outcome
from audit.signals.compute import compute_signals
from audit.signals.training_path import TrainingPath
from tests.signals.building import build

LOOP = """
import torch
from torch.utils.data import DataLoader


def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(data, shuffle=True):
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        optimizer.step()
"""
"""A training loop of PyTorch that draws from its generator and seeds nothing."""


def audited(files: Mapping[str, str | bytes], repository: str = "someone/project") -> Context:
    """The context of a repository that holds these files."""
    built = build(files, repository)
    path = TrainingPath(built)
    return Context(built, path, compute_signals(built, path))


def said(identifier: str, files: Mapping[str, str | bytes]) -> list[tuple[Status, Severity | None, str]]:
    """(status, severity where it is not the rule's own, message) of every outcome."""
    return [(each.status, each.severity, each.message) for each in rule(identifier).check(audited(files))]


def failing(identifier: str, files: Mapping[str, str | bytes]) -> list[Outcome]:
    return [each for each in rule(identifier).check(audited(files)) if each.status is Status.FAIL]


def only_status(identifier: str, files: Mapping[str, str | bytes]) -> Status:
    (only,) = rule(identifier).check(audited(files))
    return only.status
