import pytest

from audit.documents.finding import Edit, Severity, Status
from audit.documents.place import Place
from audit.documents.signals import Signal
from tests.rules.factory import context, failures, outcomes, status


def test_secrets() -> None:
    found = Signal((".env",), (Place(".env", 2, "GitHub token"),))
    (outcome,) = outcomes("security.secrets_tracked", context(secrets_tracked=found))
    assert outcome.message == ".env is tracked and holds what looks like a secret (GitHub token)."
    assert outcome.evidence == (Place(".env", 2, "GitHub token"),)
    assert status("security.secrets_tracked", context()) is Status.PASS


def test_an_env_file_that_git_would_take() -> None:
    files = {"main.py": "from dotenv import load_dotenv\nload_dotenv()\n", ".gitignore": "*.pyc\n"}
    (outcome,) = outcomes("security.env_file_ignored", context(files))
    assert outcome.status is Status.FAIL
    assert outcome.fix is not None and outcome.fix.safe
    assert outcome.fix.edits == (Edit(".gitignore", 1, 0, ".env\n"),)


@pytest.mark.parametrize("line", [".env", "/.env", ".env*", "*.env", "**/.env", ".env/"])
def test_an_env_file_that_git_ignores(line: str) -> None:
    files = {"main.py": "import dotenv\n", ".gitignore": f"{line}\n"}
    assert status("security.env_file_ignored", context(files)) is Status.PASS


def test_env_files_that_are_tracked_or_not_there() -> None:
    assert status("security.env_file_ignored", context()) is Status.NOT_APPLICABLE
    tracked = {"main.py": "import dotenv\n", ".env": "DEBUG=1\n"}
    assert status("security.env_file_ignored", context(tracked)) is Status.NOT_APPLICABLE


DOWNLOADED = """\
    import torch
    from huggingface_hub import hf_hub_download

    def load(repo):
        path = hf_hub_download(repo, "weights.pt")
        return torch.load(path)
    """


def test_torch_load_of_a_downloaded_file() -> None:
    (outcome,) = outcomes("security.torch_load", context({"m.py": DOWNLOADED}))
    assert (
        outcome.message
        == "torch.load unpickles a downloaded file in m.py:6: whoever can change the file runs code here."
    )
    assert outcome.severity is None


def test_torch_load_of_a_file_from_elsewhere_weighs_less() -> None:
    code = "import torch\n\ndef f(path):\n    torch.load(path)\n    torch.load(path, weights_only=False)\n    torch.load(path, weights_only=True)\n"
    found = outcomes("security.torch_load", context({"m.py": code}))
    assert [(each.key, each.severity) for each in found] == [
        ("weights_only", Severity.INFO),
        ("default", Severity.INFO),
    ]


@pytest.mark.parametrize("requirement", ["torch>=2.6", "torch==2.7.1", "torch~=2.6.0", "torch>=2.10,<3"])
def test_recent_releases_are_safe_by_default(requirement: str) -> None:
    files = {"m.py": DOWNLOADED, "requirements.txt": f"{requirement}\n"}
    assert status("security.torch_load", context(files)) is Status.PASS


@pytest.mark.parametrize("requirement", ["torch", "torch>=2.0", "torch<3"])
def test_releases_that_may_be_old_are_not(requirement: str) -> None:
    files = {"m.py": DOWNLOADED, "requirements.txt": f"{requirement}\n"}
    assert status("security.torch_load", context(files)) is Status.FAIL


def test_torch_load_elsewhere_and_not_at_all() -> None:
    assert status("security.torch_load", context({"tests/test_m.py": DOWNLOADED})) is Status.NOT_APPLICABLE
    assert (
        status("security.torch_load", context({"m.py": "import torch\ntorch.load('x', weights_only=True)\n"}))
        is Status.PASS
    )


