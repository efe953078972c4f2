"""Jenkinsfiles: the shell steps of each stage. Groovy itself is not understood, nor need it be.

Source: https://www.jenkins.io/doc/book/pipeline/syntax/.
"""

import re

from audit.facts.ci.steps import Collector
from audit.facts.extracted import Extracted
from audit.facts.model import CiStep

_MAX_CHARS = 1_000_000

_NAMED = (
    r"(?:(?:script|returnStdout|returnStatus|label)[ \t]*:[ \t]*(?:true|false)?[ \t]*,?[ \t\n]{0,100}){0,3}"
)
_TOKEN = re.compile(
    r"\bstage[ \t]*\(?[ \t]*(['\"])([^'\"\n]{0,200})\1"
    rf"|\b(?:sh|bat)[ \t]*\(?[ \t\n]{{0,100}}{_NAMED}('''|\"\"\"|'|\")"
)


def read(text: str) -> Extracted:
    """The stages as jobs; shell steps in front of the first stage belong to a job without a name."""
    collector = Collector("jenkins", text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")[:_MAX_CHARS]
    name, first = "", 1
    steps: list[CiStep] = []
    line, counted, position = 1, 0, 0
    while (found := _TOKEN.search(text, position)) is not None:
        line += text.count("\n", counted, found.end())
        counted = position = found.end()
        if found[1] is not None:
            if steps:
                collector.job(name, first, steps)
            name, first, steps = found[2], line, []
            continue
        end = (
            text.find(found[3], position) if len(found[3]) == 3 else _end_of_string(text, position, found[3])
        )
        if end < 0:
            continue
        steps += collector.text(text[position:end], line)
        line += text.count("\n", counted, end)
        counted = position = end
    if steps:
        collector.job(name, first, steps)
    return Extracted(collector.facts(), collector.partial)


def _end_of_string(text: str, start: int, quote: str) -> int:
    """The end of a one-line string; an escaped quote does not end it."""
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    at = text.find(quote, start, line_end)
    while at > 0 and text[at - 1] == "\\":
        at = text.find(quote, at + 1, line_end)
    return at
