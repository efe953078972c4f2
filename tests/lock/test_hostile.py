"""Manifests, environments and hubs that lie: a lock that can be read again, nothing secret shown, nothing waited for."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from audit.cli.main import run
from audit.documents.errors import DocumentError
from audit.documents.lock import Lock, LockedManifest, LockSource, Resolved
from audit.documents.state import Confidence
from audit.lock.document import read_lock, write
from audit.net.hub import Hub, RepoType, UnavailableError
from tests.lock.conftest import MANIFEST, TOKEN

Command = Callable[..., tuple[int, str]]
OTHER = "hf_" + "Zb3dEf7hIj" * 3 + "Kl9x"


@pytest.mark.parametrize(
    "more",
    [
        "evaluation: {metrics: [f1], implementation: {f1: sklearn, f1.macro: sklearn, f1.macro.x: y}}\n",
        "custom: {a: 1, a.b: 2}\n",
        "custom: " + "{a: " * 14 + "1" + "}" * 14 + "\n",
        "custom: {value: 1, source: manifest, confidence: exact, resolved_at: x}\n",
        "custom: {a: .nan, b: .inf, c: 010, d: yes, e: '<<', f: '=', g: \"\\u0085\\u2028\\ufeff\\e\", h: ''}\n",
        f"custom: {{key: {TOKEN}, address: 'https://me:{TOKEN}@example.org/x'}}\n",
    ],
    ids=["metrics", "dots", "deep", "leaf", "texts", "secret"],
)
def test_whatever_is_declared_the_lock_holds_and_stays(lock: Command, repository: Path, more: str) -> None:
    (repository / "ml-audit.yaml").write_text(MANIFEST + more)
    code, text = lock()
    assert code == 0
    read_lock(text.encode())
    assert lock("--check")[0] == 0
    assert lock() == (0, text)


@pytest.mark.parametrize("revision", ["r" * 600, '"a | b"', TOKEN, '"a\\nb\\e[31m"'])
def test_whatever_revision_is_asked_for_is_known_again(
    lock: Command, repository: Path, revision: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (repository / "ml-audit.yaml").write_text(MANIFEST.replace("revision: main", f"revision: {revision}", 1))
    _, text = lock()
    said = capfd.readouterr().err
    assert all(line.startswith("ml-audit: ") for line in said.splitlines())
    assert lock("--check")[0] == 0
    assert lock() == (0, text)
    assert TOKEN not in text + said + capfd.readouterr().err


def test_a_check_shows_no_credential(
    lock: Command, repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (repository / "ml-audit.yaml").write_text(MANIFEST + f"custom: {{key: 'x {TOKEN}'}}\n")
    lock()
    (repository / "ml-audit.yaml").write_text(MANIFEST + f"custom: {{key: 'y {OTHER}', more: {OTHER}}}\n")
    assert lock("--check")[0] == 1
    shown = capfd.readouterr()
    assert "custom.key was x [redacted" in shown.out
    assert TOKEN not in shown.out + shown.err
    assert OTHER not in shown.out + shown.err


@pytest.mark.parametrize(("count", "size"), [(20_001, 1), (5, 2**20)])
def test_a_lock_that_could_not_be_read_again_is_not_written(count: int, size: int) -> None:
    value = Resolved("x" * size, LockSource.MANIFEST, Confidence.DECLARED, "2026-12-01T00:00:00Z")
    values = {("custom", f"a{number}"): value for number in range(count)}
    with pytest.raises(DocumentError, match="a lock holds at most 20,000"):
        write(Lock(1, "test", LockedManifest("ml-audit.yaml", "0" * 64), values))


def test_an_environment_of_the_repository_is_not_waited_for(lock: Command, repository: Path) -> None:
    place = repository / ".venv/lib/python3.11/site-packages/torch-2.4.0.dist-info"
    place.mkdir(parents=True)
    (repository / ".venv/pyvenv.cfg").write_text("version = 3.11.4\n")
    os.mkfifo(place / "METADATA")
    code, text = lock("--offline")
    assert code == 0
    values = read_lock(text.encode()).values
    assert values["environment", "packages", "torch", "installed"].value is None
    assert values["environment", "python"].value == "3.11.4"


# A hub that lies ---------------------------------------------------------------------------------------------------------


@contextmanager
def liar(answer: Callable[[BaseHTTPRequestHandler], tuple[int, dict[str, str], bytes]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            status, headers, body = answer(self)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("location", ["http://[", "http://x:99999999/", "//", "http://\x7f/", "ftp://x/", ""])
def test_a_redirect_to_no_address_is_no_answer(location: str) -> None:
    with (
        liar(lambda _: (302, {"Location": location}, b"")) as address,
        Hub(address, TOKEN, sleep=lambda _: None) as hub,
        pytest.raises(UnavailableError),
    ):
        hub.repo(RepoType.MODEL, "org/tiny", "main")


@pytest.mark.parametrize(
    "link", ['<http://[>; rel="next"', '<http://example.org/x>; rel="next"', '<//[x>; rel="next"']
)
def test_a_listing_that_goes_on_elsewhere_is_no_answer(link: str) -> None:
    with (
        liar(lambda _: (200, {"Link": link}, b"[]")) as address,
        Hub(address, None, sleep=lambda _: None) as hub,
        pytest.raises(UnavailableError, match="another host"),
    ):
        hub.tree(RepoType.DATASET, "org/data", "main")


def test_a_listing_without_bounds_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.net.hub._MAX_LISTED", 10)
    with (
        liar(lambda _: (200, {}, json.dumps([{}] * 11).encode())) as address,
        Hub(address, None, sleep=lambda _: None) as hub,
        pytest.raises(UnavailableError, match="more than 10"),
    ):
        hub.tree(RepoType.DATASET, "org/data", "main")


@pytest.mark.parametrize("revision", [".", ".."])
def test_a_step_of_an_address_is_no_revision(revision: str) -> None:
    with (
        liar(lambda _: (200, {}, json.dumps({"id": "org/tiny", "sha": "0" * 40}).encode())) as address,
        Hub(address, None, sleep=lambda _: None) as hub,
        pytest.raises(UnavailableError, match="no name of a revision"),
    ):
        hub.repo(RepoType.MODEL, "org/tiny", revision)


def test_texts_that_are_no_unicode_are_a_value_like_any_other(
    lock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"type": "file", "path": "\ud800.parquet", "size": 1, "oid": "\udfff", "lfs": {"oid": "\ud900"}}]
    about = {"id": "\ud800", "sha": "0" * 40, "siblings": [{"rfilename": "\ud800"}, 3, {"rfilename": []}]}
    with liar(
        lambda asked: (200, {}, json.dumps(rows if "/tree/" in asked.path else about).encode())
    ) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        code, text = lock()
    assert code == 0
    assert read_lock(text.encode()).values["datasets", "train", "fingerprint"].value is not None


@pytest.mark.parametrize("endpoint", ["http://[", "nonsense", "ftp://x", "http://", "http://x:99999"])
def test_an_endpoint_that_is_none_is_said(
    lock: Command, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    code, text = lock()
    assert code == 0
    assert read_lock(text.encode()).values["models", "primary", "revision"].value is None


@pytest.mark.parametrize("said", [b'{"data": [{"id": []}, {"id": {}}, 1]}', b"[]", b"3", b"{}"])
def test_a_provider_that_lies_verifies_nothing(
    lock: Command, repository: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    (repository / "ml-audit.yaml").write_text("models: {primary: {id: a/b, provider: together}}\n")
    monkeypatch.setenv("TOGETHER_API_KEY", "k")
    with liar(lambda _: (200, {}, said)) as address:
        monkeypatch.setenv("TOGETHER_BASE_URL", address)
        code, text = lock("--verify-api")
    assert code == 0
    assert "knows it" not in text


# What lies where a document should ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ml-audit.yaml", "ml-audit.lock"])
@pytest.mark.parametrize("kind", ["link", "pipe", "dangling", "folder"])
def test_what_is_no_file_is_said_and_stays(
    lock: Command, repository: Path, name: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    place = repository / name
    place.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(repository / ("train.py" if kind == "link" else "nowhere"))
    before = (repository / "train.py").read_bytes()
    for arguments in ([], ["--check"]):
        assert run(["lock", str(repository), *arguments]) == 2
        assert "no regular file" in capfd.readouterr().err
    assert (repository / "train.py").read_bytes() == before
    assert not (repository / "nowhere").exists()


def test_the_manifest_of_the_tool_whose_users_move_here_is_locked(
    lock: Command, repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (repository / "ml-audit.yaml").unlink()
    (repository / "reprollm.yaml").write_text(
        "schema_version: 1\nproject: {name: x}\nmodels: {primary: {id: org/tiny, provider: huggingface}}\n"
    )
    code, text = lock()
    assert code == 0
    assert read_lock(text.encode()).manifest.path == "reprollm.yaml"
    assert lock("--check")[0] == 0


def test_one_reason_is_said_once(lock: Command, repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (repository / "requirements.txt").write_text("torch\ntransformers\ndatasets\naccelerate\npeft\ntrl\n")
    (repository / "train.py").write_text("import torch, transformers, datasets, accelerate, peft, trl\n")
    lock("--offline")
    said = capfd.readouterr().err
    assert said.count("in no lock file") == 1
    assert "and 2 more: in no lock file" in said
    assert said.count("not asked, offline") == 1
