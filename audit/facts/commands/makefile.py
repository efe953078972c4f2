"""Makefiles: the commands of their recipes, with the Makefile's own variables expanded."""

import re

from audit.facts.commands.shell import MAX_CHARS, read_script
from audit.facts.extracted import Extracted
from audit.facts.model import ScriptFacts

MAX_VARIABLES = 1_000
MAX_RULES = 2_000
_MAX_VALUE = 2_000

_ASSIGNMENT = re.compile(
    r"(?:export[ \t]+|override[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(\?|:{1,3}|\+|!)?=[ \t]*(.*)", re.DOTALL
)
_REFERENCE = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)|\$\{([A-Za-z_][\w.-]*)\}")
_PREFIX = re.compile(r"[@+-][@+ \t-]*")
_RULE = re.compile(r"[^\s#=:][^#=:]*::?(?![=])([^;]*);(.*)", re.DOTALL)
_TARGETS = re.compile(r"([^\s#=:][^#=:]*)::?(?![=:])([^;#]*)", re.DOTALL)
_CONTINUATION = re.compile(r"\\\n")


def extract(text: str) -> Extracted:
    """The facts of a Makefile. What a `define`, a function call or a pattern rule computes stays as
    written."""
    partial = f"only the first {MAX_CHARS:,} characters were read" if len(text) > MAX_CHARS else ""
    text = text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    recipes, variables, rules = _split(text)
    values = {name: value for name, value, _ in variables}
    expanded = "\n".join(_expand(line, values) for line in recipes)
    script = read_script(expanded, substitutions=False)
    return Extracted(
        ScriptFacts(
            format="makefile",
            commands=script.commands,
            variables=tuple(variables),
            requirements=script.requirements,
            rules=tuple(rules[:MAX_RULES]),
        ),
        partial or script.partial,
    )


Rule = tuple[str, tuple[str, ...], int]


def _split(text: str) -> tuple[list[str], list[tuple[str, str, int]], list[Rule]]:
    """The recipe lines in their places, all other lines blank; the variables as (name, value, line); the rules
    as (target, prerequisites, line)."""
    lines = text.split("\n")
    recipes = [""] * len(lines)
    variables: list[tuple[str, str, int]] = []
    rules: list[Rule] = []
    known: dict[str, str] = {}
    at = 0
    while at < len(lines):
        end = at + 1
        while end < len(lines) and lines[end - 1].endswith("\\"):
            end += 1
        if lines[at].startswith("\t"):
            for index in range(at, end):
                recipes[index] = lines[index].removeprefix("\t")
            recipes[at] = (
                _PREFIX.sub("", recipes[at].lstrip(), count=1)
                if recipes[at].lstrip()[:1] in set("@+-")
                else recipes[at]
            )
        else:
            logical = _CONTINUATION.sub(" ", "\n".join(lines[at:end])).strip()
            _other_line(logical, at, recipes, variables, known)
            if len(rules) < MAX_RULES:
                rules += _rules(logical, at + 1, known)
        at = end
    return recipes, variables, rules


def _rules(logical: str, line: int, known: dict[str, str]) -> list[Rule]:
    """A rule for each target in front of the colon; none where the line is an assignment or something else."""
    found = _TARGETS.match(logical) if ":" in logical and not _ASSIGNMENT.fullmatch(logical) else None
    if found is None:
        return []
    needs = tuple(_expand(found[2], known).split()[:100])
    return [(target[:200], needs, line) for target in _expand(found[1], known).split()[:100]]


def _other_line(
    logical: str, at: int, recipes: list[str], variables: list[tuple[str, str, int]], known: dict[str, str]
) -> None:
    """A line outside a recipe: an assignment, or a rule with a command behind `;`."""
    found = _ASSIGNMENT.fullmatch(logical)
    if found is None:
        rule = _RULE.fullmatch(logical) if ";" in logical else None
        if rule is not None:
            recipes[at] = rule[2].strip()
        return
    name, operator, value = found[1], found[2] or "", found[3].partition(" #")[0].strip()
    if len(variables) >= MAX_VARIABLES or operator == "!" or (operator == "?" and name in known):
        return
    value = _expand(value, known)
    if operator == "+" and name in known:
        value = f"{known[name]} {value}"
    value = value[:_MAX_VALUE]
    known[name] = value
    variables.append((name, value, at + 1))


def _expand(text: str, values: dict[str, str]) -> str:
    """`text` with plain references replaced and `$$` as the shell sees it; what is unknown stays a shell-like
    `${NAME}`."""
    if "$" not in text:
        return text
    room = 20_000

    def replace(match: re.Match[str]) -> str:
        nonlocal room
        value = values.get(match[1] or match[2])
        if value is None or "$(" in value or len(value) > room:
            return f"${{{match[1] or match[2]}}}"
        room -= len(value)
        return value

    # `$$` is the shell's `$`: kept apart, so that `$$(date)` is not taken for make's own reference.
    return "$".join(_REFERENCE.sub(replace, piece) for piece in text.split("$$"))
