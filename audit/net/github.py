"""GitHub's API through PyGithub's client: few calls, patient within bounds, and errors that say what to do.

PyGithub (LGPL-3) is imported on first use, as it costs 200 ms. Its own waiting is switched off: it would
sleep until a rate limit resets, which can be an hour. Meanings of statuses and headers: GitHub's REST
documentation, "Rate limits for the REST API" and "Troubleshooting the REST API".
"""

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from audit.net import connection
from audit.net.errors import EmptyRepositoryError, NetworkError, NotFoundError

Answer = TypeVar("Answer")
_ATTEMPTS = 4
_PATIENCE = 60.0
_TIMEOUT = 30
_SECONDARY = 60.0
"""Seconds to wait where a secondary limit says nothing of its own (GitHub: "wait for at least one minute")."""
_PASSING = frozenset({500, 502, 503, 504})
_MAX_HOPS = 5
_PAGE = 100
_JOB_PAGES = 10
_PIECE = 256 * 1024
_DOWNLOAD_SECONDS = 900
MAX_DOWNLOAD = 2 * 2**30
"""Bytes of an archive, compressed, that are fetched at most."""


class GitHub:
    """One GitHub server. `api`: its REST address ("https://api.github.com", "https://HOST/api/v3"); `token`:
    sent there and nowhere else. All methods raise NetworkError. To be used as a context manager.
    """

    def __init__(
        self,
        api: str,
        token: str | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._token = token
        self._sleep = sleep
        self._now = now
        self._client: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()

    @property
    def has_token(self) -> bool:
        """Whether requests are made in somebody's name."""
        return self._token is not None

    def repository(self, owner: str, name: str) -> dict[str, Any]:
        """The repository's description; `full_name` is its name today, where it was renamed or moved."""
        return self._object(f"/repos/{quote(owner)}/{quote(name)}", f"{owner}/{name}")

    def commit(self, full_name: str, ref: str) -> str:
        """The id of the commit that a branch, tag or abbreviated id names."""
        answer = self._object(
            f"/repos/{full_name}/commits/{quote(ref, safe='')}", f"{ref} of {full_name}", {"per_page": 1}
        )
        return _text(answer, "sha", r"[0-9a-f]{40,64}")

    def pull_head(self, full_name: str, number: int) -> str:
        """The id of the newest commit of a pull request."""
        head = self.pull(full_name, number).get("head")
        return _text(head if isinstance(head, dict) else {}, "sha", r"[0-9a-f]{40,64}")

    def pull(self, full_name: str, number: int) -> dict[str, Any]:
        """A pull request, as GitHub describes it today."""
        return self._object(f"/repos/{full_name}/pulls/{number}", f"pull request {number} of {full_name}")

    def pulls_from(self, full_name: str, owner: str, branch: str) -> list[dict[str, Any]]:
        """The open pull requests of `full_name` that come from a branch of that name of `owner`'s, at most 100."""
        parameters = {"state": "open", "head": f"{owner}:{branch}", "per_page": 100}
        return self._list(f"/repos/{full_name}/pulls", f"the pull requests of {full_name}", parameters)

    def pulls_of(self, full_name: str, commit: str) -> list[dict[str, Any]]:
        """The pull requests, open or merged, that a commit belongs to, at most 100."""
        what = f"the pull requests of {commit[:12]} of {full_name}"
        return self._list(f"/repos/{full_name}/commits/{commit}/pulls", what, {"per_page": 100})

    def merge_base(self, full_name: str, base: str, head: str) -> str:
        """The id of the newest commit that `base` and `head` (ids, branches or tags) both come from.

        Files are only on the first page of a comparison, so the second is asked for: it is small.
        """
        sides = f"{quote(base, safe='')}...{quote(head, safe='')}"
        answer = self._object(
            f"/repos/{full_name}/compare/{sides}",
            f"where {base[:40]} and {head[:12]} of {full_name} part",
            {"per_page": 1, "page": 2},
        )
        found = answer.get("merge_base_commit")
        return _text(found if isinstance(found, dict) else {}, "sha", r"[0-9a-f]{40,64}")

    def artifacts(self, full_name: str, run: int, name: str) -> list[dict[str, Any]]:
        """The artifacts of that name that a workflow run left, newest first."""
        what = f"the artifacts of run {run} of {full_name}"
        answer = self._object(
            f"/repos/{full_name}/actions/runs/{run}/artifacts", what, {"name": name, "per_page": 100}
        )
        found = answer.get("artifacts")
        listed = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        return sorted(listed, key=lambda one: str(one.get("created_at")), reverse=True)

    def artifact(self, full_name: str, number: int, file: BinaryIO, *, limit: int) -> None:
        """Writes the zip of an artifact to `file`, at most `limit` bytes."""
        what = f"artifact {number} of {full_name}"
        self._redirected(f"/repos/{full_name}/actions/artifacts/{number}/zip", what, file, limit)

    def run(self, full_name: str, number: int) -> dict[str, Any]:
        """A workflow run, as GitHub describes it today."""
        return self._object(f"/repos/{full_name}/actions/runs/{number}", f"run {number} of {full_name}")

    def run_logs(self, full_name: str, run: int, attempt: int, file: BinaryIO, *, limit: int) -> None:
        """Writes the zip of all logs of one attempt of a run to `file`. NotFoundError where they have expired, or the run still goes on."""
        path = f"/repos/{full_name}/actions/runs/{run}/attempts/{attempt}/logs"
        self._redirected(path, f"the logs of run {run} of {full_name}", file, limit)

    def jobs(self, full_name: str, run: int, attempt: int) -> list[dict[str, Any]]:
        """The jobs of one attempt of a run, at most 1,000: one matrix alone may have 256."""
        path = f"/repos/{full_name}/actions/runs/{run}/attempts/{attempt}/jobs"
        jobs: list[dict[str, Any]] = []
        for page in range(1, _JOB_PAGES + 1):
            parameters = {"per_page": _PAGE, "page": page}
            found = self._object(path, f"the jobs of run {run} of {full_name}", parameters).get("jobs")
            listed = found if isinstance(found, list) else []
            jobs += [one for one in listed if isinstance(one, dict)]
            if len(listed) < _PAGE:
                break
        return jobs

    def job_log(self, full_name: str, job: int, file: BinaryIO, *, limit: int) -> None:
        """Writes the log of a job, plain text, to `file`. NotFoundError where it has expired."""
        self._redirected(
            f"/repos/{full_name}/actions/jobs/{job}/logs", f"the log of job {job} of {full_name}", file, limit
        )

    def tree(self, full_name: str, commit: str) -> tuple[list[dict[str, Any]], bool]:
        """All that Git records of a commit (path, mode, type, sha, size), and whether GitHub cut the list
        short.
        """
        answer = self._object(
            f"/repos/{full_name}/git/trees/{commit}", f"the tree of {full_name}", {"recursive": "1"}
        )
        entries = answer.get("tree")
        return entries if isinstance(entries, list) else [], bool(answer.get("truncated"))

    def archive(self, full_name: str, commit: str, file: BinaryIO, *, limit: int = MAX_DOWNLOAD) -> None:
        """Writes the `.tar.gz` of a commit to `file`, at most `limit` bytes.

        The API answers with an address on another host; it is fetched without the token, which that address
        does not need.
        """
        self._redirected(f"/repos/{full_name}/tarball/{commit}", f"the archive of {full_name}", file, limit)

    def _redirected(self, path: str, what: str, file: BinaryIO, limit: int) -> None:
        def once() -> None:
            headers = self._call(lambda: self._requester().requestJsonAndCheck("GET", path)[0], what)
            location = headers.get("location")
            if not isinstance(location, str):
                raise NetworkError(f"GitHub gave no address for {what}.", "Try again later.")
            file.seek(0)
            file.truncate()
            self._download(location, file, limit)

        self._patiently(once, what)

    def _object(self, path: str, what: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        answer = self._answer(path, what, parameters)
        if not isinstance(answer, dict):
            raise self._not_github(what)
        return answer

    def _list(self, path: str, what: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        answer = self._answer(path, what, parameters)
        if not isinstance(answer, list):
            raise self._not_github(what)
        return [one for one in answer if isinstance(one, dict)]

    def _answer(self, path: str, what: str, parameters: Mapping[str, Any] | None) -> Any:
        def once() -> Any:
            headers, answer = self._requester().requestJsonAndCheck(
                "GET", path, parameters=dict(parameters or {})
            )
            lower = {str(name).lower(): str(value) for name, value in headers.items()}
            if "location" in lower:  # PyGithub gives a redirect to another host for an answer
                raise self._led_away()
            if "json" not in lower.get(
                "content-type", "json"
            ):  # and any text, a captive portal's page, for an object
                raise self._not_github(what)
            return answer

        return self._patiently(lambda: self._call(once, what), what)

    def _led_away(self) -> NetworkError:
        return NetworkError(
            f"{self._api} redirects to another place.", "Set GITHUB_API_URL to the API's own address."
        )

    def _not_github(self, what: str) -> NetworkError:
        return NetworkError(
            f"{self._api} gave an answer about {what} that is not GitHub's.", "Check GITHUB_API_URL."
        )

    def _requester(self) -> Any:
        if self._client is None:
            import github

            self._client = github.Github(
                auth=github.Auth.Token(self._token) if self._token else None,
                base_url=self._api,
                timeout=_TIMEOUT,
                user_agent="ml-audit",
                retry=0,
                seconds_between_requests=None,
                lazy=True,
            )
        return self._client.requester

    def _call(self, once: Callable[[], Answer], what: str) -> Answer:
        """One request; what PyGithub and requests raise becomes NetworkError, or _Wait where another try may
        help.
        """
        import github
        import requests

        try:
            return once()
        except github.GithubException as error:
            raise self._explained(error.status, error.headers or {}, error.data, what) from None
        except requests.exceptions.RequestException as error:
            raise _connection_error(error, self._api) from None
        except (RuntimeError, RecursionError, AssertionError):
            # PyGithub's own refusal to follow a redirect to another host, or in a circle.
            raise self._led_away() from None
        except (ValueError, AttributeError, TypeError):
            raise NetworkError(
                f"{self._api} gave an answer about {what} that is not JSON.", "Check GITHUB_API_URL."
            ) from None

    def _patiently(self, once: Callable[[], Answer], what: str) -> Answer:
        """Tries again after what passes by itself, within _ATTEMPTS and _PATIENCE seconds of waiting."""
        waited = 0.0
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return once()
            except _Wait as wait:
                pause = float(2 ** (attempt - 1)) if wait.seconds is None else wait.seconds
                if attempt == _ATTEMPTS or waited + pause > _PATIENCE:
                    raise wait.error from None
                waited += pause
                self._sleep(pause)
        raise NetworkError(f"GitHub did not answer about {what}.", "Try again later.")

    def _explained(self, status: int, headers: Mapping[str, Any], data: Any, what: str) -> Exception:
        """The error for a status of 400 or more."""
        said = self._said(data)
        lower = {str(name).lower(): str(value) for name, value in headers.items()}
        if status in (403, 429) and (
            status == 429
            or "retry-after" in lower
            or lower.get("x-ratelimit-remaining") == "0"
            or "rate limit" in said.lower()
        ):
            return self._rate_limited(lower)
        if status in _PASSING:
            error = NetworkError(
                f"GitHub answered {status} about {what}, several times.",
                "Try again later; githubstatus.com tells about outages.",
            )
            return _Wait(error, _seconds(lower.get("retry-after")))
        if status == 401:
            return NetworkError(
                "GitHub does not accept the token (401).",
                "Renew GITHUB_TOKEN (or GH_TOKEN), or unset it to read a public repository.",
            )
        if status == 403 and "x-github-sso" in lower:
            return NetworkError(
                f"The organisation of {what} asks for single sign-on (403).",
                "Authorise the token for the organisation in GitHub's settings (Configure SSO).",
            )
        if status == 403:
            return NetworkError(
                f"GitHub forbids reading {what} (403){said and f': {said}'}.",
                "Give a token that may read the repository's contents.",
            )
        if status == 409 and "empty" in said.lower():
            return EmptyRepositoryError(f"{what} has no commit yet.", "Push something first.")
        if status in (404, 422):
            return self._not_found(what)
        if status == 410:
            return NotFoundError(
                f"GitHub no longer holds {what} (410).", "It has expired or was deleted: run it again."
            )
        return NetworkError(
            f"GitHub answered {status} about {what}{said and f': {said}'}.", "Try again later."
        )

    def _not_found(self, what: str) -> NotFoundError:
        if self.has_token:
            advice = "Check the spelling; a private repository needs a token that may read its contents."
        else:
            advice = "Check the spelling; a private repository needs GITHUB_TOKEN (or GH_TOKEN)."
        return NotFoundError(f"GitHub does not know {what} (404).", advice)

    def _rate_limited(self, headers: Mapping[str, str]) -> Exception:
        """Names the time at which requests are answered again; waits for it where that is soon."""
        seconds = _seconds(headers.get("retry-after"))
        # The reset of the primary limit stands in every answer; only a used up limit makes it a time to wait for.
        is_used_up = headers.get("x-ratelimit-remaining") == "0"
        if (
            seconds is None
            and is_used_up
            and (reset := _seconds(headers.get("x-ratelimit-reset"))) is not None
        ):
            seconds = max(0.0, reset - self._now()) + 1
        if seconds is None:
            until = "for now"
        else:
            moment = datetime.fromtimestamp(min(self._now() + seconds, 4e9), UTC)
            until = f"until {moment:%Y-%m-%d %H:%M:%S} UTC (in {_spell(seconds)})"
        advice = "Set GITHUB_TOKEN (or GH_TOKEN): 5,000 requests an hour instead of 60."
        if self.has_token:
            advice = "Wait until then, or use another token."
        error = NetworkError(f"GitHub's rate limit is used up {until}.", advice)
        return _Wait(error, _SECONDARY if seconds is None else seconds)

    def _said(self, data: Any) -> str:
        """GitHub's own message, on one line and without the token, should it repeat it."""
        message = data.get("message") if isinstance(data, dict) else None
        text = " ".join(str(message or "").split())[:200].rstrip(".")
        return text.replace(self._token, "***") if self._token else text

    def _download(self, address: str, file: BinaryIO, limit: int) -> None:
        """Streams what lies at `address`, following its redirects by hand: no credential of any kind goes
        along.
        """
        import requests

        deadline = self._now() + _DOWNLOAD_SECONDS
        with requests.Session() as session:
            # A callable as authentication keeps requests from looking into ~/.netrc.
            session.auth = lambda request: request
            try:
                for _ in range(_MAX_HOPS):
                    self._check_scheme(address)
                    with session.get(
                        address,
                        stream=True,
                        allow_redirects=False,
                        timeout=_TIMEOUT,
                        headers={"Accept-Encoding": "identity"},
                    ) as answer:
                        if answer.is_redirect:
                            address = urljoin(address, answer.headers["location"])
                            continue
                        if answer.status_code != 200:
                            raise self._explained(answer.status_code, answer.headers, None, "the archive")
                        self._receive(answer.raw, answer.headers.get("content-length"), file, limit, deadline)
                        return
            except requests.exceptions.RequestException as error:
                raise _connection_error(error, f"https://{urlsplit(address).hostname}") from None
        raise NetworkError("The archive's address leads from one redirect to the next.", "Try again later.")

    def _check_scheme(self, address: str) -> None:
        scheme = urlsplit(address).scheme
        if scheme != "https" and (scheme != "http" or self._api.startswith("https:")):
            raise NetworkError("GitHub's address for the archive is not encrypted.", "Check GITHUB_API_URL.")

    def _receive(self, raw: Any, length: str | None, file: BinaryIO, limit: int, deadline: float) -> None:
        import urllib3

        expected = int(length) if length and length.isdecimal() else None
        received = 0
        too_much = NetworkError(
            f"The archive is larger than {limit / 2**30:.1f} GiB.", "Clone the repository, and give its path."
        )
        if expected is not None and expected > limit:
            raise too_much
        try:
            while piece := raw.read(_PIECE):
                received += len(piece)
                if received > limit:
                    raise too_much
                if self._now() > deadline:
                    raise NetworkError(
                        f"The archive did not arrive within {_DOWNLOAD_SECONDS // 60} minutes.",
                        "Clone the repository, and give its path.",
                    )
                file.write(piece)
        except urllib3.exceptions.HTTPError:
            raise _Wait(_broken_off()) from None
        if expected is not None and received < expected:
            raise _Wait(_broken_off())


class _Wait(Exception):
    """A failure that may pass: `error` is raised where it does not; `seconds` to wait, None where nobody said
    how long.
    """

    def __init__(self, error: NetworkError, seconds: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.seconds = seconds


def _broken_off() -> NetworkError:
    return NetworkError(
        "The archive's transfer broke off, several times.", "Check the connection, and try again."
    )


def _connection_error(error: Exception, server: str) -> Exception:
    explained, passes = connection.explained(error, server, _TIMEOUT)
    return _Wait(explained) if passes else explained


def _text(answer: Mapping[str, Any], key: str, pattern: str) -> str:
    value = answer.get(key)
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise NetworkError(f"GitHub's answer holds no {key}.", "Check GITHUB_API_URL.")
    return value


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdecimal() and len(text) < 12 else None


def _spell(seconds: float) -> str:
    if seconds < 90:
        return f"{round(seconds)} seconds"
    return f"{round(seconds / 60)} minutes"
