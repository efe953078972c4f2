"""What every extractor returns."""

from collections.abc import Callable
from typing import NamedTuple

from audit.facts.model import Body


class Extracted(NamedTuple):
    """The facts of one text. `partial` says what was not read and why; "" where all of it was."""

    body: Body | None
    partial: str = ""


Extractor = Callable[[str], Extracted]
