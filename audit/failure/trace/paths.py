"""Paths that logs print, mapped onto the checkout: a runner's folder, a container's mount and a user's home are prefixes to strip."""

import re
from typing import Final

from audit.failure.gates.checkout import Checkout

_FOREIGN: Final = re.compile(
    r"(?:site|dist)-packages/|/lib(?:64)?/python\d|/usr/(?:lib|include)/|/opt/(?:conda|hostedtoolcache)/|/\.venv/|<frozen|^<|/\.cache/|\\site-packages\\|\\lib\\"
)
"""Files of the interpreter, of installed packages, of caches: never the checkout's own."""


def in_checkout(path: str, checkout: Checkout) -> str | None:
    """The checkout's file that a printed path means, None where it is another's or not to be told."""
    plain = path.strip().replace("\\", "/")
    if not plain or len(plain) > 1_000 or _FOREIGN.search(path) or _FOREIGN.search(plain):
        return None
    plain = re.sub(r"^[A-Za-z]:/", "/", plain)
    if checkout.has(plain.removeprefix("./")):
        return plain.removeprefix("./")
    found = checkout.resolve(plain)
    if found is not None:
        return found
    # `/home/runner/work/name/name/train.py`: a file at the checkout's root, below a folder that some job made.
    name = plain.rpartition("/")[2]
    return name if plain.startswith("/") and checkout.has(name) else None
