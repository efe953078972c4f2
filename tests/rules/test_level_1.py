"""The rules of level 1: a manifest that says it, one that does not, and one that need not."""

import re

import msgspec
import pytest
import yaml

from audit.documents.finding import Severity, Status
from audit.documents.place import Place
from audit.profiles import Profile, profiles
from audit.rules.catalogue import RULES, rule, run
from audit.rules.manifest import ASKED_ELSEWHERE
from tests.rules.computed import LOOP, audited
from tests.rules.declaring import LEVEL_1, broken, state, told, with_manifest

TUNE = """
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, TrainingArguments
from trl import SFTTrainer

def main():
    model = AutoModelForCausalLM.from_pretrained("acme/tiny")
    data = load_dataset("acme/reviews", split="train")
    arguments = TrainingArguments("out", learning_rate=2e-5, per_device_train_batch_size=8, num_train_epochs=3, seed=7)
    SFTTrainer(model=model, args=arguments, train_dataset=data, peft_config=LoraConfig(r=16, lora_alpha=32)).train()

if __name__ == "__main__":
    main()
"""
FILES = {"train.py": TUNE, "README.md": "# P\n\n```\npython train.py\n```\n"}


def of(profile: str, body: str = "") -> str:
    return f"experiment: {{profiles: [{profile}]}}\n{body}"


RAG = "project: {name: x}\ncustom: {retrieval: {top_k: 5}}\nmodels: {retriever: {id: a/b}}\ndatasets: {corpus: {path: c.jsonl}}"
VLLM = """inference: {backend: vLLM, tensor_parallel: 1, gpu_memory_utilization: 0.9}
models: {primary: {id: a/b, dtype: auto, quantization: none}}
"""

