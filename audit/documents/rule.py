"""What a rule says of itself to a reader, apart from any outcome."""

import msgspec


class RuleText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule's words: `title` names it in a line, `why` says what goes wrong without it, `fix` how to mend
    it.

    `url` is the rule's page in the catalogue, "" where there is none.
    """

    title: str
    why: str
    fix: str
    url: str = ""
