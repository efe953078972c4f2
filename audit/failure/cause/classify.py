"""What category an exception or a failed check belongs to: by its signature, by the comparison it states, by its type."""

import re
from collections.abc import Sequence

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Strength
from audit.failure.cause.scene import category_of
from audit.failure.model import Hit
from audit.failure.structure.comparison import Comparison, Subject, comparison, too_tight


class Judged(msgspec.Struct, frozen=True):
    """What a line was found to be. `sure`: nothing else fits."""

    signature: str
    category: Category | None
    strength: Strength
    hit: Hit | None = None
    comparison: Comparison | None = None
    sure: bool = False
    why: str = ""


STRUCTURAL = frozenset(
    {
        "uncaught_exception",
        "assertion_failed",
        "comparison_failed",
        "numeric_mismatch",
        "pytest_failed_line",
        "pytest_error_line",
        "pytest_block_header",
        "collection_error",
        "unittest_failed_line",
        "step_exit_code",
        "warning_line",
    }
)
"""Signatures that say that something failed, in a form that many failures share."""
_ORDER = {"root": 0, "confirming": 1, "cascade": 2}

_INFRA = frozenset(
    "ConnectionError ConnectionResetError ConnectionRefusedError ConnectionAbortedError TimeoutError ReadTimeout ConnectTimeout ReadTimeoutError "
    "ConnectTimeoutError TimeoutExpired SSLError ProxyError NewConnectionError MaxRetryError ServiceUnavailable InternalServerError "
    "RemoteDisconnected IncompleteRead "
    "ChunkedEncodingError MemoryError OutOfMemoryError ResourceExhaustedError gaierror APIConnectionError APITimeoutError RateLimitError".split()
)
_DATA = frozenset(
    "FileNotFoundError NotADirectoryError IsADirectoryError PermissionError ModuleNotFoundError UnicodeDecodeError JSONDecodeError ParserError ScannerError "
    "ParseError EmptyDataError ValidationError MissingMandatoryValue ConfigAttributeError ConfigKeyError UsageError AuthenticationError BadZipFile "
    "UnpicklingError GatedRepoError RepositoryNotFoundError RevisionNotFoundError EntryNotFoundError DatasetNotFoundError ArrowInvalid CastError "
    "TOMLDecodeError YAMLError ArgumentError BadParameter NoSuchOption VersionConflict DistributionNotFound PackageNotFoundError SchemaError "
    "InterpolationKeyError UnidentifiedImageError NoCredentialsError CommandNotFound HydraException MissingConfigException OverrideParseException "
    "ConfigCompositionException KaggleApiHTTPError EnvironmentVariableError".split()
)
_CASCADE = frozenset(
    "CalledProcessError ChildFailedError ProcessExitedException ProcessRaisedException BrokenProcessPool RayActorError ActorDiedError EngineDeadError "
    "WorkerCrashedError BrokenPipeError DistStoreError RendezvousTimeoutError RendezvousConnectionError RendezvousClosedError SignalException "
    "CellExecutionError DeadKernelError TaskCancelledError CancelledError".split()
)
_CONFIG_TYPE = re.compile(
    r"(?:Config|Configuration|Settings|Schema|Dataset|Data|Tokenizer|Credential|Auth|Checksum|Hash)\w*(?:Error|Exception)$"
)
_DATA_FILE = re.compile(
    r"[\w./-]{1,200}\.(?:jsonl?|csv|tsv|parquet|arrow|tfrecords?|npz|npy|h5|hdf5|zarr|yaml|yml|toml|ini|cfg|pt|pth|bin|safetensors|txt|tar|gz|zst|lmdb|pkl|wav|flac|mp3|jpe?g|png|idx)(?:\b|[:,'\"])"
)
_PLACE = re.compile(
    r"\.(?:jsonl?|csv|tsv|parquet|arrow|txt|yaml|yml|tfrecords?|npz)[:'\", ]{1,3}(?:line |row |record |index |entry |sample )?\d+"
)
_MISSING_FILE = re.compile(
    r"(?:could ?n[o']t|can ?not|can't|unable to|failed to) (?:find|open|read|locate|load|access) [^\n]{0,80}?[\w-]\.(?:json|ya?ml|toml|csv|"
    r"tsv|jsonl|parquet|txt|pt|pth|bin|safetensors|h5|pkl|npz|ini|cfg)\b",
    re.IGNORECASE,
)
_DATA_WORDS = re.compile(
    r"\b(?:label|column|columns|shard|record|row|rows|samples?|dataset|schema|vocab(?:ulary)?|tokeni[sz]er|checksum|sha256|md5|feature|features|annotation|manifest|split|class(?:es)?|num_classes|"
    r"duplicate|leak(?:age)?|corrupt(?:ed)?|truncated|missing values?|null|non-finite (?:cells?|values?|features?|inputs?))\b",
    re.IGNORECASE,
)
_CONFIG_WORDS = re.compile(
    r"\b(?:config(?:uration)?|unknown (?:key|option|field|argument|setting|optimi[sz]er|scheduler|model|preset|dataset|backend)|invalid "
    r"(?:value|choice|setting|option)|must be one of|is not a valid|unrecognized|override|"
    r"environment variable|env var|not set|api[ _-]?key|credentials?|token|must be (?:divisible|a multiple)|not divisible|requires --|hyper-?parameter|yaml)\b",
    re.IGNORECASE,
)
_DATA_MODULE = re.compile(
    r"(?:^|/)(?:\w*(?:data|dataset|loader|preprocess|tokeni[sz]\w*|schema|manifest|corpus|config|settings|options|args|cli)\w*)(?:/|\.py$)",
    re.IGNORECASE,
)
_HTTP = re.compile(
    r"\b(?P<code>4\d\d|5\d\d)\b[^\n]{0,40}\b(?:Client|Server)? ?(?:Error|error|Unauthorized|Forbidden|Not Found|Gateway|Too Many|"
    r"Unavailable)|(?:HTTP|status)[ a-z:=]{0,12}(?P<code2>4\d\d|5\d\d)\b",
    re.IGNORECASE,
)
_GOLDEN = re.compile(
    r"\b(?:golden|baseline|reference run|at step \d|epoch \d|iteration \d|main branch|previous run)\b",
    re.IGNORECASE,
)
_DETERMINISM = re.compile(
    r"bit-?wise|bit-?identical|determinis|reproducib|exact(?:ly)? (?:match|equal)|same seed", re.IGNORECASE
)
_OS_CODES = {
    28: Category.INFRA_RUNTIME,
    122: Category.INFRA_RUNTIME,
    5: Category.INFRA_RUNTIME,
    116: Category.INFRA_RUNTIME,
    107: Category.INFRA_RUNTIME,
}
_OS_CODES |= {
    98: Category.INFRA_RUNTIME,
    104: Category.INFRA_RUNTIME,
    110: Category.INFRA_RUNTIME,
    111: Category.INFRA_RUNTIME,
    113: Category.INFRA_RUNTIME,
}
_OS_CODES |= {
    2: Category.DATA_CONFIG,
    13: Category.DATA_CONFIG,
    24: Category.DATA_CONFIG,
    30: Category.INFRA_RUNTIME,
    12: Category.INFRA_RUNTIME,
}
_ERRNO = re.compile(r"\[Errno (\d{1,3})\]")