PASSES = [
    ("exec.command_declared", "core", "execution: {command: python train.py}"),
    ("exec.command_declared", "core", "stages: {tune: {execution: {command: python train.py}}}"),
    ("exec.seed_declared", "training", "training: {seed: 1}"),
    ("manifest.required", "rag", RAG),
    ("manifest.required", "rl", "project: {name: x}\ncustom: {environment: {id: Pendulum-v1}}"),
    ("model.primary_declared", "finetuning", "models: {primary: {id: a/b}}"),
    ("model.provider_known", "core", "models: {primary: {id: a/b, provider: huggingface}}"),
    ("model.dtype_declared", "inference", "models: {primary: {id: a/b, provider: huggingface, dtype: bfloat16}}"),
    ("model.dtype_declared", "inference", "models: {primary: {id: a/b}}\ninference: {dtype: bfloat16}"),
    ("model.quantization_declared", "inference", "models: {primary: {id: a/b, quantization: none}}"),
    ("model.quantization_declared", "inference", "models: {primary: {id: a/b}}"),
    ("model.adapter_declared", "core", "models: {primary: {id: a/b, adapter: c/d}}"),
    ("model.trust_remote_code_declared", "core", "models: {primary: {id: a/b, trust_remote_code: true}}"),
    ("dataset.declared", "finetuning", "datasets: {train: {path: data/a.jsonl}}"),
    ("dataset.declared", "finetuning", "datasets: {preference: {id: a/b}}"),
    ("dataset.split_declared", "core", "datasets: {train: {id: a/b, split: train}}"),
    ("dataset.subset_declared", "core", "datasets: {train: {id: a/b}}"),
    ("dataset.preprocessing_declared", "finetuning", "datasets: {train: {id: a/b, preprocessing: none}}"),
    ("dataset.sampling_seed_declared", "core", "datasets: {train: {id: a/b, sampling: {size: 5, seed: 1}}}"),
    ("gen.params_declared", "inference", "generation: {temperature: 1, top_p: 0.9, max_tokens: 5}"),
    ("gen.params_declared", "inference", "generation: {temperature: 0, max_tokens: 5}"),
    ("gen.params_declared", "inference", "generation: {do_sample: false, max_tokens: 5}"),
    ("gen.seed_declared", "inference", "generation: {temperature: 1, seed: 3}"),
    ("gen.backend_declared", "inference", "inference: {backend: vllm}"),
    ("gen.backend_declared", "inference", "models: {primary: {id: gpt-4o, provider: openai}}"),
    ("gen.backend_config_declared", "inference", VLLM),
    ("gen.stop_declared", "inference", "generation: {stop: []}"),
    ("prompt.declared", "inference", "prompts: {primary: {text: Hello}}"),
    ("prompt.file_exists", "core", "prompts: {primary: {path: README.md}, judge: {path: ./README.md}}"),
    ("prompt.few_shot_declared", "inference", "prompts: {primary: {path: a.txt, few_shot: 5}}"),
    ("eval.metrics_declared", "evaluation", "evaluation: {metrics: f1}"),
    ("eval.metric_implementation_referenced", "evaluation", "evaluation: {metrics: [f1, em], implementation: {f1: a.py, em: a.py}}"),
    ("eval.metric_implementation_referenced", "evaluation", "evaluation: {metrics: [f1, em], implementation: scorers 1.2}"),
    ("eval.aggregation_declared", "evaluation", "evaluation: {aggregation: mean}"),
    ("eval.repetitions_declared", "evaluation", "evaluation: {repetitions: 1}"),
    ("eval.definitions_declared", "safety", "evaluation: {definitions: {refusal: says no}}"),
    ("eval.query_budget_declared", "safety", "evaluation: {query_budget: 3}"),
    ("judge.model_declared", "llm_judge", "models: {judge: {id: gpt-4o}}"),
    ("judge.prompt_declared", "llm_judge", "prompts: {judge: {text: Rate it}}"),
    ("judge.params_declared", "llm_judge", "evaluation: {judge: {temperature: 0}}"),
    ("judge.repetitions_declared", "llm_judge", "evaluation: {judge: {repetitions: 1}}"),
    ("train.method_declared", "finetuning", "training: {method: sft}"),
    ("train.hyperparameters_declared", "training", "training: {learning_rate: 0.1, batch_size: 8, max_steps: 10}"),
    ("train.hyperparameters_declared", "rl", "training: {learning_rate: 0.1, batch_size: 8, total_timesteps: 10}"),
    ("train.optimizer_declared", "training", "training: {optimizer: sgd}"),
    ("train.precision_declared", "training", "training: {precision: bf16}"),
    ("train.precision_declared", "rl", ""),
    ("train.lora_config_complete", "finetuning", "training: {method: lora, lora: {rank: 8, alpha: 8, target_modules: [q]}}"),
    ("privacy.threat_model_declared", "privacy", "privacy: {threat_model: black box}"),
    ("privacy.mechanism_declared", "privacy", "privacy: {mechanism: none}"),
    ("privacy.metrics_declared", "privacy", "privacy: {metrics: [auc]}"),
    ("privacy.attack_config_declared", "privacy", "privacy: {attack: lira}"),
]  # fmt: skip

