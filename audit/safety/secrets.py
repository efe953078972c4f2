"""Strings that look like live credentials: by the shapes that providers give their tokens, never by guess
alone.

Two answers from one reading. `scan` is for findings: a shape with enough entropy that is no placeholder,
because a wrong alarm about a leaked key costs a user an afternoon. `suspects` is for redaction: whatever
might be a credential, because a right one that gets out costs more than a word too much blackened.

Sources of the shapes: the providers' documentation, and GitHub's list of secret-scanning patterns
(https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns).
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class SecretMatch(NamedTuple):
    """`text[start:end]` is the credential, `line` (from 1) where it starts. `kind` names the shape, never
    the value."""

    kind: str
    start: int
    end: int
    line: int


class _Shape(NamedTuple):
    """`pattern` is tried where `literal` stands. `entropy` in bits per character.

    Group "key" of the pattern, where there is one, is the credential. `mixed`: letters alone must change
    case often enough to be no word in camel case.
    """

    kind: str
    literal: str
    pattern: re.Pattern[str]
    entropy: float = 3.5
    mixed: bool = False


def _shape(kind: str, literal: str, rest: str, entropy: float = 3.5, mixed: bool = False) -> _Shape:
    return _Shape(kind, literal, re.compile(re.escape(literal) + rest), entropy, mixed)


_B62: Final = "[A-Za-z0-9]"
_B64URL: Final = "[A-Za-z0-9_-]"

_SHAPES: Final[tuple[_Shape, ...]] = (
    _shape("Anthropic API key", "sk-ant-", rf"[a-z0-9]{{3,8}}-{_B64URL}{{40,150}}+"),
    _shape("OpenRouter API key", "sk-or-", r"v\d-[0-9a-f]{64}", 3.0),
    _shape("OpenAI API key", "sk-proj-", rf"{_B64URL}{{40,200}}+"),
    _shape("OpenAI API key", "sk-svcacct-", rf"{_B64URL}{{40,200}}+"),
    _shape("OpenAI API key", "sk-admin-", rf"{_B64URL}{{40,200}}+"),
    _shape("OpenAI API key", "sk-", rf"{_B62}{{20}}T3BlbkFJ{_B62}{{20}}"),
    _shape("OpenAI API key", "sk-", rf"{_B62}{{48}}"),
    _shape("API key", "sk-", r"[0-9a-f]{32}", 3.0),
    _shape("Hugging Face token", "hf_", rf"{_B62}{{34,40}}+", 3.8, mixed=True),
    _shape("Hugging Face token", "api_org_", rf"{_B62}{{34}}", 3.8, mixed=True),
    *(_shape("GitHub token", f"gh{letter}_", rf"{_B62}{{36,255}}+") for letter in "pousr"),
    _shape("GitHub token", "github_pat_", rf"{_B62}{{22}}_{_B62}{{59}}"),
    _shape("GitLab token", "glpat-", r"[A-Za-z0-9_.-]{20,100}+", 3.3),
    _shape("GitLab token", "glrt-", rf"{_B64URL}{{20,50}}+", 3.3),
    _shape("AWS access key id", "AKIA", r"[A-Z2-7]{16}", 3.0),
    _shape("AWS access key id", "ASIA", r"[A-Z2-7]{16}", 3.0),
    _shape("Google API key", "AIza", rf"{_B64URL}{{35}}"),
    _shape("Google OAuth token", "ya29.", rf"{_B64URL}{{50,500}}+"),
    _shape("Google OAuth client secret", "GOCSPX-", rf"{_B64URL}{{28}}"),
    _shape("Azure storage key", "AccountKey=", r"(?P<key>[A-Za-z0-9+/]{86}==)", 4.0),
    _shape("Slack token", "xoxb-", r"\d{8,14}-[0-9A-Za-z-]{20,200}+", 3.0),
    _shape("Slack token", "xoxp-", r"\d{8,14}-[0-9A-Za-z-]{20,200}+", 3.0),
    _shape("Slack token", "xapp-", r"\d-[0-9A-Za-z-]{40,200}+", 3.0),
    _shape("Slack webhook", "hooks.slack.com/services/", r"T\w{8,12}/B\w{8,12}/\w{24}", 3.3),
    _shape("Discord webhook", "/api/webhooks/", rf"\d{{17,20}}/(?P<key>{_B64URL}{{60,80}}+)"),
    _shape("Stripe live key", "sk_live_", rf"{_B62}{{20,100}}+"),
    _shape("Stripe live key", "rk_live_", rf"{_B62}{{20,100}}+"),
    _shape("npm token", "npm_", rf"{_B62}{{36}}"),
    _shape("PyPI token", "pypi-AgE", rf"{_B64URL}{{60,400}}+", 4.0),
    _shape("Replicate token", "r8_", rf"{_B62}{{37}}"),
    _shape("Groq API key", "gsk_", rf"{_B62}{{52}}"),
    _shape("Perplexity API key", "pplx-", rf"{_B62}{{40,56}}+"),
    _shape("NVIDIA API key", "nvapi-", rf"{_B64URL}{{60,80}}+"),
    _shape("xAI API key", "xai-", rf"{_B62}{{80}}"),
    _shape("LangSmith API key", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", 3.0),
    _shape("W&B API key", "wandb_v1_", r"[A-Za-z0-9_]{60,120}+"),
    _shape("Databricks token", "dapi", r"[0-9a-f]{32}", 3.0),
    _shape("DigitalOcean token", "dop_v1_", r"[0-9a-f]{64}", 3.0),
    _shape("Docker Hub token", "dckr_pat_", rf"{_B64URL}{{27}}"),
    _shape("Kaggle API key", '"username"', r'\s{0,4}:\s{0,4}"[^"\n]{1,60}"\s{0,8},\s{0,8}"key"\s{0,4}:\s{0,4}"(?P<key>[0-9a-f]{32})', 3.0),
    _shape("SendGrid API key", "SG.", rf"{_B64URL}{{22}}\.{_B64URL}{{43}}"),
    _shape("Neptune API token", "eyJhcGlfYWRkcmVzcyI6", r"[A-Za-z0-9+/_-]{60,600}+={0,2}", 4.0),
    _shape("JSON Web Token", "eyJ", rf"{_B64URL}{{10,2000}}+={{0,2}}\.eyJ{_B64URL}{{10,4000}}+={{0,2}}\.{_B64URL}{{20,1000}}+", 4.0),
)  # fmt: skip

_WORDS: Final = re.compile(
    r"(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?key|secret|(?:auth|access|api|hf|hub|bot)[_-]?token"
    r"|passw(?:or)?d|passwd|bearer|wandb[ ]login|wandb\.login\(key|credentials?)",
    re.IGNORECASE,
)
# One of these stands in every text in which the expression above could find something worth a look.
_WORD_LITERALS: Final = (
    "api_key", "API_KEY", "apikey", "apiKey", "ApiKey", "APIKEY", "api-key", "Api-Key", "API-KEY", "secret", "Secret", "SECRET",
    "access_key", "ACCESS_KEY", "accessKey", "AccessKey", "th_token", "TH_TOKEN", "ss_token", "SS_TOKEN", "accessToken",
    "hf_token", "HF_TOKEN", "HUB_TOKEN", "hub_token", "API_TOKEN", "api_token", "BOT_TOKEN", "bot_token", "password", "PASSWORD",
    "Password", "passwd", "PASSWD", "Bearer ", "bearer ", "wandb login", "wandb.login(", "credential", "CREDENTIAL",
)  # fmt: skip
_TAIL: Final = re.compile(
    r"""s?(?:[_-][\w-]{0,30})?["'\]]{0,2}[ \t]{0,4}(?:=>|[=:,( ])[
    \t]{0,4}["']{0,3}(?P<key>[A-Za-z0-9_\-+/=.~!@\#$%^&*]{6,400}+)(?P<next>[("'\[]?)"""
)
_ENVIRONMENT: Final = re.compile(
    r"""\b(?P<name>[A-Z][A-Z0-9_]{0,60})_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)"""
    r"""["'\]]{0,2}(?:=|: ?)["']?(?P<key>[^\s"'$`<{\[(]{6,400})"""
)
_BLANK: Final = re.compile(r"[\s\"'<>]")
_SHARED_REPORTS: Final = ("wandb.ai/", "api.wandb.ai/links/")
"""Links to reports carry a token that opens this report for reading and nothing else.
https://docs.wandb.ai/support/models/articles/who-can-edit-and-share-reports"""
_SEARCH_KEY: Final = re.compile(
    r"\b(?:algolia|docsearch)\b[^{}]{0,80}\{[^{}]{0,300}$|\b(?:algolia|docsearch)_?(?:search)?_?$", re.I
)
"""A site's search key, which every visitor gets.
https://www.algolia.com/doc/guides/building-search-ui/going-further/api-keys-security/js"""
_SPECIAL_TOKENS: Final = (
    "PAD",
    "EOS",
    "BOS",
    "UNK",
    "MASK",
    "SEP",
    "CLS",
    "SPECIAL",
    "SORT",
    "PRIMARY",
    "DICT",
    "CACHE",
)
_HEX: Final = re.compile(r"[0-9a-f]{32,128}|[0-9A-F]{32,128}")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_+/=-]{20,200}")
_PROVIDERS: Final = (
    ("aws", "AWS secret access key"), ("wandb", "W&B API key"), ("comet", "Comet API key"), ("cohere", "Cohere API key"),
    ("azure", "Azure API key"), ("neptune", "Neptune API token"), ("kaggle", "Kaggle API key"), ("together", "Together API key"),
    ("bearer", "bearer token"), ("passw", "password"),
)  # fmt: skip

