"""Which profiles a repository holds."""

import pytest

from audit.documents.signals import Signal
from audit.profiles import detect, profiles, resolve
from audit.signals.judge import judge
from audit.signals.training_path import TrainingPath
from tests.signals.building import build
from tests.signals.test_judge import ASK

TUNE = """
from transformers import AutoModelForCausalLM, Trainer
def main():
    Trainer(model=AutoModelForCausalLM.from_pretrained("org/net")).train()
if __name__ == "__main__":
    main()
"""
GENERATE = """
from transformers import AutoModelForCausalLM
def main():
    model = AutoModelForCausalLM.from_pretrained("org/net")
    model.generate(x, max_new_tokens=5)
if __name__ == "__main__":
    main()
"""


def detected(files: dict[str, str]) -> dict[str, str]:
    repository = build(files)
    path = TrainingPath(repository)
    return {
        each.profile: each.confidence for each in detect(repository, path, {"judge": judge(repository, path)})
    }


def test_shipped_definitions_resolve_parents_first() -> None:
    assert [profile.name for profile in resolve(["llm_judge"])] == [
        "core",
        "inference",
        "evaluation",
        "llm_judge",
    ]
    for name in profiles():
        assert resolve([name])[-1].name == name or name == "core"
    with pytest.raises(KeyError):
        resolve(["nothing"])


def test_nothing_in_an_empty_repository() -> None:
    assert detected({"README.md": "# RAG agent with a judge, finetuning and safety evaluation\n"}) == {}


def test_finetuning_needs_a_loop_over_a_language_model() -> None:
    assert detected({"train.py": TUNE})["finetuning"] == "high"
    vision = "import torch\nfor x in y:\n    loss.backward()\n    optimizer.step()\n"
    assert "finetuning" not in detected({"train.py": vision})
    adapter = "from peft import PeftModel\nPeftModel.from_pretrained(m, 'org/a').generate(x)\n"
    assert "finetuning" not in detected({"predict.py": adapter})


def test_inference_by_how_much_of_it_there_is() -> None:
    assert detected({"demo.py": GENERATE}) == {"inference": "low"}
    assert (
        detected({"serve.py": GENERATE, "chat.py": GENERATE, "generate.py": GENERATE})["inference"] == "high"
    )
    sampled_in_training = TUNE.replace("    Trainer", "    m.generate(x)\n    Trainer")
    assert "inference" not in detected({"train.py": sampled_in_training})


def test_a_function_that_generates_files_is_no_inference() -> None:
    images = "def render():\n    import jax\ndef generate(output, family):\n    return family\n"
    assert "inference" not in detected({"render.py": images})
    text = "import torch\ndef generate(model, idx, max_new_tokens):\n    return idx\n"
    assert detected({"sample.py": text})["inference"] == "low"


def test_evaluation_by_names_of_code() -> None:
    score = "def evaluate(a):\n    return a\ndef estimate_pass_at_k(n):\n    return n\nclass Evaluator:\n    pass\n"
    assert (
        detected({"evaluation.py": score, "metrics.py": score, "eval/run.py": "x = 1\n"})["evaluation"]
        == "high"
    )
    filtering = "from rouge_score import rouge_scorer\nrouge_scorer.RougeScorer(['rougeL'])\n"
    assert detected({"make_data.py": filtering}) == {"evaluation": "low"}


def test_judge_follows_the_signal() -> None:
    files = {"client.py": ASK, "judges.py": "from client import ask\ndef judge(a):\n    return ask(a)\n"}
    assert detected(files)["llm_judge"] == "high"
    repository = build(files)
    assert "llm_judge" not in {
        each.profile for each in detect(repository, TrainingPath(repository), {"judge": Signal(False)})
    }


def test_safety_needs_a_language_model() -> None:
    names = {
        "jailbreak.py": "class RefusalCheck:\n    pass\n",
        "attack.py": "def is_jailbroken(a):\n    return a\n",
    }
    assert "safety" not in detected(names)
    assert detected({**names, "client.py": ASK, "harmful.py": "x = 1\n"})["safety"] == "high"


def test_one_functions_name_is_no_purpose() -> None:
    names = {"client.py": ASK, "layers.py": "def retrieve_sliceable_dims(a):\n    return a\n"}
    assert "rag" not in detected(names)
    merging = "def merge_unsafe(a):\n    return a\n"
    assert "safety" not in detected({"client.py": ASK, "a.py": merging, "b.py": merging, "c.py": merging})


def test_privacy_by_library_or_name() -> None:
    train = "from opacus import PrivacyEngine\nPrivacyEngine()\n"
    assert detected({"train.py": train})["privacy"] == "medium"
    assert detected({"train.py": train, "membership_inference.py": "x = 1\n"})["privacy"] == "high"


def test_rag_needs_an_index_and_a_model() -> None:
    index = "import faiss\nclass Retriever:\n    pass\n"
    assert "rag" not in detected({"index.py": index})
    assert detected({"index.py": index, "retrieval.py": "x = 1\n", "client.py": ASK})["rag"] == "high"


def test_agent_needs_a_model_that_acts() -> None:
    policy = "import torch\nimport gymnasium\nclass Agent(torch.nn.Module):\n    pass\n"
    assert "agent" not in detected({"ppo.py": policy})
    tools = 'import litellm\nclass ToolAgent:\n    def act(self):\n        litellm.completion(model="gpt-4o", tools=self.tools)\n'
    assert (
        detected({"agents/tool_agent.py": tools, "agents/base.py": "class Agent:\n    pass\n"})["agent"]
        == "high"
    )
