"""Models behind an API."""

import pytest

from audit.signals.api_models import api_models, pinnability, provider_of
from audit.signals.training_path import TrainingPath
from tests.signals.building import build


def found(files: dict[str, str]) -> set[str]:
    repository = build(files)
    return {row.id for row in api_models(repository, TrainingPath(repository)).value}


@pytest.mark.parametrize(
    ("value", "provider", "kind"),
    [
        ("gpt-4o-2024-08-06", "openai", "dated_snapshot"),
        ("claude-3-opus-20240229", "anthropic", "dated_snapshot"),
        ("mistral-large-2402", "mistral", "dated_snapshot"),
        ("command-r-08-2024", "cohere", "dated_snapshot"),
        ("gpt-4-0613", "openai", "month_day_snapshot"),
        ("gpt-4-1106-preview", "openai", "month_day_snapshot"),
        ("gpt-4-turbo", "openai", "mutable_alias"),
        ("gpt-3.5-turbo-16k", "openai", "mutable_alias"),
        ("gemini-pro", "google", "mutable_alias"),
        ("claude-2.1", "anthropic", "versioned"),
        ("claude-instant-v1", "anthropic", "versioned"),
        ("anthropic.claude-v2", "anthropic", "versioned"),
        ("text-davinci-003", "openai", "versioned"),
        ("together_ai/org/model-7b", "together", "hosted_weights"),
        ("azure/my-deployment", "azure", "deployment_name"),
        ("openai/gpt-4o", "openai", "mutable_alias"),
    ],
)
def test_provider_and_pinnability(value: str, provider: str, kind: str) -> None:
    assert (provider_of(value), pinnability(value)) == (provider, kind)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'client.chat.completions.create(model="gpt-4o", messages=m)\n'),
        ("a.py", 'def ask(prompt, model="gpt-4o"):\n    pass\n'),
        ("a.py", 'parser.add_argument("--judge-model", default="gpt-4o")\n'),
        ("a.py", 'class M(Enum):\n    big = "gpt-4o"\n'),
        ("c.yaml", "completions_kwargs:\n  model_name: gpt-4o\n"),
        ("run.sh", "python eval.py --model gpt-4o\n"),
    ],
)
def test_what_is_handed_to_an_api(path: str, text: str) -> None:
    assert found({path: text}) == {"gpt-4o"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'PRICES = {"gpt-4o": 1.0, "gpt-4-0613": 2.0}\n'),
        ("a.py", 'import tiktoken\ntiktoken.encoding_for_model("gpt-4o")\n'),
        (
            "a.py",
            'import openai\ndef price_per_token(model):\n    return 2 if "gpt-4-turbo" in model else 1\n',
        ),
        ("a.py", 'TEMPLATE_NAMES = ["gpt-4o"]\n'),
        ("a.py", 'import openai\nif "gpt-3" in name:\n    pass\n'),
        ("a.py", 'f("command-line")\n'),
        ("a.py", 'MODEL_ID = "gpt-4:20230520"\n'),
        ("a.py", 'class Judge:\n    available_models = ["gpt-4", "gpt-4o"]\n'),
        ("a.py", 'Judge(short_judge_name="gpt-3.5-turbo")\n'),
        ("a.py", 'class Step:\n    model_name = "ernie-image"\n'),
        ("tests/test_a.py", 'ask(model="gpt-4o")\n'),
        ("results.json", '[{"model": "gpt-4o"}, {"model": "gpt-4o"}]'),
    ],
)
def test_what_is_no_call(path: str, text: str) -> None:
    assert found({path: text}) == set()


def test_a_long_routing_table_is_kept_apart() -> None:
    names = ", ".join(f'"gpt-4-0{month}{day}"' for month in (3, 6) for day in range(10, 18))
    assert found({"a.py": f"import openai\nNAMES = ({names})\nask(model='gpt-4o')\n"}) == {"gpt-4o"}


def test_a_comparison_counts_beside_a_client() -> None:
    text = 'if args.model in ["text-davinci-003"]:\n    pass\n'
    assert found({"a.py": "import openai\n" + text}) == {"text-davinci-003"}
    assert found({"a.py": text}) == set()
