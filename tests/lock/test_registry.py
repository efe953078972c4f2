"""Container registries: references as engines read them, the digest of a tag, tokens for reading."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from audit.net.errors import NetworkError, NotFoundError
from audit.net.registry import HUB, Image, digest_of, parse

INDEX = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
DIGEST = f"sha256:{hashlib.sha256(INDEX).hexdigest()}"
ZEROS = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("reference", "image"),
    [
        ("python", Image(HUB, "library/python", "latest")),
        ("python:3.11-slim", Image(HUB, "library/python", "3.11-slim")),
        ("pytorch/pytorch:2.4.0-cuda12.1", Image(HUB, "pytorch/pytorch", "2.4.0-cuda12.1")),
        ("docker.io/python:3", Image(HUB, "library/python", "3")),
        ("ghcr.io/org/team/image:v1", Image("ghcr.io", "org/team/image", "v1")),
        ("localhost:5000/image", Image("localhost:5000", "image", "latest")),
        (f"nvcr.io/nvidia/pytorch@{ZEROS}", Image("nvcr.io", "nvidia/pytorch", "latest", ZEROS)),
    ],
)
def test_a_reference_is_read_as_engines_read_it(reference: str, image: Image) -> None:
    assert parse(reference) == image


@pytest.mark.parametrize(
    "reference",
    ["", "UPPER", "a b", "image:", "image@sha256:12", "http://x/y", "a" * 600, "../x", "${IMAGE}"],
)
def test_what_is_no_reference_is_none(reference: str) -> None:
    assert parse(reference) is None


class Registry(BaseHTTPRequestHandler):
    """One image, `team/image:v1`, for those who hold the token that `/token` gives for reading it."""

    said_digest = DIGEST
    closed = False

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        host = f"http://{self.headers['Host']}"
        if parts.path == "/token":
            query = parse_qs(parts.query)
            right = query == {"service": ["fake"], "scope": ["repository:team/image:pull"]}
            self._send(200 if right and not self.closed else 401, b'{"token": "reader"}', {})
        elif self.headers.get("Authorization") != "Bearer reader":
            challenge = f'Bearer realm="{host}/token",service="fake"'
            self._send(401, b"{}", {"WWW-Authenticate": challenge})
        elif parts.path == "/v2/team/image/manifests/v1" and "image.index" in self.headers["Accept"]:
            self._send(200, INDEX, {"Docker-Content-Digest": self.said_digest})
        else:
            self._send(404, b"{}", {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, text in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def registry() -> Iterator[tuple[str, type[Registry]]]:
    handler = type("Handler", (Registry,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}", handler
    server.shutdown()
    server.server_close()


def test_the_digest_of_a_tag_is_that_of_its_manifest(registry: tuple[str, type[Registry]]) -> None:
    assert digest_of(Image(registry[0], "team/image", "v1"), scheme="http") == DIGEST


def test_an_image_that_is_not_there_or_not_shown_is_not_found(registry: tuple[str, type[Registry]]) -> None:
    with pytest.raises(NotFoundError, match=r"team/image:v2 \(404\)"):
        digest_of(Image(registry[0], "team/image", "v2"), scheme="http")
    registry[1].closed = True
    with pytest.raises(NotFoundError, match="no token"):
        digest_of(Image(registry[0], "team/image", "v1"), scheme="http")


def test_a_manifest_that_is_not_what_its_digest_says_is_refused(registry: tuple[str, type[Registry]]) -> None:
    registry[1].said_digest = ZEROS
    with pytest.raises(NetworkError, match="not what its digest says"):
        digest_of(Image(registry[0], "team/image", "v1"), scheme="http")