def test_pickles() -> None:
    bad = "import pickle\nfrom urllib.request import urlopen\n\ndef f(url):\n    return pickle.load(urlopen(url))\n"
    assert failures("security.pickle", context({"m.py": bad})) == [
        "m.py:5 unpickles a downloaded file (pickle.load): whoever can change the file runs code here."
    ]
    own = "import pickle\n\ndef f(path):\n    with open(path, 'rb') as file:\n        return pickle.load(file)\n"
    assert status("security.pickle", context({"m.py": own})) is Status.PASS
    assert status("security.pickle", context({"m.py": "import json\n"})) is Status.NOT_APPLICABLE


def test_arrays_of_objects_are_pickles() -> None:
    code = "import numpy as np\nfrom tools import download_file\n\ndef f(u):\n    p = download_file(u)\n    return np.load(p, allow_pickle={})\n"
    assert len(failures("security.pickle", context({"m.py": code.format("True")}))) == 1
    assert failures("security.pickle", context({"m.py": code.format("False")})) == []


@pytest.mark.parametrize(
    ("call", "bad"),
    [
        ("yaml.load(f)", True),
        ("yaml.load(f, Loader=yaml.Loader)", True),
        ("yaml.load(f, yaml.UnsafeLoader)", True),
        ("yaml.unsafe_load(f)", True),
        ("yaml.load(f, Loader=yaml.SafeLoader)", False),
        ("yaml.load(f, yaml.CSafeLoader)", False),
        ("yaml.load(f, Loader=yaml.FullLoader)", False),
        ("yaml.load(f, **options)", False),
        ("yaml.safe_load(f)", False),
        ("YAML().load(f)", False),
    ],
)
def test_yaml(call: str, bad: bool) -> None:
    code = f"import yaml\nfrom ruamel.yaml import YAML\n\ndef read(f, options):\n    return {call}\n"
    assert bool(failures("security.yaml_load", context({"m.py": code}))) is bad


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        ("eval(response)", None),
        ("eval(args.shape)", Severity.INFO),
        ("exec(open(path).read())", Severity.INFO),
    ],
)
def test_text_that_is_run_as_code(call: str, severity: Severity | None) -> None:
    code = f"def f(response, args, path):\n    return {call}\n"
    (outcome,) = outcomes("security.eval", context({"m.py": code}))
    assert (outcome.status, outcome.severity) == (Status.FAIL, severity)


def test_calls_of_one_kind_are_one_finding() -> None:
    code = "import yaml\n\ndef f(args, path, response):\n"
    code += "".join(f"    eval(args.x{i})\n    yaml.load(path)\n" for i in range(50))
    code += "    eval(response)\n"
    given = context({"m.py": code})
    outside, setting = outcomes("security.eval", given)
    assert outside.message == ("m.py:104 runs text that a model or a server wrote as code: eval(response).")
    assert setting.message == (
        "50 places (m.py) run a setting as code: eval(args.x0), eval(args.x1) and 48 more."
    )
    assert setting.severity is Severity.INFO
    (outcome,) = outcomes("security.yaml_load", given)
    assert outcome.message.startswith("yaml.load is called without a Loader in 50 places (m.py): ")


@pytest.mark.parametrize(
    "call",
    [
        "model.eval()",
        "eval('1 + 1')",
        "session.eval(args.x)",
        "df.eval(args.x)",
        "eval(name)",
        "eval(df['options'])",
    ],
)
def test_calls_that_run_nothing_from_outside(call: str) -> None:
    assert (
        failures(
            "security.eval", context({"m.py": f"def f(model, session, df, args, name):\n    return {call}\n"})
        )
        == []
    )


@pytest.mark.parametrize(
    ("call", "bad"),
    [
        ("os.system(f'cp {args.src} {args.dst}')", True),
        ("subprocess.run('cp ' + args.src, shell=True)", True),
        ("subprocess.run(['cp', args.src, args.dst])", False),
        ("os.system('nvidia-smi')", False),
        ("subprocess.run(f'cp {args.src}')", False),
    ],
)
def test_shell_commands(call: str, bad: bool) -> None:
    code = f"import os, subprocess\n\ndef f(args):\n    {call}\n"
    assert bool(failures("security.shell", context({"m.py": code}))) is bad
