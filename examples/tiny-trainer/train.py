"""Trains the network; see README.md."""

import argparse
from pathlib import Path

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader

from spirals import Spirals


def build(hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer) -> float:
    model.train()
    total = 0.0
    for points, labels in loader:
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    right = sum(int((model(points).argmax(1) == labels).sum()) for points, labels in loader)
    return right / len(loader.dataset)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/default.yaml")
    parser.add_argument("--resume", help="a checkpoint to go on from")
    parser.add_argument("--out", default="runs")
    args = parser.parse_args()
    config = yaml.safe_load(Path(args.config).read_text())

    torch.manual_seed(config["seed"])
    torch.backends.cudnn.benchmark = True
    train = DataLoader(Spirals(4000), batch_size=config["batch_size"], shuffle=True, num_workers=2)
    test = DataLoader(Spirals(1000), batch_size=500)
    model = build(config["hidden"])
    optimizer = torch.optim.Adam(model.parameters(), lr=config["learning_rate"])
    start = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"] + 1

    out = Path(args.out)
    out.mkdir(exist_ok=True)
    for epoch in range(start, config["epochs"]):
        loss = train_epoch(model, train, optimizer)
        print(f"epoch {epoch} loss {loss:.4f} accuracy {evaluate(model, test):.4f}")
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, out / "last.pt")


if __name__ == "__main__":
    main()
