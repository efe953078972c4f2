"""The runner's reading of a step's output, for tests: which commands would fire."""

import re

_V1 = re.compile(r"##\[[^\]]*\]")


def commands(output: str) -> list[str]:
    """Every line that GitHub's runner takes for a command, in either syntax."""
    found = []
    for line in re.split(r"\r\n|\r|\n", output):
        body = line.lstrip()
        if (body.startswith("::") and "::" in body[2:]) or _V1.search(line):
            found.append(line)
    return found
