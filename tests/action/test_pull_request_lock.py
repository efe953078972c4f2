"""The input `lock` on a pull request: the whole action as a process, with a hub of our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.engine.lock import LockOptions, make
from audit.engine.options import Effects
from audit.lock.document import read_lock, write
from tests.action import world as made_world
from tests.action.git_server import git_server
from tests.action.test_run import World
from tests.action.world import origin, shown
from tests.engine.repositories import TRAINER
from tests.fakegithub.server import FakeGitHub
from tests.fakehub.server import serving
from tests.fakehub.world import World as HubWorld

MANIFEST = "models:\n  primary: {id: org/tiny}\nprompts:\n  judge: {path: judge.txt}\n"
DECLARED = {"ml-audit.yaml": MANIFEST, "judge.txt": "Judge.\n"}


@pytest.fixture
def hub() -> Iterator[str]:
    world = HubWorld()
    world.add("org/tiny").commit({"config.json": b"{}"})
    with serving(world) as address:
        yield address


def locked(folder: Path, hub: str, prompt: str = "Judge.\n") -> str:
    """The lock of DECLARED with another prompt, as `ml-audit lock` on a work tree writes it."""
    folder.mkdir()
    for name, text in (TRAINER | DECLARED | {"judge.txt": prompt}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    effects = Effects(lambda: 1_700_000_000.0, {"HF_ENDPOINT": hub, "HOME": str(folder)})
    return write(make(LockOptions(str(folder), use_cache=False), effects).lock)


@pytest.fixture
def pull(tmp_path: Path, github_server: FakeGitHub, monkeypatch: pytest.MonkeyPatch):
    """Makes a pull request that brings the files it is given to a base that holds others."""
    servers = []

    def made(base: dict[str, str], brought: dict[str, str]) -> World:
        monkeypatch.setattr(made_world, "TRAINER", TRAINER | base)
        monkeypatch.setattr(made_world, "INTRODUCED", brought)
        there = origin(tmp_path / "origin")
        server = git_server(there.root)
        servers.append(server)
        running = server.__enter__()
        shown(github_server, there)
        return World(there, running, github_server, tmp_path)

    yield made
    for server in servers:
        server.__exit__(None, None, None)


def test_a_lock_that_holds_lets_pass(pull, tmp_path, hub):
    lock = locked(tmp_path / "made", hub)
    world = pull(DECLARED | {"ml-audit.lock": lock}, {"docs/notes.md": "New.\n"})
    done = world.run("pull_request_own", lock="check", fail_on="never")
    assert (done.code, done.outputs["conclusion"], done.outputs["lock-file"]) == (0, "success", "")


@pytest.mark.parametrize(
    ("base", "brought", "said"),
    [
        (True, {"judge.txt": "Judge well.\n"}, "files.judge.txt was sha256:"),
        (True, {"ml-audit.yaml": MANIFEST.replace("org/tiny", "org/big")}, "models.primary.id"),
        (False, {"docs/notes.md": "New.\n"}, "is not locked"),
    ],
)
def test_a_lock_that_does_not_hold_closes_the_gate_whatever_fail_on_says(
    pull, tmp_path, hub, base, brought, said
):
    lock = {"ml-audit.lock": locked(tmp_path / "made", hub)} if base else {}
    world = pull(DECLARED | lock, brought)
    done = world.run("pull_request_own", lock="check", fail_on="never")
    assert (done.code, done.outputs["conclusion"]) == (1, "failure")
    [comment] = world.there.comments.values()
    assert said in comment.body
    assert "The gate is closed" in done.log


def test_a_check_that_could_not_fail_is_an_error(pull):
    world = pull({}, {"docs/notes.md": "New.\n"})
    done = world.run("pull_request_own", lock="check")
    assert done.code == 2
    assert "there is no ml-audit.yaml to lock" in done.log


def test_a_new_lock_is_left_for_later_steps_and_suggested_where_the_old_one_was_touched(pull, tmp_path, hub):
    old = locked(tmp_path / "made", hub)
    stale = locked(tmp_path / "stale", hub, "Judge a bit.\n")
    brought = {"judge.txt": "Judge well.\n", "ml-audit.lock": stale}
    world = pull(DECLARED | {"ml-audit.lock": old}, brought)
    done = world.run("pull_request_own", environ={"HF_ENDPOINT": hub}, lock="update", suggestions="true")
    assert done.outputs["lock-file"] == "ml-audit-report/ml-audit.lock"
    new = read_lock((done.workspace / done.outputs["lock-file"]).read_bytes())
    before = read_lock(old.encode())
    assert {path for path in new.values if new.values[path] != before.values.get(path)} == {
        ("files", "judge.txt")
    }
    suggested = [each for each in world.there.review_comments.values() if each.path == "ml-audit.lock"]
    digest = new.values["files", "judge.txt"].value
    assert [f"value: {digest}" in each.body for each in suggested].count(True) == 1
    assert all("```suggestion" in each.body for each in suggested)


def test_a_lock_that_is_as_it_should_be_is_not_written_anew(pull, tmp_path, hub):
    lock = locked(tmp_path / "made", hub)
    world = pull(DECLARED | {"ml-audit.lock": lock}, {"docs/notes.md": "New.\n"})
    done = world.run("pull_request_own", environ={"HF_ENDPOINT": hub}, lock="update")
    assert (done.code, done.outputs["lock-file"]) == (0, "")


def test_a_lock_that_cannot_be_made_is_a_warning(pull, hub):
    world = pull({}, {"docs/notes.md": "New.\n"})
    done = world.run("pull_request_own", environ={"HF_ENDPOINT": hub}, lock="update")
    assert done.code == 0
    assert "The lock was not made: There is no ml-audit.yaml" in done.log