_CHECKING = (
    "",
    "AssertionError",
    "Failed",
    "ValueError",
    "SystemExit",
    "RuntimeError",
    "Exception",
    "FloatingPointError",
)
"""Exceptions by which code reports that a check did not hold."""


def states_a_check(hit: Hit) -> bool:
    """Whether a signature is of a check on numbers: what the number is of decides its category."""
    return hit.signature.family == "numeric" and hit.signature.category in ("by_context", "metric_policy")


def best_hit(hits: Sequence[Hit]) -> Hit | None:
    """The hit that says most: known roots first, of them one that decides a category, then in the catalogue's order."""
    named = [hit for hit in hits if hit.signature.id not in STRUCTURAL and hit.signature.role in _ORDER]
    return min(
        named,
        key=lambda hit: (_ORDER[hit.signature.role], hit.signature.category == "by_context"),
        default=None,
    )


def judge(
    kind: str,
    message: str,
    hits: Sequence[Hit],
    *,
    context: str = "",
    place: str = "",
    extra: str = "",
    source: str = "",
) -> Judged:
    """An exception (`kind`, `message`) or a failed check (`kind` ""). `context`: the test's or step's name; `place`: the innermost
    file of the repository in its traceback; `extra`: further lines of its text; `source`: the statement that raised it.
    """
    hit = best_hit(hits)
    name = kind.rpartition(".")[2]
    if (
        name == "KeyError"
        and source
        and not _TAKEN_FROM.search(source)
        and not _CAPITAL.fullmatch(message.strip())
    ):
        return Judged("key_error", Category.CORRECTNESS, Strength.GENERIC)
    if (
        hit is not None
        and hit.signature.role == "root"
        and not states_a_check(hit)
        and hit.signature.category != "by_context"
    ):
        return Judged(hit.signature.name, category_of(hit.signature.category), Strength.NAMED, hit, sure=True)
    checked = comparison(message, context) if name in _CHECKING else None
    stated = name in ("", "SystemExit") and checked is not None and checked.strength >= 2
    if name in _CASCADE or (hit is not None and hit.signature.role == "cascade" and not stated):
        signature = hit.signature.name if hit is not None else _snake(name)
        return Judged(signature, category_of(hit.signature.category) if hit else None, Strength.CASCADE, hit)
    if checked is not None and (
        name in ("", "AssertionError", "Failed", "SystemExit") or checked.strength >= 2
    ):
        judged = _check(checked, name, message + " " + extra, hit, context=context)
        if judged is not None:
            return judged
    if hit is not None and hit.signature.role == "root":
        return Judged(hit.signature.name, category_of(hit.signature.category), Strength.NAMED, hit)
    return _by_type(name, message, hit, context=context, place=place, source=source)