_PRIVATE_KEY: Final = re.compile(r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST_KEY: Final = 16_000
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}")
_URL: Final = re.compile(
    r"://[^\s:/@\"'<>{}$%\[\]]{0,100}:(?P<key>[^\s/@\"'<>]{3,200})@(?P<host>[\w.-]{1,200})"
)
_TELEGRAM: Final = re.compile(r"(?<![\w:])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])")

_PLACEHOLDER: Final = re.compile(
    r"example|x{4}|0{5}|1{5}|\*{3}|\.{3}|your|placeholder|dummy|fake|sample|changeme|change_me|redacted|abcdef|bcdefg|12345|23456"
    r"|insert|replace|secret|token|api_?key|password|_here|<|\$\{|\$[A-Z_]{3}|%\(|\{\{|environ|getenv|test_?key|[sr]k_test|foobar|lorem|my[-_]",
    re.IGNORECASE,
)
_RUN: Final = re.compile(r"(.)\1{5}")
_DOCUMENTATION_JWT: Final = (
    "eyJzdWIiOiIxMjM0NTY3ODkw"  # the payload of the specification's and jwt.io's example
)
_BOUNDARY: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


_may_hold: Callable[[str], bool] | None = None


def prepare() -> None:
    """Makes `scan` pass over texts without a credential thirty times as fast. It costs a tenth of a second: worth it from some megabytes on."""
    global _may_hold  # noqa: PLW0603 - one compiled database a process
    if _may_hold is None:
        from audit.safety.secret_filter import compiled

        _may_hold = compiled([shape.pattern.pattern for shape in _SHAPES], _WORDS.pattern)


