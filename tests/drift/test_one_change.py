"""One thing is changed at a time: exactly that change is told, at its severity, and nothing else."""

import time
from pathlib import Path

import pytest

from audit.documents.drift import Drift
from audit.engine.diff import DiffOptions, diff
from audit.engine.options import Effects
from tests.drift.experiments import JUDGED, TRAINED, TUNED

Files = dict[str, str]


def written(folder: Path, files: Files) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return folder


def drift_between(tmp_path: Path, before: Files, after: Files, profiles: tuple[str, ...] = ()) -> Drift:
    a, b = written(tmp_path / "a", before), written(tmp_path / "b", after)
    options = DiffOptions(str(a), str(b), profiles, jobs=1, use_cache=False)
    return diff(options, Effects(time.time, {"PATH": "", "HOME": "/nowhere"}))


def told(drift: Drift) -> list[tuple[str, str, str]]:
    return [
        (change.setting.partition("@")[0], change.severity.value, change.kind.value)
        for change in drift.changes
        if change.severity.rank
    ]


def edited(files: Files, name: str, old: str, new: str) -> Files:
    assert files[name].count(old) == 1, f"{old!r} stands {files[name].count(old)} times in {name}"
    return files | {name: files[name].replace(old, new)}


CHANGES = [
    # The trained network -------------------------------------------------------------------------------------------
    (TRAINED, "train.py", "default=0.1, help", "default=0.05, help", "training.learning_rate", "HIGH"),
    (TRAINED, "train.py", '"--epochs", type=int, default=90', '"--epochs", type=int, default=100', "training.epochs", "HIGH"),
    (TRAINED, "train.py", "data/images", "data/images_v2", "datasets.train.path", "MEDIUM_HIGH"),
    (TRAINED, "train.py", "default=0.2)", "default=0.4)", "training.params.augmentation", "HIGH"),
    (TRAINED, "train.py", "default=0.5)", "default=0.6)", "custom.frobnicate", "MEDIUM"),
    (TRAINED, "train.py", "torch.manual_seed(42)", "torch.manual_seed(43)", "training.seed", "HIGH"),
    (TRAINED, "train.py", "momentum=0.9", "momentum=0.95", "training.params.optimizer_args", "HIGH"),
    (TRAINED, "train.py", "weight_decay=1e-4", "weight_decay=5e-4", "training.weight_decay", "HIGH"),
    (TRAINED, "train.py", "T_max=90", "T_max=100", "training.params.lr_decay", "HIGH"),
    (TRAINED, "train.py", "batch_size=128", "batch_size=256", "training.batch_size", "HIGH"),
    (TRAINED, "train.py", "shuffle=True", "shuffle=False", "datasets.train.sampling.strategy", "HIGH"),
    (TRAINED, "train.py", "parameters(), 1.0)", "parameters(), 5.0)", "training.gradient_clipping", "HIGH"),
    (TRAINED, "train.py", "deterministic = True", "deterministic = False", "execution.determinism", "MEDIUM"),
    (TRAINED, "train.py", "type=int, default=4)", "type=int, default=8)", "execution.params.loading", "LOW"),
    (TRAINED, "configs/vit.py", "dropout = 0.0", "dropout = 0.1", "training.params.regularisation", "HIGH"),
    (TRAINED, "configs/vit.py", '"adam"', '"sgd"', "training.optimizer", "HIGH"),
    (TRAINED, "serve.py", "Option(0.8", "Option(1.0", "generation.temperature", "HIGH"),
    (TRAINED, "serve.py", "top_k=40", "top_k=50", "generation.top_k", "HIGH"),
    (TRAINED, "metrics.py", "argmax(dim=1)", "argmax(dim=-1)", "evaluation.code.accuracy", "HIGH"),
    (TRAINED, "configs/base.yaml", "resnet18", "resnet50", "models.primary.id", "HIGH"),
    (TRAINED, "configs/base.yaml", "dropout: 0.1", "dropout: 0.2", "training.params.regularisation", "HIGH"),
    (TRAINED, "configs/base.yaml", "name: sgd", "name: adamw", "training.optimizer", "HIGH"),
    (TRAINED, "configs/base.yaml", "smoothing: 0.1", "smoothing: 0.0", "training.params.loss", "HIGH"),
    (TRAINED, "configs/base.yaml", "image_size: 224", "image_size: 256", "datasets.train.preprocessing", "MEDIUM_HIGH"),
    (TRAINED, "configs/base.yaml", "[accuracy, top5]", "[accuracy]", "evaluation.metrics", "HIGH"),
    (TRAINED, "run.sh", "--lr 0.4", "--lr 0.8", "training.learning_rate", "HIGH"),
    (TRAINED, "run.sh", "_node 8", "_node 4", "execution.world_size", "MEDIUM"),
    (TRAINED, "run.sh", ":4096:8", ":16:8", "execution.determinism", "MEDIUM"),
    (TRAINED, "requirements.txt", "torch==2.4.1", "torch==2.5.0", "environment.packages.torch.declared", "MEDIUM_HIGH"),
    (TRAINED, "requirements.txt", "torch==2.4.1", "torch==2.4.2", "environment.packages.torch.declared", "MEDIUM"),
    (TRAINED, "requirements.txt", "timm==1.0.9", "timm==1.1.0", "environment.packages.timm.declared", "MEDIUM"),
    (TRAINED, "requirements.txt", "timm==1.0.9", "timm==1.0.10", "environment.packages.timm.declared", "LOW"),
    (TRAINED, "requirements.txt", "timm==1.0.9", "timm", "environment.packages.timm.declared", "MEDIUM"),
    (TRAINED, "Dockerfile", "cuda12.1", "cuda12.4", "execution.container", "MEDIUM"),
    (TRAINED, "data/labels.csv", "b,1", "b,2", "datasets.files.digest", "HIGH"),
    # The tuned language model --------------------------------------------------------------------------------------
    (TUNED, "sft.py", 'default="acme/base-7b"', 'default="acme/base-13b"', "models.primary.id", "HIGH"),
    (TUNED, "sft.py", "default=2e-4", "default=1e-4", "training.learning_rate", "HIGH"),
    (TUNED, "sft.py", "int = 2048", "int = 4096", "training.max_length", "HIGH"),
    (TUNED, "sft.py", "set_seed(7)", "set_seed(8)", "training.seed", "HIGH"),
    (TUNED, "sft.py", "acme/instructions", "acme/instructions-v2", "datasets.train.id", "HIGH"),
    (TUNED, "sft.py", '"en", split', '"de", split', "datasets.train.subset", "HIGH"),
    (TUNED, "sft.py", 'split="train"', 'split="train[:50%]"', "datasets.train.split", "HIGH"),
    (TUNED, "sft.py", "1" * 40, "2" * 40, "datasets.train.revision", "HIGH"),
    (TUNED, "sft.py", 'revision="v1"', 'revision="v2"', "models.primary.revision", "HIGH"),
    (TUNED, "sft.py", '"bfloat16"', '"float16"', "models.primary.dtype", "MEDIUM"),
    (TUNED, "sft.py", '"nf4"', '"fp4"', "models.primary.quantization", "HIGH"),
    (TUNED, "sft.py", 'pretrained("acme/base-7b"', 'pretrained("acme/base-7b-fixed"', "models.primary.tokenizer", "HIGH"),
    (TUNED, "sft.py", "r=16", "r=8", "training.lora.rank", "HIGH"),
    (TUNED, "sft.py", "lora_alpha=32", "lora_alpha=16", "training.lora.alpha", "HIGH"),
    (TUNED, "sft.py", '["q_proj", "v_proj"]', '["q_proj", "k_proj"]', "training.lora.target_modules", "HIGH"),
    (TUNED, "sft.py", "accumulation_steps=8", "accumulation_steps=16", "training.gradient_accumulation", "HIGH"),
    (TUNED, "sft.py", '"cosine"', '"linear"', "training.scheduler", "HIGH"),
    (TUNED, "sft.py", "bf16=True", "bf16=False", "training.precision", "HIGH"),
    (TUNED, "sft.py", "warmup_ratio=0.03", "warmup_ratio=0.1", "training.warmup_ratio", "HIGH"),
    (TUNED, "recipes/sft.yaml", "1" * 40, "3" * 40, "models.primary.revision", "HIGH"),
    (TUNED, "recipes/sft.yaml", "acme/chat: 1.0", "acme/chat: 0.5", "datasets.train.id", "HIGH"),
    (TUNED, "deepspeed.json", '"stage": 2', '"stage": 3', "execution.params.distributed", "MEDIUM"),
    (TUNED, "prompts/system.txt", "one sentence", "two sentences", "prompts.system.text", "HIGH"),
    (TUNED, "chat_template.jinja", "<|{{ m.role }}|>", "[{{ m.role }}]", "models.primary.chat_template", "HIGH"),
    (TUNED, "uv.lock", "4.44.2", "4.45.0", "environment.packages.transformers.locked", "MEDIUM_HIGH"),
    (TUNED, "uv.lock", "13.7.1", "13.8.0", "environment.packages.rich.locked", "MEDIUM"),
    (TUNED, ".python-version", "3.11.9", "3.12.0", "execution.python", "MEDIUM"),
    (TUNED, "data.dvc", "0123456789abcdef0123456789abcdef", "f" * 32, "datasets.files.digest", "HIGH"),
    # The judged language model -------------------------------------------------------------------------------------
    (JUDGED, "evaluate.py", "a strict judge", "a kind judge", "prompts.judge.text", "HIGH"),
    (JUDGED, "evaluate.py", 'JUDGE_MODEL = "gpt-4o-2024-08-06"', 'JUDGE_MODEL = "gpt-4o-2024-11-20"', "models.judge.id", "HIGH"),
    (JUDGED, "evaluate.py", "temperature=0.7", "temperature=1.0", "generation.temperature", "HIGH"),
    (JUDGED, "evaluate.py", "top_p=0.95", "top_p=0.9", "generation.top_p", "HIGH"),
    (JUDGED, "evaluate.py", "max_tokens=512", "max_tokens=1024", "generation.max_tokens", "HIGH"),
    (JUDGED, "evaluate.py", "seed=3", "seed=4", "generation.seed", "HIGH"),
    (JUDGED, "evaluate.py", "n=1", "n=4", "generation.n", "HIGH"),
    (JUDGED, "evaluate.py", "size=2", "size=4", "inference.tensor_parallel", "MEDIUM"),
    (JUDGED, "evaluate.py", "utilization=0.9", "utilization=0.8", "inference.gpu_memory_utilization", "LOW"),
    (JUDGED, "evaluate.py", "a > b", "a >= b", "evaluation.code.win_rate", "HIGH"),
    (JUDGED, "evaluate.py", "one letter", "one word", "prompts.system.text", "HIGH"),
    (JUDGED, "evaluate.py", "step by step", "quickly", "prompts.system.text", "HIGH"),
    (JUDGED, "evaluate.py", "claude-x-20250101", "claude-x-20250601", "models.primary.id", "HIGH"),
    (JUDGED, "tasks/quiz.yaml", "num_fewshot: 5", "num_fewshot: 0", "prompts.user.few_shot", "HIGH"),
    (JUDGED, "tasks/quiz.yaml", "aggregation: mean", "aggregation: median", "evaluation.metrics", "HIGH"),
    (JUDGED, "tasks/quiz.yaml", "dataset_name: main", "dataset_name: hard", "datasets.train.id", "HIGH"),
    (JUDGED, "eval.sh", "--limit 200", "--limit 50", "datasets.train.sampling.size", "HIGH"),
    (JUDGED, "pyproject.toml", "vllm==0.6.1", "vllm==0.7.0", "environment.packages.vllm.declared", "MEDIUM_HIGH"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "name", "old", "new", "setting", "severity"), CHANGES)
