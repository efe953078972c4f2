"""What the manifest declares against what the code does: a true one gives nothing, a false one is caught field by field."""

import pytest

from audit.documents.finding import Severity, Status
from audit.rules import commanded, contradicted
from tests.rules.declaring import told, with_manifest

RULES = (*contradicted.RULES, *commanded.RULES)

TRAIN = """
import argparse
import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

PROMPT = "Answer the question of the user in one short sentence: {question}"

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="acme/tiny")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(args.model, revision="abc123", torch_dtype=torch.bfloat16, load_in_4bit=True)
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, target_modules=["q_proj", "v_proj"]))
    data = load_dataset("acme/reviews", "english", split="train")
    arguments = TrainingArguments(
        "out", learning_rate=args.lr, num_train_epochs=args.epochs, per_device_train_batch_size=8, gradient_accumulation_steps=2,
        lr_scheduler_type="cosine", optim="adamw_torch", bf16=True, seed=args.seed, warmup_ratio=0.1, weight_decay=0.01,
    )
    Trainer(model=model, args=arguments, train_dataset=data).train()

if __name__ == "__main__":
    main()
"""
FILES = {"train.py": TRAIN, "README.md": "# P\n\n```\npython train.py --lr 2e-5\n```\n"}

TRUE = """
experiment: {name: train, command: python train.py --lr 2e-5}
models:
  primary: {id: acme/tiny, revision: abc123, dtype: bf16, quantization: 4bit}
datasets:
  train: {id: acme/reviews, subset: english, split: train}
prompts:
  primary: {text: "Answer the question of the user in one short sentence: {question}"}
training:
  learning_rate: 0.00002
  batch_size: 8
  gradient_accumulation: 2
  epochs: 3.0
  optimizer: AdamW
  scheduler: cosine with warm-up
  precision: bfloat16
  seed: 7
  warmup_ratio: 1e-1
  weight_decay: "0.01"
  lora: {rank: 16, alpha: 32, dropout: 0.05, target_modules: [v_proj, q_proj]}
"""


def failing(manifest: str, files: dict[str, str] | None = None) -> list[tuple[str, str, Severity]]:
    context = with_manifest(manifest, files or FILES)
    return [
        (rule.id, outcome.key, outcome.severity or rule.severity)
        for rule in RULES
        for outcome in rule.check(context)
        if outcome.status is Status.FAIL
    ]


def test_a_true_manifest_gives_nothing() -> None:
    assert failing(TRUE) == []


@pytest.mark.parametrize(
    ("right", "wrong", "rule", "key"),
    [
        ("id: acme/tiny", "id: acme/large", "model", "models.primary.id"),
        ("revision: abc123", "revision: def456", "model_form", "models.primary.revision"),
        ("dtype: bf16", "dtype: float16", "model_form", "models.primary.dtype"),
        ("quantization: 4bit", "quantization: 8bit", "model_form", "models.primary.quantization"),
        ("id: acme/reviews", "id: acme/news", "dataset", "datasets.train.id"),
        ("subset: english", "subset: german", "dataset_part", "datasets.train.subset"),
        ("split: train", "split: test", "dataset_part", "datasets.train.split"),
        ("in one short sentence", "in one word", "prompt", "prompts.primary.text"),
        ("learning_rate: 0.00002", "learning_rate: 0.0001", "training", "training.learning_rate"),
        ("batch_size: 8", "batch_size: 12", "training", "training.batch_size"),
        (
            "gradient_accumulation: 2",
            "gradient_accumulation: 4",
            "training",
            "training.gradient_accumulation",
        ),
        ("epochs: 3.0", "epochs: 5", "training", "training.epochs"),
        ("optimizer: AdamW", "optimizer: sgd", "training", "training.optimizer"),
        ("scheduler: cosine with warm-up", "scheduler: linear", "training", "training.scheduler"),
        ("precision: bfloat16", "precision: fp16", "training", "training.precision"),
        ("seed: 7", "seed: 8", "seed", "training.seed"),
        ("warmup_ratio: 1e-1", "warmup_ratio: 0.2", "training", "training.warmup_ratio"),
        ('weight_decay: "0.01"', "weight_decay: 0", "training", "training.weight_decay"),
        ("rank: 16", "rank: 8", "training", "training.lora.rank"),
        ("alpha: 32", "alpha: 16", "training", "training.lora.alpha"),
        ("dropout: 0.05", "dropout: 0", "training", "training.lora.dropout"),
        ("[v_proj, q_proj]", "[k_proj]", "training", "training.lora.target_modules"),
        ("--lr 2e-5", "--learning-rate 2e-5", "flags", "--learning-rate"),
        ("python train.py", "python trian.py", "command", "trian.py"),
    ],
)
def test_a_false_field_is_caught(right: str, wrong: str, rule: str, key: str) -> None:
    assert right in TRUE
    found = failing(TRUE.replace(right, wrong))
    assert (f"declared.{rule}", key) in [(identifier, each) for identifier, each, _ in found]
    # A wrong flag leaves the default, which the manifest then contradicts as well.
    assert rule in ("flags", "command") or len(found) == 1