def _check(found: Comparison, name: str, text: str, hit: Hit | None, *, context: str) -> Judged | None:
    """A failed check, by what it looks at."""
    signature = hit.signature.name if hit is not None else f"{found.subject.value}_gate"
    equal = found.operator in ("==", "!=") or found.word == "not close"
    match found.subject:
        case _ if too_tight(found):
            return Judged(
                "tolerance_too_tight",
                Category.METRIC_POLICY,
                Strength.NAMED,
                hit,
                found,
                why="The error is within what float32 resolution and another order of summation give.",
            )
        case Subject.PERFORMANCE | Subject.MEMORY | Subject.POLICY:
            return Judged(signature, Category.METRIC_POLICY, Strength.NAMED, hit, found)
        case Subject.QUALITY if equal and not _GOLDEN.search(text):
            return Judged(
                signature if hit else "numeric_mismatch", Category.CORRECTNESS, Strength.NAMED, hit, found
            )
        case Subject.QUALITY:
            return Judged(
                signature if hit else "quality_below_limit",
                Category.ML_REGRESSION,
                Strength.NAMED,
                hit,
                found,
            )
        case Subject.NUMERICS:
            return Judged(
                hit.signature.name if hit else "numeric_mismatch",
                Category.CORRECTNESS,
                Strength.NAMED,
                hit,
                found,
            )
        case Subject.FINITE:
            unit = bool(re.search(r"(?:^|/)tests?/", context)) and not re.search(
                r"train|fit|run|e2e|convergence", context
            )
            return Judged(
                "loss_not_finite",
                Category.CORRECTNESS if unit else Category.ML_REGRESSION,
                Strength.NAMED,
                hit,
                found,
            )
    if hit is not None and hit.signature.role == "root" and hit.signature.category != "by_context":
        return Judged(hit.signature.name, category_of(hit.signature.category), Strength.NAMED, hit, found)
    if name in ("", "AssertionError", "Failed"):
        data = _is_data(text, context)
        return Judged(
            "assertion_failed",
            Category.DATA_CONFIG if data else Category.CORRECTNESS,
            Strength.GENERIC,
            hit,
            found,
        )
    return None


_CAPITAL = re.compile(r"'[A-Z][A-Z0-9_]{2,}'")
"""A key that is spelt like a variable of the environment."""
_SETTING = re.compile(
    r"\bunknown (?:key|option|field|argument|setting|optimi[sz]er|scheduler|model|preset|dataset|backend|task|loss|activation|precision|"
    r"strategy|metric|split)\b|"
    r"\b(?:missing|required) (?:config(?:uration)?|setting|environment variable|hyper-?parameter|option|key in config)|\binvalid "
    r"(?:config(?:uration)?|setting)\b|"
    r"\bmust be one of\b|\bis not a valid (?:choice|value|option|optimi[sz]er|model|preset)|environment variable \S+ (?:is )?(?:not set|missing|required)|"
    r"\b(?:set|export) [A-Z][A-Z0-9_]{3,} (?:to|before|in)\b|\bnot (?:found|defined) in (?:the )?config",
    re.IGNORECASE,
)
"""Sentences that only a wrong setting draws."""
_TAKEN_FROM = re.compile(
    r"\b(?:cfg|conf(?:ig)?|settings|args|hparams|hyperparams|params|opts?|options|env(?:iron)?|row|sample|example|record|batch|item|df|frame|data|features?|ds|dataset|meta(?:data)?|manifest|entry)\w{0,12}"
    r"(?:\.\w{1,30}){0,2}\s?\[",
    re.IGNORECASE,
)
"""Names of what is read from settings or data, where one of its keys is asked for."""


