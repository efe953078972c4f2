"""What GitHub's API refuses, and how a person mends it: one sentence for one channel that failed."""

import enum
from collections.abc import Iterable

import msgspec


class Kind(enum.Enum):
    """Why a request came to nothing."""

    TOKEN = "the token is not accepted"  # noqa: S105
    FORBIDDEN = "not permitted"
    MISSING = "not there, or not to be seen"
    GONE = "switched off or deleted"
    CONFLICT = "in conflict"
    INVALID = "not accepted"
    LIMITED = "rate limited"
    UNAVAILABLE = "no answer"


class ApiError(Exception):
    """A request that came to nothing. `status`: HTTP's, 0 where no answer came; `said`: GitHub's own words, or what happened, on one line
    and without the token. `uncertain`: whether the server may have done what was asked all the same."""

    def __init__(self, kind: Kind, said: str, status: int = 0, *, uncertain: bool = False) -> None:
        super().__init__(said)
        self.kind = kind
        self.said = said
        self.status = status
        self.uncertain = uncertain


def advice(error: ApiError, permission: str) -> str:
    """Why, and what to do: one or two sentences. `permission`: what the channel needs, as in a workflow's `permissions`."""
    match error.kind:
        case Kind.TOKEN:
            return (
                "GitHub does not accept the token (401): none was given, or it has expired or was revoked. Pass a valid github-token; "
                f"it needs `{permission}`."
            )
        case Kind.FORBIDDEN:
            return (
                f"The token lacks `{permission}` (403: {error.said}). Add it to the job's permissions; pull requests "
                "from forks and from Dependabot always get a read-only token, for which the README has a second workflow."
            )
        case Kind.MISSING:
            return f"GitHub does not show it to this token (404). The token needs `{permission}`, or it was deleted meanwhile."
        case Kind.GONE:
            return f"The feature is switched off in this repository, or the thing was deleted (410: {error.said})."
        case Kind.INVALID:
            return f"GitHub does not accept the content ({error.status}: {error.said}). Please report this as a fault of ml-audit."
        case Kind.CONFLICT:
            return f"GitHub reports a conflict ({error.status}: {error.said}). Run the job again."
        case Kind.LIMITED:
            return f"GitHub's rate limit is used up ({error.said}). Run the job again later."
        case Kind.UNAVAILABLE:
            return f"GitHub cannot be used at the moment ({error.said}). Run the job again later."


class Trouble(msgspec.Struct, frozen=True):
    """A channel that failed. `what`: "the comment"; `permission`: what it needs; `why` stands where no request was made or the fault lies
    elsewhere; `done`: what did not happen to it."""

    what: str
    permission: str = ""
    error: ApiError | None = None
    why: str = ""
    done: str = "written"


def sentences(troubles: Iterable[Trouble]) -> tuple[str, ...]:
    """One text for each cause, however many channels it struck."""
    groups: dict[tuple[object, ...], list[Trouble]] = {}
    for trouble in troubles:
        error = trouble.error
        cause = (error.kind, error.status, error.said) if error else (trouble.why,)
        key = (trouble.done, *cause)
        groups.setdefault(key, []).append(trouble)
    return tuple(map(_sentence, groups.values()))


def _sentence(group: list[Trouble]) -> str:
    what = _joined([trouble.what for trouble in group])
    permissions = list(dict.fromkeys(trouble.permission for trouble in group if trouble.permission))
    verb = "were" if len(group) > 1 else "was"
    error = group[0].error
    why = advice(error, "` and `".join(permissions)) if error else group[0].why
    return f"{what[:1].upper()}{what[1:]} {verb} not {group[0].done}. {why or 'The token may not.'}"


def _joined(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
