"""Whether a language model scores outputs."""

import pytest

from audit.signals.judge import judge
from audit.signals.training_path import TrainingPath
from tests.signals.building import build

ASK = """
import openai
def ask(prompt):
    return openai.OpenAI().chat.completions.create(model="gpt-4o", messages=prompt)
"""


def judged(files: dict[str, str]) -> bool:
    repository = build(files)
    return judge(repository, TrainingPath(repository)).value


@pytest.mark.parametrize(
    "files",
    [
        {"client.py": ASK, "main.py": "from client import ask\ndef judge_answer(a):\n    return ask(a)\n"},
        {
            "client.py": ASK,
            "judges.py": "from client import ask\nclass Strict:\n    def score(self, a):\n        return ask(a)\n",
        },
        {
            "client.py": ASK,
            "evals.py": "class Eval:\n    def __call__(self, a):\n        return self.grader_model(a)\n",
        },
        {"client.py": ASK, "main.py": 'p.add_argument("--judge-model", default="gpt-4o")\n'},
        {"client.py": ASK, "judge_configs/a.yaml": "model_name: gpt-4o\n"},
        {"a.py": "from inspect_ai.scorer import model_graded_qa\nscorer = model_graded_qa()\n"},
        {"eval/eval_gpt_review.py": ASK},
    ],
)
def test_a_judge(files: dict[str, str]) -> None:
    assert judged(files) is True


@pytest.mark.parametrize(
    "files",
    [
        {"client.py": ASK},
        {"label.py": ASK.replace("ask", "label_rows")},
        {"judge.py": "def judge(a, b):\n    return a.strip() == b.strip()\n"},
        {"reward.py": "class RewardModel:\n    def forward(self, x):\n        return x\n", "client.py": ASK},
        {"user.py": ASK.replace("ask", "simulate_user")},
        {"a.py": "# a judge model scores this\nx = 1\n", "client.py": ASK},
        {"tests/test_judge.py": ASK.replace("ask", "judge")},
    ],
)
def test_no_judge(files: dict[str, str]) -> None:
    assert judged(files) is False
