"""The Hugging Face hub over its HTTP API: which commit a revision is, what lies in it, and one small file of it.

Addresses, headers and error codes (`X-Error-Code`, `X-Repo-Commit`, `Link`) as the public client `huggingface_hub` 2.4 asks and understands them.
"""

import enum
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urljoin

import msgspec

from audit.net.errors import NetworkError
from audit.net.http import Answer, Http
from audit.safety.sanitize import unicode_text

ENDPOINT = "https://huggingface.co"
MAX_FILE = 16 * 2**20
"""Bytes of the largest file that is fetched: a tokenizer's configuration with its template is far below."""
_MAX_INFO = 64 * 2**20
_MAX_PAGES = 200
"""Pages of a listing, 1,000 files each."""
_MAX_LISTED = 1_000_000
"""Files of all pages, however many one of them holds."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?")
_NEXT = re.compile(r'<([^<>]{1,4000})>\s*;\s*rel="next"')


class RepoType(enum.Enum):
    """What a repository of the hub holds; the value is its place in addresses."""

    MODEL = "models"
    DATASET = "datasets"


class Reason(enum.Enum):
    """Why the hub did not say."""

    MISSING = "not_found"
    FORBIDDEN = "forbidden"
    RATE_LIMIT = "rate_limited"
    NETWORK = "network_error"


class UnavailableError(Exception):
    """The hub did not answer the question. `note`: one sentence that says why, fit for a lock."""

    def __init__(self, reason: Reason, note: str) -> None:
        super().__init__(note)
        self.reason = reason
        self.note = note


class Repo(msgspec.Struct, frozen=True):
    """A repository at one revision. `id`: its name today; `commit`: 40 hex digits; `files`: the paths in it."""

    id: str
    commit: str
    files: tuple[str, ...]


class HubFile(msgspec.Struct, frozen=True, order=True):
    """A file of a repository. `digest`: "sha256:…" of a large file's content (LFS), "git:…" (the blob's id) of any other."""

    path: str
    size: int
    digest: str


class Hub:
    """One hub, `HF_ENDPOINT` or the public one, asked in the name of `token` where there is one. All methods raise UnavailableError."""

    def __init__(
        self, endpoint: str, token: str | None, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = Http(endpoint, headers, sleep=sleep)
        self._token = token

    def __enter__(self) -> Self:
        self._http.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.__exit__(kind, error, trace)

    def repo(self, kind: RepoType, name: str, revision: str) -> Repo:
        """What the repository is at a branch, tag or commit."""
        if revision in (".", ".."):  # which an address would take for a step
            raise UnavailableError(Reason.MISSING, f"{revision} is no name of a revision.")
        path = f"/api/{kind.value}/{_name(name)}/revision/{quote(revision, safe='')}"
        said = self._json(path, f"{name}@{revision}")
        commit, today = said.get("sha"), said.get("id")
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise UnavailableError(Reason.NETWORK, f"{self._http.host} names no commit of {name}.")
        siblings = said.get("siblings")
        files = [
            one["rfilename"]
            for one in (siblings if isinstance(siblings, list) else [])
            if isinstance(one, dict) and isinstance(one.get("rfilename"), str)
        ]
        is_name = isinstance(today, str) and _REPOSITORY.fullmatch(today)
        return Repo(str(today) if is_name else name, commit, tuple(sorted(files)))

    def file(self, kind: RepoType, name: str, commit: str, path: str) -> bytes | None:
        """The content of a file, None where the repository does not hold it."""
        folder = "datasets/" if kind is RepoType.DATASET else ""
        address = f"/{folder}{_name(name)}/resolve/{quote(commit, safe='')}/{quote(path)}"
        answer = self._answer(address, f"{path} of {name}", MAX_FILE)
        if answer.status == 404 and answer.headers.get("x-error-code") == "EntryNotFound":
            return None
        self._check(answer, f"{path} of {name}")
        return answer.body

    def tree(self, kind: RepoType, name: str, revision: str) -> tuple[HubFile, ...]:
        """All files at a revision, sorted by path."""
        path = f"/api/{kind.value}/{_name(name)}/tree/{quote(revision, safe='')}?recursive=true&expand=false"
        return tuple(sorted(_files(self._pages(path, f"the files of {name}"))))

    def _pages(self, path: str, what: str) -> Iterator[Any]:
        count = 0
        for _ in range(_MAX_PAGES):
            answer = self._answer(path, what, _MAX_INFO)
            self._check(answer, what)
            listed = self._parsed(answer, list, what)
            count += len(listed)
            if count > _MAX_LISTED:
                raise UnavailableError(Reason.NETWORK, f"{what} are more than {_MAX_LISTED:,}.")
            yield from listed
            following = _NEXT.search(answer.headers.get("link", "")[:10_000])
            if following is None:
                return
            try:
                path = urljoin(answer.address, following[1])
            except ValueError:
                path = ""
            if not path.startswith(self._http.base + "/"):
                raise UnavailableError(Reason.NETWORK, f"{self._http.host} continues {what} on another host.")
        raise UnavailableError(Reason.NETWORK, f"{what} go on beyond {_MAX_PAGES} pages.")

    def _json(self, path: str, what: str) -> dict[str, Any]:
        answer = self._answer(path, what, _MAX_INFO)
        self._check(answer, what)
        said: dict[str, Any] = self._parsed(answer, dict, what)
        return said

    def _parsed(self, answer: Answer, kind: type, what: str) -> Any:
        try:
            value = answer.json()
        except ValueError:
            value = None
        if not isinstance(value, kind):
            raise UnavailableError(
                Reason.NETWORK, f"{self._http.host} gave an answer about {what} that is not the hub's."
            )
        return value

    def _answer(self, path: str, what: str, limit: int) -> Answer:
        try:
            return self._http.get(path, limit=limit)
        except NetworkError as error:
            raise UnavailableError(Reason.NETWORK, f"{what}: {error.message}") from None

    def _check(self, answer: Answer, what: str) -> None:
        """Raises for every status that is no success, saying what a person can do."""
        status, code = answer.status, answer.headers.get("x-error-code", "")
        host = self._http.host
        if status < 300:
            return
        if status == 429:
            raise UnavailableError(Reason.RATE_LIMIT, f"{host} limits the rate of requests (429).")
        if code == "GatedRepo":
            advice = "ask for access there" if self._token else "set HF_TOKEN to a token that has access"
            raise UnavailableError(Reason.FORBIDDEN, f"{what} is gated ({status}): {advice}.")
        if code == "RevisionNotFound":
            raise UnavailableError(Reason.MISSING, f"{what}: there is no such revision ({status}).")
        if status in (401, 404) and (code == "RepoNotFound" or not self._token):
            advice = "" if self._token else ", or is private and HF_TOKEN is not set"
            raise UnavailableError(Reason.MISSING, f"{what} does not exist{advice} ({status}).")
        if status == 401:
            raise UnavailableError(Reason.FORBIDDEN, f"{host} does not accept HF_TOKEN (401).")
        if status == 403:
            raise UnavailableError(Reason.FORBIDDEN, f"{host} forbids reading {what} (403).")
        if status == 404:
            raise UnavailableError(Reason.MISSING, f"{what} does not exist (404).")
        raise UnavailableError(Reason.NETWORK, f"{host} answered {status} about {what}.")


def _name(name: str) -> str:
    if not _REPOSITORY.fullmatch(name):
        raise UnavailableError(Reason.MISSING, f"{name[:100]} is no name of a repository on the hub.")
    return name


def _files(listed: Iterator[Any]) -> Iterator[HubFile]:
    for one in listed:
        if not isinstance(one, dict) or one.get("type") != "file":
            continue
        path, size, blob, large = (one.get(key) for key in ("path", "size", "oid", "lfs"))
        content = large.get("oid") if isinstance(large, dict) else None
        digest = f"sha256:{content.removeprefix('sha256:')}" if isinstance(content, str) else f"git:{blob}"
        if isinstance(path, str) and isinstance(size, int):
            yield HubFile(unicode_text(path[:4_000]), size, unicode_text(digest[:200]))


def endpoint_of(environ: Mapping[str, str]) -> str:
    """The hub's address: `HF_ENDPOINT`, else the public one."""
    return (environ.get("HF_ENDPOINT") or ENDPOINT).rstrip("/")


def token_of(environ: Mapping[str, str]) -> str | None:
    """The user's token, from where the public client takes it: `HF_TOKEN`, its older name, the file that a login leaves."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if value := environ.get(name, "").strip():
            return value
    home = environ.get("HF_HOME") or os.path.join(  # noqa: PTH118
        environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".cache",
        "huggingface",
    )
    place = Path(environ.get("HF_TOKEN_PATH") or Path(home) / "token")
    try:
        return place.read_text(encoding="utf-8")[:1000].strip() or None
    except (OSError, UnicodeError):
        return None
