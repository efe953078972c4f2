"""What a check looks at, by the words for it: the field's names of metrics, none of one project."""

import re
from enum import StrEnum


class Subject(StrEnum):
    """What a check looks at."""

    QUALITY = "quality"  # how good the model is
    PERFORMANCE = "performance"  # time, throughput
    MEMORY = "memory"
    POLICY = "policy"  # coverage, warnings, sizes of files, style: neither the model nor the run
    NUMERICS = "numerics"  # whether two computations agree
    FINITE = "finite"  # whether values are numbers at all
    UNKNOWN = "unknown"


def _any(*words: str) -> "re.Pattern[str]":
    return re.compile("|".join(words), re.IGNORECASE)


_SUBJECTS: tuple[tuple[Subject, "re.Pattern[str]"], ...] = (
    (Subject.FINITE, _any(r"\bnan\b", r"\binf(?:inite)?\b", r"\bnon-?finite\b", r"\bnot finite\b", r"\bisfinite\b")),
    (
        Subject.PERFORMANCE,
        _any(
            r"times?\b(?! ?(?:embed|steps?\b|series|stamps?\b|ax[ei]s|dim|index|mlp|proj|shift|zone))", r"duration",
            r"latency", r"throughput", r"tokens?[- /]*(?:per|/)[- /]*s", r"tok/s",
            r"\b(?:tok|toks|tokens?|samples?|images?|it|iters?|steps?|reqs?|requests?) s\b", r"samples?[- /]*(?:per|/)[- /]*s",
            r"images?/s", r"img/s", r"it/s", r"\bfps\b", r"\bqps\b", r"\brps\b", r"\bspeed", r"\bslow(?:er|down)?\b", r"\bttft\b", r"\btpot\b", r"\bitl\b",
            r"\bmfu\b", r"[gmpt]?flops?\b",
            r"flop/s", r"bandwidth", r"gb/s", r"\bms\b", r"benchmark", r"\bperf(?:ormance)?\b", r"\bseconds\b", r"\bp(?:50|90|95|99)\b",
            r"utili[sz]ation",
        ),
    ),
    (
        Subject.POLICY,
        _any(
            r"coverage", r"warnings?\b", r"log (?:budget|lines|size)", r"lines? of code", r"\blint", r"docstr", r"interrogate", r"complexity",
            r"(?:file|wheel|package|binary|image|artifact|checkpoint|model|bundle|diff)[- ]?size", r"changelog", r"deprecat",
            r"\b(?:wheel|package|binary|image|artifact|bundle|archive|tarball)\b.{0,100}\b(?:larger|bigger|smaller|size)\b", r"snapshot",
            r"number of param(?:eter)?s", r"param(?:eter)?s?[- ]count", r"\bparameters\b",
            r"logged", r"logging", r"log every", r"\bmetrics? (?:not found|missing)",
        ),
    ),
    (Subject.MEMORY, _any(r"memory", r"\bmem\b", r"\brss\b", r"allocated", r"\bvram\b", r"\bGiB\b", r"\bMiB\b")),
    (
        Subject.NUMERICS,
        _any(
            r"tensor-likes", r"allclose", r"not close", r"not (?:almost )?equal", r"mismatch(?:ed)? elements", r"grad(?:ient)? ?check",
            r"abs(?:olute)?[- ]diff", r"max[- ]diff", r"max[- ]?abs", r"bit(?:wise|-identical)", r"determinis", r"checksum", r"logits", r"hidden[- ]states",
            r"parity", r"\bulp\b", r"grad(?:ient)?[- ]norm", r"equivalen",
        ),
    ),
    (
        Subject.QUALITY,
        _any(
            r"loss", r"accuracy", r"\bacc\b", r"acc@", r"perplexity", r"\bppl\b", r"\bauc\b", r"auroc", r"\bf1\b", r"bleu", r"rouge", r"meteor", r"\bcer\b",
            r"\bwer\b", r"reward", r"\breturns?\b", r"success[- ]rate", r"solved", r"\bscores?\b", r"\bmap\b", r"m?iou\b", r"\bdice\b", r"exact[- ]match",
            r"\bem\b", r"pass@", r"pass[- ]rate", r"\br2\b", r"r²", r"rmse", r"\bmse\b", r"\bmae\b", r"mape", r"error[- ]rate", r"top-?[15]", r"\bfid\b",
            r"finish[- ]rate", r"win[- ]rate", r"recall", r"precision", r"ndcg", r"\bmrr\b", r"elbo", r"\bkl\b", r"\bquality\b", r"gsm8k", r"mmlu",
            r"hellaswag", r"\barc\b", r"eval(?:uation)?\b", r"converge", r"psnr", r"ssim", r"\blpips\b", r"correlation", r"spearman", r"pearson",
            r"\bmcc\b", r"kappa", r"episode", r"regret", r"calibration", r"\bece\b", r"hit[- ]rate", r"spread", r"seeds",
        ),
    ),
)  # fmt: skip