FAILS = [
    ("exec.command_declared", "core", "", "does not say which command makes the numbers."),
    ("exec.seed_declared", "training", "", "does not say which seed a run starts from."),
    ("model.primary_declared", "inference", "models: {judge: {id: a/b}}", "does not say which model the experiment is about (only judge)."),
    ("model.provider_known", "core", "models: {judge: {id: gpt-4o}}", "does not say who provides gpt-4o (models.judge)."),
    ("model.dtype_declared", "inference", "models: {primary: {id: a/b}}", "does not say in which dtype the model in role primary is loaded."),
    ("dataset.declared", "finetuning", "datasets: {evaluation: {id: a/b}}", "does not say which data set is trained on."),
    ("dataset.declared", "evaluation", "datasets: {train: {id: a/b}}", "does not say which data set is scored on."),
    ("dataset.split_declared", "core", "datasets: {train: {id: a/b}}", "does not say which split of a/b is used."),
    ("dataset.preprocessing_declared", "training", "datasets: {train: {id: a/b}, test: {path: x}}",
     "does not say how the data in roles test and train is prepared."),
    ("dataset.sampling_seed_declared", "core", "datasets: {train: {id: a/b, sampling: {size: 5}}}",
     "does not say with which seed the sample in role train is drawn."),
    ("gen.params_declared", "inference", "generation: {temperature: 1}", "does not say top_p and max_tokens of generation."),
    ("gen.seed_declared", "inference", "generation: {temperature: 1}", "does not say with which seed outputs are drawn."),
    ("gen.backend_declared", "inference", "models: {primary: {id: a/b, provider: huggingface}}", "does not say what runs the model."),
    ("gen.backend_config_declared", "inference", "inference: {backend: vllm, dtype: auto}",
     "does not say tensor_parallel, quantization and gpu_memory_utilization of vllm."),
    ("gen.stop_declared", "inference", "generation: {temperature: 0}", "does not say which texts end an output."),
    ("prompt.declared", "inference", "", "does not say with which prompt the model is asked."),
    ("prompt.declared", "inference", "prompts: {system: {few_shot: 2}}", "does not say the prompt in role system."),
    ("prompt.file_exists", "core", "prompts: {a: {path: x/README.md}}", "says that the prompt in role a is x/README.md, and there is no such file."),
    ("eval.metrics_declared", "evaluation", "", "does not say by which metrics outputs are scored."),
    ("eval.metric_implementation_referenced", "evaluation", "evaluation: {metrics: [f1, em], implementation: {f1: a.py}}",
     "does not say what computes em."),
    ("eval.aggregation_declared", "evaluation", "", "does not say how scores of single examples are put together."),
    ("eval.repetitions_declared", "evaluation", "generation: {temperature: 1}", "does not say how often the evaluation is repeated."),
    ("eval.definitions_declared", "safety", "", "does not define what counts as harmful, refused or successful."),
    ("eval.definitions_declared", "evaluation", "evaluation: {metrics: [refusal_rate, f1]}", "does not define what counts for refusal_rate."),
    ("eval.query_budget_declared", "safety", "", "does not say how many queries an attack may make per example."),
    ("judge.model_declared", "llm_judge", "", "does not say which model judges."),
    ("judge.prompt_declared", "llm_judge", "prompts: {judge: {few_shot: 1}}", "does not say with which prompt the judge is asked."),
    ("judge.params_declared", "llm_judge", "", "does not say at which temperature the judge answers."),
    ("judge.repetitions_declared", "llm_judge", "", "does not say how often the judge is asked about an output."),
    ("train.method_declared", "finetuning", "", "does not say by which method the model is trained."),
    ("train.hyperparameters_declared", "training", "training: {batch_size: 8}", "does not say learning_rate and epochs of training."),
    ("train.hyperparameters_declared", "rl", "training: {learning_rate: 1, batch_size: 8}", "does not say total_timesteps of training."),
    ("train.optimizer_declared", "training", "", "does not say with which optimizer the model is trained."),
    ("train.precision_declared", "finetuning", "", "does not say in which precision the model is trained."),
    ("train.lora_config_complete", "finetuning", "training: {method: QLoRA}", "does not say rank, alpha and target_modules of LoRA."),
    ("privacy.threat_model_declared", "privacy", "", "does not say what an attacker knows and wants."),
    ("privacy.mechanism_declared", "privacy", "", "does not say what protects, or that nothing does."),
    ("privacy.metrics_declared", "privacy", "", "does not say by which metrics leaking is measured."),
    ("privacy.attack_config_declared", "privacy", "", "does not say which attack measures it."),
]  # fmt: skip

DOES_NOT_ARISE = [
    ("exec.seed_declared", "inference", "generation: {temperature: 0}"),
    ("exec.seed_declared", "core", ""),
    ("model.primary_declared", "training", ""),
    ("model.provider_known", "finetuning", ""),
    ("model.dtype_declared", "inference", "models: {primary: {id: gpt-4o, provider: openai}}"),
    ("model.quantization_declared", "inference", "models: {primary: {id: claude-3, provider: anthropic}}"),
    ("model.adapter_declared", "finetuning", "models: {primary: {id: a/b}}"),
    ("model.trust_remote_code_declared", "core", "models: {primary: {id: a/b}}"),
    ("dataset.declared", "rl", ""),
    ("dataset.declared", "inference", ""),
    ("dataset.split_declared", "core", "datasets: {train: {path: a.csv}}"),
    ("dataset.subset_declared", "core", "datasets: {train: {path: a.csv}}"),
    ("dataset.preprocessing_declared", "inference", "datasets: {train: {id: a/b}}"),
    ("dataset.sampling_seed_declared", "core", "datasets: {train: {id: a/b, sampling: {size: 5, strategy: first}}}"),
    ("gen.params_declared", "training", ""),
    ("gen.seed_declared", "inference", "generation: {temperature: 0}"),
    ("gen.seed_declared", "inference", "generation: {max_tokens: 5}"),
    ("gen.backend_config_declared", "inference", "inference: {backend: transformers}"),
    ("prompt.declared", "finetuning", ""),
    ("prompt.file_exists", "core", "prompts: {primary: {text: x}}"),
    ("prompt.few_shot_declared", "inference", ""),
    ("eval.metric_implementation_referenced", "evaluation", ""),
    ("eval.repetitions_declared", "evaluation", "generation: {temperature: 0.0}"),
    ("eval.definitions_declared", "evaluation", "evaluation: {metrics: [f1]}"),
    ("eval.query_budget_declared", "evaluation", ""),
    ("judge.model_declared", "evaluation", ""),
    ("train.method_declared", "training", ""),
    ("train.hyperparameters_declared", "tabular", ""),
    ("train.optimizer_declared", "tabular", ""),
    ("train.precision_declared", "tabular", ""),
    ("train.lora_config_complete", "finetuning", "training: {method: full}"),
    ("privacy.metrics_declared", "safety", ""),
]  # fmt: skip


