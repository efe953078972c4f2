"""Commands of shell text: what is run, with which flags, on which line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.commands.shell import MAX_CHARS, parse_commands, read_script
from audit.facts.model import Command, Flag


def only(text: str) -> Command:
    found = parse_commands(text)
    assert len(found) == 1, found
    return found[0]


def flags(command: Command) -> dict[str, str]:
    return {flag.name: flag.value for flag in command.flags}


@pytest.mark.parametrize(
    ("text", "program", "launchers", "target", "module"),
    [
        ("python train.py", "python", (), "train.py", False),
        ("python3.10 -u ./train.py", "python3.10", (), "train.py", False),
        ("/opt/conda/bin/python -W ignore -um pkg.train", "python", (), "pkg.train", True),
        ("./tools/run.sh a", "bash", (), "tools/run.sh", False),
        ("bash scripts/a.sh b", "bash", (), "scripts/a.sh", False),
        ("CUDA_VISIBLE_DEVICES=0 srun -n 4 --gres gpu:1 python -m pkg.x", "python", ("srun",), "pkg.x", True),
        ("torchrun --standalone --nproc_per_node=gpu t.py", "python", ("torchrun",), "t.py", False),
        ("torchrun --nproc-per-node 8 -m pkg.t --lr 1", "python", ("torchrun",), "pkg.t", True),
        (
            "python -m torch.distributed.launch --nproc_per_node 8 --use_env t.py",
            "python",
            ("python -m torch.distributed.launch",),
            "t.py",
            False,
        ),
        (
            "accelerate launch --config_file a.yaml --multi_gpu t.py",
            "python",
            ("accelerate launch",),
            "t.py",
            False,
        ),
        ("accelerate launch --num_processes 2 -m pkg.t", "python", ("accelerate launch",), "pkg.t", True),
        ("deepspeed --num_gpus 8 t.py --deepspeed d.json", "python", ("deepspeed",), "t.py", False),
        ("mpirun -np 4 -mca btl tcp -x A python t.py", "python", ("mpirun",), "t.py", False),
        ("horovodrun -np 4 -H a:4 python t.py", "python", ("horovodrun",), "t.py", False),
        ("torchrun --no_python --nproc_per_node 2 ./run.sh", "bash", ("torchrun",), "run.sh", False),
        ("nohup time python t.py &", "python", (), "t.py", False),
        ("sudo -E env A=1 timeout 10m python t.py", "python", (), "t.py", False),
        ("poetry run python t.py", "python", (), "t.py", False),
        ("uv run --with torch t.py", "python", (), "t.py", False),
        ("uv run -m pkg.t", "python", (), "pkg.t", True),
        ("conda run -n env --no-capture-output python t.py", "python", (), "t.py", False),
        ("docker run --gpus all -v a:b --rm image:1 python t.py", "python", (), "t.py", False),
        ("singularity exec --nv -B /a:/b i.sif python t.py", "python", (), "t.py", False),
        ('xvfb-run -s "-screen 0" python t.py', "python", (), "t.py", False),
        ("coverage run -m pytest tests", "python", (), "pytest", True),
        ("ray job submit --working-dir . -- python t.py", "python", (), "t.py", False),
        ("python $(which torchrun) --nproc_per_node 2 t.py", "python", ("torchrun",), "t.py", False),
        ("torchrun $DISTRIBUTED t.py $ARGS", "python", ("torchrun",), "t.py", False),
        ("python $OPTIONS -m pkg.t", "python", (), "pkg.t", True),
        ("$PYTHON t.py", "python", (), "t.py", False),
        ("${PYTHON:-python3} -m pkg.t", "python3", (), "pkg.t", True),
        ("$LAUNCHER t.py --lr 1", "python", (), "t.py", False),
        ("python $SCRIPT --lr 1", "python", (), "$SCRIPT", False),
        ("if ! python t.py; then :; fi", "python", (), "t.py", False),
        ("[ -f x ] && { python t.py &> log; }", "python", (), "t.py", False),
        ("(python t.py >& log)", "python", (), "t.py", False),
        (
            "python -m accelerate.commands.launch --num_processes 2 t.py",
            "python",
            ("python -m accelerate.commands.launch",),
            "t.py",
            False,
        ),
        ("knocker python t.py", "python", (), "t.py", False),
        ("echo python t.py", "echo", (), "", False),
        ("python -c 'import t'", "python", (), "", False),
        ("sbatch --nodes=2 job.slurm x", "sbatch", (), "job.slurm", False),
        ("$ python t.py", "python", (), "t.py", False),
        ("!python t.py", "python", (), "t.py", False),
    ],
)
def test_what_is_really_run(
    text: str, program: str, launchers: tuple[str, ...], target: str, module: bool
) -> None:
    command = next(c for c in parse_commands(text) if c.program != ":")
    assert (command.program, command.launchers, command.target, command.module) == (
        program,
        launchers,
        target,
        module,
    )


def test_flags_have_values_and_their_own_lines() -> None:
    command = only(
        "python t.py cfg.yaml \\\n  --lr 2e-5 \\\n  --betas 0.9 0.95 --name=a=b \\\n  --fp16 --shift -1 +x=2\n"
    )
    assert command.line == 1
    assert command.args == ("cfg.yaml", "+x=2")
    assert command.flags == (
        Flag("--lr", "2e-5", 2),
        Flag("--betas", "0.9 0.95", 3),
        Flag("--name", "a=b", 3),
        Flag("--fp16", "", 4),
        Flag("--shift", "-1", 4),
    )


def test_plain_variables_are_expanded_with_the_lines_of_their_values() -> None:
    text = 'M=gpt2\nARGS="--lr 1e-4 \\\n --bs 8"\nA=(--data x\n  --note "a b")\npython t.py $ARGS --model ${M}-xl "${A[@]}"\n'
    command = only(text)
    assert command.line == 6
    assert command.flags == (
        Flag("--lr", "1e-4", 2),
        Flag("--bs", "8", 3),
        Flag("--model", "gpt2-xl", 6),
        Flag("--data", "x", 4),
        Flag("--note", "a b", 5),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("X=$1\npython t.py --a $X", "$X"),
        ("X=${1:-7}\npython t.py --a $X", "7"),
        ("python t.py --a ${X:-d}", "d"),
        ("X=$(nproc)\npython t.py --a $X", "$X"),
        ("if a; then X=1; else X=2; fi\npython t.py --a $X", "$X"),
        ("X=0\nif a; then X=1; fi\npython t.py --a $X", "$X"),
        ("if a; then X=1; python t.py --a $X; fi", "1"),
        ("for X in 1 2; do python t.py --a $X; done", "$X"),
        ("X=9 true\npython t.py --a $X", "$X"),
        ("export X=3\npython t.py --a $X", "3"),
        ("for ((X=0;X<3;X++)); do python t.py --a $X; done", "$X"),
        ("X=1\nX=2\npython t.py --a $X", "2"),
        ("case $1 in a|b) X=1;; *) X=2;; esac\npython t.py --a $X", "$X"),
        ("python t.py --a '$X'", "$X"),
        ("python t.py --a <your path/x>", "<your path/x>"),
        ("python t.py --a ${{ matrix.x }}", "${{ matrix.x }}"),
    ],
)
def test_only_what_is_known_is_expanded(text: str, value: str) -> None:
    commands = [c for c in parse_commands(text) if c.target == "t.py"]
    assert [flags(command) for command in commands] == [{"--a": value}]


def test_structure_is_flattened() -> None:
    text = """\
