"""What resolvers answer, one kind at a time."""

import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from audit.documents.lock import LockSource
from audit.documents.state import Confidence, Leaf, Source, State
from audit.lock import containers, datasets, files, models, packages, providers
from audit.lock.found import Surroundings
from tests.lock.test_registry import DIGEST, Registry, registry  # noqa: F401 - a fixture


def around(root: Path, declared: dict[str, object], **more: object) -> Surroundings:
    leaves = {
        path: Leaf(value, Source.MANIFEST, Confidence.DECLARED)  # type: ignore[arg-type]
        for path, value in declared.items()
    }
    made = Surroundings(State(leaves), files.DiskFiles(str(root)), {}, (), root=str(root))
    return msgspec.structs.replace(made, **more)


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# Files -------------------------------------------------------------------------------------------------------------------


def test_a_folder_is_its_files_and_their_digests(tmp_path: Path) -> None:
    for name in ("d/a", "d/s/b", "d/.git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "d/link").symlink_to("/etc/passwd")
    first = files.DiskFiles(str(tmp_path)).digest("d")
    assert (first.confidence, first.note) == (Confidence.EXACT, "2 files")
    (tmp_path / "d/.git/config").write_text("other")
    assert files.DiskFiles(str(tmp_path)).digest("d/") == first
    (tmp_path / "d/s/b").rename(tmp_path / "d/s/c")
    assert files.DiskFiles(str(tmp_path)).digest("d").value != first.value


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc/passwd", "", "a\0b", "nothing", "a//b"])
def test_what_lies_outside_or_nowhere_is_unresolved(tmp_path: Path, path: str) -> None:
    (tmp_path.parent / "x").write_text("x")
    found = files.DiskFiles(str(tmp_path)).digest(path)
    assert (found.value, found.confidence) == (None, Confidence.UNRESOLVED)
    assert not files.DiskFiles(str(tmp_path)).holds(path)


def test_a_sampled_file_is_told_apart_by_size_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 2**20)
    place = tmp_path / "w.bin"
    values = set()
    for content in (
        b"\0" * 2**21,
        b"\0" * (2**21 + 1),
        b"\1" + b"\0" * (2**21 - 1),
        b"\0" * (2**21 - 1) + b"\1",
    ):
        place.write_bytes(content)
        values.add(files.DiskFiles(str(tmp_path)).digest("w.bin").value)
    assert len(values) == 4


# Models and data -----------------------------------------------------------------------------------------------------------


