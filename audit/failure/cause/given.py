"""What was given from outside, on the step's command line, and is refused: a matter of settings, not of code."""

import re
from itertools import combinations
from math import prod
from typing import Final

REFUSING: Final = frozenset(
    "ValueError KeyError AssertionError RuntimeError NotImplementedError LookupError Exception SystemExit".split()
)
"""Exceptions by which code refuses what it was given."""
_UNKNOWN = re.compile(
    r"\b(?:not (?:found|known|registered|supported|available|recogni[sz]ed|allowed|implemented|defined|a valid|one of)|unknown|unsupported|unrecogni[sz]ed|"
    r"invalid|no such|does(?: not|n't) exist|could ?n[o']t find|can ?not find|no (?:\w+ ){0,2}(?:named|called|matching)|"
    r"must be (?:one of|in)|expected one of|choose from|available (?:options|choices|\w+s) are)\b",
    re.IGNORECASE,
)
_MISMATCH = re.compile(
    r"\b(?:not match|mismatch|not equal|must (?:be|equal|match|divide)|divisible|multiple of|divide[sd]?|product|exceeds?|"
    r"greater than|larger than|less than|smaller than|at least|at most)\b|!=",
    re.IGNORECASE,
)
_OF_CODE = re.compile(
    r"\b(?:tensors?(?![ _-](?:model[ _-])?parallel)|shapes?|dim(?:ension)?s?|broadcast|ndim|argument \d)\b",
    re.IGNORECASE,
)
"""What does not fit is what the code made; its numbers are small and stand on many command lines."""
_VALUE = re.compile(r"(?<=[=\s,'\":])[A-Za-z][\w.:/+-]{2,100}(?=[\s,'\")\]]|$)")
_FLAG = re.compile(r"(?:^|\s)(?:--?)?[A-Za-z][\w.-]{1,60}[= ](\d{1,9})(?=[\s,'\"\\]|$)")
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.]|\.\d)")
_WORD = re.compile(r"[A-Za-z][\w.:/+-]{2,100}")
_COMMON: Final = frozenset(
    "the for and not with from this that was were none true false python python3 bash main test tests train eval run model data task tasks "
    "config device cuda cpu".split()
)
_MOST_FACTORS = 8


def refused(kind: str, message: str, command: str) -> bool:
    """Whether an exception refuses what the command line gives: a name that it does not know, or numbers that do not fit together.

    A number counts where it is the product of two or more numbers of the command line, or where two numbers of the message both stand on it: one alone
    is anywhere by chance.
    """
    if kind.rpartition(".")[2] not in REFUSING or not command:
        return False
    message, command = message[:1000], command[:4000]
    if _OF_CODE.search(message):
        return False
    if _UNKNOWN.search(message) and _names(message) & _values(command):
        return True
    return bool(_MISMATCH.search(message)) and _numbers(message, command)


def _names(message: str) -> set[str]:
    return {word.rstrip(".:,") for word in _WORD.findall(message)} - _COMMON


def _values(command: str) -> set[str]:
    """What is given as a value: words behind a flag or a sign, in lists too; neither programs nor files."""
    found = set()
    for word in _VALUE.findall(command.partition(" ")[2]):
        found |= {
            part
            for part in word.split(",")
            if "/" not in part and not part.endswith((".py", ".sh", ".yml", ".yaml"))
        }
    return {word for word in found if word.lower() not in _COMMON}


def _numbers(message: str, command: str) -> bool:
    said = {int(number) for number in _NUMBER.findall(message)} - {0, 1}
    given = [number for number in map(int, _FLAG.findall(command)) if number > 1][:_MOST_FACTORS]
    if len(said & set(given)) > 1:
        return True
    products = {prod(some) for size in (2, 3) for some in combinations(given, size)}
    return bool(said & products) and len(said) > 1
