"""Credentials that Git tracks."""

import re
from typing import Final

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.classify import is_test_path
from audit.signals.repository import Repository, place

_TEMPLATE: Final = re.compile(
    r"(?:^|[._-])(?:example|examples|sample|template|tmpl|dist|default|defaults|placeholder|dummy|fake|mock|test)(?:[._-]|$)"
)


def secrets_tracked(repository: Repository) -> Signal[tuple[str, ...]]:
    """Files that hold what looks like a live credential: a token's shape with enough entropy, a private key, a password.

    Templates and test data are none; a name such as `.env` alone says nothing: what stands in it does. Copied trees
    count, since what they give away is tracked here.
    """
    found: list[str] = []
    places: list[Place] = []
    for path, facts in repository.facts.items():
        if facts.secrets and not is_test_path(path) and not _TEMPLATE.search(path.rpartition("/")[2].lower()):
            found.append(path)
            places += [place(path, hit.line, hit.kind) for hit in facts.secrets[:2]]
    return Signal(tuple(found), tuple(places[:4]))
