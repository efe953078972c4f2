"""Files that name an interpreter: `.python-version` (pyenv, uv), `runtime.txt` (Heroku, Binder),
`.tool-versions` (asdf)."""

import re

from audit.facts.extracted import Extracted
from audit.facts.model import VersionFacts

_VERSION = re.compile(
    r"(?:(?:cpython|python|py)[ \t@=-]+)?"
    r"((?:pypy|miniconda|anaconda|miniforge)[\w.+-]*|\d+(?:\.\d+){0,2}[\w.+-]*)"
)
_MAX_LINES = 200


def extract(text: str) -> Extracted:
    """The first Python version that the file names; none for a file that names other tools only."""
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n")[:_MAX_LINES], 1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        word, _, rest = line.partition(" ")
        tool = bool(rest) and not word[0].isdigit()
        if tool and word not in {"python", "cpython"}:
            continue
        found = _VERSION.match(line[:200])
        if found is not None:
            return Extracted(VersionFacts(python=found[1], line=number))
    return Extracted(VersionFacts(), "" if text.strip() else "the file is empty")
