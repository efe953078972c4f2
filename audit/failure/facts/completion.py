"""How far runs came: finish rate, steps, samples and tokens, and what was lost since the last checkpoint."""

import re
from collections.abc import Iterator, Sequence
from statistics import median

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.formulas import mean, standard_deviation
from audit.failure.facts.histories import History, last_finite
from audit.failure.facts.make import fact, named, of_point, of_series
from audit.failure.facts.metrics import Meaning, slug
from audit.failure.facts.settings import ACCUMULATION, BATCH, EPOCHS, LENGTH, STEPS, Setting, Settings, of_run
from audit.failure.model import Reading
from audit.telemetry.model import Telemetry

_SAVED = re.compile(
    r"\b(?:sav(?:ed|ing)|wr(?:ote|iting)|successfully saved)\b.{0,80}?\bcheckpoint\b.{0,200}|\bcheckpoint\b.{0,120}?\b(?:saved|written)\b.{0,120}",
    re.IGNORECASE,
)
_RESUMED = re.compile(
    r"\b(?:resum(?:ed|ing)|load(?:ed|ing)|restor(?:ed|ing))\b.{0,60}?\b(?:from|checkpoint)\b.{0,300}",
    re.IGNORECASE,
)
_STEP = re.compile(r"(?:iteration|iter|step)s?[\s_=:#]{0,12}0{0,9}(\d{1,12})\b", re.IGNORECASE)
_GLOBAL_BATCH = frozenset(
    ("global batch size", "train batch size", "effective batch size", "total batch size")
)
_EXACT = 1e-6


def planned_steps(history: History, settings: Settings, logged: Telemetry) -> FactInput | None:
    """The steps that a run was to take: as recorded with it, as its log counts them, or as configured."""
    record = history.record
    if record is not None and record.planned_steps:
        return FactInput("planned steps", record.planned_steps, record.source)
    if record is not None:
        told = of_run(record.settings, STEPS, record.source)
        if told is not None:
            return FactInput(told.name, int(told.value), told.place)
    if _counts_epochs(history):
        epochs = settings.number(EPOCHS)
        return FactInput(epochs.name, int(epochs.value), epochs.place) if epochs is not None else None
    found = settings.number(STEPS)
    plans = {run.planned_steps: run for run in logged.runs if run.planned_steps}
    if len(plans) == 1:
        steps, run = next(iter(plans.items()))
        return FactInput("planned steps", steps, run.source)
    return FactInput(found.name, int(found.value), found.place) if found is not None else None


def _counts_epochs(history: History) -> bool:
    axes = {series.axis for series in history.series.values()}
    return "epoch" in axes and axes <= {"epoch", "row"}


def single(history: History, planned: FactInput | None) -> Iterator[Fact]:
    """The last step of one run and which share of the planned steps that is."""
    last = history.last_step()
    if last is None:
        return
    counted = [s for s in history.series.values() if s.axis != "row" and max(s.steps) == last]
    if not counted:  # the record alone tells
        where = [FactInput("last step", last, history.record.source if history.record else "")]
    else:
        series = max(counted, key=len)
        where = [of_point(series, series.point(max(range(len(series)), key=lambda i: series.steps[i])))]
    yield fact(named("last_step", history), last, "largest step recorded", where)
    yield from _epochs(history)
    if _counts_epochs(history) and any(
        min(series.steps) == 0 for series in history.series.values() if series.axis == "epoch"
    ):
        last += 1  # counted from 0
    if planned is not None and isinstance(planned.value, int) and planned.value > 0 and last <= planned.value:
        if last < planned.value:
            yield fact(
                named("planned_steps", history), planned.value, "steps that the run was to take", [planned]
            )
        yield fact(
            named("finish_rate", history),
            last / planned.value,
            "last step / planned steps",
            [*where, planned],
        )


def _epochs(history: History) -> Iterator[Fact]:
    """How many epochs have a result of their own, where steps are counted too."""
    found = [series for series in history.series.values() if series.axis == "epoch"]
    if found and any(series.axis not in ("epoch", "row") for series in history.series.values()):
        series = max(found, key=lambda one: len(set(one.steps)))
        yield fact(
            named("epochs_done", history),
            len(set(series.steps)),
            f'epochs with a value of "{series.name}"',
            [of_series(series)],
        )


