"""Blackening credentials in whatever is quoted: evidence, logs, command lines, patches."""

from audit.safety.secrets import suspects


def redact(text: str) -> str:
    """`text` with every string that could be a credential replaced by `[redacted: KIND]`. Never raises."""
    parts: list[str] = []
    position = 0
    for match in suspects(text):
        parts += (text[position : match.start], f"[redacted: {match.kind}]")
        position = match.end
    return "".join([*parts, text[position:]])
