"""Whether a declared value and one of the code mean the same: people and libraries have many names for one optimizer."""

import re
from collections.abc import Sequence

from audit.documents.state import Value
from audit.state.values import same_setting

_OPTIMIZERS = "adamw adafactor adamax adagrad adadelta nadam radam adam sgd rmsprop lion lamb lars lbfgs muon sophia".split()
_SCHEDULERS = "cosine linear constant polynomial onecycle exponential plateau inverse step wsd cyclic".split()
_FAMILIES: dict[str, Sequence[tuple[str, str]]] = {
    # What is found first names the family.
    "optimizer": [(name, name) for name in _OPTIMIZERS],
    "scheduler": [(name, name) for name in _SCHEDULERS],
    "precision": [
        ("bf16", "bf16"), ("bfloat16", "bf16"), ("fp16", "fp16"), ("float16", "fp16"), ("half", "fp16"), ("16", "fp16"), ("fp8", "fp8"),
        ("fp32", "fp32"), ("float32", "fp32"), ("32", "fp32"), ("tf32", "fp32"),
    ],
    "quantization": [
        ("gptq", "gptq"), ("awq", "awq"), ("gguf", "gguf"), ("fp8", "fp8"), ("nf4", "4bit"), ("fp4", "4bit"), ("int4", "4bit"), ("4bit", "4bit"),
        ("4-bit", "4bit"), ("int8", "8bit"), ("8bit", "8bit"), ("8-bit", "8bit"), ("none", "none"),
    ],
}  # fmt: skip
_KINDS = {
    "optimizer": "optimizer",
    "scheduler": "scheduler",
    "precision": "precision",
    "dtype": "precision",
    "quantization": "quantization",
}
_OPEN = frozenset({"auto", "default", "mixed", "bitsandbytes", "bnb", "yes", "true"})
"""Words that leave open which one it is."""
_IDENTITY = re.compile(r"\.(?:id|tokenizer|adapter)$")


def agree(setting: str, declared: Value, observed: Value) -> bool:
    """Whether both may describe one run. What is not understood is compared as it is written."""
    if same_setting(setting, declared, observed):
        return True
    last = setting.rpartition(".")[2]
    kind = _KINDS.get(last)
    if kind is not None:
        first, second = _family(kind, declared), _family(kind, observed)
        return not first or not second or first == second
    if _IDENTITY.search(setting):
        return _same_identity(str(declared), str(observed))
    if last == "target_modules":
        return _items(declared) == _items(observed)
    if last in ("text",):
        return " ".join(str(declared).split()) == " ".join(str(observed).split())
    if last == "path":
        return str(declared).rstrip("/") == str(observed).removeprefix("./").rstrip("/")
    if last in ("subset", "split", "strategy"):
        return str(declared).strip().lower() == str(observed).strip().lower()
    return False


def _family(kind: str, value: Value) -> str:
    """The family that a value names, "" where it names none that is known, or leaves it open."""
    text = str(value).lower()
    if text in _OPEN:
        return ""
    return next((family for word, family in _FAMILIES[kind] if word in text), "")


def _same_identity(declared: str, observed: str) -> bool:
    """Ids in another case, or behind a router's name, are the same model."""
    first, second = declared.strip().lower().rstrip("/"), observed.strip().lower().rstrip("/")
    if first == second:
        return True
    short, long = sorted((first, second), key=len)
    return long.endswith("/" + short)


def _items(value: Value) -> frozenset[str]:
    items = value if isinstance(value, tuple) else str(value).split(",")
    return frozenset(str(item).strip() for item in items)