@pytest.mark.parametrize(("identifier", "profile", "body"), PASSES)
def test_a_manifest_that_says_it(identifier: str, profile: str, body: str) -> None:
    assert state(identifier, of(profile, body)) is Status.PASS


@pytest.mark.parametrize(("identifier", "profile", "body", "said"), FAILS)
def test_a_manifest_that_does_not(identifier: str, profile: str, body: str, said: str) -> None:
    (found,) = broken(identifier, of(profile, body))
    assert found.message == f"ml-audit.yaml {said}"
    assert found.evidence[0].path == "ml-audit.yaml"


@pytest.mark.parametrize(("identifier", "profile", "body"), DOES_NOT_ARISE)
def test_what_does_not_arise(identifier: str, profile: str, body: str) -> None:
    assert state(identifier, of(profile, body)) is Status.NOT_APPLICABLE


@pytest.mark.parametrize("rule", LEVEL_1, ids=lambda rule: rule.id)
def test_without_a_manifest_nothing_is_asked(rule) -> None:
    (only,) = rule.check(audited(FILES))
    assert (only.status, only.message) == (Status.NOT_APPLICABLE, "There is no manifest.")


@pytest.mark.parametrize("rule", LEVEL_1, ids=lambda rule: rule.id)
def test_every_rule_is_tried(rule) -> None:
    tried = [{row[0] for row in rows} for rows in (PASSES, FAILS, DOES_NOT_ARISE)]
    by_hand = {
        "exec.profile_detection_mismatch",
        "manifest.required",
        "model.quantization_declared",
        "model.adapter_declared",
    }
    by_hand |= {"model.trust_remote_code_declared", "dataset.subset_declared", "prompt.few_shot_declared"}
    assert rule.id in by_hand or (rule.id in tried[0] and rule.id in tried[1])


@pytest.mark.parametrize("rule", LEVEL_1, ids=lambda rule: rule.id)
def test_examples_are_manifests_or_parts_of_one(rule) -> None:
    from audit.state.manifest_reading import read_manifest

    for example in (rule.passing, rule.failing):
        read_manifest(example.encode())


def test_severities_of_shipped_profiles_are_about_rules_that_there_are() -> None:
    known = {rule.id for rule in RULES}
    # Rules of level 2, about the lock.
    later = {"dataset.revision_pinned"}
    asked = {rule for profile in profiles().values() for rule in profile.severities}
    assert asked - known <= later


def test_what_other_rules_ask_is_required_by_a_profile_and_asked_by_a_rule() -> None:
    fields = {field for profile in profiles().values() for field in profile.required}
    assert set(ASKED_ELSEWHERE) <= fields
    assert set(ASKED_ELSEWHERE.values()) <= {rule.id for rule in LEVEL_1}


def test_a_missing_value_is_shown_where_the_code_has_it() -> None:
    (found,) = broken(
        "train.hyperparameters_declared", of("finetuning", "training:\n  batch_size: 8\n"), FILES
    )
    assert found.message == (
        "ml-audit.yaml does not say learning_rate and epochs of training; train.py:10 has learning_rate 2e-05."
    )
    assert found.evidence == (
        Place("ml-audit.yaml", 2),
        Place("train.py", 10, "training.learning_rate may be 2e-05"),
        Place("train.py", 10, "training.epochs may be 3"),
    )
    (found,) = broken("model.primary_declared", of("finetuning"), FILES)
    assert (
        found.message
        == "ml-audit.yaml does not say which model the experiment is about; train.py:8 has id acme/tiny."
    )


