"""What the checkout's configuration says of an error: a number that YAML 1.1 reads as text explains text where a number is wanted."""

import re

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin
from audit.failure.cause.scene import Scene

_TEXT_FOR_NUMBER = re.compile(
    r"not supported between instances of '(?:int|float)' and 'str'|not supported between instances of 'str' and '(?:int|float)'|'(?:int|"
    r"float)' and 'str'|must be real number, not str|can't multiply sequence by non-int of type 'float'|unsupported operand type\(s\) for "
    r".{1,4}: '(?:str|float|int)' and '(?:str|float|int)'"
)
_NO_DOT = re.compile(r"^\s*[\w.-]{1,80}:\s*[-+]?\d+[eE][-+]?\d+\s*(?:#.*)?$")
_CONFIG = re.compile(r"\.ya?ml$")
_MOST_FILES = 200


def decide(scene: Scene, candidate: Candidate) -> Candidate:
    """The candidate, as a matter of configuration where a YAML file of the checkout holds such a value, as one of code where none does."""
    if candidate.origin not in (Origin.EXCEPTION, Origin.TEST) or not _TEXT_FOR_NUMBER.search(
        candidate.line.text
    ):
        return candidate
    place = _value(scene)
    if place is not None:
        return msgspec.structs.replace(
            candidate,
            signature="yaml_number_is_string",
            category=Category.DATA_CONFIG,
            sure=True,
            why=f"{place} has no dot in front of its exponent, so YAML 1.1 reads it as text.",
        )
    known = scene.checkout is not None or candidate.origin is Origin.TEST
    if candidate.signature == "yaml_number_is_string" and known:
        return msgspec.structs.replace(
            candidate, signature="type_error", category=Category.CORRECTNESS, sure=False, hit=None
        )
    return msgspec.structs.replace(candidate, sure=False)


def _value(scene: Scene) -> str | None:
    """`path:line` of the first YAML value that looks like a number and is text."""
    if scene.checkout is None:
        return None
    for path in [path for path in scene.checkout.paths if _CONFIG.search(path)][:_MOST_FILES]:
        for number, line in enumerate((scene.checkout.text(path) or "").split("\n")[:5000], 1):
            if _NO_DOT.match(line[:400]):
                return f"{path}:{number}"
    return None
