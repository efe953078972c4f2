"""The step's outputs, in the file that GITHUB_OUTPUT names.

Each is written as `name<<DELIMITER`, its lines, `DELIMITER` (GitHub's documentation, "Workflow commands", "Multiline strings"): the value is a stranger's
text, and only a delimiter that it cannot know keeps it from setting another output.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from audit.action.inputs import OUTPUTS
from audit.safety.sanitize import unicode_text

LONGEST = 100_000
"""Characters of one value: outputs are small things and paths; GitHub's own bound is 1 MB for all of a job."""


def write_outputs(file: Path | None, values: Mapping[str, str], nonce: Callable[[], str]) -> None:
    """Appends every output of the table, those without a value as empty ones. Raises OSError."""
    if file is None:
        return
    text = "".join(_entry(name, values.get(name, ""), nonce) for name in OUTPUTS)
    with file.open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def _entry(name: str, value: str, nonce: Callable[[], str]) -> str:
    value = unicode_text(value)[:LONGEST]
    delimiter = f"ml-audit-{nonce()}"
    while delimiter in value:
        delimiter = f"ml-audit-{nonce()}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"
