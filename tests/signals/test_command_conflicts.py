"""Commands that documents show and the code does not take."""

import pytest

from audit.signals.conflicts import config_conflicts
from audit.signals.training_path import TrainingPath
from tests.signals.building import build


def found(files: dict[str, str]) -> list[tuple[str, str]]:
    repository = build(files)
    conflicts = config_conflicts(repository, TrainingPath(repository)).value
    return [
        (f"{c.places[0].path}:{c.places[0].line} {c.places[0].value}", c.places[1].value) for c in conflicts
    ]


SCRIPT = """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["tiny", "large"], default="tiny")
    parser.add_argument("--size", type=int, choices=[1, 2])
    parser.add_argument("--kind", type=str.lower, choices=["a", "b"])
    print(parser.parse_args())

if __name__ == "__main__":
    main()
"""


def shown(*commands: str, **files: str) -> list[tuple[str, str]]:
    readme = "# P\n\n```bash\n" + "\n".join(commands) + "\n```\n"
    return found({"run.py": SCRIPT, "README.md": readme, **files})


def test_a_value_that_is_none_of_the_choices() -> None:
    assert shown("python run.py --model huge") == [("README.md:4 huge", "choices: large, tiny")]
    assert shown("python run.py --size 3") == [("README.md:4 3", "choices: 1, 2")]


@pytest.mark.parametrize(
    "command",
    [
        "python run.py --model large --size 1",
        "python run.py --model <name>",
        "python run.py --model $MODEL",
        "python run.py --model MODEL",
        "python run.py --kind A",
        "python elsewhere.py --model huge",
    ],
)
def test_what_a_parser_takes_or_a_reader_fills_in(command: str) -> None:
    assert shown(command) == []


def test_a_dash_that_is_no_hyphen() -> None:
    assert shown("python run.py –size 1") == [("README.md:4 –size", "--size")]


def test_a_script_that_is_called_otherwise() -> None:
    code = {"tools/evaluate_model.py": SCRIPT}
    assert found({**code, "tools/README.md": "```\npython evaluate_models.py\n```\n"}) == [
        ("tools/README.md:2 evaluate_models.py", "evaluate_model.py")
    ]
    assert (
        found(
            {
                **code,
                "tools/README.md": "```\nwget example.org/evaluate_models.py\npython evaluate_models.py\n```\n",
            }
        )
        == []
    )
    assert found({**code, "tools/README.md": "```\npython something.py\n```\n"}) == []


HYDRA = (
    'import hydra\n\n@hydra.main(config_path="conf", config_name="config")\ndef main(cfg):\n    print(cfg.model.block_name)\n\n'
    'if __name__ == "__main__":\n    main()\n'
)
CONFIG = {
    "train.py": HYDRA,
    "conf/config.yaml": "lr: 1\ndefaults:\n- model: tiny\n",
    "conf/model/tiny.yaml": "block_name: A\nwidth: 3\n",
    "conf/model/large.yaml": "block_name: B\nwidth: 9\n",
}


def overridden(arguments: str, **files: str) -> list[tuple[str, str]]:
    return found({**CONFIG, "README.md": f"```\npython train.py {arguments}\n```\n", **files})


def test_an_override_of_a_key_that_is_not_there() -> None:
    assert overridden("model.block=C") == [("README.md:2 model.block=C", "model.block_name")]
    assert overridden("model=larger") == [("README.md:2 model=larger", "large, tiny")]
    for fine in (
        "model.block_name=C",
        "model=large",
        "+model.block=C",
        "lr=2",
        "model=<name>",
        "hydra.run.dir=x",
        "model=my_own",
    ):
        assert overridden(fine) == [], fine


def test_a_search_path_brings_in_other_files() -> None:
    assert (
        overridden("model.block=C", **{"conf/config.yaml": "hydra:\n  searchpath:\n  - pkg://other\nlr: 1\n"})
        == []
    )
    assert overridden("model.block=C", **{"conf/config.yaml": "defaults:\n- elsewhere\n"}) == []


FLAGS = "--model_name_or_path a/b --lr {lr} --epochs 3 --batch 8 --warmup 0.1 --decay 0 --length 512 --steps 10 --clip 1"


def test_a_document_and_a_script_that_start_one_run() -> None:
    files = {"run.py": SCRIPT, "README.md": f"```\npython run.py {FLAGS.format(lr='1e-4')}\n```\n"}
    assert found({**files, "go.sh": f"python run.py {FLAGS.format(lr='2e-4')}\n"}) == [
        ("README.md:2 1e-4", "2e-4")
    ]
    assert found({**files, "go.sh": f"python run.py {FLAGS.format(lr='0.0001')}\n"}) == []
    # Two scripts are two experiments.
    assert (
        found(
            {
                **files,
                "go.sh": f"python run.py {FLAGS.format(lr='2e-4')}\n",
                "b.sh": f"python run.py {FLAGS.format(lr='3e-4')}\n",
            }
        )
        == []
    )


def test_a_help_text_that_names_another_choice() -> None:
    def option(text: str) -> list[tuple[str, str]]:
        return found(
            {
                "main.py": f"import argparse\np = argparse.ArgumentParser()\np.add_argument('--judge', {text})\np.parse_args()\n"
            }
        )

    wrong = (
        "default='rules', choices=['rules', 'model'], help='Who judges. Defaults to the model of the paper.'"
    )
    assert option(wrong) == [("main.py:3 default='rules'", "help: Defaults to the model of the paper")]
    assert option("default='rules', choices=['rules', 'model'], help='Defaults to rules, not model.'") == []
    assert (
        option("default='rules', choices=['rules', 'model'], help='rules by default; model is better'") == []
    )


FIELDS = """
from dataclasses import dataclass, field
import transformers

@dataclass
class ModelArguments:
    model_name_or_path: str = "a/b"

@dataclass
class TrainingArguments(transformers.TrainingArguments{base}):
    lora_r: int = field(default=8{field})

def main():
    parser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))
    print(parser.parse_args_into_dataclasses())

if __name__ == "__main__":
    main()
"""


def passed(arguments: str, base: str = "", field: str = "") -> list[tuple[str, str]]:
    code = FIELDS.format(base=base, field=field)
    return found(
        {
            "train.py": code,
            "go.sh": f"python train.py {arguments}\n",
            "again.sh": f"python train.py {arguments}\n",
        }
    )


def test_a_flag_that_no_dataclass_has() -> None:
    wrong = "--model_name_or_path x --lora_modules all"
    assert passed(wrong) == [("again.sh:1 --lora_modules all", "--lora_modules all")]
    for fine in (
        "--model_name x --lora-r 4 --learning_rate 1e-4",
        "--no_use_cpu --bf16 True --eval_strategy no --evaluation_strategy no",
    ):
        assert passed(fine) == [], fine


def test_where_fields_cannot_be_told() -> None:
    assert passed("--lora_modules all", base=", elsewhere.Mixin") == []
    assert passed("--lora_modules all", field=", metadata={'aliases': ['--lora_modules']}") == []
