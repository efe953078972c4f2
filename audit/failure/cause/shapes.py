"""A checkpoint that does not go with the model: only the number of classes or of tokens differs where it is another configuration's or data set's;
layers that are missing or of another width are the code's.
"""

import re

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin
from audit.failure.digits import integer

_MISMATCH = re.compile(
    r"size mismatch for (?P<name>[\w.]{1,200}): copying a param with shape (?:torch\.Size)?\(?\[(?P<old>[\d, ]{1,60})\]\)? from checkpoint, the shape in "
    r"current model is (?:torch\.Size)?\(?\[(?P<new>[\d, ]{1,60})\]|"
    r"shape mismatch for loaded \((?:torch\.Size)?\(?\[(?P<old2>[\d, ]{1,60})\]\)?\) and expected \(\(?(?P<new2>[\d, ]{1,60})\)?\) tensor for "
    r"key (?P<name2>[\w./]{1,200})"
)
_COUNTED = re.compile(
    r"head|classif|\bcls\b|\bfc\b|logits|lm_head|embed|vocab|output|predict|decod|\bwte\b|final|score|prototype|label",
    re.IGNORECASE,
)
_OTHER_KEYS = re.compile(r"(?:Missing|Unexpected) key\(s\) in state_dict")
_AFTER = 60
"""Lines below an exception's in which its message goes on."""


def decide(candidate: Candidate) -> Candidate:
    """The candidate, as a matter of configuration where all that differs is how many classes or tokens there are."""
    if candidate.category is not Category.CORRECTNESS or candidate.origin not in (
        Origin.EXCEPTION,
        Origin.TEST,
    ):
        return candidate
    text = [
        line.text[:600]
        for line in candidate.step.lines
        if line.source == candidate.line.source and 0 <= line.number - candidate.line.number <= _AFTER
    ]
    found = [match for line in text if (match := _MISMATCH.search(line)) is not None]
    if (
        not found
        or any(_OTHER_KEYS.search(line) for line in text)
        or not all(_counts(match) for match in found)
    ):
        return candidate
    first = found[0]
    old, new = _sizes(first["old"] or first["old2"]), _sizes(first["new"] or first["new2"])
    return msgspec.structs.replace(
        candidate,
        category=Category.DATA_CONFIG,
        sure=False,
        why=f"The checkpoint is of another number of classes or tokens ({old[0]}) than the model is configured for ({new[0]}).",
    )


def _counts(match: "re.Match[str]") -> bool:
    """Whether only the first size differs, of a layer that has one row a class or a token."""
    old, new = _sizes(match["old"] or match["old2"]), _sizes(match["new"] or match["new2"])
    same = len(old) == len(new) and old[1:] == new[1:] and old[:1] != new[:1]
    return (
        same
        and _COUNTED.search((match["name"] or match["name2"]).replace("_", " ").replace(".", " ")) is not None
    )


def _sizes(text: str) -> list[int]:
    return [integer(part) for part in text.replace(" ", "").split(",") if part]
