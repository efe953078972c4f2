"""Bytes to text: byte-order marks, the source cookie, UTF-8, and Latin-1 for what is none of them."""

import codecs
import re

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.M)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT_CODECS = frozenset(
    "utf-8 latin-1 iso8859-1 ascii cp1252 cp1251 koi8-r gbk gb2312 gb18030 big5 shift_jis euc-jp euc-kr".split()
)


def decode(data: bytes) -> tuple[str, str]:
    """The text, with `\\n` line ends, and a remark where it was not plain UTF-8 ("" else). Never raises.

    Bytes with a NUL and no byte-order mark are no text: they give "" and a remark.
    """
    text, remark = _decode(data)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, remark


def _decode(data: bytes) -> tuple[str, str]:
    for mark, codec in _MARKS:
        if data.startswith(mark):
            body = data[len(mark) :] if codec == "utf-8" else data
            return body.decode(codec, "replace"), "" if codec == "utf-8" else f"read as {codec.upper()}"
    if b"\0" in data:
        return "", "binary content"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    match = _COOKIE.search(data[:400])
    if match:
        try:
            name = codecs.lookup(match[1].decode("ascii", "replace")).name
            if name in _TEXT_CODECS:
                return data.decode(name), f"read as {name}"
        except (LookupError, UnicodeDecodeError):
            pass
    return data.decode("latin-1"), "not UTF-8, read as Latin-1"
