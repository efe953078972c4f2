"""How models are trained and quantized."""

import pytest

from audit.signals.methods import quantization, training_method
from audit.signals.training_path import TrainingPath
from tests.signals.building import build


def quantized(files: dict[str, str]) -> tuple[str, ...]:
    repository = build(files)
    return quantization(repository, TrainingPath(repository)).value


def methods(files: dict[str, str]) -> tuple[str, ...]:
    repository = build(files)
    return training_method(repository, TrainingPath(repository)).value


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        (
            "a.py",
            "import transformers\ntransformers.BitsAndBytesConfig(load_in_4bit=True)\n",
            "bitsandbytes_4bit",
        ),
        ("a.py", "AutoModel.from_pretrained(n, load_in_8bit=args.eight)\n", "bitsandbytes_8bit"),
        ("a.py", "from auto_gptq import AutoGPTQForCausalLM\n", "gptq"),
        ("a.py", "from vllm import LLM\nLLM(model=m, quantization='awq')\n", "awq"),
        ("a.py", "from llama_cpp import Llama\n", "gguf"),
        ("c.yaml", "load_in_4bit: true\n", "bitsandbytes_4bit"),
        ("run.sh", "python serve.py --quantization fp8\n", "fp8"),
    ],
)
def test_quantization(path: str, text: str, name: str) -> None:
    assert quantized({path: text}) == (name,)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "import bitsandbytes as bnb\nbnb.optim.Adam8bit(p)\n"),
        ("a.py", "AutoModel.from_pretrained(n, load_in_8bit=False)\n"),
        ("a.py", 'parser.add_argument("--int8bit", action="store_true")\n'),
        ("c.yaml", "optim: paged_adamw_8bit\nload_in_4bit: false\n"),
    ],
)
def test_no_quantization(path: str, text: str) -> None:
    assert quantized({path: text}) == ()


def test_trainers_name_their_method() -> None:
    code = """
    from trl import DPOTrainer, SFTTrainer
    from peft import LoraConfig
    def main():
        SFTTrainer(m, peft_config=LoraConfig(r=8)).train()
        DPOTrainer(m).train()
    if __name__ == "__main__":
        main()
    """
    assert methods({"train.py": code}) == ("dpo", "lora", "sft")


def test_a_loop_without_adapters_trains_all_weights() -> None:
    code = """
    from transformers import Trainer
    def main():
        Trainer(m).train()
    if __name__ == "__main__":
        main()
    """
    assert methods({"train.py": code}) == ("full_finetuning",)


def test_nothing_without_a_language_model_or_training() -> None:
    assert methods({"a.py": "from peft import PeftModel\nPeftModel.from_pretrained(m, n)\n"}) == ()
    loop = "import torch\nfor x in y:\n    loss.backward()\n    optimizer.step()\n"
    assert methods({"train_lora.py": loop}) == ()
