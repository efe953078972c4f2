"""Hyper-parameters that a document states: in sentences, lists and tables."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

# Normalised name -> how people write it. Longer spellings first: the first that fits is taken.
_NAMES: Final = (
    ("per_device_batch_size", r"(?:per[- _](?:device|gpu)|micro|local)[- _](?:train[- _]|eval[- _])?batch[- _]?size|batch[- _]size per (?:device|gpu)"),
    ("effective_batch_size", r"(?:global|effective|total)[- _](?:train[- _]?)?batch[- _]?size"),
    ("batch_size", r"(?:train(?:ing)?[- _])?batch[- _]?sizes?"),
    ("learning_rate", r"(?:peak |base |initial |max(?:imum)? )?learning[- _]rates?|\blr"),
    ("epochs", r"(?:num(?:ber)?[- _](?:of[- _])?)?(?:train(?:ing)?[- _])?epochs?"),
    ("weight_decay", r"weight[- _]decay"),
    ("warmup_steps", r"warm-?up[- _](?:steps|iterations|iters)"),
    ("warmup_ratio", r"warm-?up[- _]ratio"),
    ("gradient_accumulation_steps", r"(?:grad(?:ient)?[- _])accum(?:ulation)?(?:[- _]steps)?"),
    ("max_grad_norm", r"max[- _]grad[- _]norm|grad(?:ient)?[- _]clip(?:ping)?(?:[- _]norm)?"),
    ("max_length", r"(?:max(?:imum)?[- _])?(?:seq(?:uence)?|context|model)[- _](?:length|len)|max(?:imum)?[- _](?:length|len)|cutoff[- _]len"),
    ("max_new_tokens", r"max[- _](?:new[- _])?tokens"),
    ("max_steps", r"(?:max(?:imum)?|total|train(?:ing)?|num(?:ber of)?)[- _](?:train(?:ing)?[- _])?(?:steps|iterations|iters)"),
    ("dropout", r"(?:attention |residual )?drop-?out(?:[- _](?:rate|prob(?:ability)?|p))?"),
    ("temperature", r"(?:sampling )?temperature"),
    ("top_p", r"top[- _]p"),
    ("top_k", r"top[- _]k"),
    ("num_beams", r"(?:num[- _]beams|beam[- _](?:size|width))"),
    ("seed", r"(?:random[- _])?seed"),
    ("momentum", r"momentum"),
    ("lora_rank", r"lora[- _](?:rank|r)"),
    ("lora_alpha", r"lora[- _]alpha"),
    ("image_size", r"(?:image|input)[- _](?:size|resolution)|img[- _]?size"),
    ("hidden_size", r"hidden[- _](?:size|dim(?:ension)?)|d_model|n_embd"),
    ("num_layers", r"(?:num(?:ber)?[- _](?:of[- _])?)layers|n_layers?"),
    ("num_heads", r"(?:num(?:ber)?[- _](?:of[- _])?)(?:attention[- _])?heads|n_heads?"),
    ("gamma", r"discount(?: factor)?|gamma"),
    ("beta", r"(?:dpo[- _]|kl[- _])?beta"),
)  # fmt: skip

_NUMBER: Final = r"[-+]?(?:\d{1,3}(?:,\d{3})++|\d{1,12})(?:\.\d{1,12})?(?:[eE][-+−]?\d{1,3})?|\.\d{1,12}"
_POWER: Final = (
    r"(?:[ ]?(?:×|x|\*|\\times|·)[ ]?10[ ]?(?:\^|\*\*)?[ ]?\{?[ ]?(?P<exponent>[-−–+]?\d{1,2})\}?)?"
)
_VALUE: Final = rf"(?P<number>{_NUMBER}){_POWER}(?P<unit>[kKmM](?![\w]))?"
_NAME: Final = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _NAMES)
# Something must join name and number: "epoch 3 of the log" states no setting. What stands behind the number tells that
# it is none: "1/2", "80%", "3rd", a factor of a product.
_STATED: Final = re.compile(
    rf"(?<![\w.-])(?:{_NAME})(?![\w])[ ]?(?:\([^()\n]{{0,40}}\)[ ]?)?"
    rf"[\"'`]{{0,2}}[ ]?(?::|=|of(?: size)?(?: about)?|is(?: set to)?|was|set to|to be|to|as|@|→)[ ]?[\"'`$(]{{0,3}}{_VALUE}"
    rf"(?P<after>[\w/%]|[ ]?(?:\([^()\n]{{0,40}}\)[ ]?)?[*×])?",
    re.IGNORECASE,
)
_EPOCHS: Final = re.compile(
    r"\b(?:for|in|after|over|with)[ ](?:only |about |just )?(?P<number>\d{1,6})[ -](?:train(?:ing)?[ ])?epochs?\b",
    re.IGNORECASE,
)
_WHOLE_NAME: Final = re.compile(rf"(?:{_NAME})(?:[ ]?\([^()\n]{{0,40}}\))?[ ]?[:*]?", re.IGNORECASE)
_WHOLE_VALUE: Final = re.compile(rf"\$?{_VALUE}\$?", re.IGNORECASE)
# Words in which any stated name is found, to leave most lines alone.
_HINT: Final = re.compile(
    r"batch|learn|\blr\b|epoch|decay|warm|accum|grad|len|token|steps|iter|drop|temper|top[-_ ][pk]|beam|seed|moment|lora|image|img|input|hidden"
    r"|d_model|n_embd|layer|head|discount|gamma|beta",
    re.IGNORECASE,
)


def values_of_line(line: str) -> Iterator[tuple[str, str]]:
    """(normalised name, value) of what a sentence or list item states."""
    if not _HINT.search(line):
        return
    for match in _STATED.finditer(line):
        if not match["after"]:
            name = next(name for name, _ in _NAMES if match[name])
            yield name, _number(match)
    for match in _EPOCHS.finditer(line):
        yield "epochs", match["number"]


def values_of_row(cells: Sequence[str], head: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(normalised name, value) of a table's row: named by its first cell, or by the `head` of the columns."""
    own = _WHOLE_NAME.fullmatch(cells[0].strip()) if cells else None
    stated = next(name for name, _ in _NAMES if own[name]) if own else ""
    names = [stated] * (len(cells) - 1) if own else [_column(cell) for cell in head[1 : len(cells)]]
    for name, cell in zip(names, cells[1:], strict=False):
        value = _WHOLE_VALUE.fullmatch(cell.strip()) if name else None
        if value:
            yield name, _number(value)