def test_both_places_are_named() -> None:
    (outcome,) = [
        each
        for each in told(
            "declared.training", TRUE.replace("learning_rate: 0.00002", "learning_rate: 0.1"), FILES
        )
        if each.status is Status.FAIL
    ]
    assert [(place.path, place.line) for place in outcome.evidence] == [
        ("ml-audit.yaml", 10),
        ("ml-audit.yaml", 2),
    ]
    assert "0.1" in outcome.message and "2e-05" in outcome.message


def test_what_may_be_overridden_is_not_contradicted() -> None:
    """Without a command or name, a run may be the one of the README or the one of the default."""
    loose = "training: {learning_rate: %s}\n"
    assert failing(loose % "1e-4") == []
    assert failing(loose % "2e-5") == []
    (found,) = failing(loose % "0.3")
    assert found == ("declared.training", "training.learning_rate", Severity.WARNING)


def test_what_the_code_leaves_open_is_not_contradicted() -> None:
    files = {**FILES, "README.md": "```\npython train.py --model <your_model>\n```\n"}
    manifest = (
        "experiment: {command: python train.py --model <your_model>}\nmodels: {primary: {id: acme/any}}\n"
    )
    assert [key for _, key, _ in failing(manifest, files)] == []


def test_the_batch_of_all_devices_is_the_same_batch() -> None:
    assert failing(TRUE.replace("batch_size: 8", "batch_size: 16")) == []


def test_what_only_the_library_says_weighs_less() -> None:
    manifest = "experiment: {command: python train.py}\ntraining: {gradient_clipping: 0.5}\n"
    assert failing(manifest) == [("declared.training", "training.gradient_clipping", Severity.INFO)]


JUDGE = """
import argparse
from openai import OpenAI

def judge(client, args, text):
    return client.chat.completions.create(model=args.judge_model, messages=[text], temperature=0, max_tokens=16)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt-4o-mini")
    parser.add_argument("--judge-model", default="gpt-4-0613")
    parser.add_argument("--num-trials", type=int, default=3)
    args = parser.parse_args()
    client = OpenAI()
    answer = client.chat.completions.create(model=args.model, messages=[], temperature=0.7, top_p=0.9, max_tokens=200, stop=["END"], seed=5)
    print(judge(client, args, answer))

if __name__ == "__main__":
    main()
"""
JUDGED = {"evaluate.py": JUDGE, "README.md": "```\npython evaluate.py\n```\n"}
ASKED = """
experiment: {command: python evaluate.py}
models: {primary: {id: gpt-4o-mini}, judge: {id: gpt-4-0613}}
generation: {temperature: 0.7, top_p: 0.9, max_tokens: 200, stop: [END], seed: 5}
evaluation: {repetitions: 3, judge: {temperature: 0, max_tokens: 16}}
"""


