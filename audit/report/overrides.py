"""Drawing a repository's own template: in Jinja's sandbox, with our quoting, in a process with bounded time, memory and output.

The sandbox keeps a template from reaching Python's insides, but not from loops within loops or powers of powers: those end with the
process. It is given plain data on its standard input, no environment and no token.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from audit.report import override_process
from audit.report.templates import finished

SECONDS = 10.0
MAX_SOURCE = 200_000
MAX_OUTPUT = 2_000_000
_KEPT = ("SYSTEMROOT", "PATH", "LD_LIBRARY_PATH", "LANG", "TEMP", "TMP")


class OverrideError(Exception):
    """The template cannot be used; says why in one sentence."""


def render_override(source: str, values: dict[str, Any], *, seconds: float = SECONDS) -> str:
    """The template's text, sanitized like one of ours. Raises OverrideError."""
    if len(source) > MAX_SOURCE:
        raise OverrideError(f"It is longer than {MAX_SOURCE} characters.")
    asked = json.dumps({"source": source, "values": values, "most": MAX_OUTPUT, "seconds": seconds})
    # By its path, in isolated mode: nothing of the work tree that the program runs in is imported.
    program = str(Path(override_process.__file__))
    try:
        done = subprocess.run(
            [sys.executable, "-I", program],
            input=asked.encode("ascii"),
            capture_output=True,
            timeout=seconds,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OverrideError(f"It was not drawn within {seconds:g} seconds.") from None
    except OSError as error:
        raise OverrideError(f"No process could be started for it: {error.strerror}.") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise OverrideError("It takes more time or memory than a template may.") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("text"), str):
        raise OverrideError(str(answer.get("error") if isinstance(answer, dict) else "It gave no text."))
    return finished(answer["text"])
