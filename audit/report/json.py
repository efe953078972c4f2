r"""The report as JSON: the document exactly, keys in the order of the design, same bytes for the same report.

A path or text with bytes that are not UTF-8 (surrogate-escaped in memory) is made *printable*, not
reversible: the byte 0xFF becomes the four characters `\xff`, since JSON is Unicode and most readers refuse
lone surrogates. Fingerprints were computed before that, so nothing that compares reports is touched. Every
other character is the document's own; those that are invisible on a screen are written as JSON escapes, which
read back as themselves.
"""

from typing import Any

import msgspec

from audit.documents.report import Report
from audit.report.view import Rules
from audit.safety.sanitize import json_text, unicode_text


def render(report: Report, *, rules: Rules | None = None) -> str:
    """The document with a newline at its end; `rules` adds nothing to it."""
    return dump(report)


def dump(document: Any) -> str:
    """Any document as indented, deterministic JSON with a newline at its end.

    A Struct's keys keep the order of its fields; the keys of a plain dict are sorted.
    """
    try:
        data = _encoded(document)
    except UnicodeEncodeError:
        data = _encoded(_encodable(document))
    return json_text(msgspec.json.format(data, indent=2).decode()) + "\n"


def _encoded(document: Any) -> bytes:
    return msgspec.json.encode(document, order="deterministic")


def _encodable(value: Any) -> Any:
    """The same document, Structs kept, without lone surrogates."""
    match value:
        case str():
            return unicode_text(value)
        case msgspec.Struct():
            changed = {name: _encodable(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **changed)
        case dict():
            return {unicode_text(key): _encodable(item) for key, item in value.items()}
        case list() | tuple():
            return [_encodable(item) for item in value]
    return value
