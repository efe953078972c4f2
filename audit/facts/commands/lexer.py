"""Shell text as simple commands: quotes, continuations, here-documents, comments, plain variables expanded.

This reads; it does not run. Loops, functions and branches are flattened in the order of the text. A variable
is expanded only where the text assigns it one plain value; what depends on arguments, on other programs or on
a branch stays as written (`$1`, `$(nproc)`). Every loop over the text moves forward, so the time is linear.
"""

import re
from dataclasses import dataclass, field

from audit.facts.commands.scope import Fragment, Scope

MAX_COMMANDS = 5_000
MAX_WORDS = 1_000
"""Most words kept of one command."""
MAX_BALANCED = 20_000
"""Longest substitution or `${…}` that is followed to its end, in characters."""
NESTED_COST = 200
"""What looking into a substitution takes from the budget of expansions."""
MAX_NESTING = 4
"""Deepest command substitution that is looked into."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word after quotes and expansion; `quoted`: quotes were around its start."""

    text: str
    line: int
    quoted: bool = False


@dataclass(slots=True)
class Simple:
    """One simple command: its words, assignments in front included. `heredoc`: body and first line of a
    here-document."""

    line: int
    words: list[Word] = field(default_factory=list)
    heredoc: tuple[str, int] | None = None
    nested: bool = False


_PLAIN = re.compile(r"[^\s\\'\"$`;&|<>()]+")
_BLANKS = re.compile(r"[ \t\f\v\xa0]+")
_DOUBLE = re.compile(r"[^\\\"$`\n]+")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_ARRAY = re.compile(r"\$\{([A-Za-z_]\w*)\[[@*]\]\}")
_DEFAULT = re.compile(r"\$\{([A-Za-z_]\w*|\d):?[-=][\"']?([^{}$`\"'\n]{0,300})[\"']?\}")
_TEMPLATE = re.compile(r"\$?\{\{[^}\n]{0,300}\}\}")
_PLACEHOLDER = re.compile(r"<[A-Za-z][A-Za-z0-9 _./:|,-]{0,80}>(?=[\s\"'/.,]|$)")
_REDIRECT = re.compile(r"(?:&>>?|[0-9]*(?:>>|>\||>&|<>|<&|>|<))(?:[0-9]+(?=[\s;&|)]|$)|-(?=[\s;&|)]|$))?")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([A-Za-z_][\w.-]*))")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_CONTINUATION = re.compile(r"\\[ \t]*\n")
_KEYWORDS = frozenset(
    {
        "then",
        "do",
        "else",
        "elif",
        "if",
        "while",
        "until",
        "!",
        "{",
        "}",
        "time",
        "$",
        "%",
        "fi",
        "done",
        "esac",
    }
)
_COMPARISONS = frozenset({"[[", "[", "test"})
_OPEN = frozenset({"if", "while", "until", "{"})
_CLOSE = frozenset({"fi", "done", "}", "esac"})
_DECLARE = frozenset({"export", "declare", "local", "readonly", "typeset"})


