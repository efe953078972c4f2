import pytest

from audit.documents.finding import Severity, Status
from tests.rules.computed import LOOP, failing, only_status

README = "# P\n\n```bash\npython train.py\n```\n"


def script(body: str = "train(1, 2)", head: str = "") -> dict[str, str]:
    main = "\n".join("    " + line for line in body.strip().splitlines())
    return {"README.md": README, "train.py": f"{head}\n{LOOP}\n\nif __name__ == '__main__':\n{main}\n"}


def test_a_library_is_not_asked() -> None:
    files = {"lib/__init__.py": "import torch\n\ndef f():\n    return torch.ones(1)\n"}
    for name in ("evaluation", "checkpoint", "resume", "settings", "tracking", "accumulation", "performance"):
        assert only_status(f"training.{name}", files) is Status.NOT_APPLICABLE


def test_evaluation() -> None:
    assert len(failing("training.evaluation", script())) == 1
    assert (
        only_status("training.evaluation", script() | {"evaluate.py": "def evaluate(model):\n    return 1\n"})
        is Status.PASS
    )
    fitted = {
        "README.md": README,
        "train.py": "from tensorflow import keras\nm = keras.Sequential()\nm.fit(x, y, validation_data=(a, b))\n",
    }
    assert only_status("training.evaluation", fitted) is Status.PASS


def test_checkpoint() -> None:
    (found,) = failing("training.checkpoint", script())
    assert found.message == "Training ends without writing the model anywhere."
    model = script("train(1, 2)\ntorch.save({'model': model.state_dict()}, 'x.pt')")
    (found,) = failing("training.checkpoint", model)
    assert found.message.startswith("Checkpoints hold the model without the optimizer's state")
    both = script(
        "train(1, 2)\ntorch.save({'model': m.state_dict(), 'optimizer': optimizer.state_dict()}, 'x.pt')"
    )
    assert only_status("training.checkpoint", both) is Status.PASS
    unclear = script("train(1, 2)\nengine.save_everything(path)")
    assert only_status("training.checkpoint", unclear) is Status.NOT_CHECKED


def test_resume() -> None:
    body = "torch.save({'model': m.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 1}, 'x.pt')\ntrain(1, 2)"
    assert len(failing("training.resume", script(body))) == 1
    loads = body + "\noptimizer.load_state_dict(torch.load('x.pt')['optimizer'])"
    assert only_status("training.resume", script(loads)) is Status.PASS
    inherited = {
        "README.md": README,
        "train.py": "from transformers import Trainer\nTrainer(model=m).train()\n",
    }
    assert only_status("training.resume", inherited) is Status.NOT_APPLICABLE


def test_settings() -> None:
    (found,) = failing("training.settings", script())
    assert found.message.startswith("train.py takes no settings from outside")
    body = "parser = argparse.ArgumentParser()\ntrain(1, parser.parse_args())"
    assert only_status("training.settings", script(body, "import argparse")) is Status.PASS
    assert (
        only_status("training.settings", script("train(1, CfgNode(sys.argv[1:]))", "import sys"))
        is Status.PASS
    )


def test_tracking() -> None:
    assert len(failing("training.tracking", script())) == 1
    assert only_status("training.tracking", script("import wandb\nwandb.init()\ntrain(1, 2)")) is Status.PASS
    assert (
        only_status(
            "training.tracking", script("import json\njson.dump(log, open('log.json', 'w'))\ntrain(1, 2)")
        )
        is Status.PASS
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (
            "logging.basicConfig(handlers=[logging.StreamHandler(), logging.FileHandler('log.txt')])",
            Status.PASS,
        ),
        ("logging.getLogger().addHandler(logging.handlers.RotatingFileHandler('log.txt'))", Status.PASS),
        ("logging.basicConfig(filename='log.txt')", Status.PASS),
        ("logging.basicConfig(level=logging.INFO)", Status.FAIL),
    ],
)
def test_a_log_file_is_a_record(line: str, status: Status) -> None:
    files = script(f"{line}\ntrain(1, 2)", "import logging\nimport logging.handlers")
    assert only_status("training.tracking", files) is status


def test_the_place_of_a_loop_says_what_it_is() -> None:
    (found,) = failing("training.tracking", script())
    assert [place.note for place in found.evidence] == ["training loop"]


ACCUMULATES = """
import torch


def train(model, loader, accum_steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, batch in enumerate(loader):
        {every}
        model(batch).backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            {then}


if __name__ == '__main__':
    train(1, 2, 4)
"""


def test_accumulation() -> None:
    wrong = ACCUMULATES.format(every="optimizer.zero_grad()", then="pass")
    (found,) = failing("training.accumulation", {"README.md": README, "train.py": wrong})
    assert found.severity is None
    assert found.message.startswith(
        "train.py:8 sets the gradients to zero at every batch, while the optimizer steps only at some (train.py:11)"
    )
    right = ACCUMULATES.format(every="pass", then="optimizer.zero_grad()")
    assert only_status("training.accumulation", {"README.md": README, "train.py": right}) is Status.PASS
    assert only_status("training.accumulation", script()) is Status.NOT_APPLICABLE


def test_performance_costs_nothing() -> None:
    (found,) = failing("training.performance", script())
    assert found.severity in (None, Severity.INFO)
    assert (
        found.message == "train.py:9 loads data without worker processes: loading and computing take turns."
    )
    assert found.fix is not None and "num_workers" in found.fix.text
