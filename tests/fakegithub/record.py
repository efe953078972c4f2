"""What the program writes down: state.json, requests.jsonl, violations.txt."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from .server import FakeGitHub
from .world import Repository


class Recorder:
    """Writes into `folder`; files are replaced whole, so that a reader never sees half of one."""

    def __init__(self, server: FakeGitHub, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._told = 0
        (folder / "requests.jsonl").write_text("")

    def write(self) -> None:
        repositories = self._server.world.repositories
        self._replace(
            "state.json", json.dumps({name: _shape(one) for name, one in repositories.items()}, indent=1)
        )
        self._replace("violations.txt", "".join(f"{one}\n" for one in self._server.violations))
        with (self._folder / "requests.jsonl").open("a") as file:
            for request in self._server.requests[self._told :]:
                told = dataclasses.asdict(request)
                told["headers"] = {
                    name: value for name, value in told["headers"].items() if name != "authorization"
                }
                told["authorized"] = request.authorization is not None
                file.write(json.dumps(told) + "\n")
        self._told = len(self._server.requests)

    def _replace(self, name: str, text: str) -> None:
        fresh = self._folder / f".{name}"
        fresh.write_text(text)
        fresh.replace(self._folder / name)


def _shape(repository: Repository) -> dict[str, Any]:
    """What publishing changes; contents of files stay out."""
    kinds = ("pulls", "comments", "check_runs", "reviews", "review_comments", "runs", "jobs", "artifacts")
    shape: dict[str, Any] = {"refs": repository.refs}
    for kind in kinds:
        shape[kind] = [_plain(dataclasses.asdict(one)) for one in getattr(repository, kind).values()]
    return shape


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value
