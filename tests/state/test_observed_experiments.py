"""Experiments that code shows: names, values by layer, roles, and what stays a candidate."""

from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.documents.state import Confidence, Source
from audit.facts.commands.shell import parse_commands
from audit.signals.compute import compute_signals
from audit.signals.training_path import TrainingPath
from audit.state.observed import Experiment, experiments, started_by
from tests.signals.building import build


def shown(files: dict[str, str]) -> tuple[Experiment, ...]:
    repository = build(files)
    path = TrainingPath(repository)
    return experiments(repository, path, compute_signals(repository, path))


def main(files: dict[str, str]) -> Experiment:
    return shown(files)[0]


def values(experiment: Experiment) -> dict[str, Any]:
    return {path: leaf.value for path, leaf in experiment.state.leaves.items()}


HF = """
from dataclasses import dataclass, field
import transformers
from datasets import load_dataset

@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="acme/tiny")

@dataclass
class TrainingArguments(transformers.TrainingArguments):
    model_max_length: int = field(default=512)

def train():
    parser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    model = transformers.AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
    data = load_dataset("acme/chats", split="train")
    transformers.Trainer(model=model, args=training_args, train_dataset=data).train()

if __name__ == "__main__":
    train()
"""
README = "# P\n\n```bash\ntorchrun --nproc_per_node=4 train.py --model_name_or_path acme/large --learning_rate 2e-5 --bf16 True\n```\n"


def test_the_command_overrides_the_default_and_the_library_fills_the_rest() -> None:
    found = main({"train.py": HF, "README.md": README})
    assert (found.name, found.entry, found.place.path, found.place.line) == (
        "train",
        "train.py",
        "README.md",
        4,
    )
    assert found.profiles == ("finetuning",)
    got = values(found)
    assert got["models.primary.id"] == "acme/large"
    assert got["models.primary.provider"] == "huggingface"
    assert got["datasets.train.id"] == "acme/chats"
    assert got["datasets.train.split"] == "train"
    assert got["training.learning_rate"] == 2e-5
    assert got["training.precision"] == "bf16"
    assert got["training.max_length"] == 512
    assert got["training.seed"] == 42
    assert got["execution.launcher"] == "torchrun"
    assert got["execution.world_size"] == 4
    seed = found.state.leaves["training.seed"]
    assert seed.detail == "library default of transformers.TrainingArguments"
    lost = found.state.alternatives["models.primary.id"]
    assert [(leaf.value, leaf.place and leaf.place.line) for leaf in lost] == [("acme/tiny", 8)]
    for leaf in found.state.leaves.values():
        assert (leaf.source, leaf.confidence) == (Source.CODE, Confidence.OBSERVED)


def test_what_the_command_leaves_to_the_reader_is_a_candidate() -> None:
    text = README.replace("acme/large", "<your_model>")
    found = main({"train.py": HF, "README.md": text})
    assert "models.primary.id" not in found.state.leaves
    (candidate,) = found.candidates["models.primary.id"]
    assert (candidate.value, candidate.confidence) == ("acme/tiny", Confidence.UNRESOLVED)


LOOP = """
import argparse
import torch
from torch.utils.data import DataLoader

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--test-batch-size", type=int, default=1000)
    parser.add_argument("--opt", default="sgd", choices=["sgd", "adam"])
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = torch.nn.Linear(2, 2)
    if args.opt == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    train_loader = DataLoader([], batch_size=args.batch_size)
    test_loader = DataLoader([], batch_size=args.test_batch_size)
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        optimizer.step()

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("flags", "optimizer", "momentum"), [("", "sgd", 0.9), ("--opt adam", "adam", None)])
def test_branches_that_the_settings_decide(flags: str, optimizer: str, momentum: float | None) -> None:
    got = values(main({"main.py": LOOP, "README.md": f"```\npython main.py {flags}\n```\n"}))
    assert got["training.optimizer"].lower() == optimizer
    assert got.get("training.params.momentum") == momentum
    assert got["training.learning_rate"] == 0.1
    assert got["training.batch_size"] == 64
    assert got["training.seed"] == 1


def test_a_value_that_the_parser_refuses_is_no_value() -> None:
    found = main({"main.py": LOOP, "README.md": "```\npython main.py --opt lion\n```\n"})
    assert "lion" not in values(found).values()


def test_scripts_are_experiments_of_their_own_and_templates_come_last() -> None:
    found = shown(
        {
            "main.py": LOOP,
            "README.md": "```\npython main.py --lr <lr>\n```\n",
            "scripts/small.sh": "python main.py --lr 0.01\n",
            "scripts/large.sh": "python main.py --lr 0.5 --batch-size 256\n",
        }
    )
    assert [each.name for each in found] == ["large", "small"]
    assert values(found[0])["training.batch_size"] == 256


def test_configurations_that_the_command_names() -> None:
    code = """
    import yaml, argparse, torch

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--config")
        args = parser.parse_args()
        cfg = yaml.safe_load(open(args.config))
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["optim"]["lr"])
        for x in range(3):
            optimizer.zero_grad()
            loss = model(x)
            loss.backward()
            optimizer.step()

    if __name__ == "__main__":
        main()
    """
    found = main(
        {
            "train.py": dedent(code),
            "conf/base.yaml": "optim:\n  lr: 3e-4\n  weight_decay: 0.1\nepochs: 5\neval:\n  batch_size: 9\n",
            "README.md": "```\npython train.py --config conf/base.yaml\n```\n",
        }
    )
    got = values(found)
    assert found.name == "base"
    assert got["training.learning_rate"] == 3e-4
    assert got["training.weight_decay"] == 0.1
    assert got["training.epochs"] == 5
    assert "training.batch_size" not in got  # the table is about evaluation
    assert got["execution.config_files"] == ("conf/base.yaml",)


HYDRA = """
import hydra, torch
from transformers import AutoModelForCausalLM
from datasets import load_dataset

