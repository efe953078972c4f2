"""The words and the exception types by which a failure tells whether it is of code, of data and settings, or of its surroundings."""

import re

from audit.documents.verdict import Category

INFRA_TYPES = frozenset(
    "ConnectionError ConnectionResetError ConnectionRefusedError ConnectionAbortedError TimeoutError ReadTimeout ConnectTimeout ReadTimeoutError "
    "ConnectTimeoutError TimeoutExpired SSLError ProxyError NewConnectionError MaxRetryError ServiceUnavailable InternalServerError "
    "RemoteDisconnected IncompleteRead "
    "ChunkedEncodingError MemoryError OutOfMemoryError ResourceExhaustedError gaierror APIConnectionError APITimeoutError RateLimitError".split()
)
DATA_TYPES = frozenset(
    "FileNotFoundError NotADirectoryError IsADirectoryError PermissionError ModuleNotFoundError UnicodeDecodeError JSONDecodeError ParserError ScannerError "
    "ParseError EmptyDataError ValidationError MissingMandatoryValue ConfigAttributeError ConfigKeyError UsageError AuthenticationError BadZipFile "
    "UnpicklingError GatedRepoError RepositoryNotFoundError RevisionNotFoundError EntryNotFoundError DatasetNotFoundError ArrowInvalid CastError "
    "TOMLDecodeError YAMLError ArgumentError BadParameter NoSuchOption VersionConflict DistributionNotFound PackageNotFoundError SchemaError "
    "InterpolationKeyError UnidentifiedImageError NoCredentialsError CommandNotFound HydraException MissingConfigException OverrideParseException "
    "ConfigCompositionException KaggleApiHTTPError EnvironmentVariableError".split()
)
CASCADE_TYPES = frozenset(
    "CalledProcessError ChildFailedError ProcessExitedException ProcessRaisedException BrokenProcessPool RayActorError ActorDiedError EngineDeadError "
    "WorkerCrashedError BrokenPipeError DistStoreError RendezvousTimeoutError RendezvousConnectionError RendezvousClosedError SignalException "
    "CellExecutionError DeadKernelError TaskCancelledError CancelledError".split()
)
CONFIG_TYPE = re.compile(
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
HTTP_STATUS = re.compile(
    r"\b(?P<code>4\d\d|5\d\d)\b[^\n]{0,40}\b(?:Client|Server)? ?(?:Error|error|Unauthorized|Forbidden|Not Found|Gateway|Too Many|"
    r"Unavailable)|(?:HTTP|status)[ a-z:=]{0,12}(?P<code2>4\d\d|5\d\d)\b",
    re.IGNORECASE,
)
GOLDEN = re.compile(
    r"\b(?:golden|baseline|reference run|at step \d|epoch \d|iteration \d|main branch|previous run)\b",
    re.IGNORECASE,
)
OS_CODES = {
    **dict.fromkeys((2, 13, 24), Category.DATA_CONFIG),  # no such file, permission, too many open files
    **dict.fromkeys(
        (5, 12, 28, 30, 107, 116, 122), Category.INFRA_RUNTIME
    ),  # I/O, memory, space, read-only, endpoint, stale handle, quota
    **dict.fromkeys(
        (98, 104, 110, 111, 113), Category.INFRA_RUNTIME
    ),  # address in use, reset, timed out, refused, no route
}
ERRNO = re.compile(r"\[Errno (\d{1,3})\]")


EVENT = re.compile(
    r"^ {0,8}(?:\d\S{0,11} {1,20})?(?:Warning|Normal) {1,20}[A-Z]\w{2,60} {1,20}(?:[\w.-]{1,60}/|(?:\d{1,4}[smhd]){1,3}\b)"
)
"""A row of a cluster's events, as `kubectl get events` and `kubectl describe` print it. Its `Warning` is what the cluster calls a failure."""
CAPITAL = re.compile(r"'[A-Z][A-Z0-9_]{2,}'")
"""A key that is spelt like a variable of the environment."""
SETTING = re.compile(
    r"\bunknown (?:key|option|field|argument|setting|optimi[sz]er|scheduler|model|preset|dataset|backend|task|loss|activation|precision|"
    r"strategy|metric|split)\b|"
    r"\b(?:missing|required) (?:config(?:uration)?|setting|environment variable|hyper-?parameter|option|key in config)|\binvalid "
    r"(?:config(?:uration)?|setting)\b|"
    r"\bmust be one of\b|\bis not a valid (?:choice|value|option|optimi[sz]er|model|preset)|environment variable \S+ (?:is )?(?:not set|missing|required)|"
    r"\b(?:set|export) [A-Z][A-Z0-9_]{3,} (?:to|before|in)\b|\bnot (?:found|defined) in (?:the )?config",
    re.IGNORECASE,
)
"""Sentences that only a wrong setting draws."""
TAKEN_FROM = re.compile(
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
PARAMETER = re.compile(
    r"\b(?:learning_rate|lr|batch_size|num_\w+|hidden_size|dropout|epochs|steps|weight_decay|warmup\w*|seed|max_\w+|min_\w+|\w+_size|\w+_ratio|\w+_rate|temperature|top_[pk]|"
    r"gradient_accumulation\w*)\b[^\n]{0,40}\bmust\b",
    re.IGNORECASE,
)
"""A hyper-parameter that is told what it must be."""
BAD_DATA = re.compile(
    r"could not convert string to|inconsistent numbers? of samples|checksum (?:differs|mismatch|failed)|contains? (?:nan|infinity|null)|"
    r"empty (?:dataset|file|split)|"
    r"unexpected end of (?:file|data)|corrupt|not a (?:gzip|zip|parquet|valid image)|invalid (?:header|magic|json|utf-8)|Expected \d+ (?:fields|columns)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:see|check|read|inspect|look (?:at|in|into)) (?:the |its |your )?(?:[\w'-]{1,30} ){0,4}(?:logs?|output|stderr|stdout|traceback|root cause)\b|"
    r"\broot cause (?:above|below|is in|was in|in the)\b|\b(?:see|as) (?:the )?(?:errors?|messages?|details) (?:above|below)\b|"
    r"\berror from this or another\b|\banother (?:task|rank|process|worker|node|host|replica) (?:\w+ ){0,2}(?:died|failed|crashed|exited|aborted|was)\b|"
    r"\b(?:child|sub|worker|server|engine|remote) ?(?:process(?:es)?|proc\(s\)|core)? (?:has |have )?(?:died|exited|crashed|failed) unexpectedly\b",
    re.IGNORECASE,
)
"""Sentences that send the reader to another process's words, or to another place of the log."""


def points_elsewhere(text: str) -> bool:
    """Whether a message says itself that its cause is told by another process or at another place."""
    return bool(_ELSEWHERE.search(text[:1000]))


NO_CHECK = re.compile(
    r"\bexit(?:s|ed)? with (?:return )?code\b|\breturn(?:ed)? (?:non-zero )?exit (?:code|status)\b|\[launch\.py:\d|^usage: |"
    r"\b(?:log|output|step)\w*(?:'s log)? (?:has |have |was |were )?(?:exceeded|been truncated|truncated|cut)\b|"
    r"\bexceed\w* (?:the )?(?:log|output) (?:size )?limit",
    re.IGNORECASE,
)
"""Lines whose numbers no check compares: how a launcher's process ended, with its arguments; where a runner cut the log."""
MEANT_SO = re.compile(
    r"\bas expected\b|\bexpected by\b|\(expected\)|"
    r"\bexpected (?:failure|error|exception)\b|\bsimulat(?:ed|ing|es?)\b|\binject(?:ed|ing)\b|\bself-?test\b|\bfault injection\b",
    re.IGNORECASE,
)
"""Words of a program that makes a failure happen in order to see what comes of it."""
LOG_CUT = re.compile(
    r"\blog exceeded limit of \d|\bno more output will be collected\b|\b(?:log|output)\b.{0,40}\b(?:was|has been|is) (?:truncated|cut)\b|"
    r"\blogs? (?:size )?limit (?:was |is )?(?:exceeded|reached)\b|^\[?\.{3} ?(?:truncated|output (?:truncated|omitted)|\d+ lines (?:omitted|skipped))",
    re.IGNORECASE,
)
"""Words by which a runner says that it kept no more of the output."""


CODE_ONLY = frozenset(
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


def is_data(text: str, place: str) -> bool:
    """Whether a message speaks of data or of settings: a data file with a position in it, or such words from such a module."""
    if _PLACE.search(text) or _MISSING_FILE.search(text):
        return True
    words = _DATA_WORDS.search(text) or _CONFIG_WORDS.search(text)
    return bool(words and (_DATA_FILE.search(text) or _DATA_MODULE.search(place)))
