"""What a line is by what stands before it: echoed scripts, program text, test names, dumps; and the step it was written in."""

import re
from typing import NamedTuple

from audit.failure.model import Kind
from audit.failure.reading.clean import Clean

_FRAME = re.compile(r"[ |]*File \"[^\"]+\", line \d+")
_SHORT_FRAME = re.compile(r"\S+:\d+: in \S|\S+\.py:\d+: *$")
_POINTERS = re.compile(r"[ |]*[~^][~^ ]*$")
_RAISE = re.compile(
    r"\s+(raise|return|assert|with|if|elif|else|for|while|try|except|def|class|import|from|@)\b"
)
_BLOCK_HEADER = re.compile(r"_{3,} .+ _{3,}$")
_RULE = re.compile(r"(?:={3,}+ (?P<title>.+?) ={3,}+|={6,}+)$")
_CAPTURED = re.compile(r"-{3,}+ ?(?P<title>[A-Z]\w.*?) ?(?<!-)-{3,}+$")
_GOOD_OUTCOME = re.compile(
    r"^(?>.*?::\S).*? (PASSED|SKIPPED|XFAIL|XPASS|RERUN)\b|^(\[gw\d+\] )?(\[ *\d+%\] )?(PASSED|SKIPPED|XFAIL|XPASS|RERUN) |"
    r" \.\.\. (ok|skipped|expected failure)\b|^\[ +(RUN|OK|PASSED) +\]|Test +#\d+: .*Passed|^\s*Start +\d+: |^=== RUN|^\s*--- (PASS|SKIP): "
)
_BARE_ID = re.compile(
    r"^(\[gw\d+\] )?(\[ *\d+%\] )?[\w./-]+\.py::\S+( <- \S+)?( *\[ *\d+%\])?$|^\s*<(Function|Module|Class|Coroutine) "
)
_HELP = re.compile(r"^usage: |^\s{2,}(-\w,? +)?--[a-z][\w-]*( [A-Z_{\[]|,|  |=|$)")
_SETTING = re.compile(r"^\s*[a-z_][\w.]*=[^=\s].*,$")
# The step of a GitHub job log; other groups are parts of steps.
_RUN_GROUP = re.compile(r"##\[group\](?P<name>Run .+)")
_AZURE = re.compile(r"##\[section\](?P<what>Starting|Finishing): (?P<name>.+)")
_GITLAB = re.compile(r"section_(?P<what>start|end):\d+:(?P<name>[\w.-]+)")
_JENKINS = re.compile(r"\[Pipeline\] (?P<what>\{|\}|// stage)(?: \((?P<name>.+)\))?")
_BUILDKITE = re.compile(r"(?:~~~|\+\+\+|---) +(?P<name>[:\w(].*)")
_TOX = re.compile(r"nox > Running session (?P<name>\S+)|(?P<tox>[\w.-]+): commands(?:_pre|_post)?\[\d+\]")
_COMPLETE_JOB = re.compile(r"Complete job name: (?P<name>.+)")
_LONGEST_NAME = 200
_TELLING = frozenset({Kind.GATE, Kind.ERROR, Kind.EXCEPTION, Kind.STEP, Kind.COMMAND, Kind.EXIT})


class _Frame(NamedTuple):
    """The last frame line of one rank or worker."""

    indent: int
    short: bool


class Context:
    """Follows the lines of one log in order."""

    def __init__(self) -> None:
        self.job: str | None = None
        self.step: str | None = None
        self._echo = False
        self._report = False
        self._captured = False
        self._warnings = False
        self._difference = False
        self._frames: dict[tuple[int | None, str | None], _Frame] = {}

    def interrupted(self) -> None:
        """Lines are missing here: what spans lines is not known any more."""
        self._echo = self._report = self._captured = self._warnings = False
        self._frames.clear()

    def follow(self, raw: str, line: Clean, kinds: set[Kind]) -> None:
        """Adds to `kinds` what the line is by its place."""
        text = line.text
        if kinds:
            if Kind.STEP in kinds or Kind.COMMAND in kinds:
                self._steps(raw, text)
            if Kind.TEST in kinds or Kind.PASSED in kinds:
                self._sections(text)
                if (_GOOD_OUTCOME.search(text) and Kind.FAILED not in kinds) or _BARE_ID.match(text):
                    kinds.add(Kind.TEST_ID)
        elif "::" in text and _BARE_ID.match(text):
            kinds.add(Kind.TEST_ID)
        if self._echoed(text, kinds):
            kinds.add(Kind.ECHO)
        if self._source(line, kinds):
            kinds.add(Kind.SOURCE)
        if (
            self._warnings
            or (text[:1] in " u" and _HELP.match(text))
            or (text[-1:] == "," and _SETTING.match(text))
        ):
            kinds.add(Kind.DUMP)

    def _steps(self, raw: str, text: str) -> None:
        if found := _RUN_GROUP.match(text):
            self.step = found["name"][:_LONGEST_NAME]
            self._echo = True
            self._report = False
        elif found := _COMPLETE_JOB.match(text):
            self.job = found["name"][:_LONGEST_NAME]
        elif text.startswith(("Post job cleanup.", "Post Run ")):
            self.step = text.rstrip(".")[:_LONGEST_NAME]
        elif found := _AZURE.match(text):
            self.step = found["name"][:_LONGEST_NAME] if found["what"] == "Starting" else None
        elif found := _GITLAB.search(raw):
            self.step = found["name"] if found["what"] == "start" else None
        elif found := _JENKINS.match(text):
            self.step = found["name"] or (None if found["what"] != "{" else self.step)
        elif found := _BUILDKITE.match(text):
            self.step = found["name"][:_LONGEST_NAME]
        elif found := _TOX.match(text):
            self.step = found["name"] or found["tox"]

    def _echoed(self, text: str, kinds: set[Kind]) -> bool:
        if self._echo:
            if text.startswith("##[endgroup]"):
                self._echo = False
            return True
        # `- expected` above `+ actual` is a difference, not a command.
        before, self._difference = self._difference, text.startswith(("- ", "? "))
        return Kind.COMMAND in kinds and not before

    def _source(self, line: Clean, kinds: set[Kind]) -> bool:
        text = line.text
        if self._report and not self._captured and text.startswith((">   ", "    ")):
            return True
        key = (line.rank, line.worker)
        frame = self._frames.get(key)
        indent = len(text) - len(text.lstrip(" |"))
        if _FRAME.match(text) or _SHORT_FRAME.match(text):
            self._frames[key] = _Frame(indent, not _FRAME.match(text))
            return False
        if frame is None:
            return bool(
                _RAISE.match(text) and Kind.EXCEPTION not in kinds and text.endswith((":", ")", '"', "'"))
            )
        if indent > frame.indent and (text.strip() or frame.short):
            return True
        if _POINTERS.match(text) and text.strip():
            return True
        del self._frames[key]
        return False

    def _sections(self, text: str) -> None:
        if found := _RULE.match(text):
            title = (found["title"] or "").lower()
            self._report = self._captured = False
            self._warnings = title.startswith("warnings summary")
        elif _BLOCK_HEADER.match(text):
            self._report, self._captured = True, False
        elif _CAPTURED.match(text):
            self._captured = True
        elif text.startswith("-- Docs: "):
            self._warnings = False