def several(runs: Sequence[History], planned: FactInput | None) -> Iterator[Fact]:
    """Of repeated runs: which share reached the end, how far the others came, and how the final losses spread."""
    lasts = [(run, last) for run in runs if (last := run.last_step()) is not None]
    if len(lasts) < 2:
        return
    goal = (
        planned.value
        if planned is not None and isinstance(planned.value, int)
        else max(last for _, last in lasts)
    )
    source = [planned] if planned is not None else []
    done = [run for run, last in lasts if last >= goal]
    yield fact(
        "runs", len(lasts), "runs with a history", [FactInput(run.label, last) for run, last in lasts[:20]]
    )
    if planned is not None or len(done) < len(lasts):  # else nothing says that any of them had to go further
        yield fact("finished_runs", len(done), f"runs that reached step {goal}", source)
        yield fact("finish_rate", len(done) / len(lasts), f"runs that reached step {goal} / all", source)
    for run, last in lasts:
        loss = run.main_loss()
        point = last_finite(loss) if loss is not None else None
        if last < goal and point is not None and loss is not None:
            yield fact(f"last_step [{run.label}]", last, "largest step recorded", [of_point(loss, point)])
            yield fact(
                f"last_{slug(loss.name)} [{run.label}]",
                point.value,
                f'last finite "{loss.name}"',
                [of_point(loss, point)],
            )
    yield from _spread(done)


def _spread(done: Sequence[History]) -> Iterator[Fact]:
    for kinds in ((Meaning.LOSS,), (Meaning.VALIDATION_LOSS,), (Meaning.QUALITY,)):
        series = [next(iter(run.of(*kinds)), None) for run in done]
        ends = [(s, p) for s in series if s is not None and (p := last_finite(s)) is not None]
        if len(ends) < 2:
            continue
        values = [point.value for _, point in ends]
        name, inputs = slug(ends[0][0].name), [of_point(s, p, s.run) for s, p in ends[:20]]
        yield fact(
            f"final_{name}_spread",
            max(values) - min(values),
            "largest - smallest final value of the finished runs",
            inputs,
        )
        yield fact(f"final_{name}_mean", mean(values), "mean final value of the finished runs", inputs)
        yield fact(
            f"final_{name}_deviation",
            standard_deviation(values),
            "standard deviation (n - 1) of the final values",
            inputs,
        )


def tokens(runs: Sequence[History], settings: Settings, planned: FactInput | None) -> Iterator[Fact]:
    """Tokens of all runs together: steps times the tokens of a step; against the plan where runs stopped before it."""
    per_step = _tokens_per_step(runs, settings)
    lasts = [last for run in runs if (last := run.last_step()) is not None]
    if per_step is None or not lasts or not isinstance(per_step.value, int | float):
        return
    total = sum(lasts) * int(per_step.value)
    yield fact(
        "tokens_total",
        total,
        "sum of the last steps * tokens of a step",
        [FactInput("steps", sum(lasts)), per_step],
    )
    goal = planned.value if planned is not None and isinstance(planned.value, int) else max(lasts)
    promised = goal * len(lasts) * int(per_step.value)
    if promised > total and planned is not None and len(lasts) > 1:
        yield fact("tokens_planned", promised, "runs * planned steps * tokens of a step", [planned, per_step])
        yield fact(
            "token_shortfall", 1 - total / promised, "1 - tokens / planned tokens", [planned, per_step]
        )


def _tokens_per_step(runs: Sequence[History], settings: Settings) -> FactInput | None:
    measured = {round(value) for run in runs if (value := _constant_work(run)) is not None}
    if len(measured) == 1:
        return FactInput(
            "tokens of a step", measured.pop(), "tokens per second * step time, the same at every step"
        )
    record = next((run.record for run in runs if run.record is not None), None)
    held, place = (record.settings, record.source) if record is not None else ({}, "")
    batch = of_run(held, BATCH, place) or settings.number(BATCH)
    length = of_run(held, LENGTH, place) or settings.number(LENGTH)
    if batch is None or length is None:
        return None
    accumulation = of_run(held, ACCUMULATION, place) or settings.number(ACCUMULATION)
    factor = accumulation.value if accumulation is not None and not _is_global(batch) else 1
    return FactInput(
        "tokens of a step",
        int(batch.value * length.value * factor),
        f"{batch.name} * {length.name} ({batch.place}, {length.place})",
    )