def test_a_local_model_is_its_files(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text("{}")
    found = models.resolve(around(tmp_path, {"models.primary.id": "./m"}), ("models", "primary"))
    assert found[("models", "primary", "config")].value == sha256(b"{}")
    assert found[("models", "primary", "sha256")].confidence is Confidence.EXACT


def test_several_local_files_are_told_one_by_one(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(name)
    found = datasets.resolve(
        around(tmp_path, {"datasets.train.path": ("a.csv", "b.csv")}), ("datasets", "train")
    )
    assert {path[-1]: answer.value for path, answer in found.items()} == {
        "a.csv": sha256(b"a.csv"), "b.csv": sha256(b"b.csv"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "provider", "kind", "confidence"),
    [
        ("gpt-4o-2024-08-06", "openai", "dated_snapshot", Confidence.EXACT),
        ("gpt-4-0613", "openai", "month_day_snapshot", Confidence.DECLARED),
        ("gpt-4o", "openai", "mutable_alias", Confidence.DECLARED),
        ("our-gpt4", "azure", "deployment_name", Confidence.DECLARED),
    ],
)
def test_a_name_of_an_api_is_as_fixed_as_its_kind(
    tmp_path: Path, name: str, provider: str, kind: str, confidence: Confidence
) -> None:
    declared = {"models.judge.id": name, "models.judge.provider": provider}
    found = models.resolve(around(tmp_path, declared), ("models", "judge"))[
        ("models", "judge", "pinnability")
    ]
    assert (found.value, found.confidence, found.source) == (kind, confidence, LockSource.PROVIDER)


def test_whether_a_provider_knows_a_model_is_asked_with_its_key_alone(
    tmp_path: Path,
    registry: tuple[str, type[Registry]],  # noqa: F811
) -> None:
    seen: list[tuple[str, str | None]] = []

    def answer(handler: Registry) -> None:
        seen.append((handler.path, handler.headers.get("Authorization")))
        known = handler.path == "/v1/models/gpt-4o"
        handler._send(200 if known else 404, json.dumps({"id": "gpt-4o"}).encode(), {})

    registry[1].do_GET = answer  # type: ignore[method-assign]
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://{registry[0]}/v1"}
    asking = around(tmp_path, {}, environ=environ, verify_api=True)
    for name, said in (("gpt-4o", "knows it"), ("gpt-5o", "does not know it")):
        note = providers.pinnability_of(asking, ("models", "judge"), name, "openai")[
            ("models", "judge", "pinnability")
        ].note
        assert said in note
    assert seen == [("/v1/models/gpt-4o", "Bearer k"), ("/v1/models/gpt-5o", "Bearer k")]
    keyless = msgspec.structs.replace(asking, environ={})
    note = providers.pinnability_of(keyless, ("m",), "gpt-4o", "openai")[("m", "pinnability")].note
    assert "OPENAI_API_KEY is not set" in note


# Packages ------------------------------------------------------------------------------------------------------------------


def test_three_columns_of_a_package(tmp_path: Path) -> None:
    site = tmp_path / ".venv/lib/python3.11/site-packages/Torch-2.4.1.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: Torch\nVersion: 2.4.1\n\nText\n")
    (tmp_path / ".venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.9\n")
    known = {"torch": ("==2.4.0", "2.4.0"), "numpy": (">=1.26", None)}
    asking = around(tmp_path, {"inference.backend": "vllm"}, packages=known)
    found = {path[2:]: answer for path, answer in packages.resolve(asking).items()}
    assert {path: answer.value for path, answer in found.items()} == {
        ("torch", "declared"): "==2.4.0", ("torch", "locked"): "2.4.0", ("torch", "installed"): "2.4.1",
        ("numpy", "declared"): ">=1.26", ("numpy", "locked"): None, ("numpy", "installed"): None,
        ("vllm", "declared"): None, ("vllm", "locked"): None, ("vllm", "installed"): None,
    }  # fmt: skip
    assert found["torch", "declared"].confidence is Confidence.EXACT
    assert found["numpy", "declared"].confidence is Confidence.DECLARED
    assert packages.python_of(asking) == "3.11.9"
    assert packages.python_of(around(tmp_path / ".venv", {})) is None


# Containers ----------------------------------------------------------------------------------------------------------------


def test_an_image_is_asked_of_its_registry_where_no_engine_answers(
    tmp_path: Path,
    registry: tuple[str, type[Registry]],  # noqa: F811
) -> None:
    from audit.net.hub import Hub

    declared = {"execution.container": f"{registry[0]}/team/image:v1"}
    asking = around(
        tmp_path, declared, hub=Hub("http://127.0.0.1:1", None), environ={"DOCKER_HOST": "tcp://127.0.0.1:1"}
    )
    found = containers.resolve(asking, ("execution", "container"))[("execution", "container_digest")]
    assert (found.value, found.source, found.confidence) == (DIGEST, LockSource.REGISTRY, Confidence.EXACT)


def test_an_image_named_by_its_digest_needs_nobody(tmp_path: Path) -> None:
    found = containers.resolve(
        around(tmp_path, {"execution.container": f"python@{DIGEST}"}), ("execution", "container")
    )
    assert found[("execution", "container_digest")].value == DIGEST
    missing = containers.resolve(
        around(tmp_path, {"execution.container": "python:3"}), ("execution", "container")
    )
    assert missing[("execution", "container_digest")].source is LockSource.OFFLINE
