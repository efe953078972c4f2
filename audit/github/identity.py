"""In whose name the token writes."""

from audit.github.client import Client, Json
from audit.github.errors import ApiError, Kind

_WORKFLOW = "github-actions"


class Identity:
    """Asked only where there is something to compare with. A workflow's token may not read `/user` and is told apart by that; GraphQL's
    viewer answers to every token."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._login: str | None = None

    def wrote(self, thing: Json) -> bool:
        """Whether a comment or review of the API is ours. Raises ApiError where GitHub does not answer."""
        user = thing.get("user")
        if not isinstance(user, dict):
            return False
        ours = self._who()
        # An account of a person may be called like an app, but is no bot.
        alike = _bare(str(user.get("login"))) == _bare(ours)
        return alike and (user.get("type") == "Bot" or not ours.endswith("[bot]"))

    def _who(self) -> str:
        if self._login is None:
            self._login = self._viewer() or self._user() or f"{_WORKFLOW}[bot]"
        return self._login

    def _viewer(self) -> str:
        try:
            viewer = self._client.query("query { viewer { login } }", {}).get("viewer")
        except ApiError:
            return (
                ""  # a server may have no GraphQL, or GITHUB_GRAPHQL_URL may be wrong: the other way is tried
            )
        return str(viewer.get("login") or "") if isinstance(viewer, dict) else ""

    def _user(self) -> str:
        try:
            user = self._client.get("/user")
        except ApiError as error:
            if error.kind in (Kind.FORBIDDEN, Kind.MISSING):
                return ""
            raise
        return str(user.get("login") or "") if isinstance(user, dict) else ""


def _bare(login: str) -> str:
    return login.removesuffix("[bot]").lower()
