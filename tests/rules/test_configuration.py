from textwrap import dedent

import pytest

from audit.documents.finding import Severity, Status
from audit.documents.place import Place
from audit.documents.signals import ConfigConflict, ConflictPlace
from tests.rules.factory import context, failures, outcomes, status

# Absolute paths


def test_a_path_of_one_machine() -> None:
    given = context({"train.py": "ROOT = '/home/alice/imagenet'\nAGAIN = '/home/alice/imagenet'\n"})
    (outcome,) = outcomes("configuration.absolute_paths", given)
    assert outcome.message == "train.py:1 names /home/alice/imagenet, a place that exists on one machine."
    assert (outcome.severity, outcome.evidence) == (None, (Place("train.py", 1), Place("train.py", 2)))


def test_paths_that_are_mended_together_are_one_finding() -> None:
    files = {
        "a.py": "ROOT = '/home/alice/imagenet'\nOUT = '/scratch/gpfs/alice/out'\n",
        **{
            f"conf/{n}.yaml": f"data: /scratch/gpfs/bob/d{n}\nout: /scratch/gpfs/bob/o{n}\n" for n in range(3)
        },
        "conf/other.yaml": "data: /private/home/carol/d\n",
    }
    found = outcomes("configuration.absolute_paths", context(files))
    assert [(each.message, each.severity) for each in found] == [
        (
            "a.py names /home/alice/imagenet and /scratch/gpfs/alice/out, places that exist on one machine.",
            None,
        ),
        (
            "conf/other.yaml:1 names /private/home/carol/d, a place that exists on one machine.",
            Severity.INFO,
        ),
        (
            "3 files name places below /scratch/gpfs/bob, which exists on one machine: "
            "conf/0.yaml, conf/1.yaml and conf/2.yaml.",
            Severity.INFO,
        ),
    ]
    assert found[0].evidence == (
        Place("a.py", 1, "/home/alice/imagenet"),
        Place("a.py", 2, "/scratch/gpfs/alice/out"),
    )
    assert len(found[2].evidence) == 6


@pytest.mark.parametrize(
    "command",
    [
        "docker run --gpus all -v $PWD/data:/data/dlrm -it image bash",
        "docker run --volume=/raid/x:/data/dlrm:ro image bash",
        "docker run --mount type=bind,source=/raid/x,target=/data/dlrm image python train.py",
    ],
)
def test_places_inside_a_container_that_the_repository_starts(command: str) -> None:
    files = {
        "README.md": f"# P\n\n```bash\n{command}\n```\n",
        "run.sh": "DATA=/data/dlrm/criteo\npython train.py --data $DATA\n",
    }
    assert failures("configuration.absolute_paths", context({**files, "main.py": "print(1)\n"})) == []


def test_a_path_that_a_container_has_in_common_with_the_machine_is_one_of_the_machine() -> None:
    files = {
        "README.md": "# P\n\n```bash\ndocker run -v /home/alice:/home/alice image bash\n```\n",
        "main.py": "X = '/home/alice/data'\n",
    }
    assert len(failures("configuration.absolute_paths", context(files))) == 1


def test_a_path_that_a_user_can_replace_weighs_less() -> None:
    files = {
        "train.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', default='/scratch/bob/data')\n",
        "conf/base.yaml": "root: /mnt/lab7/data\n",
        "run.sh": "DATA=/home/carol/data\npython train.py --data $DATA\n",
    }
    found = outcomes("configuration.absolute_paths", context(files))
    assert [(each.key, each.evidence[0].path, each.severity) for each in found] == [
        ("/home/carol", "run.sh", Severity.INFO),
        ("/mnt/lab7", "conf/base.yaml", Severity.INFO),
        ("/scratch/bob", "train.py", Severity.INFO),
    ]


@pytest.mark.parametrize(
    "value",
    ["/tmp/x", "/dev/null", "/usr/bin/env", "/path/to/data", "/home/user/data", "/data/your_dataset/x", "/workspace/run", "/api/v1/data", "data/x", "https://example.org/home/x"],
)  # fmt: skip
def test_paths_that_mean_no_one_machine(value: str) -> None:
    assert failures("configuration.absolute_paths", context({"train.py": f"X = {value!r}\n"})) == []


def test_tests_docs_routes_and_comparisons_do_not_count() -> None:
    files = {
        "tests/test_a.py": "X = '/home/alice/x'\n",
        "docs/conf.py": "X = '/home/alice/x'\n",
        "app.py": "@app.get('/data/items')\ndef f(p):\n    return p.startswith('/home/alice') or p == '/home/alice/x'\n",
    }
    assert failures("configuration.absolute_paths", context(files)) == []
    assert status("configuration.absolute_paths", context({"README.md": "x"})) is Status.NOT_APPLICABLE


# Environment variables


