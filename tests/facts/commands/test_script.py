from audit.facts.commands import makefile, script
from audit.facts.model import Flag, ScriptFacts


def facts(text: str) -> ScriptFacts:
    body = script.extract(text).body
    assert isinstance(body, ScriptFacts)
    return body


def make(text: str) -> ScriptFacts:
    body = makefile.extract(text).body
    assert isinstance(body, ScriptFacts)
    return body


def test_slurm_directives() -> None:
    found = facts(
        "#!/bin/bash\n#SBATCH --gres=gpu:8  # all\n#SBATCH -N 2\n##SBATCH --off=1\n#SBATCH --exclusive\nLR=1\nsrun python t.py\n"
    )
    assert found.format == "slurm"
    assert found.directives == (Flag("--gres", "gpu:8", 2), Flag("-N", "2", 3), Flag("--exclusive", "", 5))
    assert found.variables == (("LR", "1", 6),)
    assert found.commands[0].launchers == ("srun",)
    assert facts("#PBS -l nodes=1\ntrue\n").format == "pbs"
    assert facts("true\n").format == "shell"


def test_makefile_recipes_on_their_lines() -> None:
    found = make(
        "LR ?= 1e-3\n"
        "LR ?= 5\n"
        "ARGS = --lr $(LR)\n"
        "ARGS += --bs 8\n"
        "ifeq ($(X),1)\n"
        "endif\n"
        "train: data.csv  # python no.py\n"
        "\t@python train.py $(ARGS) \\\n"
        "\t  --out $@\n"
        "\t-for i in 1 2; do python x.py --n $$i; done\n"
        "\n"
        "env: ; pip install torch==2.0\n"
        "\techo $(shell python no.py)\n"
    )
    assert found.format == "makefile"
    assert [(c.target, c.line) for c in found.commands if c.target] == [("train.py", 8), ("x.py", 10)]
    assert found.commands[0].flags == (Flag("--lr", "1e-3", 8), Flag("--bs", "8", 8), Flag("--out", "$@", 9))
    assert [c.flags for c in found.commands if c.target == "x.py"] == [(Flag("--n", "$i", 10),)]
    assert [(r.name, r.exact, r.line) for r in found.requirements] == [("torch", True, 12)]
    assert ("ARGS", "--lr 1e-3 --bs 8", 4) in found.variables


def test_recipes_of_hostile_size_are_bounded() -> None:
    body = make("A=" + "$(B)" * 1_000 + "\nB=" + "x" * 1_900 + "\nt:\n" + "\techo $(A)\n" * 100)
    assert len(body.commands) == 100