def get_hh():
    return load_dataset("acme/hh")

def get_shp():
    return load_dataset("acme/shp")

@hydra.main(version_base=None, config_path="config", config_name="config")
def main(config):
    model = AutoModelForCausalLM.from_pretrained(config.model.name_or_path)
    data = get_hh() if "hh" in config.datasets else get_shp()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=config.lr)
    for batch in data:
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()

if __name__ == "__main__":
    main()
"""
HYDRA_FILES = {
    "train.py": HYDRA,
    "config/config.yaml": "lr: 5e-7\ndatasets:\n- shp\ndefaults:\n- _self_\n- model: tiny\n",
    "config/model/tiny.yaml": "name_or_path: acme/tiny\n",
    "config/model/large.yaml": "name_or_path: acme/large\n",
}


def test_groups_that_a_command_chooses_and_functions_that_load_what_it_names() -> None:
    found = main(
        {
            **HYDRA_FILES,
            "README.md": "```\npython train.py model=large datasets=[hh] lr=1e-6 exp_name=big\n```\n",
        }
    )
    got = values(found)
    assert found.name == "big"
    assert got["models.primary.id"] == "acme/large"
    assert got["datasets.train.id"] == "acme/hh"
    assert got["training.learning_rate"] == 1e-6
    plain = values(main({**HYDRA_FILES, "README.md": "```\npython train.py\n```\n"}))
    assert plain["models.primary.id"] == "acme/tiny"
    assert plain["datasets.train.id"] == "acme/shp"
    assert plain["training.learning_rate"] == 5e-7


def test_judge_and_model_under_study_are_told_apart() -> None:
    code = """
    import argparse
    from openai import OpenAI

    JUDGE_PROMPT = "Rate the answer of the assistant from one to ten: {answer}. Give a number alone."

    def judge_answer(client, args, answer):
        return client.chat.completions.create(model=args.judge_model, messages=[answer], temperature=0, max_tokens=16)

    def answer(client, args):
        return client.chat.completions.create(model=args.model, messages=[], temperature=0.7)

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--model", default="gpt-4o-mini-2024-07-18")
        parser.add_argument("--judge-model", default="gpt-4-0613")
        args = parser.parse_args()
        client = OpenAI()
        print(judge_answer(client, args, answer(client, args)))

    if __name__ == "__main__":
        main()
    """
    found = main({"evaluate.py": dedent(code), "README.md": "```\npython evaluate.py\n```\n"})
    got = values(found)
    assert got["models.primary.id"] == "gpt-4o-mini-2024-07-18"
    assert got["models.judge.id"] == "gpt-4-0613"
    assert got["models.judge.provider"] == "openai"
    assert got["evaluation.judge.temperature"] == 0
    assert got["evaluation.judge.max_tokens"] == 16
    assert got["generation.temperature"] == 0.7
    assert got["prompts.judge.text"].startswith("Rate the answer")
    assert found.profiles == ("llm_judge",)


def test_lora_counts_where_it_is_on() -> None:
    code = """
    from dataclasses import dataclass
    import transformers
    from peft import LoraConfig, get_peft_model

    @dataclass
    class ModelArguments:
        model_name_or_path: str = "acme/tiny"
        use_lora: bool = False
        lora_r: int = 8

    def train():
        parser = transformers.HfArgumentParser((ModelArguments, transformers.TrainingArguments))
        model_args, training_args = parser.parse_args_into_dataclasses()
        model = transformers.AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
        if model_args.use_lora:
            model = get_peft_model(model, LoraConfig(r=model_args.lora_r))
        transformers.Trainer(model=model, args=training_args).train()

    if __name__ == "__main__":
        train()
    """
    files = {"train.py": dedent(code), "README.md": "```\npython train.py --output_dir o\n```\n"}
    assert not any(path.startswith("training.lora") for path in values(main(files)))
    files["README.md"] = "```\npython train.py --output_dir o --use_lora True --lora_r 16\n```\n"
    got = values(main(files))
    assert got["training.lora.rank"] == 16
    assert got["training.method"] == "lora"


def test_neither_tests_nor_converters_nor_unused_tables_are_proposed() -> None:
    found = shown(
        {
            "train.py": HF,
            "README.md": README,
            "tests/test_train.py": 'from transformers import AutoModel\n\ndef test_it():\n    AutoModel.from_pretrained("wrong/test")\n',
            "convert_weights.py": 'from transformers import AutoModel\n\nif __name__ == "__main__":\n    AutoModel.from_pretrained("wrong/converted")\n',
            "registry.py": 'MODELS = {"a": "wrong/a", "b": "wrong/b"}\n',
        }
    )
    said = [str(leaf.value) for each in found for leaf in each.state.leaves.values()]
    said += [str(leaf.value) for each in found for rows in each.candidates.values() for leaf in rows]
    assert not [value for value in said if "wrong" in value]


RECIPE = """
base_model: acme/seven
adapter: lora
lora_r: 8
learning_rate: 2e-4
micro_batch_size: 2
num_epochs: 3
datasets:
  - path: acme/chats
    type: alpaca
