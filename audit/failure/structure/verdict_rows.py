"""Checks without a relation between their two numbers: rows of home-made tables with a verdict, and a number beside its limit.

`p99_ms   41.2   35.0   FAIL`, `| accuracy | 0.71 | 0.90 | ❌ |`, `accuracy 0.71 (required 0.90)`, `expected 0.90, got 0.71`.
"""

import re

import msgspec

from audit.failure.structure.subjects import higher_is_better

NUMBER = r"[-+]?(?:\d[\d,_]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"
UNIT = (
    r"(?: ?(?:%|(?:ms|us|s|sec|seconds|min|minutes|h|hours|[KMGT]iB|[KMGT]B|[KMBGT]|x|pp|points?|"
    r"tokens?/s(?:ec)?|samples?/s(?:ec)?|img/s|it/s|steps|lines|tok/s)"
    r"(?![A-Za-z])))?"
)
_BAD = re.compile(
    r"(?:^|[\s|:=>(\[])(?:FAIL(?:ED|URE|S)?|NOT OK|NOT MET|EXCEEDED|MISSED|VIOLATED|REGRESS(?:ED|ION)|BAD|✗|✘|❌|🔴)(?=[\s|)\],.!]|$)|"
    r"(?:\s{2}|\||->|[=:]) ?fail(?:ed)? ?\|?$|\b(?:pass(?:ed)?|ok|met|success)[\"']?\s?[=:]\s?(?:[Ff]alse|no)\b"
)
"""The verdict of a row. Capitals, or a cell of its own: in a sentence `failed` may be of anything."""
_CELLS = re.compile(r"\s{2,}|\s?\|\s?|\t")
_LIMIT_CELL = re.compile(rf"(?P<op><=|>=|==|[<>≤≥])\s?(?P<n>{NUMBER})")
_NUMBER_CELL = re.compile(rf"(?P<n>{NUMBER}){UNIT}$")
_CHANGE = re.compile(r"[-+±]\d[\d.]* ?%$")
_LOW = r"required|requires?|needs?|needed|min(?:imum)?|floor|at least|lower bound"
_HIGH = r"max(?:imum)?|ceiling|cap|budget|at most|allowed|upper bound|quota|tol(?:erance)?|rtol|atol"
_EITHER = r"target|threshold|limit|baseline|golden|expected|reference|want(?:ed)?"
_BESIDE = re.compile(
    rf"(?<![\w.])(?P<a>{NUMBER}){UNIT}[\"']?(?: (?!but |which |and |vs|versus|against )[a-z]{{3,15}}){{0,2}}"
    rf"[\s,;:(\[/|-]{{1,4}}(?:vs\.? |versus |but |which is |against )?(?:the |is |a )?[\"']?"
    rf"(?P<word>{_LOW}|{_HIGH}|{_EITHER})\b[\"']?(?: of| is| was|:|=|\s){{0,3}}(?P<op><=|>=|[<>≤≥])?\s?(?P<b>{NUMBER})",
    re.IGNORECASE,
)
_LIMIT_FIRST = re.compile(
    rf"\b(?P<word>expected|required|want(?:ed)?|need(?:s|ed)?|golden|baseline|reference|target|at least|at most|minimum|maximum|limit|threshold|budget)\b"
    rf"(?: value| to be| of| is|:|=|\s){{0,3}}(?P<op><=|>=|[<>≤≥])?\s?"
    rf"(?P<b>{NUMBER}){UNIT}[^\d\n]{{1,20}}?\b(?:got|found|was|actual|measured|observed|received)\b[^\d\n-]{{0,12}}(?P<a>{NUMBER})",
    re.IGNORECASE,
)
_APART = re.compile(
    rf"\b(?P<more>larger|bigger|greater|higher|longer|slower|more|smaller|lower|less|fewer|shorter) \((?P<a>{NUMBER}){UNIT}\) than (?:the |its )?[a-z ]{{0,20}}"
    rf"\((?P<b>{NUMBER})",
    re.IGNORECASE,
)
"""`is larger (431 MB) than the limit (400 MB)`."""
_COUNT_OF = re.compile(
    r"(?<![\w.])(?P<a>\d{1,6})\s?(?:/|of|out of)\s?\d{1,6}\b[^\d\n]{1,60}?\b(?P<word>at least|min(?:imum)?(?: of)?|needs?|needed|required?:?|requires)\s"
    r"(?P<op>>=|≥)?\s?(?P<b>\d{1,6})\b(?![\d.]*\d)",
    re.IGNORECASE,
)
"""`3 of 10 seeds solved, at least 8 required`."""
_WORDS_LOW, _WORDS_HIGH = re.compile(_LOW, re.IGNORECASE), re.compile(_HIGH, re.IGNORECASE)
_STRICT = re.compile(
    r"min(?:imum)?|floor|at least|lower bound|max(?:imum)?|ceiling|cap|at most|upper bound|tol(?:erance)?|rtol|atol",
    re.IGNORECASE,
)
"""Words that say on which side the limit holds; `required` and `budget` are of either side, as the metric is."""


_TOLERANCE = re.compile(
    rf"\b(?P<kind>tol(?:erance)?|rtol|atol|margin|slack|allowed|max[- ]?diff)\b[^\d\n]{{0,8}}(?P<n>{NUMBER})\s?(?P<p>%?)",
    re.IGNORECASE,
)