def scan(text: str) -> list[SecretMatch]:
    """The credentials in `text` that are fit for an alarm, in order, none over another.

    Linear in the text; never raises.
    """
    if _may_hold is not None and not _may_hold(text):
        return []
    worth = _worth_reading(text)
    if not worth and "-----BEGIN" not in text and not ("://" in text and "@" in text):
        return []
    return _placed(text, (hit for hit in _candidates(text, worth) if hit.sure))


def suspects(text: str) -> list[SecretMatch]:
    """All that could be a credential, placeholders and weak passwords too, in order, none over another."""
    return _placed(text, itertools.chain(_candidates(text, text), _in_environment(text)))


class _Candidate(NamedTuple):
    kind: str
    start: int
    end: int
    sure: bool


def _placed(text: str, candidates: Iterator[_Candidate]) -> list[SecretMatch]:
    matches: list[SecretMatch] = []
    line, position = 1, 0
    for kind, start, end, _ in sorted(candidates, key=lambda hit: (hit.start, -hit.end)):
        if matches and start < matches[-1].end:
            continue
        line += text.count("\n", position, start)
        position = start
        matches.append(SecretMatch(kind, start, end, line))
    return matches


# Where a token can be: runs of the characters of which tokens are made, and blobs of base64 (images in
# notebooks).
_RUNS: Final = bytes(0x61 if chr(byte) in _BOUNDARY else 0x20 for byte in range(256))
_BLOBS: Final = bytes(0x61 if chr(byte) in _BOUNDARY or chr(byte) in "+/=" else 0x20 for byte in range(256))
_SHORTEST_RUN: Final = b"a" * 20
_SHORTEST_BLOB: Final = b"a" * 5_000
_LOOK_BACK: Final = 80


