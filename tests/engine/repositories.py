"""Small Git repositories on disk, and the effects to audit them with."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from audit.engine.options import Effects

WHEN = 1_767_322_996

TRAINER = {
    "README.md": "# Trainer\n\n```\npython train.py\n```\n",
    "requirements.txt": "torch==2.4.1\nnumpy\n",
    "train.py": """\
        import numpy as np
        import torch

        def main():
            torch.manual_seed(0)
            model = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(3):
                loss = model(torch.randn(4, 2)).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        if __name__ == "__main__":
            main()
        """,
}


def git(folder: Path, *arguments: str) -> str:
    """What git says, with an identity and dates of its own and no configuration of the machine."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        settings |= {
            f"GIT_{who}_NAME": "t",
            f"GIT_{who}_EMAIL": "t@example.org",
            f"GIT_{who}_DATE": f"{WHEN} +0000",
        }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | settings, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


def commit(folder: Path, message: str = "change") -> str:
    """Commits everything; the new commit's id."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path, files: Mapping[str, str] = TRAINER) -> Path:
    """A repository with one commit on `main`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files)
    commit(folder)
    return folder


def effects(cache: Path, **changes: object) -> Effects:
    """A fixed clock, and a cache of its own."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(cache), "ML_AUDIT_CACHE_DIR": str(cache / "cache")}
    return Effects(lambda: WHEN, environ, **changes)  # type: ignore[arg-type]
