"""Tracked credentials."""

from audit.signals.security import secrets_tracked
from tests.signals.building import build

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"  # no real token


def test_tokens_count_where_they_are_not_templates_or_tests() -> None:
    files = {
        "push.sh": f"export X={TOKEN}\n",
        "tests/vectors.py": f"x = '{TOKEN}'\n",
        ".env.example": f"X={TOKEN}\n",
    }
    found = secrets_tracked(build(files))
    assert found.value == ("push.sh",)
    assert (found.evidence[0].path, found.evidence[0].line) == ("push.sh", 1)
    assert TOKEN not in found.evidence[0].note


def test_placeholders_are_none() -> None:
    assert (
        secrets_tracked(
            build({".env": "OPENAI_API_KEY=\nHF_TOKEN=your-token\n", "a.py": "key = 'EMPTY'\n"})
        ).value
        == ()
    )