def test_one_change_is_one_change(tmp_path, files, name, old, new, setting, severity) -> None:
    drift = drift_between(tmp_path, files, edited(files, name, old, new))
    assert told(drift) == [(setting, severity, "changed")]
    [change] = [change for change in drift.changes if change.severity.rank]
    assert change.before is not None
    assert change.after is not None
    assert change.after.place is not None
    assert change.after.place.path == name
    assert drift.comparable is (severity != "HIGH")


ONE_SIDED = [
    (TRAINED, "train.py", "    torch.manual_seed(42)\n", "", "training.seed", "HIGH", "removed"),
    (TRAINED, "train.py", "torch.backends.cudnn.deterministic = True\n", "", "execution.determinism", "MEDIUM", "removed"),
    (TRAINED, "configs/base.yaml", "  lr: 0.1\n", "  lr: 0.1\n  nesterov: true\n", "training.params.optimizer_args", "HIGH", "added"),
    (TRAINED, "configs/base.yaml", "  lr: 0.1\n", "  lr: 0.1\n  nesterov: false\n", "training.params.optimizer_args", "LOW", "added"),
    (TRAINED, "requirements.txt", "timm==1.0.9\n", "timm==1.0.9\neinops==0.8.0\n", "environment.packages.einops.declared", "LOW", "added"),
    (TRAINED, "run.sh", " --amp", "", "training.precision", "HIGH", "removed"),
    (TUNED, "sft.py", "lora_dropout=0.05, ", "", "training.lora.dropout", "HIGH", "removed"),
    (TUNED, "recipes/sft.yaml", "seed: 42\n", "", "training.seed", "HIGH", "removed"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "name", "old", "new", "setting", "severity", "kind"), ONE_SIDED)
