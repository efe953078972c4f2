"""Addresses of pages on a GitHub server."""

from urllib.parse import quote

import msgspec

from audit.documents.place import Place

# GitHub shows these rendered, where a line has no place; `plain=1` shows the text.
_RENDERED = (".md", ".markdown", ".rst", ".ipynb", ".adoc", ".org", ".csv", ".tsv", ".geojson", ".svg")


class Links(msgspec.Struct, frozen=True):
    """Where pages lie. `server`: "https://github.com"; `repository`: owner/name; `commit`: the one that lines are counted in; `prefix`: the
    audited folder, "" for the root; `run`: the workflow run's page, "" for none."""

    server: str
    repository: str
    commit: str
    prefix: str = ""
    run: str = ""

    def place(self, place: Place) -> str:
        """The permanent address of a place in the commit."""
        path = "/".join(part for part in (self.prefix.strip("/"), place.path) if part)
        plain = "?plain=1" if place.line is not None and path.lower().endswith(_RENDERED) else ""
        anchor = "" if place.line is None else f"#L{place.line}"
        return f"{self._root}/blob/{quote(self.commit)}/{_quoted(path)}{plain}{anchor}"

    def commit_page(self, commit: str) -> str:
        """The page of a commit."""
        return f"{self._root}/commit/{quote(commit, safe='')}"

    @property
    def _root(self) -> str:
        return f"{self.server}/{quote(self.repository)}"


def _quoted(path: str) -> str:
    """Byte for byte, so also where the name is not UTF-8."""
    try:
        return quote(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return quote(path.encode("utf-8", "replace"))