_NETWORK = re.compile(
    r"connection (?:refused|reset|timed out|closed)|timed? ?out|unreachable|temporary failure|name resolution|could not resolve|\b50[234]\b|"
    r"\b429\b|service unavailable|"
    r"gateway|rate limit|network|StatusCode\.(?:UNAVAILABLE|DEADLINE_EXCEEDED)",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"out of memory|no space left|disk full|disk quota|cannot allocate|\bOOM\b|bus error|input/output error|read-only file system|no such device",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"\b(?:learning_rate|lr|batch_size|num_\w+|hidden_size|dropout|epochs|steps|weight_decay|warmup\w*|seed|max_\w+|min_\w+|\w+_size|\w+_ratio|\w+_rate|temperature|top_[pk]|"
    r"gradient_accumulation\w*)\b[^\n]{0,40}\bmust\b",
    re.IGNORECASE,
)
"""A hyper-parameter that is told what it must be."""
_BAD_DATA = re.compile(
    r"could not convert string to|inconsistent numbers? of samples|checksum (?:differs|mismatch|failed)|contains? (?:nan|infinity|null)|"
    r"empty (?:dataset|file|split)|"
    r"unexpected end of (?:file|data)|corrupt|not a (?:gzip|zip|parquet|valid image)|invalid (?:header|magic|json|utf-8)|Expected \d+ (?:fields|columns)",
    re.IGNORECASE,
)
_CODE_ONLY = frozenset(
    "TypeError AttributeError NameError UnboundLocalError IndexError ZeroDivisionError AssertionError RecursionError "
    "SyntaxError ImportError".split()
)
"""Exceptions whose messages speak of program text, whatever words are in them."""


def speaks_of_surroundings(text: str) -> bool:
    """Whether a message is about the network or the machine."""
    return bool(_NETWORK.search(text) or _MACHINE.search(text))


def speaks_of_data(text: str) -> bool:
    """Whether a message is about a data file or a setting."""
    return bool(
        _MISSING_FILE.search(text)
        or _PLACE.search(text)
        or (_DATA_FILE.search(text) and (_DATA_WORDS.search(text) or _CONFIG_WORDS.search(text)))
    )


def _is_data(text: str, place: str) -> bool:
    """Whether a message speaks of data or of settings: a data file with a position in it, or such words from such a module."""
    if _PLACE.search(text) or _MISSING_FILE.search(text):
        return True
    words = _DATA_WORDS.search(text) or _CONFIG_WORDS.search(text)
    return bool(words and (_DATA_FILE.search(text) or _DATA_MODULE.search(place)))


def _by_type(
    name: str, message: str, hit: Hit | None, *, context: str, place: str, source: str = ""
) -> Judged:
    """By the exception's type, where neither a signature nor a comparison decides."""
    signature = hit.signature.name if hit is not None else _snake(name) if name else "assertion_failed"
    if code := _ERRNO.search(message):
        category = _OS_CODES.get(int(code[1]), Category.CORRECTNESS)
        return Judged(signature, category, Strength.GENERIC, hit)
    if (http := _HTTP.search(message)) and re.search(
        r"HTTP|Status|Client|Server|Request|API|url", name + message
    ):
        status = int(http["code"] or http["code2"])
        infra = status >= 500 or status in (408, 429)
        return Judged(
            "http_error", Category.INFRA_RUNTIME if infra else Category.DATA_CONFIG, Strength.NAMED, hit
        )
    if name in _INFRA:
        return Judged(signature, Category.INFRA_RUNTIME, Strength.GENERIC, hit)
    if name in _DATA or _CONFIG_TYPE.search(name):
        return Judged(signature, Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name in ("KeyboardInterrupt", "SystemExit"):
        return Judged(signature, None, Strength.CASCADE, hit)
    if name in (
        "ValueError",
        "RuntimeError",
        "KeyError",
        "AssertionError",
        "IndexError",
        "Exception",
        "OSError",
        "",
    ) and _is_data(message, place or context):
        return Judged(signature, Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name not in _CODE_ONLY and name and speaks_of_surroundings(message):
        return Judged(signature, Category.INFRA_RUNTIME, Strength.GENERIC, hit)
    if name not in _CODE_ONLY and (_BAD_DATA.search(message) or _PARAMETER.search(message)):
        return Judged(signature, Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name == "KeyError" and _TAKEN_FROM.search(source):
        return Judged("key_missing", Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name in (
        "ValueError",
        "KeyError",
        "RuntimeError",
        "Exception",
        "SystemExit",
        "NotImplementedError",
    ) and _SETTING.search(message):
        return Judged("invalid_setting", Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name == "KeyError" and _CAPITAL.fullmatch(message.strip()):
        return Judged("environment_variable_missing", Category.DATA_CONFIG, Strength.GENERIC, hit)
    return Judged(signature, Category.CORRECTNESS, Strength.GENERIC, hit)


def _snake(name: str) -> str:
    """`ZeroDivisionError` as `zero_division_error`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower() or "error"
