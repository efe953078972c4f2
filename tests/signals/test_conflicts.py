from audit.signals.conflicts import config_conflicts
from audit.signals.training_path import TrainingPath
from tests.signals.building import build


def found(files: dict[str, str]) -> list[tuple[str, list[str]]]:
    repository = build(files)
    return [
        (each.setting, [f"{place.path}:{place.line} {place.value}" for place in each.places])
        for each in config_conflicts(repository, TrainingPath(repository)).value
    ]


OPTION = "import argparse\np = argparse.ArgumentParser()\np.add_argument({})\nprint(p.parse_args())\n"


def option(text: str) -> dict[str, str]:
    return {"main.py": OPTION.format(text)}


def test_help_texts() -> None:
    assert found(option("'--lr', type=float, default=0.1, help='learning rate (default: 0.01)'")) == [
        ("lr", ["main.py:3 default=0.1", "main.py:3 help: default 0.01"])
    ]
    for fine in (
        "'--lr', type=float, default=0.1, help='learning rate (default: 0.1)'",
        "'--lr', type=float, default=1e-4, help='learning rate (default: 0.0001)'",
        "'--lr', type=float, default=0.1, help='rate (default: %(default)s)'",
        "'--dim', type=int, default=0, help='size (paper default: 128)'",
        "'--lr', type=float, default=args.lr, help='rate (default: 0.1)'",
    ):
        assert found(option(fine)) == [], fine


def test_other_ways_to_define_an_option() -> None:
    field = "from dataclasses import dataclass, field\n\n@dataclass\nclass A:\n    lr: float = field(default=0.1, metadata={'help': 'rate (default: 0.5)'})\n"
    assert [setting for setting, _ in found({"a.py": field})] == ["lr"]
    click = "import click\n\n@click.command()\n@click.option('--lr', default=0.1, help='rate, default 0.5.')\ndef main(lr):\n    pass\n"
    assert [setting for setting, _ in found({"a.py": click})] == ["lr"]
    absl = "from absl import flags\nflags.DEFINE_float('lr', 0.1, 'rate (default: 0.5)')\n"
    assert [setting for setting, _ in found({"a.py": absl})] == ["lr"]


def test_a_default_that_is_no_choice() -> None:
    assert found(option("'--mode', default='default', choices=['a', 'b']")) == [
        ("mode", ["main.py:3 default='default'", "main.py:3 choices=['a', 'b']"])
    ]
    for fine in (
        "'--mode', default='a', choices=['a', 'b']",
        "'--mode', default='', choices=['a', 'b']",
        "'--mode', default=None, choices=['a', 'b']",
        "'--mode', default='a', choices=MODES",
    ):
        assert found(option(fine)) == [], fine


def test_documented_defaults() -> None:
    code = option("'--n-streams', type=int, default=3")
    run = "```bash\npython main.py\n```\n"
    readme = {"README.md": f"# P\n\n{run}\nBy default, we use `--n-streams 5` and no more.\n"}
    assert found(code | readme) == [("n-streams", ["README.md:7 default 5", "main.py:3 default=3"])]
    listed = {"README.md": f"{run}\n- `n_streams` (default 5): how many.\n"}
    assert [setting for setting, _ in found(code | listed)] == ["n_streams"]
    usage = {"README.md": f"{run}\n```\n  --n-streams N  how many (default: 5)\n```\n"}
    assert [setting for setting, _ in found(code | usage)] == ["n-streams"]


def test_documents_that_agree_or_speak_of_something_else() -> None:
    code = option("'--n-streams', type=int, default=3")
    for text in (
        "```bash\npython main.py\n```\n\n- `--n-streams` (default 3): how many.\n",
        "```bash\npython main.py\n```\n\n- `--n-streams`: default 5 in the paper, default 3 here.\n",
        "```bash\npython main.py\n```\n\nWe recommend `--n-streams 20`; see the default settings.\n",
        '```bash\npython main.py\n```\n\nChoose "default", "shared" for `--n-streams`.\n',
    ):
        assert found(code | {"README.md": text}) == [], text
    two = code | {"other.py": OPTION.format("'--n-streams', type=int, default=5")}
    assert found(two | {"README.md": "- `--n-streams` (default 7): how many.\n"}) == []
    elsewhere = {"a/README.md": "- `--n-streams` (default 7): how many.\n"}
    assert found(code | elsewhere) == []


def test_a_script_that_builds_its_options_elsewhere_is_not_judged() -> None:
    files = option("'--warmup', type=int, default=100") | {
        "run.py": "from options import get\nprint(get())\n",
        "README.md": "```bash\npython run.py\npython main.py\n```\n\n- `--warmup` (default 5)\n",
    }
    assert found(files) == []


def test_hydra_groups() -> None:
    files = {
        "main.py": "import hydra\n",
        "config/config.yaml": "defaults:\n  - _self_\n  - model: large\n  - optional data: none_such\n  - override hydra/launcher: slurm\nlr: 1\n",
        "config/model/small.yaml": "size: 1\n",
        "config/data/x.yaml": "a: 1\n",
    }
    assert found(files) == [
        ("model", ["config/config.yaml:3 large", "config/model/small.yaml:None config/model holds small"])
    ]
    assert found(files | {"config/model/large.yaml": "size: 2\n"}) == []
    assert found(files | {"main.py": "import yaml\n"}) == []


def test_a_container_with_a_python_that_is_excluded() -> None:
    files = {
        "pyproject.toml": "[project]\nname = 'x'\nrequires-python = '>=3.10'\ndependencies = ['torch']\n",
        "Dockerfile": "FROM python:3.8-slim\n",
    }
    assert [setting for setting, _ in found(files)] == ["python"]
    assert found(files | {"Dockerfile": "FROM python:3.11-slim\n"}) == []


def test_a_help_text_and_a_document_that_say_the_same_are_one_conflict() -> None:
    code = option("'--n-streams', type=int, default=3, help='streams (default: 5)'")
    readme = {"README.md": "# P\n\n```\npython main.py\n```\n\n- `--n-streams`: streams, default 5\n"}
    ((setting, places),) = found({**code, **readme})
    assert setting == "n-streams"
    assert places == ["main.py:3 default=3", "main.py:3 help: default 5", "README.md:7 default 5"]


def test_a_document_does_not_speak_of_another_parts_options() -> None:
    said = "# P\n\n- `--n-streams`: streams, default 5\n"
    text = OPTION.format("'--n-streams', type=int, default=3")
    assert found({"a/README.md": said, "b/args.py": text}) == []
    assert len(found({"a/README.md": said, "a/args.py": text})) == 1
