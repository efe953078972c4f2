"""README and other documents: Markdown, reStructuredText and plain text in one pass over the lines."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from audit.facts.doc_values import defaults_of_line, values_of_line, values_of_row
from audit.facts.extracted import Extracted
from audit.facts.model import Command, DocsFacts, Requirement

MAX_LINES: Final = 100_000
MAX_LINE: Final = 5_000
"""Longest line read, in characters; tables and badges stay below."""
MAX_ITEMS: Final = 2_000
"""Most entries of one kind that are kept."""
MAX_CODE: Final = (20, 2_000)

_FENCE: Final = re.compile(r"^[ \t>]*+(?P<fence>`{3,}+(?![^`\n]*+`)|~{3,}+)[ \t{]*+(?P<language>[\w.+#-]*+)")
_DIRECTIVE: Final = re.compile(
    r"^(?P<indent>[ \t]*+)\.\.[ \t]++(?:code-block|code|sourcecode|prompt|parsed-literal)::[ \t]*+(?P<language>[\w+-]*+)"
)
_SHELL_LANGUAGES: Final = frozenset(
    {
        "bash",
        "sh",
        "shell",
        "zsh",
        "console",
        "shell-session",
        "shellsession",
        "sh-session",
        "terminal",
        "commandline",
        "cmd",
        "powershell",
    }
)
_PYTHON_LANGUAGES: Final = frozenset({"python", "py", "python3", "pycon", "ipython", "ipython3", "pytb"})
# Blocks that are shell only where a line reads like it.
_UNSURE_LANGUAGES: Final = frozenset(
    {"", "text", "txt", "plain", "plaintext", "none", "default", "console", "code"}
)
_PROMPT: Final = re.compile(r"^[ \t]*+(?:\([\w.-]{1,40}\)[ \t]++)?(?:[\w.@~:/-]{0,60}[$%❯][ \t]++)")
_PROGRAMS: Final = (
    r"(?:python[\d.]*|pip[\d.]*|pipx?|conda|mamba|micromamba|uvx?|poetry|pdm|hatch|torchrun|accelerate|deepspeed|horovodrun|mpirun|mpiexec|nohup|numactl|xvfb-run|srun|sbatch"
    r"|bash|sh|make|git|docker|singularity|apptainer|wget|curl|cd|export|source|sudo|apt|apt-get|brew|pytest|tox|nox|jupyter|huggingface-cli|hf"
    r"|wandb|kaggle|gsutil|gdown|unzip|tar|mkdir|cp|mv|ln|nvidia-smi|cmake|ninja|dvc|vllm|ray|lightning|litgpt|lm_eval|lm-eval|swift|trl)"
)
_SHELL_LINE: Final = re.compile(
    rf"^[ \t]*+(?:[A-Z_][A-Z0-9_]{{1,60}}=\S*+[ \t]++){{0,20}}(?:{_PROGRAMS}(?=[ \t]|$)|\./[\w.-]|\.[ \t]++[\w./-]{{1,200}}\.sh\b|[\w-]{{2,30}}[ \t]++--[a-z])"
    r"|^[ \t]*+export[ \t]"
)
# The prompt of other shells is also the sign of redirection and of quotation: only what starts a known program is a command.
_ANGLE_PROMPT: Final = re.compile(
    rf"^[ \t]*+>[ \t]++(?=(?:[A-Z_][A-Z0-9_]{{1,60}}=\S*+[ \t]++){{0,20}}{_PROGRAMS}(?:[ \t]|$))"
)
# A line of prose or of an HTML block that is a command beyond doubt.
_PLAIN_COMMAND: Final = re.compile(
    r"^[ \t]*+(?:\$[ \t]++)?(?:(?:[A-Z_][A-Z0-9_]{1,60}=\S*+[ \t]++){0,20}(?:python[\d.]*[ \t]++(?:-m[ \t]++[\w.]+|[\w./-]{1,200}\.py\b)"
    r"|torchrun[ \t]++-|accelerate[ \t]++launch[ \t]|deepspeed[ \t]++\S+\.py)|(?:pip3?|conda|mamba)[ \t]++install[ \t]++[\w.'\"\[\]=<>~,+:/@ -]*$)"
)
_INLINE: Final = re.compile(r"(?<!`)(`{1,3})(?!`)(?P<code>[^`\n]{8,500})\1(?!`)")

_ATX: Final = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]++(?P<text>.*?)[ \t]*+#*[ \t]*$")
_HTML_HEADING: Final = re.compile(
    r"<h(?P<level>[1-6])\b[^>]{0,300}>(?P<text>.{0,300}?)</h[1-6]>", re.IGNORECASE
)
_UNDERLINE: Final = re.compile(r"^(?P<mark>[=\-~^\"*+#])(?P=mark){2,}[ \t]*$")
_LEVELS: Final = {"=": 1, "-": 2, "~": 3}
_MARKUP: Final = re.compile(
    r"!?\[(?P<text>[^\[\]\n]{0,300})\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,100}\])|<[^<>\n]{1,300}>|`{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|\*{1,3}(?=\S)|(?<=\S)\*{1,3}"
)

_DIGIT: Final = re.compile(r"\d")
_PYTHON_VERSION: Final = re.compile(
    r"\bpython(?:[ \t]++version)?[ \t]*+(?:\*\*|`)?[-:(]?[ \t]*+"
    r"(?P<operator>>=|==|=|~=|≥|>|<=|<)?[ \t]*+v?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]*\d)(?P<plus>\+|%2B)?",
    re.IGNORECASE,
)
_LINK: Final = re.compile(
    r"!?\[[^\[\]\n]{0,500}\]\([ \t]*+<?(?P<markdown>[^()\s<>]{1,500})"
    r"|\b(?:src|href)[ \t]*+=[ \t]*+[\"'](?P<html>[^\"'\n]{1,500})[\"']"
    r"|^[ \t]*+\.\.[ \t]++(?:image|figure|include|literalinclude)::[ \t]++(?P<directive>\S{1,500})"
    r"|`[^`<>\n]{1,300}<(?P<rst>[^<>\s]{1,500})>`__?"
    r"|^[ \t]{0,3}\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]++<?(?P<reference>[^\s<>]{1,500})"
)
_VARIABLE: Final = re.compile(r"(?<![\w./-])[A-Z][A-Z0-9]{0,30}+(?:_[A-Z0-9]{1,30}+){1,6}+(?!\w)")
"""A name as environment variables have it."""
_ESCAPED: Final = re.compile(r"\\([_*~()\[\]`.#+!-])")
"""Markdown's escapes: "docs/\\_static" is the path "docs/_static"."""
_ABSOLUTE: Final = re.compile(r"^(?:[a-zA-Z][\w+.-]*:|//|#|\{|\$|%|@|data:)")
_HUB: Final = re.compile(
    r"\b(?:huggingface\.co|hf\.co)/(?P<id>(?:datasets/)?[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?)"
)
_NOT_HUB: Final = frozenset(
    {
        "docs",
        "blog",
        "papers",
        "learn",
        "spaces",
        "collections",
        "login",
        "join",
        "settings",
        "models",
        "tasks",
        "chat",
        "pricing",
        "api",
        "posts",
    }
    | {
        "organizations",
        "new",
        "new-dataset",
        "course",
        "transformers",
        "autotrain",
        "inference-api",
        "inference-endpoints",
        "front",
        "enterprise",
    }
)
_BIBTEX: Final = re.compile(
    r"^[ \t]*+@(?:article|inproceedings|misc|software|book|incollection|phdthesis|mastersthesis|techreport|unpublished|conference|online|manual)[ \t]*+\{",
    re.IGNORECASE,
)