def test_what_comes_or_goes(tmp_path, files, name, old, new, setting, severity, kind) -> None:
    assert told(drift_between(tmp_path, files, edited(files, name, old, new))) == [(setting, severity, kind)]


def moved(files: Files, old: str, new: str) -> Files:
    return {new if name == old else name: text for name, text in files.items()}


OPTION = '    parser.add_argument("--batch-size", type=int, default={})\n    parser.add_argument("--amp"'
LAYOUT = 'add_argument(\n        "--epochs",\n        type=int,\n        default=90,\n    )'

SAID = '"""Share of right answers."""'
RENAMED = TRAINED | {
    "metrics.py": TRAINED["metrics.py"].replace("best", "guess").replace("right", "hits"),
    "train.py": TRAINED["train.py"].replace("args", "opt"),
}
WINDOWS = TUNED | {
    name: text.replace("\n", "\r\n") for name, text in TUNED.items() if name.endswith((".txt", ".yaml"))
}
NO_CHANGE = {
    "a literal in another spelling": (TRAINED, edited(TRAINED, "train.py", "weight_decay=1e-4", "weight_decay=0.0001")),
    "a quoted number": (TUNED, edited(TUNED, "recipes/sft.yaml", "2.0e-05", '"0.00002"')),
    "lines that move": (TRAINED, TRAINED | {"train.py": "# a comment\n\n\n" + TRAINED["train.py"]}),
    "another layout": (TRAINED, edited(TRAINED, "train.py", 'add_argument("--epochs", type=int, default=90)', LAYOUT)),
    "keywords in another order": (TRAINED, edited(TRAINED, "train.py", "momentum=0.9, weight_decay=1e-4", "weight_decay=1e-4, momentum=0.9")),
    "keys in another order": (TRAINED, edited(TRAINED, "configs/base.yaml", "  name: sgd\n  lr: 0.1\n", "  lr: 0.1\n  name: sgd\n")),
    "other line ends": (TUNED, WINDOWS),
    "a renamed function": (TRAINED, TRAINED | {"train.py": TRAINED["train.py"].replace("main()", "run_training()")}),
    "renamed variables": (TRAINED, RENAMED),
    "a moved file": (TRAINED, moved(TRAINED, "train.py", "src/train.py")),
    "a moved configuration": (TRAINED, moved(TRAINED, "configs/base.yaml", "conf/default.yaml")),
    "a moved prompt": (TUNED, moved(TUNED, "prompts/system.txt", "prompts/v1/system.txt")),
    "a literal that becomes an option": (
        TRAINED,
        edited(edited(TRAINED, "train.py", "batch_size=128", "batch_size=args.batch_size"), "train.py", '    parser.add_argument("--amp"', OPTION.format(128)),
    ),
    "a renamed key": (TRAINED, edited(TRAINED, "configs/base.yaml", "  lr: 0.1", "  learning_rate: 0.1")),
    "a renamed option": (TRAINED, edited(TRAINED, "train.py", '"--frobnicate"', '"--frobnication"')),
    "tests": (TRAINED, edited(TRAINED, "tests/test_metrics.py", "lr=0.1", "lr=0.2")),
    "how tests are run": (
        TRAINED | {"check.sh": "python -m pytest --durations 5\npython -m ruff check --line-length 100\n"},
        TRAINED | {"check.sh": "python -m pytest --durations 9\npython -m ruff check --line-length 120\n"},
    ),
    "documents": (TRAINED, edited(TRAINED, "README.md", "90 epochs", "100 epochs")),
    "tools of development": (TRAINED, edited(TRAINED, "requirements-dev.txt", "8.3.2", "8.4.0")),
    "where results go": (TRAINED, edited(TRAINED, "train.py", 'default="out"', 'default="results"')),
    "how much is logged": (TRAINED, edited(TRAINED, "configs/base.yaml", "level: info", "level: debug")),
    "a document string and a print in a metric": (TRAINED, edited(TRAINED, "metrics.py", SAID, '"""How many are right."""\n    print("measuring")')),
    "the version of the project itself": (JUDGED, edited(JUDGED, "pyproject.toml", 'version = "1.0"', 'version = "1.1"')),
    "specifiers in another order": (TRAINED | {"requirements.txt": "numpy>=1.26,<3\n"}, TRAINED | {"requirements.txt": "numpy<3, >=1.26\n"}),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_CHANGE)
