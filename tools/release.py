"""Writes the released image into action.yml, in place of the Dockerfile that a clone builds.

python tools/release.py docker://ghcr.io/OWNER/ml-audit@sha256:...
"""

import re
import sys
from pathlib import Path

ACTION = Path(__file__).resolve().parent.parent / "action.yml"
IMAGE = re.compile(r"docker://[a-z0-9.-]+(?:/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}")
FROM_SOURCE = "\n  image: Dockerfile\n"


def released(action: str, image: str) -> str:
    """The text of action.yml with `image`; ValueError where that is no image by digest or where there is nothing to replace."""
    if not IMAGE.fullmatch(image):
        raise ValueError(f"not an image by digest: {image}")
    if action.count(FROM_SOURCE) != 1:
        raise ValueError("action.yml does not say `image: Dockerfile` exactly once")
    return action.replace(FROM_SOURCE, f"\n  image: {image}\n")


if __name__ == "__main__":
    ACTION.write_text(released(ACTION.read_text("utf-8"), sys.argv[1]), encoding="utf-8", newline="\n")
