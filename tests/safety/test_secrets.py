"""Credentials: what is found, what is none, what is blackened. Every value here is made up on the spot."""

import itertools
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.safety.redact import redact
from audit.safety.secrets import entropy, scan, suspects

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"


def made(length: int, alphabet: str = ALNUM, seed: int = 7) -> str:
    """A random string, so that no token-shaped literal stands in this file."""
    generator = random.Random(seed)
    return "".join(generator.choice(alphabet) for _ in range(length))


def pem(newline: str) -> str:
    lines = newline.join(made(64, ALNUM + "+/", seed) for seed in range(12))
    return f"-----BEGIN RSA PRIVATE {'KEY'}-----{newline}{lines}{newline}-----END RSA PRIVATE {'KEY'}-----"


FOUND = [
    ("OpenAI API key", f'client = OpenAI(api_key="sk-{made(48)}")'),
    ("OpenAI API key", f"OPENAI_API_KEY=sk-proj-{made(100, ALNUM + '-_')}"),
    ("Anthropic API key", f"sk-ant-api03-{made(95)}"),
    ("Hugging Face token", f'login("hf_{made(34, string.ascii_letters)}")'),
    ("GitHub token", f"git clone https://ghp_{made(36)}@github.com/a/b"),
    ("GitHub token", f"github_pat_{made(22)}_{made(59)}"),
    ("GitHub token", f"token: ghs_{made(36)}"),
    ("GitLab token", f"glpat-{made(20)}"),
    ("AWS access key id", f"aws_access_key_id = AKIA{made(16, BASE32)}"),
    ("AWS secret access key", f"aws_secret_access_key = {made(19)}/{made(20, seed=8)}"),
    ("Google API key", f"https://x.test/?key=AIza{made(35)}"),
    ("private key", pem("\n")),
    ("private key", '{"type": "service_account", "private_key": "' + pem("\\n") + '"}'),
    ("Azure API key", f"AZURE_OPENAI_API_KEY={made(32, HEX)}"),
    ("Azure storage key", f"AccountName=a;AccountKey={made(86)}==;"),
    ("Slack token", f"xoxb-{made(12, '2468')}-{made(12, '1357')}-{made(24)}"),
    ("Stripe live key", f"sk_live_{made(24)}"),
    ("W&B API key", f"export WANDB_API_KEY={made(40, HEX)}"),
    ("W&B API key", f"wandb login {made(40, HEX)}"),
    ("W&B API key", f'wandb.login(key="{made(40, HEX)}")'),
    ("W&B API key", f'os.environ["WANDB_API_KEY"] = "{made(40, HEX)}"'),
    ("Comet API key", f'COMET_API_KEY: "{made(25)}"'),
    ("Cohere API key", f'cohere.Client(api_key="{made(40)}")'),
    ("Replicate token", f"r8_{made(37)}"),
    ("npm token", f"//registry.npmjs.org/:_authToken=npm_{made(36)}"),
    ("PyPI token", f"password = pypi-AgEIcHlwaS5vcmc{made(80)}"),
    ("Kaggle API key", f'{{"username":"me","key":"{made(32, HEX)}"}}'),
    ("JSON Web Token", f"eyJ{made(30)}.eyJ{made(60)}.{made(43)}"),
    ("bearer token", f"Authorization: Bearer {made(40)}"),
    ("credentials in a URL", "postgresql://admin:kD93mfPq2x@db.internal/runs"),
    ("Telegram bot token", f"{made(9, '24680')}:AA{made(33)}"),
]


@pytest.mark.parametrize(("kind", "line"), FOUND)
def test_found_with_its_line_and_blackened(kind: str, line: str) -> None:
    text = f"# ä\n\n{line}\nlast\n"
    (match,) = scan(text)
    assert (match.kind, match.line) == (kind, 3)
    secret = text[match.start : match.end]
    assert secret not in redact(text)
    assert f"[redacted: {kind}]" in redact(text)
    assert redact(text).startswith("# ä\n\n")
    assert redact(text).endswith("\nlast\n")