def test_what_changes_nothing_is_not_told(tmp_path, name) -> None:
    before, after = NO_CHANGE[name]
    assert before != after
    assert told(drift_between(tmp_path, before, after)) == []


def test_a_new_configuration_is_one_line(tmp_path) -> None:
    after = TRAINED | {"configs/large.yaml": TRAINED["configs/base.yaml"].replace("resnet18", "resnet50")}
    drift = drift_between(tmp_path, TRAINED, after)
    assert told(drift) == [("experiment.files", "LOW", "added")]
    assert drift.changes[0].after is not None
    assert drift.changes[0].after.value == "8 settings"


def test_moved_and_changed_is_one_change(tmp_path) -> None:
    after = moved(
        edited(TRAINED, "configs/base.yaml", "dropout: 0.1", "dropout: 0.3"),
        "configs/base.yaml",
        "conf/new.yaml",
    )
    assert told(drift_between(tmp_path, TRAINED, after)) == [
        ("training.params.regularisation", "HIGH", "changed")
    ]


def test_an_option_that_takes_the_place_of_another_value(tmp_path) -> None:
    after = edited(
        edited(TRAINED, "train.py", "batch_size=128", "batch_size=args.batch_size"),
        "train.py", '    parser.add_argument("--amp"', '    parser.add_argument("--batch-size", type=int, default=64)\n    parser.add_argument("--amp"',
    )  # fmt: skip
    drift = drift_between(tmp_path, TRAINED, after)
    assert told(drift) == [("training.batch_size", "HIGH", "changed")]
    assert drift.changes[0].relative == -0.5


