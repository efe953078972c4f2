"""CITATION files, CodeMeta and Zenodo metadata: whether they read as what they are, and what they lack.

Required keys: Citation File Format 1.2.0 (`cff-version`, `message`, `title`, `authors`), CodeMeta 3.0
(`name`, `author` as its guide recommends), Zenodo's deposit metadata (`title`, `creators`).
"""

import re
from typing import Final

from audit.facts.config import extract_json
from audit.facts.extracted import Extracted
from audit.facts.model import CitationFacts, ConfigFacts
from audit.facts.yaml_nodes import YamlError, compose, get, items, text_of

_CFF_KEYS: Final = ("cff-version", "message", "title", "authors")
_ENTRY: Final = re.compile(r"^[ \t]*+@[a-zA-Z]{3,20}[ \t]*+\{", re.MULTILINE)
_TITLE: Final = re.compile(r"\btitle[ \t]*+=[ \t]*+[{\"]++([^\n]{1,500})", re.IGNORECASE)


def extract(text: str) -> Extracted:
    """Facts of a citation file in any of its four formats, told apart by how it begins."""
    head = text.removeprefix("\ufeff").lstrip()[:1]
    if head == "{":
        return _json(text)
    if _ENTRY.search(text):
        title = _TITLE.search(text)
        return Extracted(CitationFacts(title=title[1].rstrip('}", \t') if title else ""))
    return _cff(text)


def _json(text: str) -> Extracted:
    body, why = extract_json(text)
    settings = (
        {setting.key: setting.value for setting in body.settings} if isinstance(body, ConfigFacts) else {}
    )
    names = {key.partition(".")[0] for key in settings}
    required = ("name", "author") if "@context" in names else ("title", "creators")
    missing = tuple(key for key in required if key not in names)
    title = settings.get("name") or settings.get("title") or ""
    facts = CitationFacts(
        valid=not missing, title=title, version=settings.get("version", ""), missing=missing
    )
    return Extracted(facts, why)


def _cff(text: str) -> Extracted:
    try:
        documents = compose(text)
    except YamlError as error:
        return Extracted(CitationFacts(valid=False), str(error))
    document = documents[0] if documents else None
    names = {key for key, _, _ in items(document)}
    if "cff-version" not in names and "title" not in names:
        # Prose: "If you use this software, please cite …" is a citation for people.
        return Extracted(CitationFacts(valid=len(text.split()) >= 5))
    missing = tuple(key for key in _CFF_KEYS if key not in names)
    title = (text_of(get(document, "title")) or text_of(get(document, "preferred-citation", "title")))[:500]
    version = text_of(get(document, "version"))[:100]
    return Extracted(CitationFacts(valid=not missing, title=title, version=version, missing=missing))
