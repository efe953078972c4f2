"""A dependency as a name and a value, the way Poetry, Pipfile, pixi and uv write it.

Source: https://python-poetry.org/docs/dependency-specification/.
"""

import re
from collections.abc import Mapping
from typing import Any

from audit.facts.dependencies.line import is_exact, normalise, without_credentials
from audit.facts.model import Requirement

_COMMIT = re.compile(r"[0-9a-fA-F]{40}")
_BARE = re.compile(r"=?\d[\w.+!-]*")


def poetry_requirement(
    name: str, value: Any, line: int, group: str, extras: Mapping[str, str], source: str = "poetry"
) -> Requirement | None:
    """The requirement `name = value`; None where the value is none.

    A bare version is exact (`1.2.3`; pip's reading of Poetry's documentation), `^` and `~` are not, `*` is
    any. `extras`: {normalised name: extra}, for what is optional.
    """
    key = normalise(name)
    if isinstance(value, str):
        return Requirement(
            name=key,
            specifier="" if value.strip() == "*" else value.strip(),
            exact=_exact(value),
            line=line,
            group=group,
            source=source,
        )
    if not isinstance(value, dict):
        return None
    version = value.get("version")
    specifier = version.strip() if isinstance(version, str) and version.strip() != "*" else ""
    url, commit, wheel = _address(value)
    markers = value.get("markers")
    optional = bool(value.get("optional"))
    return Requirement(
        name=key,
        specifier=specifier,
        exact=_exact(specifier) or bool(commit) or wheel,
        line=line,
        url=url,
        commit=commit,
        marker=markers if isinstance(markers, str) else "",
        group=group or (extras.get(key, "optional") if optional else ""),
        editable=bool(value.get("editable") or value.get("develop")),
        source=source,
    )


def _exact(specifier: str) -> bool:
    specifier = specifier.strip()
    return _BARE.fullmatch(specifier) is not None or is_exact(specifier)


def _address(value: dict[str, Any]) -> tuple[str, str, bool]:
    """(address, commit, whether it is a wheel)."""
    git = value.get("git")
    if isinstance(git, str):
        revision = next(
            (v for k in ("rev", "ref", "tag", "branch") if isinstance(v := value.get(k), str)), ""
        )
        address = "git+" + git.removeprefix("git+") + (f"@{revision}" if revision else "")
        return without_credentials(address), revision.lower() if _COMMIT.fullmatch(revision) else "", False
    for key in ("url", "file", "path"):
        location = value.get(key)
        if isinstance(location, str):
            return without_credentials(location), "", location.lower().endswith(".whl")
    return "", "", False