"""


def test_other_peoples_programs() -> None:
    commands = [
        "accelerate launch -m axolotl.cli.train recipe.yaml",
        "lm_eval --model hf --model_args pretrained=acme/seven,dtype=bfloat16,revision=abc --tasks mmlu --num_fewshot 5",
        "vllm serve acme/seven --max-model-len 4096",
        "trl dpo --model_name_or_path acme/small --dataset_name acme/pairs --learning_rate 1e-5",
    ]
    found = {
        each.name: each
        for each in shown({"recipe.yaml": RECIPE, "README.md": "```\n" + "\n".join(commands) + "\n```\n"})
    }
    assert sorted(found) == ["lm-eval", "recipe", "trl", "vllm"]
    recipe, harness, tuned = values(found["recipe"]), values(found["lm-eval"]), values(found["trl"])
    assert (recipe["models.primary.id"], recipe["datasets.train.id"]) == ("acme/seven", "acme/chats")
    assert (recipe["training.method"], recipe["training.lora.rank"], recipe["training.epochs"]) == (
        "lora",
        8,
        3,
    )
    assert (
        harness["models.primary.id"],
        harness["models.primary.dtype"],
        harness["models.primary.revision"],
    ) == ("acme/seven", "bfloat16", "abc")
    assert (harness["evaluation.params.tasks"], harness["evaluation.params.num_fewshot"]) == ("mmlu", 5)
    assert values(found["vllm"])["inference.max_model_len"] == 4096
    assert (tuned["training.method"], tuned["datasets.train.id"]) == ("dpo", "acme/pairs")
    assert found["lm-eval"].profiles == ("evaluation",)


def test_one_more_command_is_an_experiment() -> None:
    repository = build({"train.py": HF, "README.md": "# P\n"})
    path = TrainingPath(repository)
    signals = compute_signals(repository, path)
    (command,) = parse_commands("python train.py --model_name_or_path acme/other --seed 3")
    found = started_by(repository, path, signals, command, "")
    assert found is not None
    assert values(found)["models.primary.id"] == "acme/other"
    assert values(found)["training.seed"] == 3
    (other,) = parse_commands("python elsewhere.py")
    assert started_by(repository, path, signals, other, "") is None


def test_the_same_answer_twice() -> None:
    files = {
        **HYDRA_FILES,
        "README.md": "```\npython train.py model=large\npython train.py model=tiny lr=1\n```\n",
    }
    assert shown(files) == shown(files)
    names = [each.name for each in shown(files)]
    assert len(set(names)) == len(names) == 2


PIECES = st.sampled_from(
    [
        'parser.add_argument("--lr", default=%s)\n',
        "x = AutoModel.from_pretrained(%s)\n",
        "load_dataset(%s, split=%s)\n".replace("%s", "%s", 1).replace("%s)", "'train')"),
        "torch.optim.AdamW(m.parameters(), lr=%s)\n",
        "if args.a == %s:\n    torch.manual_seed(3)\n",
        "LoraConfig(r=%s, **kwargs)\n",
    ]
)
TEXTS = st.sampled_from(
    [
        "'a/b'",
        "args.x",
        "1e999",
        "[1, 2",
        "None",
        "x if y else z",
        "'\\ud800'",
        "f'{x}'",
        "cfg['a']['b']",
        "-",
        "9" * 50,
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(PIECES, TEXTS), max_size=6), st.text(max_size=60))
def test_nothing_that_is_read_raises(pieces: list[tuple[str, str]], flags: str) -> None:
    code = "import torch\nfrom transformers import AutoModel\nfrom datasets import load_dataset\n"
    code += "".join(piece.replace("%s", text, 1) for piece, text in pieces)
    shown({"train.py": code, "run.sh": f"python train.py {flags}\n", "a.yaml": flags})