def test_a_true_judge() -> None:
    assert failing(ASKED, JUDGED) == []


@pytest.mark.parametrize(
    ("right", "wrong", "rule"),
    [
        ("judge: {id: gpt-4-0613}", "judge: {id: gpt-4o}", "judge"),
        ("judge: {temperature: 0,", "judge: {temperature: 1,", "judge"),
        ("primary: {id: gpt-4o-mini}", "primary: {id: gpt-4}", "model"),
        ("temperature: 0.7", "temperature: 0", "generation"),
        ("top_p: 0.9", "top_p: 0.5", "generation"),
        ("max_tokens: 200", "max_tokens: 100", "generation"),
        ("stop: [END]", "stop: [STOP]", "generation"),
        ("seed: 5", "seed: 6", "seed"),
        ("repetitions: 3", "repetitions: 1", "evaluation"),
    ],
)
def test_a_false_judge_or_generation(right: str, wrong: str, rule: str) -> None:
    assert right in ASKED
    assert [identifier for identifier, _, _ in failing(ASKED.replace(right, wrong, 1), JUDGED)] == [
        f"declared.{rule}"
    ]


def test_metrics_that_nothing_computes() -> None:
    files = {
        **JUDGED,
        "evaluate.py": "import evaluate\n"
        + JUDGE.replace("    print(", '    accuracy = evaluate.load("accuracy")\n    print('),
    }
    manifest = "experiment: {command: python evaluate.py}\nevaluation: {metrics: [%s]}\n"
    assert failing(manifest % "test accuracy", files) == []
    assert [key for _, key, _ in failing(manifest % "rouge", files)] == ["evaluation.metrics"]


def test_keys_that_are_bound_or_read_by_nobody() -> None:
    code = """
    import argparse, yaml, torch

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--config")
        args = parser.parse_args()
        cfg = yaml.safe_load(open(args.config))
        model = torch.nn.Linear(cfg["width"], cfg["depth"])
        optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=cfg["momentum"])
        for x in range(cfg["epochs"]):
            optimizer.zero_grad()
            loss = model(x)
            loss.backward()
            optimizer.step()

    if __name__ == "__main__":
        main()
    """
    files = {
        "train.py": code,
        "conf/a.yaml": "width: 1\ndepth: 2\nlr: 0.1\nmomentum: 0.9\nepochs: 3\nwarmpu: 10\n",
    }
    manifest = "experiment: {command: python train.py --config conf/a.yaml}\n"
    assert failing(manifest, files) == [("declared.unread_keys", "conf/a.yaml", Severity.INFO)]
    fine = {**files, "conf/a.yaml": files["conf/a.yaml"].replace("warmpu: 10\n", "")}
    assert failing(manifest, fine) == []
    bound = (
        manifest
        + "training: {learning_rate: 0.1}\nbindings: {training.learning_rate: {config: 'conf/a.yaml:%s'}}\n"
    )
    assert failing(bound % "lr", fine) == []
    assert [identifier for identifier, _, _ in failing(bound % "optim.lr", fine)] == ["declared.bound_keys"]


@pytest.mark.parametrize(
    "command",
    [
        "lm_eval --model hf",
        "bash run.sh",
        "python -m package.train",
        "python $SCRIPT",
        "/usr/bin/python /elsewhere/train.py",
        "torchrun train.py",
    ],
)
def test_commands_about_which_nothing_is_known_or_that_are_right(command: str) -> None:
    files = {**FILES, "run.sh": "python train.py\n"}
    assert [
        row
        for row in failing(f"experiment: {{command: '{command}'}}\n", files)
        if row[0] == "declared.command"
    ] == []


def test_a_script_stands_for_what_it_starts() -> None:
    files = {**FILES, "run.sh": "python train.py --lr 0.5\n"}
    manifest = "experiment: {command: bash run.sh}\ntraining: {learning_rate: %s}\n"
    assert failing(manifest % "0.5", files) == []
    assert [key for _, key, _ in failing(manifest % "1e-4", files)] == ["training.learning_rate"]