class Lexer:
    """Reads `text` once. `simple` are its commands; `scope` its variables; `truncated`: there are more
    commands."""

    def __init__(self, text: str, first_line: int = 1, scope: Scope | None = None, depth: int = 0) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
        self.position = 0
        self.line = first_line
        self.depth = depth
        self.scope = scope or Scope()
        self.simple: list[Simple] = []
        self.truncated = False
        self._words: list[Word] = []
        self._start = first_line
        self._only_assigns = True
        self._undo: list[tuple[str, tuple[Fragment, ...] | None]] = []
        self._parens = 0
        self._cases = 0
        self._pattern = False
        self._in_test = False
        self._heredocs: list[tuple[str, bool, Simple]] = []
        self._current: Simple | None = None

    # -- commands ------------------------------------------------------------------------------------------

    def read(self) -> "Lexer":
        """Reads everything; returns itself."""
        while self.position < len(self.text) and not self.truncated:
            self._step()
        self._end_command()
        return self

    def _step(self) -> None:
        text, at = self.text, self.position
        blank = _BLANKS.match(text, at)
        if blank is not None:
            self.position = blank.end()
            return
        char = text[at]
        if char == "\n":
            self._end_command()
            self.position += 1
            self.line += 1
            self._read_heredocs()
        elif char == "#" and not self._glued():
            end = text.find("\n", at)
            self.position = len(text) if end < 0 else end
        elif char == "\\" and (skipped := _CONTINUATION.match(text, at)):
            self.position = skipped.end()
            self.line += 1
        elif char in ";&|()":
            self._operator(char)
        elif char in "<>" or (char.isdigit() and _redirects(text, at)):
            self._redirection(at)
        else:
            self._word()

    def _glued(self) -> bool:
        return self.position > 0 and self.text[self.position - 1] not in " \t\n;&|()"

    def _operator(self, char: str) -> None:
        text, at = self.text, self.position
        if self._in_test:
            self.position = at + 1
            return
        head = self._words[0].text if self._words else ""
        if char == "&" and text.startswith("&>", at):
            self._redirection(at)
            return
        if text.startswith("()", at) and (len(self._words) == 1 or head == "function"):
            self._forget()  # the head of a function: its body follows
            self.position = at + 2
            return
        if self._pattern and char in "(|":
            self._forget()
            self.position = at + 1
            return
        if text.startswith("((", at) and head in {"", "for"}:
            end = text.find("))", at, at + 300)
            if end >= 0:
                self.position = end + 2
                return
        self.position = at + 1
        if char == ")" and self._parens == 0:
            if head == "case":
                self._case()
            self._forget()  # a pattern of `case`
            self._pattern = False
            return
        if self._cases and text.startswith(";;", at):
            self._end_command()
            self._pattern = True
            self.position = at + 2
            return
        self._parens += (char == "(") - (char == ")")
        self._end_command()

    def _forget(self) -> None:
        self._in_test = False
        self._words = []
        self._current = None
        self._only_assigns = True
        self._undo.clear()

    def _redirection(self, at: int) -> None:
        text = self.text
        if text.startswith("<<<", at):
            self.position = at + 3
            self._skip_target()
            return
        here = _HEREDOC.match(text, at)
        if here is not None:
            self.position = here.end()
            word = next((g for g in here.groups()[1:] if g is not None), "")
            self._heredocs.append((word, here[1] == "-", self._pending()))
            return
        placeholder = _PLACEHOLDER.match(text, at)
        if placeholder is not None:
            self._word()
            return
        found = _REDIRECT.match(text, at)
        self.position = found.end() if found is not None else at + 1
        if found is None or not (found[0][-1].isdigit() or found[0][-1] == "-"):
            self._skip_target()

    def _skip_target(self) -> None:
        blank = _BLANKS.match(self.text, self.position)
        if blank is not None:
            self.position = blank.end()
        if self.position < len(self.text) and self.text[self.position] not in "\n;&|()<>":
            self._fragments()

    def _pending(self) -> Simple:
        if self._current is None:
            self._current = Simple(self._start)
        return self._current

    def _read_heredocs(self) -> None:
        for word, dashed, owner in self._heredocs:
            first, body = self.line, []
            while self.position < len(self.text):
                end = self.text.find("\n", self.position)
                end = len(self.text) if end < 0 else end
                content = self.text[self.position : end]
                self.position = min(end + 1, len(self.text))
                self.line += 1
                if (content.lstrip("\t") if dashed else content).rstrip() == word:
                    break
                body.append(content.lstrip("\t") if dashed else content)
            owner.heredoc = ("\n".join(body), first)
        self._heredocs.clear()

    def _end_command(self) -> None:
        words, current = self._words, self._current
        undo = [] if self._only_assigns or self._declares() else self._undo[::-1]
        for name, before in undo:
            self.scope.undo(name, before)
        self._forget()
        words = self._structure(words)
        if not words:
            return
        command = current or Simple(self._start)
        command.line = self._start
        command.words = words
        self.simple.append(command)
        self.truncated = self.truncated or len(self.simple) >= MAX_COMMANDS

    # -- structure: keywords are dropped, what they decide is remembered ------------------------------------

    def _structure(self, words: list[Word]) -> list[Word]:
        at = 0
        while at < len(words) and not words[at].quoted:
            head = words[at].text
            if head in {"for", "select"}:
                self.scope.enter()
                self._loop(words[at:])
                return []
            if head == "case":
                self._case()
                return []
            if head in _COMPARISONS:
                return []
            if head == "function":
                at += 2
            elif head in _KEYWORDS:
                self._block(head)
                at += 1
            else:
                break
        return words[at:]

    def _block(self, keyword: str) -> None:
        if keyword in _OPEN:
            self.scope.enter()
        elif keyword in {"else", "elif"}:
            self.scope.switch()
        elif keyword in _CLOSE:
            self.scope.leave()
            if keyword == "esac":
                self._cases = max(0, self._cases - 1)
                self._pattern = False

    def _case(self) -> None:
        self.scope.enter()
        self._cases += 1
        self._pattern = True

    def _loop(self, words: list[Word]) -> None:
        """`for NAME in …`: the name is known to hold several values, so none is expanded."""
        if len(words) < 2:
            return
        name = words[1].text
        self.scope.set(name, None)
        if len(words) > 3 and words[2].text == "in" and name.isidentifier():
            self.scope.record(name, " ".join(w.text for w in words[3:] if w.text != "do"), words[1].line)

    # -- words ---------------------------------------------------------------------------------------------

    def _word(self) -> None:
        if not self._words:
            self._start = self.line
        before, line = self.position, self.line
        assignment = _ASSIGNMENT.match(self.text, before)
        if assignment is not None and (self._only_assigns or self._declares()):
            self._assignment(assignment[1], assignment.end(), append=bool(assignment[2]))
            return
        quoted = self.text[before] in "'\""
        fragments = self._fragments()
        if self.position == before:  # nothing that a word may start with: one character is dropped
            self.position += 1
            return
        if len(self._words) < MAX_WORDS:
            fields = _fields(fragments, line, quoted)[:MAX_WORDS]
            self._words.extend(fields)
            last = fields[-1].text if fields else ""
            if not quoted and last in {"[[", "]]"}:
                self._in_test = last == "[[" and self._only_assigns
            self._only_assigns = self._only_assigns and all(w.text in _KEYWORDS for w in fields)

    def _declares(self) -> bool:
        """Whether the command so far is `export` or one of its kind."""
        head = next((w.text for w in self._words[:4] if w.text not in _KEYWORDS), "")
        return head in _DECLARE

    def _assignment(self, name: str, end: int, *, append: bool) -> None:
        line = self.line
        self.position = end
        array = self.text.startswith("(", end)
        pieces = self._array() if array else self._fragments()
        before = self.scope.values.get(name)
        self._undo.append((name, before))
        if append:
            self.scope.append(name, tuple(pieces), line, array=array)
        else:
            self.scope.set(name, tuple(pieces))
        text = "".join(piece.text for piece in pieces).strip()
        self.scope.record(name, text, line)
        if len(self._words) < MAX_WORDS:
            self._words.append(Word(f"{name}={text}", line))

    def _array(self) -> list[Fragment]:
        """`( … )` behind an assignment: its words, each split off by a blank."""
        self.position += 1
        pieces: list[Fragment] = []
        while self.position < len(self.text) and self.text[self.position] != ")":
            char = self.text[self.position]
            skipped = _CONTINUATION.match(self.text, self.position)
            blank = _BLANKS.match(self.text, self.position)
            if char == "\n" or skipped is not None:
                self.position = skipped.end() if skipped is not None else self.position + 1
                self.line += 1
            elif blank is not None:
                self.position = blank.end()
            elif char == "#":
                end = self.text.find("\n", self.position)
                self.position = len(self.text) if end < 0 else end
            else:
                before = self.position
                pieces += [*self._fragments(), Fragment(" ", self.line, split=True)]
                if self.position == before:
                    self.position += 1
        self.position += 1
        return pieces

    def _fragments(self) -> list[Fragment]:
        """The pieces of one word, up to a blank or an operator."""
        pieces: list[Fragment] = []
        text = self.text
        while self.position < len(text):
            at = self.position
            char = text[at]
            plain = _PLAIN.match(text, at)
            if plain is not None:
                template = text.find("{{", at, plain.end())
                if template >= 0 and (opaque := _TEMPLATE.match(text, template)):
                    self.position = opaque.end()
                else:
                    self.position = plain.end()
                pieces.append(Fragment(text[at : self.position], self.line))
            elif char == "'":
                self._single(pieces, at)
            elif char == '"':
                self._double(pieces)
            elif char == "\\":
                if _CONTINUATION.match(text, at) is not None:
                    break
                pieces.append(Fragment(text[at + 1 : at + 2], self.line))
                self.position = at + 2
            elif char in "$`":
                self._dollar(pieces, quoted=False)
            elif char == "<" and (placeholder := _PLACEHOLDER.match(text, at)):
                pieces.append(Fragment(placeholder[0], self.line))
                self.position = placeholder.end()
            elif char == "(" and pieces and pieces[-1].text[-1:] in "?*+@!=":
                self._balanced(pieces, at)  # an extended glob
            else:
                break
        return pieces

    def _single(self, pieces: list[Fragment], at: int) -> None:
        end = self.text.find("'", at + 1)
        if end < 0:  # an apostrophe in prose: the word ends with its line
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            pieces.append(Fragment(self.text[at + 1 : end], self.line))
            self.position = end
            return
        self._lines(pieces, self.text[at + 1 : end])
        self.position = end + 1

    def _lines(self, pieces: list[Fragment], content: str) -> None:
        for index, part in enumerate(content.split("\n")):
            if index:
                pieces.append(Fragment("\n", self.line))
                self.line += 1
            pieces.append(Fragment(part, self.line))

    def _double(self, pieces: list[Fragment]) -> None:
        text = self.text
        self.position += 1
        pieces.append(Fragment("", self.line))
        while self.position < len(text):
            at = self.position
            run = _DOUBLE.match(text, at)
            skipped = _CONTINUATION.match(text, at)
            char = text[at]
            if run is not None:
                pieces.append(Fragment(run[0], self.line))
                self.position = run.end()
            elif char == '"':
                self.position += 1
                return
            elif skipped is not None:
                self.position = skipped.end()
                self.line += 1
            elif char == "\\":
                escaped = text[at + 1 : at + 2]
                pieces.append(Fragment(escaped if escaped in '"\\$`' else "\\" + escaped, self.line))
                self.position = at + 2
            elif char == "\n":
                pieces.append(Fragment("\n", self.line))
                self.position += 1
                self.line += 1
            else:
                self._dollar(pieces, quoted=True)

    # -- expansions ----------------------------------------------------------------------------------------

    def _dollar(self, pieces: list[Fragment], quoted: bool) -> None:
        text, at = self.text, self.position
        template = _TEMPLATE.match(text, at)
        if template is not None:
            pieces.append(Fragment(template[0], self.line))
            self.position = template.end()
            return
        if text.startswith("$(", at) or text[at] == "`":
            self._substitution(pieces, at)
            return
        named = _VARIABLE.match(text, at)
        array = named or _ARRAY.match(text, at)
        default = array or _DEFAULT.match(text, at)
        if default is None:
            end = at + 1
            if text.startswith("${", at):
                self.position = at + 1
                pieces.append(Fragment("$", self.line))
                self._balanced(pieces, at + 1)
                return
            if at + 1 < len(text) and text[at + 1] in "0123456789@*#?!$":
                end = at + 2
            pieces.append(Fragment(text[at:end], self.line))
            self.position = end
            return
        self.position = default.end()
        name = default[1] or (default[2] if default.re is _VARIABLE else "")
        value = self.scope.lookup(name)
        if value is None and default.re is _DEFAULT:
            value = (Fragment(default[2], self.line),)
        if value is None:
            pieces.append(Fragment(default[0], self.line))
            return
        if default.re is _ARRAY:
            pieces += value  # its elements are words already
        else:
            pieces += [Fragment(piece.text, piece.line or self.line, not quoted) for piece in value]

    def _substitution(self, pieces: list[Fragment], at: int) -> None:
        """`$( … )` or backticks stay as written; the commands inside are read, too."""
        first = self.line
        if self.text[at] == "`":
            end = self.text.find("`", at + 1, at + 2_000)
            if end < 0:
                pieces.append(Fragment("`", self.line))
                self.position = at + 1
                return
            inner = self.text[at + 1 : end]
            raw = self.text[at : end + 1]
            self.position = end + 1
        else:
            holder: list[Fragment] = []
            self._balanced(holder, at + 1)
            raw = "$" + "".join(f.text for f in holder)
            inner = raw[2:-1]
        self.line = first + raw.count("\n")
        pieces.append(Fragment(raw.replace("\n", " "), first))
        cheap = inner.startswith("(") or not inner or self.scope.budget < NESTED_COST
        if self.depth < MAX_NESTING and not cheap:
            self.scope.budget -= NESTED_COST
            inside = Scope(self.scope.values, self.scope.budget)
            nested = Lexer(inner, first, inside, self.depth + 1).read()
            self.scope.budget = inside.budget
            for simple in nested.simple:
                simple.nested = True
                self.simple.append(simple)

    def _balanced(self, pieces: list[Fragment], at: int) -> None:
        """From `(` or `{` to what closes it, quotes respected; what nothing closes ends with its line."""
        text = self.text
        opening = text[at]
        pattern, closing = (_PARENS, ")") if opening == "(" else (_BRACES, "}")
        depth = 0
        position = at
        for found in pattern.finditer(text, at, at + MAX_BALANCED):
            position = found.end()
            depth += (found[0] == opening) - (found[0] == closing)
            if depth == 0:
                break
        if depth:
            line_end = text.find("\n", at)
            position = len(text) if line_end < 0 else line_end
        content = text[at:position]
        self.position = position
        self._lines(pieces, content)


_QUOTED = r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\."
_PARENS = re.compile(rf"[()]|{_QUOTED}", re.DOTALL)
_BRACES = re.compile(rf"[{{}}]|{_QUOTED}", re.DOTALL)


def _redirects(text: str, at: int) -> bool:
    """Whether a digit at `at` starts a redirection like `2>`; a word of digits does not."""
    if at and text[at - 1] not in " \t\n;&|(":
        return False
    found = _REDIRECT.match(text, at)
    return found is not None and text[at].isdigit()


def _fields(fragments: list[Fragment], line: int, quoted: bool) -> list[Word]:
    """The words that a word's fragments make: an unquoted expansion splits at blanks."""
    words: list[Word] = []
    text: list[str] = []
    start = 0

    def flush() -> None:
        nonlocal start
        if text:
            words.append(Word("".join(text), start or line, quoted and not words))
            text.clear()
        start = 0

    for piece in fragments:
        if not piece.split:
            start = start or (piece.line if piece.text else 0)
            text.append(piece.text)
            continue
        if piece.text[:1].isspace():
            flush()
        for index, part in enumerate(piece.text.split()):
            if index:
                flush()
            start = start or piece.line
            text.append(part)
        if piece.text[-1:].isspace():
            flush()
    flush()
    return words