run() {
  python a.py "$1" > log 2>&1
}
if [[ -z "$A" || -n "$B" ]]; then python b.py | tee x; fi
cat <<EOF > note.txt
python not_this.py
EOF
bash -c "python c.py --x 1 && python d.py"
# python not_this_either.py
case "$1" in
  --train) python e.py ;;
esac
N=$(python f.py --n 2)
sbatch <<'JOB'
#!/bin/bash
python g.py
JOB
sbatch --wrap="srun python h.py"
"""
    found = [(c.target, c.line) for c in parse_commands(text) if c.target]
    expected = [
        ("a.py", 2),
        ("b.py", 4),
        ("c.py", 8),
        ("d.py", 8),
        ("e.py", 11),
        ("f.py", 13),
        ("g.py", 16),
        ("h.py", 18),
    ]
    assert found == expected


def test_environment_and_text() -> None:
    command = only("A=1 B='x y' python t.py --p \"q r\"")
    assert command.env == (("A", "1"), ("B", "x y"))
    assert command.text == "'A=1' 'B=x y' python t.py --p 'q r'".replace("'A=1'", "A=1")
    assert len(only("echo " + "word " * 2_000).text) <= 2_000


def test_first_line_and_windows_lines() -> None:
    assert [(c.target, c.line) for c in parse_commands("python a.py\r\npython b.py \\\r\n  --x\r\n", 10)] == [
        ("a.py", 10),
        ("b.py", 11),
    ]


def test_installs_become_requirements() -> None:
    script = read_script(
        "pip install -q torch==2.0.1 'numpy>=1.2,<2' -r requirements.txt -e . ./libs/mine\n"
        "python -m pip install git+https://user:secret@host/a/b.git@0123456789012345678901234567890123456789#egg=foo\n"
        "conda install -y -c pytorch pytorch=1.7.1 cudatoolkit==11.0 numpy=1.21.0=py38_0\n"
        "uv pip install --index-url https://x flash-attn; poetry add 'rich@^13' click@8.1.0\n"
        "pip install torch==${{ matrix.v }} $EXTRA\n",
        source="readme",
    )
    found = [(r.name, r.specifier, r.exact, r.line) for r in script.requirements]
    assert found == [
        ("torch", "==2.0.1", True, 1),
        ("numpy", ">=1.2,<2", False, 1),
        ("mine", "", False, 1),
        ("foo", "", True, 2),
        ("pytorch", "=1.7.1", False, 3),
        ("cudatoolkit", "==11.0", True, 3),
        ("numpy", "=1.21.0=py38_0", True, 3),
        ("flash-attn", "", False, 4),
        ("rich", "", False, 4),
        ("click", "==8.1.0", True, 4),
    ]
    assert {r.source for r in script.requirements} == {"readme"}
    assert not any("secret" in r.url for r in script.requirements)


def test_files_of_requirements_are_no_packages() -> None:
    script = read_script(
        "pip install -qr requirements.txt comet-ml\npip install -Uqe ./libs/mine\npip install requirements.txt\n"
    )
    assert [each.name for each in script.requirements] == ["comet-ml", "mine"]


def test_bounds() -> None:
    script = read_script("echo\n" * 10_000)
    assert len(script.commands) == 5_000
    assert script.partial == "only the first 5,000 commands were read"
    assert "characters" in read_script("#" * (MAX_CHARS + 1)).partial


def test_expansion_cannot_explode() -> None:
    text = "A=xxxxxxxxxx\n" + "".join("A=$A$A$A$A\n" for _ in range(50)) + "echo $A\n" * 500
    for command in parse_commands(text):
        assert len(command.text) <= 2_000
        assert all(len(argument) <= 4_000 for argument in command.args)


_SHELL = st.text(alphabet=st.sampled_from("ab1=$(){}[]\"'`\\;&|<>#-+@* \n\t,."), max_size=300)
_WORDS = st.lists(
    st.sampled_from(
        "python -m -c torchrun t.py --a= $X ${X:-1} $( ) ; | && for in do done if then fi case esac <<E E \n X=1 \" ' \\".split(
            " "
        )
    ),
    max_size=40,
).map(" ".join)


@settings(deadline=None)
@given(st.one_of(_SHELL, _WORDS, st.text(max_size=100)))
def test_never_raises_and_stays_in_the_text(text: str) -> None:
    script = read_script(text)
    last = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    for command in script.commands:
        assert 1 <= command.line <= last
        assert all(1 <= flag.line <= last for flag in command.flags)
        assert len(command.text) <= 2_000