_HEADING_TOPICS: Final = tuple(
    (topic, re.compile(pattern, re.IGNORECASE))
    for topic, pattern in (
        ("hardware", r"\bhardware\b|\bgpus?\b|\bcompute\b|\bsystem requirements\b"),
        ("results", r"\bresults?\b|\bbenchmarks?\b|\bperformance\b|\bleaderboard\b|\bmodel zoo\b|\bfindings\b|\baccurac(?:y|ies)\b"),
        ("dataset", r"\bdata\b|\bdata ?sets?\b|\bcorpora\b|\bcorpus\b"),
        ("license", r"\blicen[sc]"),
        ("citation", r"\bcit(?:e|ing|ations?)\b|\bbibtex\b|\breference\b"),
        ("install", r"\binstall|\bset-?up\b|\bgetting started\b|\brequirements?\b|\bdependenc|\bprerequisites?\b|\benvironment\b"),
        ("usage", r"\busage\b|\bquick ?-?(?:start|tour)\b|\bhow to\b|\bgetting started\b|\bexamples?\b|\bdemo\b|\binference\b|\brunning\b|\busing\b"),
        ("training", r"\btrain(?:ing|ed)?\b|\bfine-?\s?tun|\bpre-?train"),
        ("evaluation", r"\beval|\btesting\b|\bbenchmark"),
        ("reproducibility", r"\breproduc|\breplicat"),
    )
)  # fmt: skip
# (topic, literals of which one stands in every line that speaks of it, expression)
_SENTENCE_TOPICS: Final = tuple(
    (topic, hints, re.compile(pattern, re.IGNORECASE))
    for topic, hints, pattern in (
        ("hardware", tuple("0123456789"),
         r"\b(?:[AVH]100|H200|A6000|A40|T4|L4|P100|K80|RTX ?-?\d{4}|GTX ?-?\d{3,4}"
         r"|TITAN|TPU ?v\d|MI\d{3}X?)\b|\b\d{1,4} ?[x×]? ?(?:NVIDIA |TESLA )?GPUs?\b"
         r"|\b\d{1,3} ?GB (?:of )?(?:GPU|VRAM|RAM|memory)"),
        ("results", ("accuracy", "bleu", "rouge", "f1", "perplexity", "ap", "fid", "top", "wer", "reward", "pass@", "loss", "expected"),
         r"\b(?:accuracy|bleu|rouge|f1|perplexity|m?ap|fid|top-?1|wer|reward|pass@\d|loss)\b[^.]{0,40}\b\d"
         r"|\b(?:yields?|achieves?|reach(?:es)?|gives?|gets?|obtains?|scores?)[^.\d]{0,40}\d[\d.]{0,10} ?%? ?"
         r"(?:accuracy|bleu|rouge|f1|perplexity|m?ap|fid|top-?1|wer|reward|pass@\d)\b"
         r"|\bexpected (?:outputs?|results?)\b|\bexpected to (?:output|give|yield|print)\b"),
        ("dataset", ("data",), r"\bdata ?sets?\b"),
        ("license", ("licen", " under"), r"\b(?:licensed|released|distributed|available) under\b|\blicen[sc]e\b"),
        ("citation", ("cit",), r"\bplease cite\b|\bif you (?:use|find)\b[^.]{0,80}\bcit"),
        ("install", (" install", "install "), r"\b(?:pip3?|conda|uv pip) install\b|\binstall\b.{0,80}(?:requirements|environment)[\w-]{0,20}\.(?:txt|ya?ml)"),
        ("training", ("train", "tun"), r"\bto (?:re-?)?train\b|\bfine-?tun(?:e|ed|ing)\b|\btrained (?:on|with|for)\b"),
        ("evaluation", ("evaluat",), r"\bto evaluate\b|\bevaluat(?:e|ed|ion) (?:on|of|the|script)\b"),
        ("reproducibility", ("reproduc", "seed"), r"\breproduc(?:e|ed|ing|ib|tion)|\brandom seeds?\b"),
    )
)  # fmt: skip


