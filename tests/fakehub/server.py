"""The fake hub's server: addresses, headers and error codes as the public client knows them."""

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakehub.world import Repository, World, git_blob

_API = re.compile(r"/api/(models|datasets)/([^/]+(?:/[^/]+)?)(?:/(revision|tree)/([^/]+)(?:/(.*))?)?")
_FILE = re.compile(r"/(?:(datasets)/)?([^/]+(?:/[^/]+)?)/resolve/([^/]+)/(.+)")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    world: World

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.world.log.append((self.command, self.path, token))
        if self._goes_wrong():
            return
        if token and token not in self.world.tokens:
            self._error(401, "", "Invalid credentials in Authorization header")
        elif match := _API.fullmatch(parts.path):
            self._api(match, parse_qs(parts.query), token)
        elif match := _FILE.fullmatch(parts.path):
            self._file(match, token)
        elif parts.path.startswith("/cdn/"):
            self._large(parts.path.removeprefix("/cdn/"))
        else:
            self._error(404, "", "Not found")

    # What is asked for -------------------------------------------------------------------------------------------

    def _api(self, match: re.Match[str], query: dict[str, list[str]], token: str) -> None:
        kind, name, what, revision, _folder = match.groups()
        found = self._repository(kind, name, token, listing=True)
        if found is None:
            return
        commit = found.resolve(unquote(revision) if revision else "main")
        if commit is None:
            self._error(404, "RevisionNotFound", "Invalid rev id")
        elif what == "tree":
            self._tree(found, commit, query)
        else:
            self._json(
                {
                    "_id": "0", "id": found.name, "modelId": found.name, "sha": commit, "private": found.private,
                    "gated": "manual" if found.gated else False, "disabled": False, "downloads": 0, "likes": 0, "tags": [],
                    "siblings": [{"rfilename": path} for path in sorted(found.commits[commit])],
                }
            )  # fmt: skip

    def _tree(self, found: Repository, commit: str, query: dict[str, list[str]]) -> None:
        files = sorted(found.commits[commit].items())
        start = int(query.get("cursor", ["0"])[0])
        rows = []
        for path, content in files[start : start + self.world.page]:
            row: dict[str, object] = {
                "type": "file",
                "oid": git_blob(content),
                "size": len(content),
                "path": path,
            }
            if path in found.large:
                row["lfs"] = {
                    "oid": hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                    "pointerSize": 130,
                }
            rows.append(row)
        headers = {}
        if start + self.world.page < len(files):
            head = urlsplit(self.path)
            after = f"{head.path}?recursive=true&cursor={start + self.world.page}"
            headers["Link"] = f'<http://{self.headers["Host"]}{after}>; rel="next"'
        self._json(rows, headers)

    def _file(self, match: re.Match[str], token: str) -> None:
        folder, name, revision, path = match.groups()
        found = self._repository(folder or "models", name, token, listing=False)
        if found is None:
            return
        commit = found.resolve(unquote(revision))
        content = found.commits[commit].get(unquote(path)) if commit else None
        if commit is None:
            self._error(404, "RevisionNotFound", "Invalid rev id")
        elif content is None:
            self._error(404, "EntryNotFound", "Entry not found")
        elif unquote(path) in found.large:
            digest = hashlib.sha256(content).hexdigest()
            headers = {
                "X-Repo-Commit": commit,
                "X-Linked-Etag": f'"{digest}"',
                "X-Linked-Size": str(len(content)),
            }
            self._send(
                302,
                b"",
                headers | {"Location": f"http://localhost:{self.server.server_address[1]}/cdn/{digest}"},
            )
        else:
            headers = {"X-Repo-Commit": commit, "ETag": f'"{git_blob(content)}"'}
            self._send(200, content, headers | {"Content-Type": "application/octet-stream"})

    def _large(self, digest: str) -> None:
        for repository in self.world.repositories.values():
            for files in repository.commits.values():
                for content in files.values():
                    if hashlib.sha256(content).hexdigest() == digest:
                        self._send(200, content, {"ETag": f'"{digest}"'})
                        return
        self._error(404, "", "Not found")

    def _repository(self, kind: str, name: str, token: str, *, listing: bool) -> Repository | None:
        """The repository, or None where the answer has been given: unknown and private ones look alike to who may not see them."""
        if new := self.world.moved.get((kind, name)):
            self._send(307, b"", {"Location": self.path.replace(name, new, 1)})
            return None
        found = self.world.repositories.get((kind, name))
        if found is None or (found.private and token not in found.readers):
            self._error(404 if token else 401, "RepoNotFound", "Repository not found")
            return None
        if found.gated and not listing and token not in found.readers:
            self._error(403 if token else 401, "GatedRepo", f"Access to {kind} {name} is restricted.")
            return None
        return found

    # Answers -----------------------------------------------------------------------------------------------------

    def _goes_wrong(self) -> bool:
        fault = self.world.fault(self.path)
        if fault is None:
            return False
        if fault.kind == "429":
            self._send(429, b"{}", {"Retry-After": fault.retry_after} if fault.retry_after else {})
        elif fault.kind == "500":
            self._send(500, b"{}")
        elif fault.kind == "html":
            self._send(200, b"<html>Sign in to the network</html>", {"Content-Type": "text/html"})
        elif fault.kind == "redirect":
            self._send(302, b"", {"Location": self.path})
        elif fault.kind == "slow":
            time.sleep(1.5)
            return False
        elif fault.kind == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(b'{"id": "')
            self.close_connection = True
        return True

    def _json(self, value: object, headers: dict[str, str] | None = None) -> None:
        self._send(
            200,
            json.dumps(value).encode(),
            {"Content-Type": "application/json; charset=utf-8"} | (headers or {}),
        )

    def _error(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Code": code} if code else {}
        self._send(status, json.dumps({"error": message}).encode(), headers | {"X-Error-Message": message})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def serving(world: World) -> Iterator[str]:
    """The address of a server for `world` on loopback, while the block runs."""
    handler = type("Handler", (_Handler,), {"world": world})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
