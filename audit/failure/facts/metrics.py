"""What the name of a metric means."""

import enum
import re


class Meaning(enum.Enum):
    """What a metric measures, as far as its name says."""

    LOSS = "training loss"
    VALIDATION_LOSS = "validation loss"
    QUALITY = "quality"  # accuracy, F1, BLEU, reward: the higher the better
    ERROR = "error"  # perplexity, error rates: the lower the better
    STEP_TIME = "step time"
    THROUGHPUT = "throughput"
    GRADIENT_NORM = "gradient norm"
    LEARNING_RATE = "learning rate"
    MEMORY = "memory"
    SAMPLES = "samples so far"
    EPOCH = "epoch"
    OTHER = "other"


_SEPARATORS = re.compile(r"[\s_\-/.:,()\[\]]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_EVALUATION = frozenset(("val", "valid", "validation", "eval", "evaluation", "test", "dev", "holdout"))
_QUALITY = re.compile(
    r"\b(?:acc(?:uracy|uracies)?\d?|top\d|f1|auc|auroc|bleu\w{0,3}|rouge\w{0,4}|map|miou|iou|dice|reward\w{0,3}|return\w{0,3}|scores?|precision|recall"
    r"|r2|ndcg|mrr|em|exact match|win rate|success rate|finish rate|solved|psnr|ssim|ep rew mean)\b"
)
_ERRORS = re.compile(
    r"\b(?:ppl|perplexity|wer|cer|mse|mae|rmse|fid|bpb|bits per byte|nll|error rate|err|error|elbo)\b"
)
_TIME = re.compile(
    r"\b(?:(?:iter\w{0,6}|step|batch|forward|backward|elapsed) time\b|time per (?:iteration|step|batch)|elapsed time"
    r"|latency|ttft|tpot|itl|e2el|time ms|time s"
    r"|(?:step|iter(?:ation)?|batch|fwd|bwd|forward|backward|update|train step) (?:ms|us|secs?|seconds|duration|dur)\b"
    r"|(?:ms|us|s|secs?|seconds|duration) (?:per )?(?:step|it|iter(?:ation)?|batch|update)\b|\bdt\b)"
)
_SECONDS_OF = re.compile(
    r"(?:step|iter(?:ation)?|batch|forward|backward)_s(?:ec(?:ond)?s?)?(?![a-z])", re.IGNORECASE
)
"""`step_s` is a duration, `steps/s` a rate: without their signs they look alike."""
_THROUGHPUT = re.compile(
    r"\b(?:throughput|tokens? (?:per )?s(?:ec\w{0,4})?|tok s|toks s|tps|tgs|wps|it s|iter s|steps? (?:per )?s(?:ec\w{0,4})?"
    r"|samples? (?:per )?s(?:ec\w{0,4})?|img s|images? (?:per )?s(?:ec\w{0,4})?|req s|examples? (?:per )?s(?:ec\w{0,4})?"
    r"|tflops?\w{0,4}|mfu|fps|samplespersec|qps)\b"
)
_MEMORY = re.compile(
    r"\b(?:mem(?:ory)?|gpu mem\w{0,4}|max ?mem\w{0,10}|rss|mem allocated bytes|allocated|reserved|vram)\b"
)


def plain(name: str) -> str:
    """A name for comparing: lower case, words apart, signs away. `Loss/train`, `loss_train` are `loss train`."""
    return _SEPARATORS.sub(" ", _CAMEL.sub(" ", name[:200]).lower()).strip()


def slug(name: str) -> str:
    """A name for a fact: `lm loss` is `lm_loss`."""
    return plain(name).replace(" ", "_")


def meaning(name: str) -> Meaning:
    """What the metric measures; OTHER where its name does not say."""
    words = plain(name)
    parts = set(words.split())
    if parts & {"lr", "learning"} or words.startswith("lr "):
        return Meaning.LEARNING_RATE
    if words in ("epoch", "train epoch"):
        return Meaning.EPOCH
    if ("grad" in words or "gnorm" in words) and ("norm" in words):
        return Meaning.GRADIENT_NORM
    if "consumed samples" in words or "num input tokens" in words or words in ("samples seen", "tokens seen"):
        return Meaning.SAMPLES
    if _SECONDS_OF.search(name[:200]):
        return Meaning.STEP_TIME
    if _THROUGHPUT.search(words):
        return Meaning.THROUGHPUT
    if "runtime" in parts or "scale" in parts:
        return Meaning.OTHER
    if _TIME.search(words):
        return Meaning.STEP_TIME
    if "loss" in words:
        return Meaning.VALIDATION_LOSS if parts & _EVALUATION or "lm loss value" in words else Meaning.LOSS
    if _QUALITY.search(words):
        return Meaning.QUALITY
    if _ERRORS.search(words):
        return Meaning.ERROR
    return Meaning.MEMORY if _MEMORY.search(words) else Meaning.OTHER


def is_evaluation(name: str) -> bool:
    """Whether a metric is of held-out data."""
    return bool(set(plain(name).split()) & _EVALUATION)
