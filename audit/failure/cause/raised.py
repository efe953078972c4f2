"""Memory that ran out after a size was raised: where the log shows the change of the setting, the setting explains it (label policy 1)."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate
from audit.failure.cause.scene import Scene
from audit.failure.digits import decimal
from audit.failure.model import Kind
from audit.failure.structure.steps import Job

_SIZE = (
    r"[\w.-]{0,40}(?:batch|seq|length|tokens|context|hidden|dim|layers|width|resolution|image_size|crop|beam|window|micro|samples|rows|chunk)"
    r"[\w.-]{0,40}"
)
_SET = re.compile(
    rf"(?P<sign>[-+])\s{{0,40}}['\"]?(?P<name>{_SIZE})['\"]?\s?[:=]\s?(?P<value>\d{{1,12}}(?:\.\d{{1,6}})?)\b",
    re.IGNORECASE,
)
_ARROW = re.compile(
    rf"\b(?P<name>{_SIZE})['\"]?\s?[:=]?\s{{0,3}}(?:from )?(?P<old>\d{{1,12}})\s?(?:->|=>|→|to)\s?(?P<new>\d{{1,12}})\b",
    re.IGNORECASE,
)
_MEMORY = frozenset({"memory"})
_XLA = frozenset({"xla_oom", "xla_hbm_oom"})


def decide(scene: Scene, job: Job, candidate: Candidate) -> Candidate:
    """The candidate, as a matter of configuration where a size was raised in what the log shows before it."""
    hit = candidate.hit
    if candidate.category is not Category.INFRA_RUNTIME or hit is None:
        return candidate
    if hit.signature.family not in _MEMORY and hit.signature.id not in _XLA:
        return candidate
    change = next(_raised(scene, job, candidate), None)
    if change is None:
        return candidate
    name, old, new = change
    return msgspec.structs.replace(
        candidate,
        category=Category.DATA_CONFIG,
        sure=False,
        why=f"The log shows that {name} was raised from {old:g} to {new:g}, which needs more memory.",
    )


def _raised(scene: Scene, job: Job, candidate: Candidate) -> Iterator[tuple[str, float, float]]:
    before: dict[str, float] = {}
    for step in job.steps:
        for line in step.lines:
            if line.source == candidate.line.source and line.number >= candidate.line.number:
                return
            if line.kinds & {Kind.ECHO, Kind.TEST_ID, Kind.TRACEBACK}:
                continue
            text = line.text[:400]
            if text[:1] in "+-" and (found := _SET.match(text)):
                name, value = found["name"].lower(), decimal(found["value"])
                if found["sign"] == "-":
                    before[name] = value
                elif name in before and value > before[name]:
                    yield name, before[name], value
            elif ("->" in text or "→" in text or "=>" in text) and (arrow := _ARROW.search(text)):
                old, new = decimal(arrow["old"]), decimal(arrow["new"])
                if new > old:
                    yield arrow["name"], old, new
        if step is candidate.step:
            return
