"""A GitHub on the loopback: an API, and a second server that hands out archives and notes who asks how."""

import gzip
import hashlib
import io
import json
import re
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit


def blob_sha(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Commit:
    """A commit as GitHub knows it; `tar` None makes the archive that `git archive` would make of `files`."""

    def __init__(
        self,
        files: dict[str, bytes],
        *,
        links: dict[str, str] | None = None,
        submodules: dict[str, str] | None = None,
        hidden: tuple[str, ...] = (),
        truncated: bool = False,
        tar: bytes | None = None,
    ) -> None:
        self.files = files
        self.links = links or {}
        self.submodules = submodules or {}
        self.hidden = hidden
        self.truncated = truncated
        self.sha = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.tar = tar

    def tree(self) -> dict[str, Any]:
        entries: list[dict[str, Any]] = [
            {"path": path, "mode": "100644", "type": "blob", "sha": blob_sha(content), "size": len(content)}
            for path, content in self.files.items()
        ]
        entries += [
            {"path": path, "mode": "120000", "type": "blob", "sha": blob_sha(to.encode()), "size": len(to)}
            for path, to in self.links.items()
        ]
        entries += [
            {"path": path, "mode": "160000", "type": "commit", "sha": sha}
            for path, sha in self.submodules.items()
        ]
        folders = {path.rpartition("/")[0] for path in self.files} - {""}
        entries += [{"path": path, "mode": "040000", "type": "tree", "sha": "0" * 40} for path in folders]
        return {"sha": self.sha, "tree": entries, "truncated": self.truncated}

    def archive(self, top: str) -> bytes:
        if self.tar is not None:
            return self.tar
        shown = {path: content for path, content in self.files.items() if path not in self.hidden}
        members = [(path, content, tarfile.REGTYPE, "") for path, content in shown.items()]
        members += [(path, b"", tarfile.SYMTYPE, to) for path, to in self.links.items()]
        members += [(path, b"", tarfile.DIRTYPE, "") for path in self.submodules]
        return make_tar([(f"{top}/{path}", *rest) for path, *rest in members], comment=self.sha)


def make_tar(
    members: list[tuple[Any, ...]], *, comment: str = "", format_: int = tarfile.PAX_FORMAT
) -> bytes:
    """A `.tar.gz` of (name, content, type, link target)."""
    buffer = io.BytesIO()
    headers = {"comment": comment} if comment else None
    with tarfile.open(
        fileobj=buffer, mode="w:gz", format=format_, pax_headers=headers, compresslevel=1
    ) as tar:
        for name, content, kind, target in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, target
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class Fault:
    """An answer given instead of the true one, to the next `times` requests whose path matches."""

    def __init__(
        self,
        path: str,
        status: int,
        message: str = "",
        *,
        headers: dict[str, str] | None = None,
        times: int = 1,
        body: bytes | None = None,
        cut: int | None = None,
    ) -> None:
        self.path = re.compile(path)
        self.status = status
        self.headers = headers or {}
        self.times = times
        self.body = body if body is not None else json.dumps({"message": message}).encode()
        self.cut = cut


class FakeGitHub:
    """Both servers and what they know. `repositories`: (name, commits by ref); `renamed`: old to new name."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, Commit]] = {}
        self.default_branch = "main"
        self.renamed: dict[str, str] = {}
        self.private: set[str] = set()
        self.pulls: dict[tuple[str, int], Commit] = {}
        self.token = "good-token"
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str, str | None]] = []
        self._servers = [self._serve("api"), self._serve("files")]

    def _serve(self, name: str) -> ThreadingHTTPServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner.requests.append((name, self.path, self.headers.get("Authorization")))
                owner.answer(self, name, urlsplit(self.path).path)

            def log_message(self, format: str, *args: Any) -> None:
                return None

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self._servers[0].server_port}/api/v3"

    @property
    def files(self) -> str:
        return f"http://localhost:{self._servers[1].server_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def asked(self, server: str) -> list[str]:
        return [path for name, path, _ in self.requests if name == server]

    def answer(self, handler: BaseHTTPRequestHandler, server: str, path: str) -> None:
        for fault in self.faults:
            if fault.times and fault.path.search(path):
                fault.times -= 1
                self._send(handler, fault.status, fault.body, fault.headers, fault.cut)
                return
        if server == "files":
            self._file(handler, path)
            return
        authorization = handler.headers.get("Authorization")
        if authorization and authorization.split()[-1] != self.token:
            self._json(handler, 401, {"message": "Bad credentials"})
            return
        self._api(handler, path.removeprefix("/api/v3"), bool(authorization))

    def _api(self, handler: BaseHTTPRequestHandler, path: str, known: bool) -> None:
        if match := re.fullmatch(r"/repositories/(\d+)", path):
            self._repository(handler, list(self.repositories)[int(match[1])])
            return
        match = re.fullmatch(r"/repos/([^/]+/[^/]+)(?:/(.*))?", path)
        name = match[1] if match else ""
        if name in self.renamed:
            number = list(self.repositories).index(self.renamed[name])
            address = {"Location": f"{self.api}/repositories/{number}"}
            self._send(handler, 301, b'{"message":"Moved Permanently"}', address)
            return
        commits = self.repositories.get(name)
        if match is None or commits is None or (name in self.private and not known):
            self._json(handler, 404, {"message": "Not Found"})
            return
        self._within(handler, name, commits, (match[2] or "").split("/", 1))

    def _within(
        self, handler: BaseHTTPRequestHandler, name: str, commits: dict[str, Commit], parts: list[str]
    ) -> None:
        what, rest = parts[0], unquote(parts[1]) if len(parts) > 1 else ""
        known = {commit.sha: commit for commit in (*commits.values(), *self.pulls.values())}
        match what:
            case "":
                self._repository(handler, name)
            case "commits" if not commits:
                self._json(handler, 409, {"message": "Git Repository is empty."})
            case "commits":
                commit = commits.get(rest) or known.get(rest)
                if commit is None:
                    self._json(handler, 422, {"message": f"No commit found for SHA: {rest}"})
                else:
                    self._json(handler, 200, {"sha": commit.sha, "commit": {}})
            case "pulls" if rest.isdecimal() and (name, int(rest)) in self.pulls:
                self._json(handler, 200, {"head": {"sha": self.pulls[name, int(rest)].sha}})
            case "git" if rest.removeprefix("trees/") in known:
                self._json(handler, 200, known[rest.removeprefix("trees/")].tree())
            case "tarball" if rest in known:
                self._send(
                    handler, 302, b"", {"Location": f"{self.files}/{name}/legacy.tar.gz/{rest}?token=once"}
                )
            case _:
                self._json(handler, 404, {"message": "Not Found"})

    def _repository(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        answer = {"full_name": name, "default_branch": self.default_branch, "private": name in self.private}
        self._json(handler, 200, answer)

    def _file(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        owner, name, _, sha = path.strip("/").split("/")
        commits = (*self.repositories[f"{owner}/{name}"].values(), *self.pulls.values())
        commit = next(commit for commit in commits if commit.sha == sha)
        self._send(
            handler, 200, commit.archive(f"{owner}-{name}-{sha[:7]}"), {"Content-Type": "application/x-gzip"}
        )

    def _json(self, handler: BaseHTTPRequestHandler, status: int, answer: object) -> None:
        self._send(handler, status, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def _send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: dict[str, str],
        cut: int | None = None,
    ) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            handler.close_connection = True


def gzip_bomb(size: int) -> bytes:
    """A `.tar.gz` of one file of `size` zero bytes; small, since zeros compress a thousandfold."""
    info = tarfile.TarInfo("top/bomb.bin")
    info.size = size
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed:
        packed.write(info.tobuf(tarfile.PAX_FORMAT))
        block = bytes(2**20)
        for _ in range(size // 2**20):
            packed.write(block)
        packed.write(bytes(1024))
    return buffer.getvalue()
