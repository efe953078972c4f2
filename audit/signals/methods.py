"""How models are trained and how they are quantized."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.python.model import Call
from audit.signals.judge import words
from audit.signals.once import once
from audit.signals.queries import imported_heads
from audit.signals.repository import Repository, place
from audit.signals.training_path import TrainingPath

_EVIDENCE_EACH = 2
Found = tuple[str, Place]

# Quantization -----------------------------------------------------------------------------------------------------

_QUANTIZERS = {
    "auto_gptq": "gptq", "gptqmodel": "gptq", "gptq": "gptq", "awq": "awq", "autoawq": "awq", "llama_cpp": "gguf", "gguf": "gguf", "hqq": "hqq", "aqlm": "aqlm",
    "exllamav2": "exl2", "exllama": "exl2", "eetq": "int8", "quanto": "quanto", "ctransformers": "gguf",
}  # fmt: skip
_QUANT_CALLS = (
    (re.compile(r"(?:.*\.)?(?:GPTQConfig|AutoGPTQForCausalLM(?:\.\w+)?|BaseQuantizeConfig|load_gptq_quantized)"), "gptq"),
    (re.compile(r"(?:.*\.)?(?:AwqConfig|AutoAWQForCausalLM(?:\.\w+)?|load_awq_quantized)"), "awq"),
    (re.compile(r"(?:.*\.)?BitsandbytesPrecision|(?:bitsandbytes|bnb)\.nn\.(?:Linear4bit|Params4bit|LinearNF4|LinearFP4)"), "bitsandbytes_4bit"),
    (re.compile(r"(?:bitsandbytes|bnb)\.nn\.(?:Linear8bitLt|Int8Params)|(?:.*\.)?prepare_model_for_int8_training"), "bitsandbytes_8bit"),
    (re.compile(r"torch(?:\.ao)?\.quantization\.\w+"), "int8"),
    (re.compile(r"torchao(?:\.\w+)*\.(?:quantize_|int8\w*|int4\w*|Int\w+Config)"), "torchao"),
    (re.compile(r"(?:transformer_engine(?:\.\w+)*\.|te\.)fp8_autocast|torchao\.float8(?:\.\w+)*|(?:.*\.)?(?:FP8Config|FineGrainedFP8Config)"), "fp8"),
    (re.compile(r"(?:.*\.)?(?:HqqConfig|HQQLinear)"), "hqq"),
    (re.compile(r"(?:.*\.)?prepare_model_for_kbit_training"), "bitsandbytes_4bit"),
    (re.compile(r"(?:transformers\.|mlx_lm\.)?(?:QuantoConfig|EetqConfig|TorchAoConfig)"), "int8"),
)  # fmt: skip
_BITS = {"load_in_4bit": "bitsandbytes_4bit", "load_in_8bit": "bitsandbytes_8bit"}
_NAMED = re.compile(
    r"(?i)\b(gptq|awq|gguf|fp8|int8|int4|nf4|fp4|bnb|bitsandbytes|squeezellm|marlin|hqq|aqlm)\b"
)
_CANONICAL = {
    "nf4": "bitsandbytes_4bit",
    "fp4": "bitsandbytes_4bit",
    "bnb": "bitsandbytes_4bit",
    "bitsandbytes": "bitsandbytes_4bit",
}


def quantization(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """Quantizations of weights that the code can load or make.

    An 8-bit optimizer is none, nor is an option that is declared and read by nobody.
    """
    return _collected([*_quantized_in_code(repository), *_quantized_elsewhere(repository)])


def _collected(found: list[Found]) -> Signal[tuple[str, ...]]:
    places: dict[str, list[Place]] = defaultdict(list)
    for name, where in found:
        if where not in places[name]:
            places[name].append(where)
    evidence = [where for name in sorted(places) for where in places[name][:_EVIDENCE_EACH]]
    return Signal(tuple(sorted(places)), tuple(evidence))


@once
def _quantized_in_code(repository: Repository) -> tuple[Found, ...]:
    return tuple(_all_in_code(repository))


def _all_in_code(repository: Repository) -> Iterator[Found]:
    for file, facts in repository.code.items():
        for item in facts.imports:
            name = _QUANTIZERS.get(item.module.partition(".")[0])
            if name:
                yield name, place(file, item.line, f"imports {item.module}")
        for call in facts.calls:
            for name in _of_call(call):
                yield name, place(file, call.line, call.name)
        for assign in facts.assigns:
            if "True" not in assign.value:
                continue
            for word, name in _BITS.items():
                if f"'{word}': True" in assign.value or (word in assign.target and assign.value == "True"):
                    yield name, place(file, assign.line, word)


@cache
def _of_name(name: str) -> tuple[str, ...]:
    return tuple(method for pattern, method in _QUANT_CALLS if pattern.fullmatch(name))


def _of_call(call: Call) -> Iterator[str]:
    yield from _of_name(call.name)
    if not call.kwargs or call.name.endswith(("add_argument", "field", "Field")):
        return
    for word, name in _BITS.items():
        if call.kwargs.get(word, "False") not in ("False", "None"):
            yield name
    for word in ("quantization", "quantize", "quant_method"):
        match = _NAMED.search(call.kwargs.get(word, ""))
        if match and call.kwargs[word][:1] in "'\"":
            yield _CANONICAL.get(match[1].lower(), match[1].lower())


_KEYS = frozenset({"quantization", "quantize", "quant_method", "quantization_method", "quant"})


def _quantized_elsewhere(repository: Repository) -> Iterator[Found]:
    for file, config in repository.configs.items():
        for setting in config.settings:
            last = setting.key.rpartition(".")[2]
            if last in _BITS or last.lower() in _KEYS:
                yield from _named(file, last, setting.value, setting.line)
    for file, script in repository.scripts.items():
        for command in script.commands:
            for flag in command.flags:
                yield from _named(
                    file, flag.name.lstrip("-").replace("-", "_"), flag.value or "true", flag.line
                )


def _named(file: str, key: str, value: str, line: int) -> Iterator[Found]:
    if key in _BITS and value.lower() in ("true", "1", "yes"):
        yield _BITS[key], place(file, line, f"{key}: {value}")
    elif key.lower() in _KEYS and (match := _NAMED.search(value)):
        yield _CANONICAL.get(match[1].lower(), match[1].lower()), place(file, line, f"{key}: {value}")


# Training ---------------------------------------------------------------------------------------------------------

_TRAINERS = (
    (re.compile(r".*(?:SFTTrainer|SftTrainer)"), "sft"),
    (re.compile(r".*(?:GRPOTrainer)"), "grpo"),
    (re.compile(r".*(?:ORPOTrainer)"), "orpo"),
    (re.compile(r".*(?:KTOTrainer)"), "kto"),
    (re.compile(r".*(?:CPOTrainer)"), "cpo"),
    (re.compile(r".*(?:BCOTrainer)"), "bco"),
    (re.compile(r".*(?:RLOOTrainer)"), "rloo"),
    (re.compile(r".*(?:DPOTrainer)"), "dpo"),
    (re.compile(r".*(?:PPOTrainer)"), "ppo"),
    (re.compile(r".*(?:GKDTrainer|Distill\w*Trainer|MiniLLMTrainer)"), "distillation"),
    (re.compile(r".*(?:RewardTrainer|RewardModelTrainer|PRMTrainer)"), "reward_modeling"),
)
_BY_WORD = {
    "sft": "sft", "dpo": "dpo", "ppo": "ppo", "grpo": "grpo", "orpo": "orpo", "kto": "kto", "rloo": "rloo", "rlhf": "rlhf", "ipo": "ipo", "simpo": "simpo",
    "distill": "distillation", "distillation": "distillation", "distil": "distillation", "gkd": "distillation", "pretrain": "pretraining",
    "pretraining": "pretraining", "lora": "lora", "qlora": "qlora", "adapter": "adapter",
}  # fmt: skip
LLM_HEADS = frozenset(
    """
    transformers trl peft vllm litgpt unsloth deepspeed megatron tiktoken sentencepiece tokenizers lit_gpt lit_llama fairseq t5
    seqio mlx_lm torchtune olmo
    """.split()
)


def training_method(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """How language models are trained by the entry points that train; empty where nothing trains one."""
    if not path.training or not any(imported_heads(f) & LLM_HEADS for f in repository.code.values()):
        return Signal(())
    found = [*_by_trainer(path), *_by_name(repository, path)]
    names = {name for name, _ in found}
    quantized = {name for name, _ in _quantized_in_code(repository)} & {"bitsandbytes_4bit", "gptq"}
    if "lora" in names and quantized:
        found += [("qlora", where) for name, where in found if name == "lora"][:1]
    if not names & {"lora", "qlora", "adapter"} or _full_is_possible(path):
        found += [
            ("full_finetuning", where) for where in path.primary_loop[1][:1] if "pretraining" not in names
        ]
    return _collected(found)


def _by_trainer(path: TrainingPath) -> Iterator[Found]:
    for file, call in path.calls:
        last = call.name.rpartition(".")[2]
        for name in _of_trainer(last):
            yield name, place(file, call.line, last)
        if last in ("LoraConfig", "get_peft_model", "LoraModel") or (last == "get_peft_config"):
            yield "lora", place(file, call.line, last)


@cache
def _of_trainer(name: str) -> tuple[str, ...]:
    return tuple(method for pattern, method in _TRAINERS if pattern.fullmatch(name))


def _by_name(repository: Repository, path: TrainingPath) -> Iterator[Found]:
    """Scripts, losses and configurations that are named after their method."""
    for entry in path.training:
        for word in words(entry.path.rpartition("/")[2]) & _BY_WORD.keys():
            yield _BY_WORD[word], place(entry.path, 1, "training script")
    for file, indices in path.reached.scopes.items():
        for index in indices:
            scope = path.source(file).scopes[index]
            for word in words(scope.name) & {"dpo", "ppo", "grpo", "kto", "orpo", "distillation"}:
                if scope.kind == "function" and "loss" in words(scope.name):
                    yield _BY_WORD[word], place(file, scope.line, scope.name)
    for file in repository.configs:
        stem = words("/".join(file.split("/")[-2:]))
        for word in stem & {"sft", "dpo", "ppo", "grpo", "orpo", "kto", "qlora", "lora", "pretrain"}:
            yield _BY_WORD[word], place(file, 1, "configuration")


def _full_is_possible(path: TrainingPath) -> bool:
    """Whether the adapter is an option: a branch decides about it."""
    made = [
        call
        for _, call in path.calls
        if call.name.rpartition(".")[2] in ("LoraConfig", "get_peft_model", "get_peft_config")
    ]
    return bool(made) and all(call.test for call in made)
