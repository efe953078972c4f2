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
from audit.safety.texts import with_texts


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
        data = _encoded(with_texts(document, unicode_text))
    return json_text(msgspec.json.format(data, indent=2).decode()) + "\n"


def _encoded(document: Any) -> bytes:
    return msgspec.json.encode(document, order="deterministic")