def test_a_variable_that_nothing_sets() -> None:
    given = context({"main.py": "import os\nroot = os.environ.get('LAB_DATA_DIR')\nprint(root)\n"})
    assert failures("configuration.environment_variables", given) == [
        "The code reads LAB_DATA_DIR from the environment without a default, and no document, script, env file or container names it."
    ]


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("x = os.environ.get('LAB_DATA_DIR', 'data')", {}),
        ("x = os.getenv('LAB_DATA_DIR')", {"README.md": "# P\n\n```\nLAB_DATA_DIR=x python main.py\n```\n"}),
        ("x = os.getenv('LAB_DATA_DIR')", {"docs/use.md": "| `LAB_DATA_DIR` | Where the data lies. |\n"}),
        ("x = os.getenv('LAB_DATA_DIR')", {"run.sh": "export LAB_DATA_DIR=/x\npython main.py\n"}),
        ("x = os.getenv('LAB_DATA_DIR')", {"Dockerfile": "FROM a:1\nENV LAB_DATA_DIR=/x\n"}),
        ("x = os.getenv('HF_TOKEN')", {}),
        ("x = os.getenv('CUDA_VISIBLE_DEVICES')", {}),
        ("x = os.getenv('SLURM_JOB_NODELIST_PATH')", {}),
        ("if os.environ.get('LAB_TRACE_DIR'):\n    print(1)", {}),
        ("os.environ['LAB_DATA_DIR'] = 'x'\nx = os.getenv('LAB_DATA_DIR')", {}),
    ],
)
def test_variables_that_are_set_known_or_not_needed(code: str, more: dict[str, str]) -> None:
    files = {"main.py": f"import os\n{code}\nprint(x)\n", **more}
    assert failures("configuration.environment_variables", context(files)) == []


def test_code_that_reads_no_variable() -> None:
    assert (
        status("configuration.environment_variables", context({"main.py": "print(1)\n"}))
        is Status.NOT_APPLICABLE
    )


# Flags without effect

SCRIPT = """\
    import argparse

    def main(args):
        print(args.lr, args.epochs, args.batch_size, args.output)

    if __name__ == "__main__":
        parser = argparse.ArgumentParser()
        parser.add_argument("--lr", type=float)
        parser.add_argument("--epochs", type=int)
        parser.add_argument("--batch-size", type=int)
        parser.add_argument("--output")
        parser.add_argument("--warmup", type=int)
        args = parser.parse_args()
        main(args)
    """


def test_a_flag_that_nothing_reads() -> None:
    (outcome,) = outcomes("configuration.unused_flags", context({"train.py": SCRIPT}))
    assert outcome.message == "train.py:12 defines --warmup, and nothing reads it: setting it has no effect."
    assert outcome.severity is Severity.INFO


def test_flags_of_one_script_that_nothing_reads_are_one_finding() -> None:
    more = "".join(f'    parser.add_argument("--{name}")\n' for name in ("decay", "k0", "k1", "k2", "k3"))
    text = dedent(SCRIPT).replace("    args = parser", more + "    args = parser")
    text += "\n\ndef use(args):\n    return args.k0 + args.k1 + args.k2 + args.k3\n"
    (outcome,) = outcomes("configuration.unused_flags", context({"train.py": text}))
    assert (
        outcome.message
        == "train.py defines --warmup and --decay, and nothing reads them: setting them has no effect."
    )
    assert [place.note for place in outcome.evidence] == ["--warmup", "--decay"]


def test_a_flag_that_a_documented_command_sets_weighs_more() -> None:
    files = {"train.py": SCRIPT, "README.md": "# P\n\n```\npython train.py --warmup 100\n```\n"}
    (outcome,) = outcomes("configuration.unused_flags", context(files))
    assert outcome.severity is None
    assert outcome.message.endswith("setting it has no effect, though documented commands do.")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("main(args)\n", "main(**vars(args))\n"),
        ("main(args)\n", "wandb.init(config=args)\n    main(args)\n"),
        ("args = parser.parse_args()", "args = parser.parse_args()\n    name = getattr(args, key)"),
        ("args = parser.parse_args()", "args, rest = parser.parse_known_args()"),
        ("import argparse", "import argparse\nimport fire"),
        ("args.output)", "args.output, args.warmup)"),
        ("args.output)", "args.output, args['warmup'])"),
        ('"--warmup"', '"--local_rank"'),
        ('"--warmup"', '"--rate", dest="lr"'),
        ('parser.add_argument("--output")', 'parser.add_argument(f"--{name}")'),
    ],
)
def test_where_values_are_read_in_ways_that_do_not_show_nothing_is_claimed(old: str, new: str) -> None:
    text = dedent(SCRIPT)
    assert old in text
    assert failures("configuration.unused_flags", context({"train.py": text.replace(old, new)})) == []


def test_a_flag_that_another_file_reads() -> None:
    files = {"train.py": SCRIPT, "schedule.py": "def build(opt):\n    return opt.warmup\n"}
    assert status("configuration.unused_flags", context(files)) is Status.PASS


def test_where_most_flags_seem_unread_they_are_read_otherwise() -> None:
    text = dedent(SCRIPT).replace(
        "print(args.lr, args.epochs, args.batch_size, args.output)", "print(args.lr)"
    )
    assert failures("configuration.unused_flags", context({"train.py": text})) == []


def test_scripts_without_flags() -> None:
    assert status("configuration.unused_flags", context({"main.py": "print(1)\n"})) is Status.NOT_APPLICABLE


# Conflicts


def test_conflicts() -> None:
    conflict = ConfigConflict(
        "learning_rate", (ConflictPlace("README.md", 3, "3e-4"), ConflictPlace("train.py", 9, "1e-4"))
    )
    assert failures("configuration.conflicts", context(config_conflicts=(conflict,))) == [
        "learning_rate has different values in places that describe one run: 3e-4 (README.md:3) and 1e-4 (train.py:9)."
    ]
    choice = ConfigConflict(
        "mode",
        (ConflictPlace("a.py", 9, "default='x'"), ConflictPlace("a.py", 9, "choices=['y']")),
        "the default is none of the choices",
    )
    assert failures("configuration.conflicts", context(config_conflicts=(choice,))) == [
        "a.py:9: mode: the default is none of the choices: default='x' and choices=['y']."
    ]
    assert status("configuration.conflicts", context()) is Status.PASS