_RELATIONS = _any(
    r"parity", r"equivalen", r"max[- ]diff", r"abs(?:olute)?[- ]diff", r"mismatch", r"determinis"
)
"""Words of NUMERICS that tell how two things are compared: in a name that also says what is compared, that decides (`test_time_parity`)."""


def subject_of(text: str, context: str = "") -> Subject:
    """What a check looks at, by the name that stands first in its sentence; `context` (a test's id or a step's command) where it names none."""
    path, _, name = context.rpartition("::")
    for part in (text, name, path):
        words = part.replace("_", " ")
        found = [
            (match.start(), order, subject)
            for order, (subject, pattern) in enumerate(_SUBJECTS)
            if (match := pattern.search(words))
        ]
        if found:
            if any(subject is Subject.FINITE for _, _, subject in found):
                return Subject.FINITE
            first = min(found)[2]
            if first is Subject.NUMERICS and part is name and _RELATIONS.search(words):
                measured = [row for row in found if row[2] in (Subject.PERFORMANCE, Subject.MEMORY)]
                return min(measured)[2] if measured else first
            return first
    return Subject.UNKNOWN


_LOWER = _any(
    r"loss", r"perplexity", r"\bppl\b", r"\b(?:wer|cer|ter)\b", r"\bmse\b", r"\bmae\b", r"rmse", r"mape", r"err(?:or)?s?\b", r"\bfid\b", r"lpips",
    r"\bkl\b", r"\bece\b", r"regret", r"latency", r"duration", r"times?\b", r"\bp(?:50|90|95|99)\b", r"\bttft\b", r"\btpot\b", r"\bitl\b", r"memory",
    r"\bmem\b", r"\brss\b", r"warnings?\b", r"size\b", r"\bms\b", r"seconds?\b", r"diff(?:erence)?\b", r"spread", r"\bbpb\b", r"\bnll\b",
    r"\blines\b", r"\bparam(?:eter)?s\b",
)  # fmt: skip
_HIGHER = _any(
    r"accuracy", r"\bacc\b", r"acc@", r"\bauc\b", r"auroc", r"\bf1\b", r"bleu", r"rouge", r"reward", r"\breturns?\b", r"success[- ]rate", r"\bscores?\b",
    r"\bmap\b", r"m?iou\b", r"\bdice\b", r"exact[- ]match", r"\bem\b", r"pass@", r"pass[- ]rate", r"\br2\b", r"top-?[15]\b", r"finish[- ]rate", r"win[- ]rate",
    r"recall", r"precision", r"ndcg", r"\bmrr\b", r"psnr", r"ssim", r"correlation", r"throughput", r"tok(?:ens?)?/s",
    r"\b(?:tok|toks|tokens?|samples?|images?|it|iters?|steps?|reqs?|requests?) s\b", r"samples?/s", r"images?/s", r"img/s",
    r"it/s", r"\bfps\b", r"\bqps\b", r"\bmfu\b", r"tflops?", r"bandwidth", r"gb/s", r"speed-?up", r"coverage", r"gsm8k", r"mmlu", r"hellaswag",
    r"hit[- ]rate", r"solved", r"utili[sz]ation", r"tokens? per sec",
)  # fmt: skip


def higher_is_better(text: str) -> bool | None:
    """Whether more of the measured thing is better, by the name that stands first; None where no name says."""
    words = text.replace("_", " ")
    low, high = _LOWER.search(words), _HIGHER.search(words)
    if low is None or high is None:
        return None if low is high else high is not None
    return high.start() < low.start()
