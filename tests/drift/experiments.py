"""Three small experiments: a network that is trained, a language model that is tuned, a language model that is judged."""

TRAINED = {
    "train.py": '''
"""Trains a classifier."""
import argparse
import random

import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, random_split

from metrics import accuracy

torch.backends.cudnn.deterministic = True


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--data-dir", default="data/images")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--mixup", type=float, default=0.2)
    parser.add_argument("--frobnicate", type=float, default=0.5)
    parser.add_argument("--output-dir", default="out")
    parser.add_argument("--workers", type=int, default=4)
    return parser.parse_args()


def main():
    args = options()
    random.seed(42)
    torch.manual_seed(42)
    model = build(depth=18)
    optimizer = SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = CosineAnnealingLR(optimizer, T_max=90)
    loader = DataLoader(load(args.data_dir), batch_size=128, shuffle=True, num_workers=args.workers)
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = model(x, y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        scheduler.step()


if __name__ == "__main__":
    main()
''',
    "configs/vit.py": """
import ml_collections


def get_config():
    config = ml_collections.ConfigDict()
    config.dropout = 0.0
    config.optim = "adam"
    return config
""",
    "serve.py": """
import torch
import typer


def main(temperature: float = typer.Option(0.8, help="how free"), parser=None):
    parser.set_defaults(top_k=40)
""",
    "metrics.py": '''
def accuracy(output, target):
    """Share of right answers."""
    best = output.argmax(dim=1)
    right = best == target
    return right.float().mean()
''',
    "configs/base.yaml": """
model:
  name: resnet18
  dropout: 0.1
optimizer:
  name: sgd
  lr: 0.1
loss:
  label_smoothing: 0.1
image_size: 224
metrics: [accuracy, top5]
logging:
  level: info
""",
    "run.sh": """#!/bin/bash
export CUBLAS_WORKSPACE_CONFIG=:4096:8
torchrun --nproc_per_node 8 train.py --lr 0.4 --epochs 90 --amp
""",
    "requirements.txt": "torch==2.4.1\ntimm==1.0.9\nnumpy>=1.26\n",
    "requirements-dev.txt": "pytest==8.3.2\n",
    "Dockerfile": "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime\nCOPY . /app\n",
    "data/labels.csv": "a,0\nb,1\n",
    "tests/test_metrics.py": "def test_it():\n    assert accuracy(lr=0.1)\n",
    "README.md": "# Classifier\n\nTrained for 90 epochs with learning rate 0.1.\n",
}

TUNED = {
    "sft.py": """
from dataclasses import dataclass, field

from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, TrainingArguments, set_seed


@dataclass
class ScriptArguments:
    model_name: str = field(default="acme/base-7b", metadata={"help": "the model"})
    learning_rate: float = field(default=2e-4)
    max_seq_length: int = 2048


def main(args):
    set_seed(7)
    data = load_dataset("acme/instructions", "en", split="train", revision="1111111111111111111111111111111111111111")
    quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    model = AutoModelForCausalLM.from_pretrained(args.model_name, revision="v1", torch_dtype="bfloat16")
    tokenizer = AutoTokenizer.from_pretrained("acme/base-7b", padding_side="right")
    lora = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, target_modules=["q_proj", "v_proj"])
    arguments = TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, gradient_accumulation_steps=8, num_train_epochs=3,
        warmup_ratio=0.03, lr_scheduler_type="cosine", bf16=True, optim="adamw_torch", max_grad_norm=0.3,
    )
""",
    "recipes/sft.yaml": """
model_name_or_path: acme/base-7b
model_revision: 1111111111111111111111111111111111111111
dataset_mixer:
  acme/chat: 1.0
learning_rate: 2.0e-05
num_train_epochs: 3
gradient_checkpointing: true
seed: 42
""",
    "deepspeed.json": '{"zero_optimization": {"stage": 2}, "gradient_clipping": 1.0, "train_micro_batch_size_per_gpu": 4}\n',
    "prompts/system.txt": "You are a careful assistant.\nAnswer in one sentence.\n",
    "chat_template.jinja": "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}\n",
    "uv.lock": """version = 1
requires-python = ">=3.11"

[[package]]
name = "transformers"
version = "4.44.2"

[[package]]
name = "rich"
version = "13.7.1"
""",
    ".python-version": "3.11.9\n",
    "data.dvc": "outs:\n- md5: 0123456789abcdef0123456789abcdef\n  path: data\n",
}

JUDGED = {
    "evaluate.py": '''
import random

from openai import OpenAI
from vllm import LLM, SamplingParams

JUDGE_PROMPT = """You are a strict judge.
Give the answer below a mark from 1 to 10.
{answer}"""
JUDGE_MODEL = "gpt-4o-2024-08-06"


def answers(questions, temperature=0.0):
    engine = LLM(model="acme/chat-7b", dtype="bfloat16", tensor_parallel_size=2, gpu_memory_utilization=0.9)
    return engine.generate(questions, SamplingParams(temperature=0.7, top_p=0.95, max_tokens=512, n=1, seed=3))


def judge(client, answer):
    return client.chat.completions.create(
        model="gpt-4o-2024-08-06", temperature=0.2, max_tokens=16, messages=[{"role": "user", "content": JUDGE_PROMPT}]
    )


class Agent:
    def __init__(self, client, task):
        self.system_prompt = f"You solve the {task} step by step."
        self.reply = client.messages.create(model="claude-x-20250101", system="Answer with one letter and nothing else.")


def win_rate(marks, baseline):
    wins = sum(a > b for a, b in zip(marks, baseline))
    return wins / len(marks)
''',
    "tasks/quiz.yaml": """
task: quiz
dataset_path: acme/quiz
dataset_name: main
test_split: test
num_fewshot: 5
output_type: generate_until
generation_kwargs:
  until: ["\\n"]
  temperature: 0.0
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
""",
    "eval.sh": "lm_eval --model vllm --tasks quiz --batch_size 8 --limit 200 --seed 1234\n",
    "pyproject.toml": '[project]\nname = "judged"\nversion = "1.0"\nrequires-python = ">=3.10"\ndependencies = ["vllm==0.6.1", "lm-eval==0.4.4"]\n',
}