def test_another_class_is_one_change(tmp_path) -> None:
    after = TRAINED | {"train.py": TRAINED["train.py"].replace("SGD", "AdamW").replace("momentum=0.9, ", "")}
    assert told(drift_between(tmp_path, TRAINED, after)) == [
        ("training.optimizer", "HIGH", "changed"),
        ("training.params.optimizer_args", "HIGH", "removed"),
    ]


def test_text_is_shown_as_a_difference(tmp_path) -> None:
    drift = drift_between(
        tmp_path, TUNED, edited(TUNED, "prompts/system.txt", "one sentence", "two sentences")
    )
    assert drift.changes[0].diff.splitlines() == [
        "--- before",
        "+++ after",
        "@@ -1,2 +1,2 @@",
        " You are a careful assistant.",
        "-Answer in one sentence.",
        "+Answer in two sentences.",
    ]


def test_a_profile_raises_a_severity(tmp_path) -> None:
    after = edited(TRAINED, "run.sh", "_node 8", "_node 4")
    assert told(drift_between(tmp_path, TRAINED, after, ("rl",))) == [
        ("execution.world_size", "HIGH", "changed")
    ]


def test_two_credentials_that_differ_are_a_change_and_are_not_shown(tmp_path) -> None:
    secret = ["hf_" + letter * 20 + "Zq7Xw9Kd2Lm4Np" for letter in "ab"]
    files = [
        TRAINED | {"configs/base.yaml": TRAINED["configs/base.yaml"] + f"endpoint: https://x/{word}\n"}
        for word in secret
    ]
    drift = drift_between(tmp_path, *files)
    assert told(drift) == [("custom.endpoint", "MEDIUM", "changed")]
    assert not any(word in repr(drift) for word in secret)


def test_a_file_that_cannot_be_read_is_no_change(tmp_path) -> None:
    drift = drift_between(tmp_path, TRAINED, TRAINED | {"train.py": TRAINED["train.py"] + "def broken(:\n"})
    assert told(drift) == []
    assert drift.notes == ("train.py was not compared: it could not be read whole.",)


def test_the_same_twice_is_the_same() -> None:
    assert len(CHANGES) + len(ONE_SIDED) >= 30
