"""Trees made by an attacker, through the whole program and in every format."""

import json
import os
import unicodedata
from pathlib import Path

import msgspec
import pytest
from engine.repositories import effects, git
from github_runner import commands

from audit.documents.report import Report
from audit.engine.audit import audit
from audit.engine.options import Audited, Options
from audit.report import FORMATS, renderer

# No live credential: letters drawn at random, in the shape of one.
TOKEN = "ghp_" + "a8Kq3ZpL0xWv7RtY2bNm5CdE1fGh9JiUo4Ts"
NAMES = (
    "a\nb.py",
    "\n::error::forged.py",
    "::set-output name=x::forged.py",
    "##[error]forged.py",
    "red\x1b[31m\x1b]0;title\x07.py",
    "`tick` pi|pe.py",
    "<script>alert(1)<.py",
    "<img src=x onerror=alert(1)>.py",
    "\u202egnp.py",
    os.fsdecode(b"caf\xe9\xff.py"),
)
OURS = ("::error ", "::error::", "::warning ", "::notice ", "::notice::", "::group::", "::endgroup::")
SOURCE = "import torch\nmodel = torch.load('/home/me/x.pt')\nloss = model(1)\nloss.backward()\n"


def made(folder: Path, files: dict[str, str | bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    return folder


def audited(folder: Path, cache: Path, **options: object) -> Audited:
    return audit(Options(str(folder), **options), effects(cache))  # type: ignore[arg-type]


def documents(done: Audited) -> dict[str, str]:
    return {name: renderer(name)(done.report, rules=done.rules) for name in FORMATS}


def test_names_forge_nothing_in_any_format(tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", dict.fromkeys(NAMES, SOURCE) | {"README.md": "# x\n"})
    for name, text in documents(audited(tree, tmp_path)).items():
        seen = {unicodedata.category(character) for character in text if character != "\n"}
        assert not seen & {"Cc", "Cf", "Cs", "Zl", "Zp"}, name
        ran = commands(text)
        assert name == "github" or not ran
        assert all(line.startswith(OURS) and not line.startswith("::error::forged") for line in ran)
        assert "##[" not in text
        if name == "html":
            assert "<script>alert" not in text
            assert "<img src=x" not in text
        if name in ("json", "sarif"):
            json.loads(text)


@pytest.mark.parametrize("name", FORMATS)
def test_a_credential_that_is_quoted_is_blackened(tmp_path: Path, name: str) -> None:
    tree = made(
        tmp_path / "tree",
        {
            "train.py": f'import torch\nx = torch.load("/home/me/{TOKEN}.pt")  # ml-audit: ignore[a.b] {TOKEN}\n'
            f'm = AutoModel.from_pretrained("{TOKEN}/model", trust_remote_code=True)\n',
            "README.md": f"# x\n\n[a]({TOKEN}.md)\n",
            "requirements.txt": f"torch\nnumpy=={TOKEN}\n--index-url https://me:{TOKEN}@host/simple\n",
            ".ml-audit/config.yaml": f'ignore:\n- rule: code.*\n  reason: "{TOKEN} is why"\n',
            f"{TOKEN}/a.py": f'import torch\ntorch.load("{TOKEN}")\n',
        },
    )
    text = renderer(name)(audited(tree, tmp_path).report)
    assert TOKEN not in text
    assert "redacted: GitHub token" in text.replace("\\", "")


HALF = {
    "train.py": 'import torch\nx = "\\ud800"\nm = AutoModel.from_pretrained("\\ud800/x")\ntorch.load("/home/x/\\udcff")\n',
    "doc.py": '"""\\udc80"""\nimport os\nos.environ["\\ud800"]\n',
    "setup.py": 'from setuptools import setup\nsetup(name="\\ud800", install_requires=["a\\ud800"], license="\\ud800")\n',
    "config.json": '{"a": "\\ud800", "\\udc00": 1, "lr": "\\udfff"}',
    "codemeta.json": '{"name": "\\ud800", "version": "\\ud800"}',
    "Pipfile.lock": '{"default": {"\\ud800": {"version": "==\\ud800"}}}',
    "a.ipynb": '{"cells": [{"cell_type": "code", "source": ["x = \'\\ud800\'"], "outputs": []}], "metadata": {"kernelspec": {"name": "\\ud800"}}}',
    "b.yaml": 'a: "\\ud800"\n',
    ".devcontainer/devcontainer.json": '{"image": "\\ud800:\\udfff"}',
}


def test_half_a_character_is_a_value_like_any_other(tmp_path: Path) -> None:
    done = audited(made(tmp_path / "tree", dict(HALF)), tmp_path)
    for text in documents(done).values():
        text.encode()
    skipped = [gap for gap in done.report.coverage.skipped if "fail" in gap.why]
    assert not skipped


def test_the_same_bytes_for_any_jobs_cold_or_warm(tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", dict.fromkeys(NAMES, SOURCE) | HALF)
    runs = [audited(tree, tmp_path, jobs=jobs) for jobs in (2, 1)]
    runs.append(audited(tree, tmp_path, jobs=1, use_cache=False))
    assert len({renderer("json")(run.report) for run in runs}) == 1


def test_links_lead_nowhere_and_pipes_are_not_waited_for(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.yaml").write_text("fail_on: never\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "train.py").write_text(SOURCE)
    (tree / ".ml-audit").symlink_to(outside)
    (tree / "passwd.py").symlink_to("/etc/passwd")
    (tree / "loop").symlink_to(".")
    os.mkfifo(tree / "requirements.txt")
    done = audited(tree, tmp_path)
    why = {gap.path: gap.why for gap in done.report.coverage.skipped}
    assert done.fail_on is None
    assert why["requirements.txt"] == "a named pipe, not a file"
    assert {why[name] for name in (".ml-audit", "passwd.py", "loop")} == {"a symbolic link, not followed"}


def test_a_report_reads_back_as_itself(tmp_path: Path) -> None:
    report = audited(made(tmp_path / "tree", dict(HALF)), tmp_path).report
    text = renderer("json")(report)
    assert renderer("json")(msgspec.json.decode(text, type=Report)) == text