class Row(msgspec.Struct, frozen=True):
    """The sides of a check. `required`: the relation in which `actual` had to stand to `limit`, "" where not told. `stated`: the row
    itself says that the check did not hold.
    """

    actual: float | None
    limit: float | None
    required: str
    word: str
    stated: bool


def bad_verdict(text: str) -> bool:
    """Whether a line carries the verdict of a check that did not hold, in a cell of its own."""
    return _BAD.search(text) is not None


def row(text: str) -> Row | None:
    """The check that a line states without a relation between numbers; None where it states none, or one that holds."""
    bad = _BAD.search(text)
    if bad is not None and (found := _table(text, bad[0].strip(" |:=>(["))) is not None:
        return found
    if (apart := _APART.search(text)) is not None:
        below = apart["more"].lower() in ("smaller", "lower", "less", "fewer", "shorter")
        return Row(number(apart["a"]), number(apart["b"]), ">=" if below else "<=", apart["more"], True)
    for pattern in (_COUNT_OF, _LIMIT_FIRST, _BESIDE):
        if (match := pattern.search(text)) is not None:
            return _beside(text, match, stated=bad is not None)
    return None


def _table(text: str, verdict: str) -> Row | None:
    """A row of cells: a name, its numbers, a verdict. The limit is the one with a relation, else the second number."""
    cells = cells_of(text)
    limited = next((found for cell in cells if (found := _LIMIT_CELL.search(cell))), None)
    numbers = [
        value
        for cell in cells
        if not _CHANGE.fullmatch(cell)
        and (found := _NUMBER_CELL.fullmatch(cell))
        and (value := number(found["n"])) is not None
    ]
    if len(cells) < 3 or not numbers:
        return None
    if limited is not None:
        return Row(numbers[0], number(limited["n"]), limited["op"], verdict, True)
    return Row(numbers[0], numbers[1], "", verdict, True) if len(numbers) > 1 else None


def _beside(text: str, match: "re.Match[str]", *, stated: bool) -> Row | None:
    a, b = number(match["a"]), number(match["b"])
    if a is None or b is None:
        return None
    word, required = match["word"], match["op"] or ""
    if not required and _STRICT.fullmatch(word):
        required = ">=" if _WORDS_LOW.fullmatch(word) else "<="
    if not required and not re.fullmatch(r"golden|baseline|expected|reference", word, re.IGNORECASE):
        better = higher_is_better(text)
        if better is None and _WORDS_LOW.fullmatch(word):
            better = True
        elif better is None and _WORDS_HIGH.fullmatch(word):
            better = False
        required = "" if better is None else ">=" if better else "<="
    low = a < b if required[:1] in (">", "≥") else a > b
    broken = low if required else stated or _beyond(text[match.end() :], a, b)
    return Row(a, b, required, word, stated) if broken else None


def _beyond(rest: str, a: float, b: float) -> bool:
    """Whether a number is farther from its reference than the tolerance that stands behind it."""
    found = _TOLERANCE.search(rest)
    allowed = number(found["n"]) if found is not None else None
    if found is None or allowed is None:
        return False
    relative = found["p"] or found["kind"].lower() == "rtol"
    return abs(a - b) > allowed * (abs(b) if relative else 1) * (0.01 if found["p"] else 1)


def number(text: str) -> float | None:
    """The number that a text spells, None where it is not finite or none."""
    try:
        value = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


_MARKS = re.compile(
    r"^(?:\W|E\b|FAIL(?:ED|URE)?\b|ERROR\b|WARN(?:ING)?\b|AssertionError\b|RESULTS?\b|STATUS\b|(?:[Gg]ate|[Cc]heck|GATE|CHECK)(?: failed)?\b)+[:\s]*"
)
_SAID = re.compile(
    r"\s(?:(?:is|are|was|were|has|have|did|does|exceed\w*|fail\w*|below|above|over|under|not|less|lower|higher|greater|more|worse|missed|misses|must|should|"
    r"using)\b|[=:<>])"
)
_KEYED = re.compile(r"[\"'](?:metric|name|check|gate)[\"']\s?:\s?[\"']([^\"']{1,80})[\"']")
_NO_NAMES = frozenset(
    "baseline golden reference expected required actual value minimum maximum min max result limit threshold step epoch iteration assert the a".split()
)


def cells_of(text: str) -> list[str]:
    """The cells of a row of a table that is printed with blanks, bars or tabulators."""
    return [cell for cell in _CELLS.split(text.strip()[:1000]) if cell]


def name_of_check(text: str) -> str:
    """What a check is of, as its line names it: the first cell of a table's row, else the words before the verb or the first number."""
    bare = _MARKS.sub("", text.strip()[:300])
    if keyed := _KEYED.search(bare):
        return keyed[1]
    cells = cells_of(bare)
    if len(cells) >= 3:
        return cells[0][:80]
    number = re.search(rf"(?<![\w.-]){NUMBER}(?![\w])", bare)
    name = bare[: number.start()] if number is not None else ""
    name = _SAID.split(name.rpartition(": ")[2] if name.rpartition(": ")[2].strip() else name)[0].strip(
        " :=,(|\"'"
    )
    words = name.split()
    return name[:80] if 0 < len(words) <= 4 and name.lower() not in _NO_NAMES else ""
