"""Names of variables whose values are secrets."""

from typing import Final

_WORDS: Final = frozenset(
    "KEY TOKEN SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL CREDENTIALS AUTH PRIVATE COOKIE SESSION APIKEY PAT".split()
)
_KNOWN: Final = frozenset({"NETRC", "PGPASS", "DATABASE_URL", "SENTRY_DSN"})
_HARMLESS: Final = frozenset(
    {"MAX_TOKENS", "MAX_NEW_TOKENS", "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES"}
)


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret: one of the parts between underscores says so, or the name is a known one."""
    upper = name.upper().replace("-", "_")
    return upper not in _HARMLESS and (upper in _KNOWN or not _WORDS.isdisjoint(upper.split("_")))
