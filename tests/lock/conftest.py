"""A repository with a manifest, and a hub of our own that knows what it names."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from audit.cli.main import run
from tests.fakehub.server import serving
from tests.fakehub.world import World

MANIFEST = """\
project: {name: demo}
models:
  primary: {id: org/tiny, revision: main}
datasets:
  train: {id: org/data, split: train}
  evaluation: {path: data/eval.jsonl}
prompts:
  judge: {path: prompts/judge.txt}
training: {learning_rate: 2e-5, epochs: 3}
execution: {command: python train.py --config conf.yaml}
"""
FILES = {
    "ml-audit.yaml": MANIFEST,
    "data/eval.jsonl": "{}\n",
    "prompts/judge.txt": "Judge.\n",
    "train.py": "import torch\n",
    "conf.yaml": "a: 1\n",
    "requirements.txt": "torch==2.4.0\n",
}
TOKEN = "hf_" + "Ab3dEf7hIj" * 3 + "Kl9x"
"""The shape of a token; it opens nothing."""


@pytest.fixture
def world() -> World:
    world = World(tokens={TOKEN})
    world.add("org/tiny").commit(
        {
            "config.json": b"{}",
            "tokenizer_config.json": b'{"chat_template": "x"}',
            "model.safetensors": b"0" * 100,
        }
    )
    world.add("org/data", "datasets", large={"a.parquet"}).commit({"a.parquet": b"1" * 10, "README.md": b"x"})
    return world


@pytest.fixture
def hub(world: World) -> Iterator[str]:
    with serving(world) as address:
        yield address


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def lock(
    repository: Path, hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """Runs `ml-audit lock` on the repository; gives the exit code and the lock's text ("" where there is none)."""
    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGING", "VIRTUAL_ENV", "CONDA", "DOCKER")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_ENDPOINT", hub)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("audit.net.http.time.sleep", lambda _seconds: None, raising=True)

    def locked(*options: str) -> tuple[int, str]:
        code = run(["lock", str(repository), *options])
        place = repository / "ml-audit.lock"
        return code, place.read_text() if place.exists() else ""

    return locked