def test_lora_that_the_code_configures_is_asked_for_where_no_method_is_said() -> None:
    (found,) = broken("train.lora_config_complete", of("finetuning"), FILES)
    assert found.message.startswith(
        "ml-audit.yaml does not say rank, alpha and target_modules of LoRA; train.py:11 has rank 16"
    )
    assert (
        state("train.lora_config_complete", of("finetuning", "training: {method: full}"), FILES)
        is Status.NOT_APPLICABLE
    )


def test_what_a_profile_requires_beyond_other_rules() -> None:
    found = broken("manifest.required", of("rag", "\n\ncustom: {other: 1}"))
    assert [each.message for each in found] == [
        "The profile core requires project.name, which ml-audit.yaml does not say.",
        "The profile rag requires datasets.corpus.id, which ml-audit.yaml does not say.",
        "The profile rag requires models.retriever.id, which ml-audit.yaml does not say.",
        "The profile rag requires custom.retrieval.top_k, which ml-audit.yaml does not say.",
    ]
    assert [each.evidence[0].line for each in found] == [1, 1, 1, 4]


def test_what_a_profile_of_ones_own_requires_is_always_asked_for() -> None:
    own = Profile(
        "strict",
        "Some.",
        ("core",),
        ("training.epochs", "experiment.seed"),
        path=".ml-audit/profiles/strict.yaml",
    )
    given = with_manifest("project: {name: x}\nexperiment: {seed: 1}\n")
    given = msgspec.structs.replace(given, kinds={**given.kinds, "strict": own})
    found = [each.message for each in rule("manifest.required").check(given)]
    assert found == ["The profile strict requires training.epochs, which ml-audit.yaml does not say."]


def test_profiles_that_are_declared_and_seen() -> None:
    assert state("exec.profile_detection_mismatch", of("finetuning"), FILES) is Status.PASS
    (found,) = broken("exec.profile_detection_mismatch", "project: {name: x}", FILES)
    assert found.message == "ml-audit.yaml declares no profile; the code speaks for finetuning."
    messages = [each.message for each in broken("exec.profile_detection_mismatch", of("rl"), FILES)]
    assert messages == [
        "The code speaks for the profile finetuning, which ml-audit.yaml does not declare.",
        "ml-audit.yaml declares the profile rl, for which nothing in the code speaks.",
    ]
    assert state("exec.profile_detection_mismatch", "project: {name: x}") is Status.NOT_APPLICABLE


def test_an_evaluation_of_a_classifier_is_not_asked_how_it_generates() -> None:
    classifier = of("evaluation", "models: {primary: {id: acme/resnet, provider: huggingface}}")
    for identifier in (
        "gen.params_declared",
        "gen.backend_declared",
        "prompt.declared",
        "model.dtype_declared",
        "eval.repetitions_declared",
    ):
        assert state(identifier, classifier) is Status.NOT_APPLICABLE
    for more in (
        "generation: {seed: 1}",
        "prompts: {primary: {text: Hello}}",
        "stages: {score: {inference: {backend: vllm}}}",
    ):
        assert state("gen.params_declared", f"{classifier}\n{more}") is Status.FAIL
    for declared in ("evaluation, inference", "llm_judge", "safety"):
        assert state("gen.params_declared", of(declared)) is Status.FAIL
    code = "from openai import OpenAI\n\ndef ask(text):\n    return OpenAI().chat.completions.create(model='gpt-4o', messages=[text])\n"
    assert state("gen.params_declared", classifier, {"ask.py": code}) is Status.FAIL


def test_precision_is_asked_for_where_the_code_mixes_it() -> None:
    inside = "        with torch.autocast('cuda'):\n            loss = model(x, y)\n"
    code = (
        LOOP.replace("        loss = model(x, y)\n", inside)
        + "\nif __name__ == '__main__':\n    train(1, 2)\n"
    )
    (found,) = broken("train.precision_declared", of("training"), {"train.py": code})
    assert found.message.startswith("ml-audit.yaml does not say in which precision the model is trained")


