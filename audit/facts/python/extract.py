"""Python source to facts. Source that today's Python refuses goes to the tolerant reader."""

import ast
import itertools
import re
import warnings

from audit.facts.extracted import Extracted
from audit.facts.python.model import Ignore
from audit.facts.python.walk import MAX_RECORDS, Walk

_IGNORE = re.compile(r"#\s*ml-audit:\s*ignore\[([^\]\n]{1,200})\][ \t]*([^\n]{0,300})")
_MAX_IGNORES = 1_000
_MAX_TOKENS = 250_000
"""Most tokens that are parsed; the largest file of 16,000 in real repositories has 100,000."""
# A word's characters as "a" ("?" stands for those that are not ASCII), blanks as " ", all else, one token each at most, as ".".
_TOKEN_SHAPE = bytes(
    0x61 if chr(byte).isalnum() or chr(byte) in "_?" else 0x20 if chr(byte).isspace() else 0x2E
    for byte in range(256)
)


def extract(source: str) -> Extracted:
    """Facts of one Python source. Never raises: what `ast` refuses is read tolerantly and marked partial."""
    if too_much(source):
        return Extracted(None, f"more than {_MAX_TOKENS:,} tokens of Python: not parsed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        from audit.facts.python.tolerant import extract_tolerantly

        return extract_tolerantly(source, _why(error))
    walk = Walk()
    try:
        walk.run(tree)
    except RecursionError:
        from audit.facts.python.tolerant import extract_tolerantly

        return extract_tolerantly(source, "nested too deeply")
    facts = walk.facts(tree, ignores(source))
    full = len(walk.calls) >= MAX_RECORDS or len(walk.texts) >= MAX_RECORDS
    return Extracted(facts, f"only the first {MAX_RECORDS} calls and strings were kept" if full else "")


def too_much(source: str) -> bool:
    """Whether a syntax tree of `source` could take more than some 250 MB: its tokens are counted, words in strings and comments too.

    A token costs up to a kilobyte of tree: half a megabyte of `x;` takes half a gigabyte.
    """
    if len(source) <= _MAX_TOKENS:
        return False
    shape = source.encode("ascii", "replace").translate(_TOKEN_SHAPE)
    return shape.count(b".") + shape.count(b" a") + shape.count(b".a") > _MAX_TOKENS


def ignores(source: str) -> tuple[Ignore, ...]:
    """Inline suppressions: `# ml-audit: ignore[rule, rule] reason`; the first thousand of a file."""
    if "ml-audit:" not in source:
        return ()
    found = []
    line, position = 1, 0
    for match in itertools.islice(_IGNORE.finditer(source), _MAX_IGNORES):
        rules = tuple(sorted(rule.strip() for rule in match[1].split(",") if rule.strip()))
        line += source.count("\n", position, match.start())
        position = match.start()
        found.append(Ignore(rules, match[2].strip(), line))
    return tuple(found)


def _why(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    return "nested too deeply" if isinstance(error, (RecursionError, MemoryError)) else str(error)