_METRIC: Final = re.compile(
    r"\b(?:acc(?:uracy)?|top-?[15]|bleu|rouge(?:-\w)?|f1|m?ap(?:@\d+)?|fid|wer|cer|ppl|perplexity|pass@\d+|em|exact match|auc|auroc|miou|iou|psnr|ssim"
    r"|win ?rate|elo|reward|return|scores?|avg|average|mean)\b",
    re.IGNORECASE,
)
"""Names of measured qualities at the head of a column."""


class _Block(NamedTuple):
    """A block of code: its language ("" where it is not said) and its lines, the first of which is line
    `line`."""

    language: str
    line: int
    lines: list[str]


def extract(text: str) -> Extracted:
    """Facts of a document in any of the three formats. Never raises."""
    lines = text.removeprefix("\ufeff").split("\n")
    why = ""
    if len(lines) > MAX_LINES:
        lines, why = lines[:MAX_LINES], f"more than {MAX_LINES:,} lines: the rest was left out"
    if any(len(line) > MAX_LINE for line in lines):
        why = why or f"lines longer than {MAX_LINE:,} characters were cut"
        lines = [line[:MAX_LINE] for line in lines]
    reader = _Reader()
    for prose, block in _split(lines):
        if block is None:
            reader.prose(*prose)
        else:
            reader.block(block)
    return Extracted(reader.facts(len(text.split())), why or reader.cut())


