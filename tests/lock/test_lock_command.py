"""`ml-audit lock` from end to end, against a hub of our own."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.documents.lock import Lock, LockSource
from audit.documents.state import Confidence
from audit.lock.document import read_lock
from tests.fakehub.server import serving
from tests.fakehub.world import Fault, World
from tests.lock.conftest import MANIFEST, TOKEN

Command = Callable[..., tuple[int, str]]


def read(text: str) -> Lock:
    return read_lock(text.encode())


def value(text: str, *path: str) -> object:
    return read(text).values[path].value


def test_identities_are_resolved(lock: Command, world: World, repository: Path) -> None:
    code, text = lock()
    model, data = world.repositories["models", "org/tiny"], world.repositories["datasets", "org/data"]
    assert code == 0
    assert value(text, "models", "primary", "revision") == model.refs["main"]
    assert value(text, "models", "primary", "tokenizer_revision") == model.refs["main"]
    assert value(text, "models", "primary", "config") == f"sha256:{hashlib.sha256(b'{}').hexdigest()}"
    assert value(text, "models", "primary", "chat_template") == f"sha256:{hashlib.sha256(b'x').hexdigest()}"
    assert value(text, "datasets", "train", "revision") == data.refs["main"]
    prompt = (repository / "prompts/judge.txt").read_bytes()
    assert value(text, "files", "prompts/judge.txt") == f"sha256:{hashlib.sha256(prompt).hexdigest()}"
    assert value(text, "files", "conf.yaml") is not None
    assert value(text, "environment", "packages", "torch", "declared") == "==2.4.0"
    resolved = read(text).values["models", "primary", "revision"]
    assert (resolved.source, resolved.confidence) == (LockSource.HUB_API, Confidence.EXACT)


def test_the_same_state_gives_the_same_bytes(lock: Command) -> None:
    _, first = lock()
    time.sleep(1.1)  # the clock that dates the values has moved on
    code, second = lock()
    assert code == 0
    assert second == first


def test_a_commit_on_the_branch_changes_that_model_alone(lock: Command, world: World) -> None:
    _, first = lock()
    world.repositories["models", "org/tiny"].commit(
        {"config.json": b'{"new": 1}', "tokenizer_config.json": b"{}"}
    )
    time.sleep(1.1)
    _, second = lock()
    before, after = read(first).values, read(second).values
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {
        ("models", "primary", key) for key in ("revision", "config", "tokenizer_revision", "chat_template")
    }
    assert value(second, "models", "primary", "chat_template") is None
    assert "no chat template" in after["models", "primary", "chat_template"].note


def test_a_new_readme_is_a_new_commit_and_the_same_data(lock: Command, world: World) -> None:
    _, first = lock()
    world.repositories["datasets", "org/data"].commit({"a.parquet": b"1" * 10, "README.md": b"new"})
    _, second = lock()
    assert value(first, "datasets", "train", "revision") != value(second, "datasets", "train", "revision")
    assert value(first, "datasets", "train", "fingerprint") == value(
        second, "datasets", "train", "fingerprint"
    )
    world.repositories["datasets", "org/data"].commit({"a.parquet": b"2" * 10})
    _, third = lock()
    assert value(third, "datasets", "train", "fingerprint") != value(
        first, "datasets", "train", "fingerprint"
    )


def test_a_script_dataset_is_fingerprinted_by_the_hubs_conversion(
    lock: Command, world: World, repository: Path
) -> None:
    data = world.repositories["datasets", "org/data"]
    data.commit({"data.py": b"", "README.md": b""})
    data.commit(
        {"default/train/0000.parquet": b"t", "default/test/0000.parquet": b"e"}, "refs/convert/parquet"
    )
    _, first = lock()
    data.commit(
        {"default/train/0000.parquet": b"t", "default/test/0000.parquet": b"E"}, "refs/convert/parquet"
    )
    _, second = lock()  # only the split that is declared counts
    assert value(first, "datasets", "train", "fingerprint") is not None
    assert value(first, "datasets", "train", "fingerprint") == value(
        second, "datasets", "train", "fingerprint"
    )
    old = data.refs["main"]
    data.commit({"data.py": b"new", "README.md": b""})
    (repository / "ml-audit.yaml").write_text(MANIFEST.replace("split: train}", f"revision: {old}}}"))
    _, third = lock()
    found = read(third).values["datasets", "train", "fingerprint"]
    assert (found.value, found.confidence) == (None, Confidence.UNRESOLVED)
    assert "another commit" in found.note


def test_offline_keeps_what_was_resolved_and_says_the_rest(
    lock: Command, repository: Path, world: World
) -> None:
    _, first = lock()
    asked = len(world.log)
    text = MANIFEST.replace("judge: {path", "other: {text: Hello}\n  judge: {path")
    (repository / "ml-audit.yaml").write_text(
        text.replace("datasets:", "  teacher: {id: org/other}\ndatasets:")
    )
    code, second = lock("--offline")
    assert code == 0
    assert len(world.log) == asked
    assert (
        read(second).values["models", "primary", "revision"]
        == read(first).values["models", "primary", "revision"]
    )
    teacher = read(second).values["models", "teacher", "revision"]
    assert (teacher.value, teacher.source, teacher.confidence) == (
        None,
        LockSource.OFFLINE,
        Confidence.UNRESOLVED,
    )


def test_a_hub_that_does_not_answer_costs_no_identity(lock: Command, world: World) -> None:
    _, first = lock()
    world.faults.append(Fault("/", "500", times=-1))
    code, second = lock()
    assert (code, second) == (0, first)


def test_an_answer_for_another_revision_is_not_kept(lock: Command, repository: Path) -> None:
    lock()
    (repository / "ml-audit.yaml").write_text(MANIFEST.replace("revision: main", "revision: v2"))
    _, second = lock("--offline")
    assert value(second, "models", "primary", "revision") is None


@pytest.mark.parametrize(
    ("name", "source", "said"),
    [
        ("org/nothing", LockSource.NOT_FOUND, "HF_TOKEN is not set"),
        ("org/private", LockSource.NOT_FOUND, "HF_TOKEN is not set"),
        ("org/limited", LockSource.RATE_LIMITED, "429"),
    ],
)
def test_what_the_hub_does_not_give_is_written_down(
    lock: Command, world: World, repository: Path, name: str, source: LockSource, said: str
) -> None:
    world.add("org/private", private=True).commit({"config.json": b"{}"})
    world.add("org/limited").commit({"config.json": b"{}"})
    world.faults.append(Fault("org/limited", "429", times=-1, retry_after="9999"))
    (repository / "ml-audit.yaml").write_text(MANIFEST.replace("org/tiny", name))
    code, text = lock()
    found = read(text).values["models", "primary", "revision"]
    assert code == 0
    assert (found.value, found.source, found.confidence) == (None, source, Confidence.UNRESOLVED)
    assert said in found.note


def test_a_gated_model_has_a_commit_and_no_configuration(
    lock: Command, world: World, repository: Path
) -> None:
    """The hub tells everybody the commit of a gated repository; its files it does not."""
    world.add("org/gated", gated=True).commit({"config.json": b"{}"})
    (repository / "ml-audit.yaml").write_text(MANIFEST.replace("org/tiny", "org/gated"))
    _, text = lock()
    assert (
        value(text, "models", "primary", "revision") == world.repositories["models", "org/gated"].refs["main"]
    )
    assert read(text).values["models", "primary", "config"].source is LockSource.FORBIDDEN


def test_a_renamed_model_is_resolved_and_its_name_today_said(
    lock: Command, world: World, repository: Path
) -> None:
    world.moved["models", "old/tiny"] = "org/tiny"
    (repository / "ml-audit.yaml").write_text(MANIFEST.replace("org/tiny", "old/tiny"))
    _, text = lock()
    found = read(text).values["models", "primary", "revision"]
    assert found.value == world.repositories["models", "org/tiny"].refs["main"]
    assert "called org/tiny now" in found.note


def test_the_token_opens_and_never_shows(
    lock: Command,
    world: World,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    world.add("org/private", private=True, readers={TOKEN}).commit({"config.json": b"{}"})
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    for name in ("org/private", "org/nothing"):
        text = MANIFEST.replace("org/tiny", name).replace("train.py", f"train.py --token {TOKEN}")
        (repository / "ml-audit.yaml").write_text(text)
        _, written = lock("--verbose")
        assert TOKEN not in written
    shown = capfd.readouterr()
    assert TOKEN not in shown.out + shown.err
    assert TOKEN in {token for _, _, token in world.log}


# --check -----------------------------------------------------------------------------------------------------------------


def test_a_fresh_lock_holds(lock: Command, capfd: pytest.CaptureFixture[str]) -> None:
    lock()
    code, _ = lock("--check")
    assert (code, capfd.readouterr().out) == (0, "")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("prompts/judge.txt", "Judge well.\n", "files.prompts/judge.txt was sha256:"),
        ("data/eval.jsonl", "{}\n{}\n", "datasets.evaluation.sha256 was sha256:"),
        ("requirements.txt", "torch==2.5.0\n", "torch.declared was ==2.4.0 when locked, and is ==2.5.0"),
        (
            "ml-audit.yaml",
            MANIFEST.replace("2e-5", "1e-5"),
            "training.learning_rate was 2e-05 when locked, and is 1e-05",
        ),
        (
            "ml-audit.yaml",
            MANIFEST.replace("epochs: 3", "epochs: 3, seed: 1"),
            "training.seed is not locked yet",
        ),
        (
            "ml-audit.yaml",
            MANIFEST.replace(", epochs: 3", ""),
            "training.epochs is locked, and nothing asks for it",
        ),
        (
            "ml-audit.yaml",
            MANIFEST.replace("revision: main", "revision: v2"),
            "locked for org/tiny@main, and org/tiny@v2 is declared",
        ),
    ],
)
def test_what_changed_since_is_told_and_closes_the_gate(
    lock: Command,
    repository: Path,
    world: World,
    capfd: pytest.CaptureFixture[str],
    file: str,
    text: str,
    said: str,
) -> None:
    _, written = lock()
    asked = len(world.log)
    (repository / file).write_text(text)
    code, after = lock("--check")
    assert (code, after) == (1, written)
    assert said in capfd.readouterr().out
    assert len(world.log) == asked


@pytest.mark.parametrize(
    "text",
    [
        MANIFEST.replace("2e-5", "0.00002"),
        "# a comment\n" + MANIFEST,
        MANIFEST.replace("{learning_rate: 2e-5, epochs: 3}", "\n  epochs: 3\n  learning_rate: 2.0e-5"),
        MANIFEST.replace("\n", "\r\n"),
    ],
)
def test_a_manifest_that_says_the_same_leaves_the_lock_fresh(
    lock: Command, repository: Path, text: str
) -> None:
    _, written = lock()
    (repository / "ml-audit.yaml").write_bytes(text.encode())
    assert lock("--check") == (0, written)
    assert lock() == (0, written)


def test_without_manifest_or_lock_the_mend_is_said(
    lock: Command, repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert lock("--check")[0] == 2
    assert "`ml-audit lock` writes it" in capfd.readouterr().err
    (repository / "ml-audit.yaml").unlink()
    assert lock()[0] == 2
    assert "`ml-audit init` writes one" in capfd.readouterr().err


def test_a_lock_that_cannot_be_read_is_made_anew_and_said(
    lock: Command, repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, first = lock()
    (repository / "ml-audit.lock").write_text(first.replace("2.0e-05", "9.0e-05"))
    assert lock("--check")[0] == 2
    code, text = lock()
    assert code == 0
    assert value(text, "training", "learning_rate") == 2e-05
    assert "nothing of it is kept" in capfd.readouterr().err


# Large files, links, kills -----------------------------------------------------------------------------------------------


def test_a_large_file_is_sampled_and_says_so(
    lock: Command, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.lock.files.LARGE", 2**20)
    content = bytearray(random.Random(0).randbytes(3 * 2**20))
    (repository / "data/eval.jsonl").write_bytes(content)
    _, text = lock()
    found = read(text).values["datasets", "evaluation", "sha256"]
    assert str(found.value).startswith("sampled-sha256:")
    assert found.confidence is Confidence.DECLARED
    assert "--hash-large-files" in found.note
    _, whole = lock("--hash-large-files")
    assert value(whole, "datasets", "evaluation", "sha256") == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_a_pointer_stands_for_its_content(lock: Command, repository: Path) -> None:
    oid = hashlib.sha256(b"content").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 7\n"
    (repository / "data/eval.jsonl").write_text(pointer)
    _, text = lock()
    found = read(text).values["datasets", "evaluation", "sha256"]
    assert (found.value, found.confidence) == (f"sha256:{oid}", Confidence.EXACT)


def test_no_link_leads_out(lock: Command, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (repository / "prompts/judge.txt").unlink()
    (repository / "prompts/judge.txt").symlink_to(tmp_path / "secret")
    _, text = lock()
    assert value(text, "files", "prompts/judge.txt") is None
    assert "symbolic link" in read(text).values["files", "prompts/judge.txt"].note
    (repository / "ml-audit.lock").unlink()
    (repository / "ml-audit.lock").symlink_to(tmp_path / "elsewhere")
    assert lock()[0] == 2
    assert not (tmp_path / "elsewhere").exists()


def test_killed_at_any_moment_the_old_or_the_new_lock_is_there(
    lock: Command, repository: Path, world: World
) -> None:
    _, old = lock()
    place = repository / "ml-audit.lock"
    choice = random.Random(1)
    for _ in range(8):
        world.repositories["models", "org/tiny"].commit({"config.json": choice.randbytes(8).hex().encode()})
        with serving(world) as address:
            command = [sys.executable, "-m", "audit", "lock", str(repository), "--quiet"]
            process = subprocess.Popen(command, env=os.environ | {"HF_ENDPOINT": address})
            time.sleep(choice.uniform(0.0, 1.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert read(place.read_text()).values.keys() == read(old).values.keys()