def test_quantization_is_asked_for_where_the_code_quantizes() -> None:
    code = TUNE.replace('"acme/tiny")', '"acme/tiny", load_in_4bit=True)')
    (found,) = broken(
        "model.quantization_declared",
        of("finetuning", "models: {primary: {id: acme/tiny}}"),
        {"train.py": code},
    )
    assert re.match(
        r"The code can load quantized weights by .* \(train.py:8\); ml-audit.yaml does not say whether",
        found.message,
    )


def test_code_of_the_hub_is_asked_for_where_it_runs() -> None:
    code = TUNE.replace('"acme/tiny")', '"acme/tiny", trust_remote_code=True)')
    (found,) = broken(
        "model.trust_remote_code_declared",
        of("finetuning", "models: {primary: {id: acme/tiny}}"),
        {"train.py": code},
    )
    assert found.message == "train.py:8 runs code of the model's repository; ml-audit.yaml does not say so."


def test_a_subset_is_asked_for_where_the_code_passes_one() -> None:
    code = TUNE.replace('"acme/reviews", split', '"acme/reviews", "books", split')
    (found,) = broken(
        "dataset.subset_declared",
        of("finetuning", "datasets: {train: {id: acme/reviews, split: train}}"),
        {"train.py": code},
    )
    assert (
        found.message
        == "ml-audit.yaml does not say which subset of acme/reviews is used; train.py:9 has subset books."
    )


def test_the_provider_that_an_id_looks_like_is_proposed() -> None:
    manifest = "models: {a: {id: org/net}, b: {id: claude-3-5-sonnet-20241022}, c: {id: ./out}, d: {id: net}}"
    fixes = [each.fix.text for each in broken("model.provider_known", manifest) if each.fix]
    assert [re.findall(r"provider: (\w+)", text)[0] for text in fixes] == [
        "huggingface",
        "anthropic",
        "local",
        "huggingface",
    ]


def test_a_prompt_that_lies_elsewhere_is_proposed() -> None:
    (found,) = broken("prompt.file_exists", "prompts: {a: {path: ask.txt}}", {"prompts/ask.txt": "Say."})
    assert found.fix is not None and found.fix.text == "Perhaps prompts/ask.txt is meant."


def test_a_profile_weighs_a_rule_in_an_audit() -> None:
    assert {rule.id: rule.severity for rule in RULES}["dataset.declared"] is Severity.INFO
    assert profiles()["evaluation"].severities["dataset.declared"] == "critical"


def test_every_message_is_one_sentence() -> None:
    for profile in profiles():
        for finding in run(with_manifest(of(profile)), LEVEL_1):
            assert finding.message.endswith("."), finding
            assert "\n" not in finding.message
            assert "fault of the audit" not in finding.message


def test_a_manifest_declares_no_code() -> None:
    """Ids of the manifest are no ids that the code loads."""
    given = with_manifest(yaml.safe_dump({"models": {"primary": {"id": "acme/other"}}}), FILES)
    assert {row.id for row in given.signals.model_ids.value} == {"acme/tiny"}


def test_outcomes_carry_the_line_of_the_section() -> None:
    manifest = "# a comment\nproject: {name: x}\nexperiment: {profiles: [inference]}\ngeneration:\n  temperature: 0.5\n"
    (found,) = [each for each in told("gen.params_declared", manifest) if each.status is Status.FAIL]
    assert found.evidence[0] == Place("ml-audit.yaml", 4)


def test_a_model_that_is_trained_from_its_first_token_is_asked_for_and_not_insisted_on() -> None:
    lines = [
        "import torch",
        "from torch import nn",
        "def main():",
        "    model = nn.Linear(2, 2)",
        "    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)",
        "    for _ in range(3):",
        "        loss = model(torch.ones(1, 2)).sum()",
        "        loss.backward()",
        "        opt.step()",
        "if __name__ == '__main__':",
        "    main()",
    ]
    scratch = {"train.py": "\n".join(lines) + "\n"}
    (found,) = broken("model.primary_declared", of("finetuning"), scratch)
    assert found.severity is Severity.WARNING
    (loaded,) = broken("model.primary_declared", of("finetuning"), FILES)
    assert loaded.severity is None