def _split(lines: list[str]) -> Iterator[tuple[tuple[int, str, str], _Block | None]]:
    """Prose as (line number, line, line after it), and code blocks, in order; front matter and comments are
    left out."""
    index, closing = _front_matter(lines), 0
    blank_before = True
    while index < len(lines):
        line = lines[index]
        if "<!--" in line and "-->" not in line:
            if closing <= index:
                # Looked for once: a comment that never closes must not be searched to the end from every line.
                closing = next(
                    (end for end in range(index, len(lines)) if "-->" in lines[end]), len(lines) + 1
                )
            index = closing if closing < len(lines) else index
        elif (
            ("```" in line or "~~~" in line)
            and (fence := _FENCE.match(line))
            and not _is_underline(lines, index)
        ):
            end = _fence_end(lines, index, fence["fence"])
            yield (0, "", ""), _Block(fence["language"].lower(), index + 2, lines[index + 1 : end])
            index = end
        elif "::" in line and (
            (directive := _DIRECTIVE.match(line))
            or (line.rstrip().endswith("::") and not line.lstrip().startswith(".."))
        ):
            language = directive["language"].lower() if directive else ""
            yield (index + 1, line, ""), None
            end = _indented_end(lines, index + 1, len(line) - len(line.lstrip()))
            yield (0, "", ""), _Block(language, index + 2, lines[index + 1 : end])
            index = end - 1
        elif blank_before and line.startswith(("    ", "\t")) and line.strip():
            end = _indented_end(lines, index, 3)
            yield (0, "", ""), _Block("", index + 1, lines[index:end])
            index = end - 1
        else:
            yield (index + 1, line, lines[index + 1] if index + 1 < len(lines) else ""), None
        blank_before = not lines[min(index, len(lines) - 1)].strip()
        index += 1


def _front_matter(lines: list[str]) -> int:
    """Index behind the YAML that a model card or a page starts with, 0 where there is none."""
    if lines and lines[0].rstrip() == "---":
        return next(
            (index + 1 for index in range(1, min(len(lines), 200)) if lines[index].rstrip() == "---"), 0
        )
    return 0


def _fence_end(lines: list[str], start: int, fence: str) -> int:
    for index in range(start + 1, len(lines)):
        closing = lines[index].strip(" \t>")
        if closing.startswith(fence) and not closing.strip(fence[0]):
            return index
    return len(lines)


def _indented_end(lines: list[str], start: int, indent: int) -> int:
    """Index behind the block of lines that are blank or indented by more than `indent`; blank ones at its
    end are not of it."""
    end = start
    for index in range(start, len(lines)):
        line = lines[index].expandtabs(4)
        if not line.strip():
            continue
        if len(line) - len(line.lstrip()) <= indent:
            break
        end = index + 1
    return max(end, start)