def _worth_reading(text: str) -> str:
    """The parts of `text` in which a token can stand: long runs with a digit, and a little of what stands
    before them.

    This is what makes a scan of a hundred megabytes of source code affordable: one search for a run costs
    less than one for each of eighty literals, and hardly any run of ordinary code is left.
    """
    data = text.encode("latin-1", "replace")
    runs = data.translate(_RUNS)
    blobs = data.translate(_BLOBS)
    parts: list[str] = []
    start = runs.find(_SHORTEST_RUN)
    blob = blobs.find(_SHORTEST_BLOB)
    while start >= 0:
        end = runs.find(b" ", start)
        end = len(runs) if end < 0 else end
        if 0 <= blob <= start:
            end = blobs.find(b" ", blob)
            end = len(blobs) if end < 0 else end
            blob = blobs.find(_SHORTEST_BLOB, end)
        elif _may_be_token(data[start:end]):
            parts.append(text[max(0, start - _LOOK_BACK) : end])
        start = runs.find(_SHORTEST_RUN, end)
    return "\n".join(parts)


def _may_be_token(run: bytes) -> bool:
    """Whether there is a digit in `run`, or the mark of a token that may be without."""
    if run.translate(None, b"0123456789") != run:
        return True
    return any(sign in run for sign in (b"hf_", b"_org_", b"AKIA", b"ASIA", b"access_key", b"ACCESS_KEY"))


def _candidates(text: str, worth: str) -> Iterator[_Candidate]:
    """All candidates of `text`; `worth` is the part of it that tells which shapes to look for."""
    yield from _shaped(text, worth)
    if any(literal in worth for literal in _WORD_LITERALS):
        yield from _in_context(text)
    if "-----BEGIN" in text:
        yield from _private_keys(text)
    if "://" in text and "@" in text:
        yield from _in_urls(text)
    if ":AA" in worth:
        for match in _TELEGRAM.finditer(text):
            yield _Candidate("Telegram bot token", match.start(), match.end(), not _is_placeholder(match[0]))


def _shaped(text: str, worth: str) -> Iterator[_Candidate]:
    for shape in _SHAPES:
        if shape.literal not in worth:
            continue
        position = text.find(shape.literal)
        while position >= 0:
            after = position + len(shape.literal)
            before = text[position - 1 : position] or " "
            # Glued to another word by a hyphen it is no alarm, but no text to pass on either.
            match = shape.pattern.match(text, position) if before not in _BOUNDARY or before in "-_" else None
            if match and text[match.end() : match.end() + 1] not in _BOUNDARY:
                value, end = match["key"] if "key" in match.re.groupindex else match[0], match.end()
                start = match.start("key") if "key" in match.re.groupindex else position
                sure = before not in _BOUNDARY and _is_sure(shape, value)
                yield _Candidate(shape.kind, start, start + len(value), sure)
                after = end
            position = text.find(shape.literal, after)


