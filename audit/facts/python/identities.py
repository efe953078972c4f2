"""Strings that may name something outside the repository: a hub id, an API model, an address, an absolute path."""

import re

_HUB = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}")
_API = re.compile(
    r"(?:[a-z][a-z_]{1,20}/){0,2}"
    r"(?:gpt-[0-9o][\w.\-]*|gpt-oss[\w.\-]*|chatgpt-[\w.\-]+|o[134](?:-(?:mini|preview|pro|deep)[\w.\-]*|-\d[\w.\-]*)?|text-(?:davinci|curie|babbage|ada|embedding)-[\w.\-]+"
    r"|code-davinci-[\w.\-]+|davinci(?:-[\w.\-]+)?|claude-[\w.\-@]+|gemini-[\w.\-]+|models/gemini-[\w.\-]+|chat-bison[\w.\-@]*|text-bison[\w.\-@]*|palm-2[\w.\-]*|command(?:-[\w.\-]+)"
    r"|mistral-(?:tiny|small|medium|large)[\w.\-]*|open-mi[sx]tral-[\w.\-]+|codestral-[\w.\-]+|deepseek-(?:chat|reasoner|coder)|grok-[\w.\-]+|qwen-(?:max|plus|turbo)[\w.\-]*|sonar[\w.\-]*"
    r"|embed-(?:english|multilingual)[\w.\-]*|rerank-[\w.\-]+)(?::[\w.\-]+)?",
)
_PATH = re.compile(r"(?:/(?:home|Users|mnt|data\d*|scratch|root|nfs|media|srv|share|work|workspace|project|projects|raid|ssd|hdd|disk\d*|gpfs|lustre|private)/[^\s'\"<>|*?]{1,200}|[A-Za-z]:[\\/][^\s'\"<>|*?]{1,200})")
_URL = re.compile(r"(?:https?|s3|gs|ftp|hf)://[^\s'\"<>]{3,500}")


def identity_kind(value: str) -> str:
    """ "hub", "api", "url", "path", or "" for a string that is no identity by its shape."""
    size = len(value)
    if size < 2 or size > 512:
        return ""
    if "/" in value:
        if "://" in value:
            return "url" if _URL.fullmatch(value) else ""
        if value[0] == "/" or value[1] == ":":
            return "path" if _PATH.fullmatch(value) else ""
        if _API.fullmatch(value):
            return "api"
        return "hub" if size <= 160 and _HUB.fullmatch(value) else ""
    if value[1] == ":" and _PATH.fullmatch(value):
        return "path"
    if size <= 64 and value[0] in "gcotdmeprsq" and ("-" in value or value in ("o1", "o3", "davinci")) and _API.fullmatch(value):
        return "api"
    return ""