def test_without_a_manifest_or_an_experiment() -> None:
    assert failing("training: {learning_rate: 1}\n", {"notes.py": "print(1)\n"}) == []


def test_quantization_that_nothing_does() -> None:
    files = {
        **FILES,
        "train.py": TRAIN.replace(", load_in_4bit=True", "").replace("BitsAndBytesConfig, ", ""),
    }
    manifest = "experiment: {command: python train.py}\nmodels: {primary: {quantization: %s}}\n"
    assert failing(manifest % "bitsandbytes_4bit", files) == [
        ("declared.model_form", "models.primary.quantization", Severity.WARNING)
    ]
    assert failing(manifest % "none", files) == []
    assert failing(manifest % "awq", files) == []


def test_what_computes_the_metrics() -> None:
    manifest = "experiment: {command: 'lm_eval --model hf --model_args pretrained=acme/tiny --tasks mmlu'}\nevaluation: {implementation: %s}\n"
    assert failing(manifest % "lm-eval==0.4.2", FILES) == []
    assert [key for _, key, _ in failing(manifest % "lighteval", FILES)] == ["evaluation.implementation"]
    model = "experiment: {command: 'lm_eval --model hf --model_args pretrained=acme/tiny --tasks mmlu'}\nmodels: {primary: {id: acme/other}}\n"
    assert [key for _, key, _ in failing(model, FILES)] == ["models.primary.id"]


def test_a_file_where_a_data_set_of_the_hub_is_declared() -> None:
    code = TRAIN.replace(
        'load_dataset("acme/reviews", "english", split="train")', "open(args.data_path).read()"
    ).replace(
        '    parser.add_argument("--seed"',
        '    parser.add_argument("--data-path", default="data/a.jsonl")\n    parser.add_argument("--seed"',
    )
    files = {"train.py": code, "data/a.jsonl": "{}\n", "README.md": "```\npython train.py\n```\n"}
    manifest = "experiment: {command: python train.py}\ndatasets: {train: {%s}}\n"
    assert failing(manifest % "path: data/a.jsonl", files) == []
    assert failing(manifest % "id: acme/reviews, path: data/a.jsonl", files) == []
    assert failing(manifest % "id: acme/reviews", files) == [
        ("declared.dataset", "datasets.train.id", Severity.WARNING)
    ]
    assert failing(manifest % "path: data/b.jsonl", files) == [
        ("declared.dataset", "datasets.train.path", Severity.CRITICAL)
    ]


def test_epochs_of_a_run_that_steps_end() -> None:
    files = {**FILES, "train.py": TRAIN.replace("num_train_epochs=args.epochs", "max_steps=500")}
    manifest = "experiment: {command: python train.py}\ntraining: {%s}\n"
    assert [key for _, key, _ in failing(manifest % "epochs: 9", files)] == ["training.epochs"]
    assert failing(manifest % "max_steps: 500", files) == []


def test_a_manifest_that_is_false_throughout() -> None:
    """Neither command nor name says which run is meant; what no run of the repository has is still seen."""
    manifest = """
    experiment: {command: python nowhere.py}
    models: {primary: {id: acme/none}}
    datasets: {train: {id: acme/nothing}}
    training: {learning_rate: 0.3, batch_size: 77, epochs: 99, seed: 31337}
    """
    assert sorted(key for _, key, _ in failing(manifest)) == [
        "datasets.train.id", "models.primary.id", "nowhere.py", "training.batch_size", "training.epochs", "training.learning_rate", "training.seed",
    ]  # fmt: skip


def test_a_folder_that_is_not_there() -> None:
    manifest = "execution: {command: python train.py, directory: elsewhere}\n"
    assert [key for _, key, _ in failing(manifest)] == ["execution.directory"]