def _is_sure(shape: _Shape, value: str) -> bool:
    secret = value[len(shape.literal) :] if value.startswith(shape.literal) else value
    if _is_placeholder(secret) or _DOCUMENTATION_JWT in value or entropy(secret) < shape.entropy:
        return False
    return not shape.mixed or _changes(secret) >= 0.36


def _in_context(text: str) -> Iterator[_Candidate]:
    """Values behind names such as `WANDB_API_KEY`: what has no shape of its own is a credential by its
    name."""
    position = 0
    while word := _WORDS.search(text, position):
        position = word.end()
        tail = _TAIL.match(text, position)
        if tail is None or tail["next"] in ("(", "["):
            continue
        value = tail["key"].rstrip(".,")
        if len(value) >= 40:
            position = tail.end("key")
        name = text[max(0, word.start() - 40) : tail.start("key")].rpartition("\n")[2].lower()
        kind = next((kind for sign, kind in _PROVIDERS if sign in name), "API key")
        start = tail.start("key")
        if _looks_random(value):
            sure = not _is_placeholder(value) and not _is_public(text, word.start())
            yield _Candidate(kind, start, start + len(value), sure)
        elif "passw" in name and len(value) >= 6 and any(char.isdigit() for char in value):
            yield _Candidate(kind, start, start + len(value), False)


def _is_public(text: str, position: int) -> bool:
    """Whether the value named at `position` is one that is published on purpose: the search key of a site, the key in a link that shares a report."""
    before = text[max(0, position - 400) : position]
    link = before.rpartition("://")[2] if "://" in before else ""
    shared = bool(link) and not _BLANK.search(link) and link.startswith(_SHARED_REPORTS)
    admin = re.search(r"(?:admin|write)[_-]?$", before, re.IGNORECASE) is not None
    return shared or (not admin and _SEARCH_KEY.search(before) is not None)


def _in_environment(text: str) -> Iterator[_Candidate]:
    """Values of environment variables that are named as secrets; the names of special tokens are none."""
    for match in _ENVIRONMENT.finditer(text):
        if not match["name"].startswith(_SPECIAL_TOKENS):
            yield _Candidate("secret by its name", match.start("key"), match.end("key"), False)


def _looks_random(value: str) -> bool:
    if _HEX.fullmatch(value):
        return entropy(value) >= 3.0
    if not _PLAIN.fullmatch(value) or sum(char.isdigit() for char in value) < 2:
        return False
    return entropy(value) >= 3.7 and _changes(value) >= 0.3


def _private_keys(text: str) -> Iterator[_Candidate]:
    closing = 0
    for header in _PRIVATE_KEY.finditer(text):
        if 0 <= closing < header.end():
            closing = text.find("-----END", header.end())
        inside = 0 <= closing <= header.end() + _LONGEST_KEY
        body = text[header.end() : closing] if inside else ""
        if "-----BEGIN" in body:
            body, inside = "", False
        material = "".join(_BASE64.findall(body))
        end = text.find("-----", closing + 8, closing + 60) + 5 if inside else header.end()
        sure = len(material) >= 100 and entropy(material) >= 4.5
        yield _Candidate("private key", header.start(), max(end, header.end()), sure)


def _in_urls(text: str) -> Iterator[_Candidate]:
    for match in _URL.finditer(text):
        value, host = match["key"], match["host"]
        sure = (
            len(value) >= 8
            and entropy(value) >= 3.0
            and any(char.isdigit() for char in value)
            and not _is_placeholder(value)
            and not host.startswith(("localhost", "127.", "example", "host"))
        )
        yield _Candidate("credentials in a URL", match.start("key"), match.end("key"), sure)


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.search(value) is not None or _RUN.search(value) is not None


def entropy(value: str) -> float:
    """Shannon entropy of `value` in bits per character; 0 for the empty string."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0


def _changes(value: str) -> float:
    """Share of neighbours of different class (upper, lower, digit, other): words change seldom, random
    letters often."""
    classes = [
        "u" if char.isupper() else "l" if char.islower() else "d" if char.isdigit() else "o" for char in value
    ]
    return sum(a != b for a, b in itertools.pairwise(classes)) / max(1, len(value) - 1)
