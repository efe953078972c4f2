r"""The one sanitizer: every text that leaves the program passes one of these functions.

Audited repositories are hostile, so a file name, a configuration value or a log line is never written as it
is: a newline in a name forges a workflow command, `##[` forges one in the middle of a line, an ESC rewrites
the terminal, a bidi override shows another name than the one that is there, `@name` notifies a stranger.

What cannot be seen is shown, not dropped, so that two different names never look alike: a control character
as `\n`, `\t` or `\x1b`, a byte that is not UTF-8 (surrogate-escaped, as Git names and file names arrive) as
`\xNN`, any other invisible character as `\u202e` or `\U000e0041`. A backslash of the text itself stays
single: this is for people, nothing reads it back.

`limit` always counts code points of the visible text, before the surface's own escapes, and a cut never parts
a character from what combines with it nor an escape of the surface.

Sources: CommonMark 0.31 and GitHub Flavored Markdown 0.29 for Markdown; the runner's ActionCommand.cs (both
command syntaxes, trimming of leading white space) for workflow commands; SARIF 2.1.0 sections 3.4 and 3.11
for SARIF.
"""

import functools
import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

# Written out, not taken from `unicodedata`, whose answers change with the Python that runs: the same report
# must be the same bytes everywhere. Controls, format characters (bidi, zero-width, tags), blank fillers,
# variation selectors, line and paragraph separators, surrogates, non-characters.
_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
) + "".join(chr((plane << 16) + 0xFFFE) + chr((plane << 16) + 0xFFFF) for plane in range(1, 17))
_BLANKS = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_UNSEEN = re.compile(f"[{_INVISIBLE}{_BLANKS}]")
_UNSEEN_BUT_LAYOUT = re.compile(f"(?![\n\t])[{_INVISIBLE}{_BLANKS}]")
_UNSEEN_IN_JSON = re.compile(f"(?!\n)[{_INVISIBLE}]|##(?=\\[)")
_BLANK = re.compile(f"[{_BLANKS}]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

ELLIPSIS = "…"


def _shown(match: re.Match[str]) -> str:
    return _escape(match.group())


@functools.lru_cache(maxsize=1024)
def _escape(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code <= 0x1F or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if _BLANK.match(character):
        return " "
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable(text: str, *, multiline: bool = False) -> str:
    r"""`text` with every invisible character shown as an escape and every kind of blank as a plain space.

    One line comes out, unless `multiline`: then `\n` and `\t` stay (`\r\n` counts as `\n`). Idempotent.
    """
    if text.isascii() and text.isprintable():
        return text
    if multiline:
        return _UNSEEN_BUT_LAYOUT.sub(_shown, text.replace("\r\n", "\n"))
    return _UNSEEN.sub(_shown, text)


def unicode_text(text: str) -> str:
    r"""`text` as valid Unicode: surrogate-escaped bytes become `\xNN`, other lone surrogates `\uNNNN`; all
    else stays.
    """
    return text if text.isascii() else _LONE_SURROGATE.sub(_shown, text)


_BEYOND_THE_BASIC_PLANE = re.compile("[\U00010000-\U0010ffff]")


def basic_plane(text: str) -> str:
    r"""`text` with every character beyond U+FFFF as `\UXXXXXXXX`, where such are refused. Idempotent."""
    return text if text.isascii() else _BEYOND_THE_BASIC_PLANE.sub(lambda m: f"\\U{ord(m.group()):08x}", text)


# --- lengths -----------------------------------------------------------------------------------------------

_LONGEST_CLUSTER = 32


def _joined(before: str, after: str) -> bool:
    """Whether a cut between the two characters would part what a reader sees as one."""
    return (
        unicodedata.category(after) in ("Mn", "Me", "Mc")
        or "\u200d" in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )


def _boundary(text: str, end: int) -> int:
    """The last place at or before `end` where `text` may be cut; `end` itself where no sane cluster is that
    long.
    """
    at = end
    while at > 0 and end - at < _LONGEST_CLUSTER and _joined(text[at - 1], text[at]):
        at -= 1
    return at if at == 0 or not _joined(text[at - 1], text[at]) else end


def cut(text: str, limit: int | None) -> str:
    """At most `limit` code points of `text`, an ellipsis where something was left out. Idempotent."""
    if limit is None or len(text) <= limit:
        return text
    return text[: _boundary(text, limit - 1)] + ELLIPSIS if limit > 0 else ""


def cut_bytes(text: str, limit: int) -> str:
    """At most `limit` UTF-8 bytes of `text`, an ellipsis where something was left out. Idempotent."""
    text = unicode_text(text)
    data = text.encode()
    if len(data) <= limit:
        return text
    room = limit - len(ELLIPSIS.encode())
    if room < 0:
        return ""
    return text[: _boundary(text, len(data[:room].decode(errors="ignore")))] + ELLIPSIS


# --- terminal and log --------------------------------------------------------------------------------------


def terminal(text: str, limit: int | None = None, *, multiline: bool = False) -> str:
    """`text` for a terminal or a plain text file: no control, no escape sequence, no bidi override.
    Idempotent.
    """
    return cut(printable(text, multiline=multiline), limit)


_COMMAND_V1 = re.compile(r"##(?=\[)")


def log_line(line: str) -> str:
    r"""One finished line of output that the runner will not take for a command. Idempotent.

    The runner takes `::name::` at a line's start, after any white space, and `##[name]` anywhere in it. The
    first colon becomes `\x3a`, the second hash `\x23`. Colour sequences that stand in the line stay.
    """
    line = _COMMAND_V1.sub(r"#\\x23", line)
    body = line.lstrip()
    return line[: len(line) - len(body)] + r"\x3a" + body[1:] if body.startswith("::") else line


def log_text(text: str) -> str:
    """`log_line` over every line of a finished text."""
    if "::" not in text and "##[" not in text:
        return text
    return "\n".join(map(log_line, text.split("\n")))


def log_quote(text: str, token: str) -> str:
    """Foreign lines for the log, as a finished text: the runner takes no command between the two lines around them.

    `token` is a fresh random word, so that nothing quoted can end the quotation; and should it be ignored, the lines hold no command.
    """
    quoted = log_text(printable(text, multiline=True))
    return f"::stop-commands::{token}\n{quoted}\n::{token}::"


# --- workflow commands -------------------------------------------------------------------------------------


def command_data(text: str, limit: int | None = None) -> str:
    """The data part of a workflow command; a newline of `text` stays one, in the runner's escape."""
    safe = _COMMAND_V1.sub(r"#\\x23", cut(printable(text, multiline=True), limit))
    return safe.replace("%", "%25").replace("\n", "%0A").replace("\t", "    ")


def command_property(text: str, limit: int | None = None) -> str:
    """The value of one property of a workflow command: one line, no `:` or `,` that would forge another."""
    safe = _COMMAND_V1.sub(r"#\\x23", cut(printable(text), limit))
    return safe.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def command(
    name: str, message: str, properties: Mapping[str, str | int | None], limit: int | None = None
) -> str:
    """One workflow command on one line. `name` and the property names are ours; None leaves one out."""
    listed = ",".join(
        f"{key}={command_property(str(value))}" for key, value in properties.items() if value is not None
    )
    return f"::{name}{' ' if listed else ''}{listed}::{command_data(message, limit)}"


# --- Markdown ----------------------------------------------------------------------------------------------

# A zero-width space in an entity: GitHub looks for mentions, issue numbers, links and emoji in the rendered
# text, where an entity alone is already the character that it stands for.
_BREAK = "&#8203;"
_MARKDOWN = re.compile(
    r"[\\`<>&|#@$~*_\[\]]"
    r"|:(?=:)|:(?=//)|:(?=[A-Za-z0-9_+-]+:)"
    r"|[Ww][Ww][Ww](?=\.)|(?<![A-Za-z0-9])[Gg][Hh]-(?=[0-9])"
    r"|^[-+=]|^[0-9]{1,9}(?=[.)](?:\s|$))"
)
_BACKSLASHED = frozenset("*_[]")
_BROKEN = frozenset("#@")


def _markdown_escape(match: re.Match[str]) -> str:
    found = match.group()
    if found in _BACKSLASHED:
        return "\\" + found
    if found in _BROKEN:
        return f"&#{ord(found)};{_BREAK}"
    if found == ":":
        return f"&#58;{_BREAK}"
    if len(found) == 1 and not found.isalnum():
        return f"&#{ord(found)};"
    if found.isdigit():
        return found + "\\"
    return found + _BREAK


def markdown(text: str, limit: int | None = None) -> str:
    """`text` as plain inline Markdown, in a sentence, at a line's start or in a table cell, for GitHub's
    renderer.

    Nothing of it becomes markup: no HTML, link, image, autolink, mention, issue reference, emoji,
    mathematics, table border, list or heading. Not idempotent, as no quoting is.
    """
    return _MARKDOWN.sub(_markdown_escape, cut(printable(text), limit).strip())


def _longest_run(text: str, character: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(character)}+", text)), default=0)


def markdown_code(text: str, limit: int | None = None) -> str:
    """`text` as a code span that nothing in it can close, also in a table cell; nothing for an empty text.

    A table is parted at `|` before code spans are found, so a text with one goes between `<code>` tags
    instead.
    """
    shown = cut(printable(text), limit)
    if not shown:
        return ""
    if "|" in shown:
        return f"<code>{markdown(shown)}</code>"
    shown = _COMMAND_V1.sub(r"#\\x23", shown)
    fence = "`" * (_longest_run(shown, "`") + 1)
    # A span of spaces alone keeps them all; of others one is taken from each end.
    pad = " " if shown.strip(" ") and (shown[0] in "` " or shown[-1] in "` ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


# Between two backticks, as our own sentences name code; what is unpaired stays a character.
_NAMED_CODE = re.compile("`([^`]+)`")


def markdown_prose(text: str, limit: int | None = None) -> str:
    """A sentence as inline Markdown, where what stands between backticks becomes a code span, both parts
    quoted."""
    parts = _NAMED_CODE.split(cut(printable(text), limit).strip())
    return "".join(
        markdown_code(part) if number % 2 else _MARKDOWN.sub(_markdown_escape, part)
        for number, part in enumerate(parts)
    )


def markdown_block(text: str, language: str = "") -> str:
    """`text` as a fenced code block that nothing in it can close, for a line's start; `language` is ours."""
    shown = log_text(printable(text, multiline=True)).rstrip("\n")
    fence = "`" * max(3, _longest_run(shown, "`") + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def suggestion_block(text: str) -> str:
    """Lines as the block that GitHub offers to commit: they stand in it as they are, so `text` must be `printable` already."""
    if printable(text, multiline=True) != text:
        raise ValueError("a suggestion must show all that it would write")
    fence = "`" * max(3, _longest_run(text, "`") + 1)
    return f"{fence}suggestion\n{text}\n{fence}"


def safe_url(url: str) -> str | None:
    """`url` percent-encoded, if it is an absolute http or https address with a host; None otherwise."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    return quote(unicode_text(url), safe="/:?#=&%+,;@~-._")


def markdown_link(text: str, url: str) -> str:
    """A link with `text` as its label; the label alone where the address is not a safe one."""
    address = safe_url(url)
    return f"[{markdown(text)}]({address})" if address else markdown(text)


def markdown_code_link(text: str, url: str, limit: int | None = None) -> str:
    """A link with `text` as a code span for its label; the span alone where the address is not a safe one."""
    address, label = safe_url(url), markdown_code(text, limit)
    return f"[{label}]({address})" if address and label else label


# --- HTML --------------------------------------------------------------------------------------------------

_HTML = re.compile(r"[&<>\"'`]|##(?=\[)|:(?=:)")


def _html_escape(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(character)};" for character in match.group())


def html(text: str, limit: int | None = None, *, multiline: bool = False) -> str:
    """`text` as HTML text or a quoted attribute's value, safe also where the page is printed to a log."""
    return _HTML.sub(_html_escape, cut(printable(text, multiline=multiline), limit))


def html_prose(text: str, limit: int | None = None) -> str:
    """A sentence as HTML text, where what stands between backticks becomes a `code` element, both parts
    escaped."""
    parts = _NAMED_CODE.split(cut(printable(text), limit))
    return "".join(
        f"<code>{html(part)}</code>" if number % 2 else html(part) for number, part in enumerate(parts)
    )


# --- JSON and SARIF ----------------------------------------------------------------------------------------


def _json_escaped(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


def json_text(document: str) -> str:
    r"""A finished JSON text where no invisible character and no `##[` stands raw: each becomes `\uNNNN`.

    It stays the same document to every reader. Lone surrogates must be gone already (`unicode_text`).
    Idempotent.
    """
    return _UNSEEN_IN_JSON.sub(_json_escaped, document)


def sarif_uri(path: str) -> str:
    """A repository path as a relative URI reference, byte for byte, so also where it is not UTF-8.

    A leading slash is encoded too: a hostile report cannot name another host or the file system's root.
    """
    data = path.encode("utf-8", "surrogateescape" if _only_escaped_bytes(path) else "surrogatepass")
    uri = quote(data, safe="/")
    return "%2F" + uri[1:] if uri.startswith("/") else uri


def _only_escaped_bytes(path: str) -> bool:
    return all("\udc80" <= character <= "\udcff" for character in _LONE_SURROGATE.findall(path))


def sarif_text(text: str, limit: int | None = None) -> str:
    """`text` for a SARIF message: `[x](y)` would be an embedded link, so the two brackets are parted."""
    return cut(printable(text, multiline=True), limit).replace("](", "] (")
