"""Two interleaved spirals, drawn anew with every run."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Spirals(Dataset):
    """`count` noisy points of two spirals; the class is which spiral a point belongs to."""

    def __init__(self, count: int, noise: float = 0.1) -> None:
        turn = np.sqrt(np.random.rand(count)) * 3 * np.pi
        label = np.random.randint(0, 2, count)
        sign = np.where(label == 0, 1.0, -1.0)
        points = np.stack([sign * turn * np.cos(turn), sign * turn * np.sin(turn)], axis=1) / 10
        points += np.random.randn(count, 2) * noise
        self.points = torch.tensor(points, dtype=torch.float32)
        self.labels = torch.tensor(label, dtype=torch.long)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.points[index], self.labels[index]