class _Reader:
    """Collects the facts line by line."""

    def __init__(self) -> None:
        self.headings: list[tuple[str, int, int]] = []
        self.commands: list[Command] = []
        self.requirements: list[Requirement] = []
        self.python: list[tuple[str, int]] = []
        self.values: list[tuple[str, str, int]] = []
        self.defaults: list[tuple[str, str, int]] = []
        self.code: list[tuple[str, int]] = []
        self.links: list[tuple[str, int]] = []
        self.hub: list[tuple[str, int]] = []
        self.bibtex = 0
        self.in_headings: dict[str, int] = {}
        self.in_sentences: dict[str, int] = {}
        self.table: list[str] = []
        self.variables: set[str] = set()

    def prose(self, number: int, line: str, following: str) -> None:
        if not line.strip():
            self.table = []
            return
        if not self._heading(number, line, following):
            self._sentence(number, line)
        self._links(number, line)
        if "_" in line and len(self.variables) < MAX_ITEMS:
            self.variables.update(_VARIABLE.findall(line))

    def _heading(self, number: int, line: str, following: str) -> bool:
        if "#" in line and (match := _ATX.match(line)):
            text, level = match["text"], len(match["marks"])
        elif "<" in line and (match := _HTML_HEADING.search(line)):
            text, level = match["text"], int(match["level"])
        elif following and (match := _UNDERLINE.match(following)) and _is_title(line, following):
            text, level = line, _LEVELS.get(match["mark"], 4)
        else:
            return False
        text = _plain(text)
        self.headings.append((text[:200], level, number))
        for topic, pattern in _HEADING_TOPICS:
            if topic not in self.in_headings and pattern.search(text):
                self.in_headings[topic] = number
        return True

    def _sentence(self, number: int, line: str) -> None:
        lower = line.lower()
        for topic, hints, pattern in _SENTENCE_TOPICS:
            if (
                topic not in self.in_sentences
                and any(map(lower.__contains__, hints))
                and pattern.search(line)
            ):
                self.in_sentences[topic] = number
        if "ython" in line or "YTHON" in line:
            self._python_versions(number, line)
        self.defaults += ((name, value, number) for name, value in defaults_of_line(line))
        if _DIGIT.search(line):
            self._values(number, line)
        elif line.count("|") > 1 and not self.table:
            self.table = _cells(line)
        self._commands_in_prose(number, line)
        if not self.bibtex and "@" in line and _BIBTEX.match(line):
            self.bibtex = number

    def _values(self, number: int, line: str) -> None:
        if line.count("|") > 1:
            cells = _cells(line)
            self.values += ((name, value, number) for name, value in values_of_row(cells, self.table))
            if "results" not in self.in_sentences and _is_result(cells, self.table):
                self.in_sentences["results"] = number
            self.table = self.table or cells
        else:
            self.values += ((name, value, number) for name, value in values_of_line(_plain(line)))

    def _python_versions(self, number: int, line: str) -> None:
        for match in _PYTHON_VERSION.finditer(line):
            operator = {"≥": ">=", "=": "=="}.get(match["operator"] or "", match["operator"] or "")
            self.python.append((operator + match["version"] + ("+" if match["plus"] else ""), number))

    def _commands_in_prose(self, number: int, line: str) -> None:
        if _PLAIN_COMMAND.match(line):
            self._shell(_PROMPT.sub("", line), number)
        elif "`" in line:
            for match in _INLINE.finditer(line):
                if _PLAIN_COMMAND.match(match["code"]):
                    self._shell(match["code"], number)

    def _links(self, number: int, line: str) -> None:
        if "](" in line or "=" in line or "`" in line or "::" in line or "]:" in line:
            for match in _LINK.finditer(line):
                target = match[match.lastgroup or 0]
                if not _ABSOLUTE.match(target):
                    path = _ESCAPED.sub(r"\1", re.split(r"[#?]", target, maxsplit=1)[0])
                    self.links += [(path, number)] if path else []
        if "huggingface.co/" in line or "hf.co/" in line:
            for match in _HUB.finditer(line):
                if hub_id := _hub_id(match["id"]):
                    self.hub.append((hub_id, number))

    def block(self, block: _Block) -> None:
        """A code block: Python is kept, shell is parsed, links to the hub are noted in either."""
        self.table = []
        for offset, line in enumerate(block.lines):
            if not self.bibtex and "@" in line and _BIBTEX.match(line):
                self.bibtex = block.line + offset
            if "huggingface.co/" in line:
                self._links(block.line + offset, line)
            if "efault" in line and block.language not in _PYTHON_LANGUAGES:
                self.defaults += (
                    (name, value, block.line + offset) for name, value in defaults_of_line(line)
                )
        if block.language in _PYTHON_LANGUAGES:
            if len(self.code) < MAX_CODE[0]:
                self.code.append(("\n".join(block.lines)[: MAX_CODE[1]], block.line))
        elif block.language in _SHELL_LANGUAGES or block.language in _UNSURE_LANGUAGES:
            text = _shell_text(block)
            if text.strip():
                self._shell(text, block.line)

    def _shell(self, text: str, line: int) -> None:
        from audit.facts.commands.shell import read_script

        if len(self.commands) >= MAX_ITEMS:
            return
        script = read_script(text, line, "readme")
        self.commands += script.commands
        self.requirements += script.requirements

    def cut(self) -> str:
        """What was kept only in part, "" where all was kept."""
        sizes = (len(self.headings), len(self.commands), len(self.python), len(self.values), len(self.links))
        return (
            f"more than {MAX_ITEMS:,} entries of a kind: the rest was left out"
            if max(sizes) > MAX_ITEMS
            else ""
        )

    def facts(self, words: int) -> DocsFacts:
        """The facts of what was read; a topic's line is that of its heading, else of the first sentence
        about it."""
        topics = {**self.in_sentences, **self.in_headings}
        if self.bibtex:
            topics.setdefault("citation", self.bibtex)
        if self.requirements:
            topics.setdefault("install", self.requirements[0].line)
        return DocsFacts(
            headings=tuple(self.headings[:MAX_ITEMS]),
            commands=tuple(self.commands[:MAX_ITEMS]),
            requirements=tuple(self.requirements[:MAX_ITEMS]),
            python_mentions=tuple(dict.fromkeys(self.python[:MAX_ITEMS])),
            values=tuple(dict.fromkeys(self.values[:MAX_ITEMS])),
            defaults=tuple(dict.fromkeys(self.defaults[:MAX_ITEMS])),
            code=tuple(self.code),
            links=tuple(self.links[:MAX_ITEMS]),
            hub_links=tuple(dict.fromkeys(self.hub[:MAX_ITEMS])),
            bibtex=self.bibtex,
            words=words,
            topics=tuple(sorted(topics.items())),
            variables=tuple(sorted(self.variables)[:MAX_ITEMS]),
        )


