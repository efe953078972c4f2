"""What the word TARGET of the command line names: a place on this machine, or a repository on GitHub."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from audit.source.errors import SourceError

_OWNER = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})"
_NAME = r"[A-Za-z0-9._-]{1,100}"
_SHORT = re.compile(rf"({_OWNER})/({_NAME})(?:@(.+))?")
_SCP = re.compile(rf"(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):/?({_OWNER}/{_NAME})")
_SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "git+https")
_AT_COMMIT = re.compile(r"(.+)@([0-9a-f]{40}|[0-9a-f]{64})", re.DOTALL)
_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|\.$|/$|^[-/]")


class LocalTarget(msgspec.Struct, frozen=True):
    """A folder of this machine, as written, and the ref of it that is meant; None means the work tree."""

    path: str
    ref: str | None = None


class GitHubTarget(msgspec.Struct, frozen=True):
    """A repository on `host` (None: the configured GitHub). At most one of `ref`, `tree` and `pull` is set.

    `tree` is what follows /tree/ in an address: a ref, perhaps followed by a folder; only GitHub knows where
    one ends.
    """

    owner: str
    name: str
    host: str | None = None
    ref: str | None = None
    tree: str | None = None
    pull: int | None = None


def parse_target(target: str) -> LocalTarget | GitHubTarget:
    """Tells what `target` names; what exists on this machine comes first. Raises SourceError."""
    if not target or "\0" in target:
        raise SourceError("The target is empty.", "Give a path, owner/repo, or a GitHub URL.")
    if "://" not in target:
        if local := _existing(target):
            return local
        if match := _SCP.fullmatch(target):
            return _from_parts(match[1], match[2].split("/"))
        if match := _SHORT.fullmatch(target):
            return _repository(match[1], match[2], ref=match[3])
        if target.partition("/")[0].lower() in ("github.com", "www.github.com"):
            return _from_address(f"https://{target}")
        raise SourceError(
            f"{target} is neither a folder of this machine nor owner/repo.",
            "Check the path, or give a GitHub URL.",
        )
    return _from_address(target)


def _existing(target: str) -> LocalTarget | None:
    """The longest existing path that `target` begins with, up to an `@`. A whole commit id after it is one, whatever else exists: a repository
    could hold a folder that is called like an earlier state of itself.
    """
    if (at := _AT_COMMIT.fullmatch(target)) and _exists(at[1]):
        return LocalTarget(at[1], at[2])
    if _exists(target):
        return LocalTarget(target)
    end = target.rfind("@")
    while end > 0:
        if _exists(target[:end]) and target[end + 1 :]:
            return LocalTarget(target[:end], target[end + 1 :])
        end = target.rfind("@", 0, end)
    return None


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False


def _from_address(address: str) -> GitHubTarget:
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in _SCHEMES:
        # Not quoted: an address may hold a password.
        raise SourceError(
            "The target is not an address that can be read.", "Give https://github.com/owner/repo."
        )
    return _from_parts(host, [unquote(part) for part in parts.path.split("/") if part])


def _from_parts(host: str, parts: list[str]) -> GitHubTarget:
    host = host.lower().removeprefix("www.")
    host = "github.com" if host == "ssh.github.com" else host
    if len(parts) < 2:
        raise SourceError("The address names no repository.", f"Give https://{host}/owner/repo.")
    owner, name, *rest = parts
    name = name.removesuffix(".git")
    tail = "/".join(rest[1:])
    match rest[:1]:
        case []:
            return _repository(owner, name, host=host)
        case ["tree"] if tail:
            return _repository(owner, name, host=host, tree=tail)
        case ["commit" | "commits"] if tail:
            return _repository(owner, name, host=host, ref=tail)
        case ["releases"] if rest[1:2] == ["tag"] and rest[2:]:
            return _repository(owner, name, host=host, ref="/".join(rest[2:]))
        case ["pull"] if rest[1:2] and rest[1].isascii() and rest[1].isdecimal() and len(rest[1]) < 10:
            return _repository(owner, name, host=host, pull=int(rest[1]))
        case _:
            raise SourceError(
                f"/{'/'.join(rest)} of {owner}/{name} is no tree, commit, tag or pull request.",
                f"Give https://{host}/{owner}/{name}",
            )


def _repository(
    owner: str,
    name: str,
    *,
    host: str | None = None,
    ref: str | None = None,
    tree: str | None = None,
    pull: int | None = None,
) -> GitHubTarget:
    name = name.removesuffix(".git")
    if not re.fullmatch(_OWNER, owner) or not re.fullmatch(_NAME, name) or name in (".", ".."):
        raise SourceError(f"{owner}/{name} cannot be the name of a repository.", "Check the spelling.")
    for word in (ref, tree):
        if word is not None and _FORBIDDEN_IN_REF.search(word):
            raise SourceError(f"{word} cannot be the name of a branch, tag or commit.", "Check the spelling.")
    return GitHubTarget(owner, name, host, ref, tree, pull)


class Server(msgspec.Struct, frozen=True):
    """A GitHub to ask: its API's address, and the token that is meant for it (never shown)."""

    api: str
    host: str
    token: str | None

    def __repr__(self) -> str:
        return f"Server({self.api})"


def server_for(host: str | None, environ: Mapping[str, str]) -> Server:
    """The server of a target on `host`, from GITHUB_API_URL, GITHUB_TOKEN and GH_TOKEN.

    A token goes only to the server that GITHUB_API_URL names (api.github.com unless set). Raises SourceError
    for other hosts.
    """
    api = (environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/")
    try:
        parts = urlsplit(api)
        api_host = (parts.hostname or "").lower()
    except ValueError:
        api_host = ""
    if not api_host or parts.scheme not in ("https", "http"):
        raise SourceError("GITHUB_API_URL is not an address.", "Set it to https://HOST/api/v3, or unset it.")
    if parts.scheme == "http" and api_host not in ("localhost", "127.0.0.1", "::1"):
        raise SourceError("GITHUB_API_URL is not encrypted (http).", "Set it to https://HOST/api/v3.")
    own = api_host.removeprefix("api.") if api_host.endswith((".github.com", ".ghe.com")) else api_host
    token = (environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN") or "").strip() or None
    if host is None or host == own:
        return Server(api, own, token)
    if host == "github.com":
        return Server("https://api.github.com", host, None)
    raise SourceError(
        f"{host} is not known as a GitHub server.",
        "Clone the repository and give its path; for GitHub Enterprise Server set GITHUB_API_URL=https://HOST/api/v3.",
    )