def _column(cell: str) -> str:
    match = _WHOLE_NAME.fullmatch(cell.strip())
    return next(name for name, _ in _NAMES if match[name]) if match else ""


def _number(match: re.Match[str]) -> str:
    text = match["number"].replace(",", "").replace("−", "-")
    if match["exponent"]:
        exponent = match["exponent"].replace("−", "-").replace("–", "-").lstrip("+")
        return f"{text}e{exponent}"
    return text + (match["unit"] or "")


# Defaults -----------------------------------------------------------------------------------------------------------

_LITERAL: Final = (
    r"(?:`(?P<code>[^`\s,][^`\n]{0,60})`|'(?P<single>[^'\s,][^'\n]{0,60})'|\"(?P<double>[^\"\s,][^\"\n]{0,60})\""
    r"|(?P<plain>[-+]?(?:\d{1,12}(?:\.\d{1,12})?|\.\d{1,12})(?:[eE][-+]?\d{1,3})?|True|False)(?![\w%/]|\.\d|,\d| ?[*×x^]|-\w))"
)
_SAYS_DEFAULT: Final = re.compile(
    rf"(?<![\"'`\w])(?<!paper )default(?:s to|s| to| is| value is| value| of)?(?::|=)? ?{_LITERAL}",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(r"(?<![\w-])--[A-Za-z][\w-]{1,60}")
_NAMED: Final = re.compile(
    r"[ \t]{0,8}(?:[-*+]|\d{1,2}\.)[ \t]+\*{0,2}`(?:-\w,? )?(?P<name>-{0,2}[A-Za-z][\w-]{1,60})`"
)
_SET_BY_DEFAULT: Final = re.compile(r"\bby default\b[^.;`]{0,40}`", re.IGNORECASE)
_FLAG_WITH_VALUE: Final = re.compile(r"`(?P<flag>--[A-Za-z][\w-]{1,60})[ =](?P<value>[^\s`]{1,60})`")


def defaults_of_line(line: str) -> Iterator[tuple[str, str]]:
    """(flag or name as written, default as literal text) where a line says what a setting's default is.

    Only what one flag stands in front of (or a list item is about), and what "by default" is followed by: a line that speaks of several defaults
    of one flag states none.
    """
    if "efault" not in line:
        return
    line = line[:2000]
    if (said := _SET_BY_DEFAULT.search(line)) is not None:
        sentence = re.split(r"[.;](?:\s|$)", line[said.start() :], maxsplit=1)[0]
        for match in _FLAG_WITH_VALUE.finditer(sentence):
            yield match["flag"], match["value"]
        return
    stated = list(_SAYS_DEFAULT.finditer(line))
    if len(stated) != 1:
        return
    before = line[: stated[0].start()]
    flags = list(dict.fromkeys(_FLAG.findall(before)))
    item = _NAMED.match(line)
    if item is not None and len(flags) < 2:
        name = item["name"]
    elif len(flags) == 1 and len(before) - before.rfind(flags[0]) < 200:
        name = flags[0]
    else:
        return
    found = stated[0]
    value = next(found[group] for group in ("code", "single", "double", "plain") if found[group] is not None)
    yield name, value if found["plain"] or found["code"] else repr(value)