def _is_global(batch: Setting) -> bool:
    return batch.name.rsplit(".", 1)[-1].replace("_", " ").replace("-", " ").lower() in _GLOBAL_BATCH


def _constant_work(run: History) -> float | None:
    """Tokens of a step as rate times duration, where that is the same at every step."""
    rate = next((s for s in run.of(Meaning.THROUGHPUT) if "tok" in s.name.lower()), None)
    time = next(iter(run.of(Meaning.STEP_TIME)), None)
    if rate is None or time is None or list(rate.steps) != list(time.steps) or len(rate) < 5:
        return None
    scale = 1e-3 if "ms" in time.name.lower() else 1.0
    work = [r * t * scale for r, t in zip(rate.values, time.values, strict=True)]
    middle = median(work)
    return middle if middle > 0 and all(abs(value - middle) <= _EXACT * middle for value in work) else None


def lost_work(history: History, reading: Reading | None, settings: Settings) -> Iterator[Fact]:
    """Steps since the last checkpoint that the log tells of, and since the run was resumed, in samples and tokens too."""
    last = history.last_step()
    if last is None or reading is None or not history.from_log:
        return
    batch, length = _batch(history, settings), settings.number(LENGTH)
    for pattern, name, what in (
        (_SAVED, "lost", "last checkpoint"),
        (_RESUMED, "since_resume", "step resumed from"),
    ):
        # A run that starts once more after its last step resumed nothing yet.
        before = (
            max((max(series.lines) for series in history.series.values()), default=0)
            if pattern is _RESUMED
            else None
        )
        step = _told(reading, pattern, last, before)
        if step is None or not isinstance(step.value, int):
            continue
        steps = last - step.value
        stem = (
            (f"{name}_steps", f"{name}_samples", f"{name}_tokens")
            if name == "lost"
            else tuple(f"{w}_{name}" for w in ("steps", "samples", "tokens"))
        )
        yield fact(
            named(stem[0], history), steps, f"last step - {what}", [FactInput("last step", last), step]
        )
        if batch is not None and isinstance(batch.value, int | float):
            yield fact(
                named(stem[1], history),
                int(steps * batch.value),
                f"(last step - {what}) * batch",
                [step, batch],
            )
            if length is not None:
                tokens_lost = int(steps * batch.value * length.value)
                yield fact(
                    named(stem[2], history),
                    tokens_lost,
                    f"(last step - {what}) * batch * sequence length",
                    [step, batch, FactInput(length.name, length.value, length.place)],
                )


def _batch(history: History, settings: Settings) -> FactInput | None:
    for name in ("global batch size", "batch size"):
        series = history.series.get(name)
        if series is not None:
            return of_point(series, series.point(-1), name)
    told = settings.number(BATCH)
    return FactInput(told.name, told.value, told.place) if told is not None else None


def _told(
    reading: Reading, pattern: "re.Pattern[str]", last: int, before: int | None = None
) -> FactInput | None:
    """The largest step not beyond the last one on lines that match, `before` a line where that matters."""
    best: FactInput | None = None
    for line in reading.lines:
        if before is not None and line.number > before:
            continue
        if len(line.text) > 1_000 or ("heckpoint" not in line.text and "resum" not in line.text.lower()):
            continue
        found = pattern.search(line.text)
        for step in (integer(text) for text in _STEP.findall(found.group()) if found) if found else ():
            if step <= last and (best is None or not isinstance(best.value, int) or step >= best.value):
                best = FactInput("step", step, f"{line.source}:{line.number}")
    return best


def consumed(history: History, settings: Settings) -> Iterator[Fact]:
    """Samples so far as the log counts them, in tokens too where the sequence length is known."""
    for series in history.of(Meaning.SAMPLES)[:1]:
        point = last_finite(series)
        if point is None:
            continue
        yield fact(
            named("tokens_seen" if "token" in series.name.lower() else "samples", history, ""),
            int(point.value),
            f'last "{series.name}"',
            [of_point(series, point)],
        )
        length = settings.number(LENGTH)
        if length is not None and "token" not in series.name.lower():
            yield fact(
                named("tokens", history), int(point.value * length.value), f'last "{series.name}" * sequence length',
                [of_point(series, point), FactInput(length.name, length.value, length.place)],
            )  # fmt: skip
