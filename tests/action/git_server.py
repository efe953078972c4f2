"""Git over HTTP on the loopback, as GitHub serves it: `git http-backend` behind a few lines of CGI."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


class GitServer:
    """Serves the repositories below `root`. `asked`: path and Authorization of every request. `closed`: answers 403 to everything."""

    def __init__(self, root: Path) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.closed = False
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, self.headers.get("authorization")))
                if server.closed:
                    self.send_error(403)
                    return
                length = int(self.headers.get("content-length") or 0)
                parts = urlsplit(self.path)
                environ = {
                    **os.environ,
                    "GIT_PROJECT_ROOT": str(root),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "PATH_INFO": parts.path,
                    "QUERY_STRING": parts.query,
                    "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers.get("content-type") or "",
                    "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding") or "",
                    "GIT_PROTOCOL": self.headers.get("git-protocol") or "",
                    "REMOTE_ADDR": "127.0.0.1",
                    "GIT_CONFIG_COUNT": "1",
                    "GIT_CONFIG_KEY_0": "safe.directory",
                    "GIT_CONFIG_VALUE_0": "*",
                }
                done = subprocess.run(
                    ["git", "http-backend"],
                    input=self.rfile.read(length),
                    env=environ,
                    capture_output=True,
                    check=True,
                )
                head, _, body = done.stdout.partition(b"\r\n\r\n")
                headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                self.send_response(int(headers.pop("Status", "200").split()[0]))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def git_server(root: Path) -> Iterator[GitServer]:
    server = GitServer(root)
    try:
        yield server
    finally:
        server.close()