NONE = [
    "",
    "api_key=EMPTY",
    'openai.api_key = "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"',
    "--api-keys token-abc123",
    'api_key="YOUR_API_KEY"',
    "HF_TOKEN=hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "export OPENAI_API_KEY=<your key here>",
    "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.SflKxwRJSMeKKF2QT4fwpMeJf36P",
    "postgresql://postgres:postgres@localhost:5432/test",
    "https://user:password@example.com",
    "https://${USER}:${TOKEN}@github.com/a/b.git",
    'api_key = os.environ["OPENAI_API_KEY"]',
    "hf_tokenizer_name: timm/ViT-SO400M-16-SigLIP2-384",
    "hf_ModelForSequenceClassificationWithPooling",
    "pad_token = '<|endoftext|>'",
    "commit = " + made(40, HEX),
    "sha256: " + made(64, HEX),
    f"secret_key=sk_test_{made(24)}",
    "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\n" + made(64) + "\n-----END PUBLIC KEY-----",
    "secret_santa_assignment_2024_with_long_name = 1",
    'image = "'
    + made(200_000, ALNUM + "+/")
    + f"/AKIA{made(16, BASE32)}/"
    + made(200_000, ALNUM + "+/", 8)
    + '"',
    "git@github.com:org/repository-with-a-long-name-0123456789.git",
    "https://github.com/org/repo/blob/" + made(40, HEX) + "/secret.py",
    "flask.secret_key = 'dev'",
    f"algolia: {{\n    apiKey: '{made(32, HEX)}',\n    indexName: 'docs',\n}}",
    f"[curves](https://wandb.ai/team/project/reports/Title--Vmlldzo2?accessToken={made(60, '0123456789abcdefghijklmnopqrstuvwxyz')})",
]


def test_a_key_that_writes_to_a_search_index_is_one() -> None:
    (match,) = scan(f"algolia: {{\n    adminApiKey: '{made(32, HEX)}',\n}}")
    assert match.line == 2


@pytest.mark.parametrize("text", NONE)
def test_what_is_none(text: str) -> None:
    assert scan(text) == []


def test_several_in_order() -> None:
    token = f"ghp_{made(36)}"
    text = f"{token} hf_{made(34, string.ascii_letters)}\n\n{token}"
    assert [(match.kind, match.line) for match in scan(text)] == [
        ("GitHub token", 1),
        ("Hugging Face token", 1),
        ("GitHub token", 3),
    ]
    assert (
        redact(text) == "[redacted: GitHub token] [redacted: Hugging Face token]\n\n[redacted: GitHub token]"
    )


@pytest.mark.parametrize(
    ("text", "blackened"),
    [
        ("mysql://root:hunter2@localhost/db", "mysql://root:[redacted: credentials in a URL]@localhost/db"),
        ("db password: hunter22", "db password: [redacted: password]"),
        ("export HF_TOKEN=letmein", "export HF_TOKEN=[redacted: secret by its name]"),
        ("PAD_TOKEN=endoftext", "PAD_TOKEN=endoftext"),
        ("MAX_TOKENS=4096 CUDA_VISIBLE_DEVICES=0", "MAX_TOKENS=4096 CUDA_VISIBLE_DEVICES=0"),
        ("loss 0.123 at step 4", "loss 0.123 at step 4"),
    ],
)
def test_redaction_is_wider_than_the_alarm(text: str, blackened: str) -> None:
    assert scan(text) == []
    assert redact(text) == blackened


def test_entropy() -> None:
    assert entropy("") == 0
    assert entropy("aaaa") == 0
    assert entropy("abcd") == 2


PIECES = [
    "sk-",
    "hf_",
    "eyJ",
    "AKIA",
    "://",
    "@",
    ":",
    "api_key",
    "=",
    "-----BEGIN PRIVATE KEY-----",
    "\n",
    "A1b2C3d4E5f6G7h8",
    ".",
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_never_raises_and_stays_in_bounds(text: str) -> None:
    found = suspects(text)
    assert all(0 <= match.start < match.end <= len(text) for match in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert all(match.line == text.count("\n", 0, match.start) + 1 for match in found)
    assert {(match.start, match.end) for match in scan(text)} <= {(match.start, match.end) for match in found}
    assert redact(text) == text or found


LONG = [
    *PIECES,
    "eyJaaaaaaaaaa.",
    "://a:",
    "password=",
    "-----BEGIN PRIVATE KEY-----\nAAAA",
    "sk-proj-",
    "A",
    "a1",
    "WANDB_API_KEY=",
    "xoxb-1",
]


@pytest.mark.parametrize("piece", LONG)
def test_long_lines_are_bounded(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert isinstance(scan(text), list)
    assert isinstance(redact(text), str)
