"""Hints of performance."""

from audit.signals.performance import performance_hints
from audit.signals.training_path import TrainingPath
from tests.signals.building import build

TRAIN = """
import torch

def main():
    for epoch in range(3):
        for batch in loader:
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()
            total += loss.item()
            vae.cpu()
            if step % 100 == 0:
                print(loss.item())
        print(total.item())

main()
"""


def test_what_waits_at_every_step() -> None:
    repository = build({"train.py": TRAIN})
    found = performance_hints(repository, TrainingPath(repository), mixed_precision=True).value
    assert [(each.line, each.note) for each in found] == [
        (10, ".item() in the training loop waits for the device at every step")
    ]
