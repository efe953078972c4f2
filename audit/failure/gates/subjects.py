"""What a metric's name says that a gate looks at."""

import re
from typing import Final

from audit.failure.gates.model import Subject

_WORD: Final = re.compile(r"[a-z]+[0-9]?")
_PERFORMANCE: Final = frozenset(
    "time times latency throughput tps fps speed speedup duration seconds secs elapsed tflops flops mfu ttft tpot itl qps rps wall"
    " ms step_time iteration_time overhead slowdown runtime".split()
)
_PERFORMANCE_PARTS: Final = (
    "tokens per", "samples per", "images per", "steps per", "items per", "per sec", "per second", "tok s", "it s", "toks", "rows per"
)  # fmt: skip
_MEMORY: Final = frozenset("mem memory rss vram bytes footprint gib mib".split())
_COUNT: Final = frozenset(
    "lines len hits tests errors count steps epochs rows samples files skipped missing num n".split()
)
_POLICY: Final = frozenset("coverage budget lint warnings warning".split())
_QUALITY: Final = frozenset(
    "loss losses acc accuracy ppl perplexity f1 bleu rouge auc auroc map mrr ndcg wer cer score scores reward return returns"
    " recall precision exact em iou dice psnr ssim fid kl mse mae rmse nll bpb bpc elo solved success finish quality val eval grad"
    " norm gsm mmlu hellaswag humaneval passrate r2 spearman pearson".split()
)


def subject_of(name: str) -> Subject | None:
    """What a metric or a variable of that name measures, None where the name does not say."""
    words = _WORD.findall(name.lower())
    joined = " ".join(words)
    if any(part in joined for part in _PERFORMANCE_PARTS) or set(words) & _PERFORMANCE:
        return Subject.PERFORMANCE
    if set(words) & _MEMORY:
        return Subject.MEMORY
    if set(words) & _POLICY:
        return Subject.POLICY
    if set(words) & _QUALITY:
        return Subject.QUALITY
    return Subject.COUNT if set(words) & _COUNT else None
