"""Whether a missed limit on a share of right answers lies within what chance gives: the standard error of a share, or earlier runs.

The label policy asks for it: a drop within noise is a matter of the gate, one beyond it of the model.
"""

import math
import re
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

import msgspec

from audit.failure.cause.candidate import Candidate
from audit.failure.cause.scene import Scene
from audit.failure.model import Line
from audit.failure.structure.comparison import Subject
from audit.telemetry.model import Telemetry

_DEVIATIONS = 2.0
"""A miss of less than two deviations is what an unchanged model shows too (one time in forty by chance)."""
_MIN_SAMPLES = 10
_MIN_RUNS = 5
"""Earlier runs that it takes to estimate a deviation."""
_LINES = 400
"""Lines before the failed check in which the number of samples is looked for."""
_OF = re.compile(
    r"(?<![\d.])(?P<right>\d{1,7})(?:\.0{1,6})?\s?(?:/|of|out of)\s?(?P<all>\d{1,7})(?![\d.]*\d)"
)
_RIGHT_WORDS = re.compile(
    r"correct|accura|score|solved|exact|right|match|passed|pass@|hits?\b|success", re.IGNORECASE
)
_SAMPLES = re.compile(
    r"(?:\b(?:num|n|number of|max|limit|total)[ _-]?(?:questions|samples|examples|problems|items|prompts|rows)[\"']?\s?[=:]\s?|\blimit\s?=\s?)(?P<n>\d{2,7})\b|"
    r"\b(?P<m>\d{2,7}) (?:questions|problems|samples|examples|items|prompts|(?:test|validation|eval|held-out) (?:images|rows|samples|examples|episodes))\b",
    re.IGNORECASE,
)
_NOT_A_SHARE = re.compile(
    r"loss|\b(?:mse|mae|rmse|mape|ppl|perplexity|r2|bleu|rouge|psnr|ssim|fid|f1|auc|auroc|dice|m?iou|map|kl|ece|mrr|ndcg|reward|returns?|correlation)\b",
    re.IGNORECASE,
)
"""Measures of quality whose noise is not that of a share of right answers."""
_STDERR = re.compile(
    r"(?:±|\+/-|stderr|standard error|std\.? ?err(?:or)?)\s?[=:|]?\s?\|?\s?(?P<e>0?\.\d{2,8})", re.IGNORECASE
)


class Noise(msgspec.Struct, frozen=True):
    """A deviation of the number that was held against a limit, and a sentence that tells where it comes from."""

    deviation: float
    why: str


def within(candidate: Candidate, scene: Scene) -> str | None:
    """The sentence that tells that a missed limit on quality lies within noise; None where it does not or no noise is known."""
    found = candidate.comparison
    if found is None or found.subject is not Subject.QUALITY or found.actual is None or found.limit is None:
        return None
    scale = 1.0 if max(abs(found.actual), abs(found.limit)) <= 1 else 100.0
    actual, limit = found.actual / scale, found.limit / scale
    if found.relative or not (0 <= actual <= 1 and 0 < limit < 1) or actual == limit:
        return None
    if _dropped(actual, scale, scene.telemetry):
        return None
    miss = abs(actual - limit)
    for noise in _known(actual, limit, scale, candidate, scene):
        if miss < _DEVIATIONS * noise.deviation:
            return f"The miss of {miss:.4g} is {miss / noise.deviation:.1f} {noise.why}."
    return None


def _dropped(actual: float, scale: float, telemetry: Telemetry) -> bool:
    """Whether earlier runs are known and the number lies beyond their deviation: then it fell, however near the limit is."""
    past = _earlier(telemetry, scale)
    if len(past) < _MIN_RUNS:
        return False
    middle, spread = fmean(past), stdev(past)
    return abs(actual - middle) > 3 * max(spread, 1e-9)


def _known(actual: float, limit: float, scale: float, candidate: Candidate, scene: Scene) -> Iterator[Noise]:
    """What is known of the noise, the surest first."""
    for samples in _counted(actual, scene.telemetry):
        yield _of_share(limit, samples)
    past = _earlier(scene.telemetry, scale)
    if len(past) >= _MIN_RUNS and stdev(past) > 0:
        yield Noise(stdev(past), f"standard deviations of {len(past)} earlier runs")
    if not _NOT_A_SHARE.search(
        " ".join((candidate.line.text[:600], *candidate.failing[:3])).replace("_", " ")
    ):
        yield from _told(actual, limit, candidate.line, scene)


def _told(actual: float, limit: float, line: Line, scene: Scene) -> Iterator[Noise]:
    """The number of samples, or the standard error, that the lines above the failed check tell."""
    before = [
        other
        for other in scene.reading.of(line.source)
        if line.number - _LINES <= other.number <= line.number + 5
    ]
    for other in reversed(before):
        text = other.text[:600]
        for found in _OF.finditer(text):
            right, samples = int(found["right"]), int(found["all"])
            if samples >= _MIN_SAMPLES and _near(right / samples, actual) and _RIGHT_WORDS.search(text):
                yield _of_share(limit, samples)
        if (error := _STDERR.search(text)) and _shows(text, actual):
            yield Noise(
                float(error["e"]), f"of the standard error that line {other.number} tells ({error['e']})"
            )
    told = {
        int(found["n"] or found["m"]) for other in before for found in _SAMPLES.finditer(other.text[:600])
    }
    if len(told) == 1 and (samples := told.pop()) >= _MIN_SAMPLES and _possible(actual, samples):
        yield _of_share(limit, samples)


def _counted(actual: float, telemetry: Telemetry) -> Iterator[int]:
    """How many samples a file of right and wrong answers holds whose share is the number."""
    for series in telemetry.series:
        if (
            len(series) >= _MIN_SAMPLES
            and set(series.values) == {0.0, 1.0}
            and _near(fmean(series.values), actual)
        ):
            yield len(series)
    for run in telemetry.runs:
        for key, error in run.summary.items():
            base = key.replace("_stderr", "", 1)
            if base != key and 0 < error < 0.5 and _near(run.summary.get(base, math.nan), actual):
                yield max(_MIN_SAMPLES, round(actual * (1 - actual) / error**2))


def _earlier(telemetry: Telemetry, scale: float) -> Sequence[float]:
    """The number's values in earlier runs, where a file holds one for each of many."""
    from audit.failure.facts.histories import is_record_of_runs
    from audit.failure.facts.metrics import Meaning, meaning

    for series in telemetry.series:
        if is_record_of_runs(series) and meaning(series.name) is Meaning.QUALITY:
            return [value / scale for value in series.values if math.isfinite(value)]
    by_source: dict[tuple[str, str], list[float]] = {}
    for run in telemetry.runs:
        for key, value in run.summary.items():
            if meaning(key) is Meaning.QUALITY and math.isfinite(value):
                by_source.setdefault((run.source, key), []).append(value / scale)
    return max(by_source.values(), key=len, default=[])


def _of_share(share: float, samples: int) -> Noise:
    return Noise(
        math.sqrt(share * (1 - share) / samples), f"standard errors of a share measured on {samples} samples"
    )


def _near(value: float, actual: float) -> bool:
    """Whether a share is the number as it was printed, with three decimals or more."""
    return abs(value - actual) <= 6e-4


def _possible(actual: float, samples: int) -> bool:
    """Whether a share of so many samples can be the number as it was printed."""
    return _near(round(actual * samples) / samples, actual)


def _shows(text: str, actual: float) -> bool:
    return any(_near(float(number), actual) for number in re.findall(r"(?<![\d.])[01]\.\d{2,8}", text))