def _is_result(cells: list[str], header: list[str]) -> bool:
    """Whether a row of a table gives a number under the name of a metric."""
    return any(
        _METRIC.search(name)
        and re.fullmatch(r"\**[-+]?\d[\d.,]{0,12} ?%?(?: ?(?:±|\+/-) ?[\d.]{1,8})?\**", cell)
        for name, cell in zip(header, cells, strict=False)
    )


def _is_underline(lines: list[str], index: int) -> bool:
    """Whether the tildes of a line underline the title before it, as in reStructuredText, and open no fence."""
    line = lines[index].rstrip()
    title = lines[index - 1].strip() if index else ""
    return line.startswith("~") and not line.strip("~") and 0 < len(title) <= len(line)


def _is_title(line: str, underline: str) -> bool:
    """Whether `underline` underlines `line`: not a table's rule, a list item, or a paragraph before a
    thematic break."""
    title = line.strip()
    return (
        0 < len(title) <= 120
        and not title.startswith(("|", "- ", "* ", "+ ", ">", "<", "..", "["))
        and len(underline.rstrip()) >= min(len(title), 3)
        and _UNDERLINE.match(line) is None
    )


def _plain(text: str) -> str:
    return _MARKUP.sub(lambda match: match["text"] or "", text).strip()


def _cells(line: str) -> list[str]:
    return [_plain(cell) for cell in line.strip().strip("|").split("|")[:40]]


def _hub_id(found: str) -> str:
    first, _, rest = found.rstrip(".,/").partition("/")
    if first.lower() in _NOT_HUB or not rest:
        return ""
    return f"{first}/{rest}"


def _shell_text(block: _Block) -> str:
    """The block's commands on their own lines, the others blank, so that lines can be counted."""
    prompted = any(_PROMPT.match(line) or _ANGLE_PROMPT.match(line) for line in block.lines)
    sure = block.language in _SHELL_LANGUAGES and block.language != "console"
    kept: list[str] = []
    continued = False
    for line in block.lines:
        prompt = _PROMPT.match(line) or _ANGLE_PROMPT.match(line)
        if continued:
            text = line
        elif prompt:
            text = line[prompt.end() :]
        elif prompted:
            text = ""  # what the command printed
        else:
            text = line if sure or _SHELL_LINE.match(line) else ""
        continued = bool(text) and text.rstrip().endswith("\\")
        kept.append(text)
    return "\n".join(kept)
