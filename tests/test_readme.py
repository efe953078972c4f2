"""Every example of the README is executed, and everything that it points to is there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from audit.assess.config import parse_config
from audit.assess.suppression import names_rule
from audit.cli.main import run
from audit.facts.python.extract import ignores
from audit.rules.catalogue import RULES
from tests.engine.repositories import commit, git, write
from tools import generate

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


COMMANDS = [line for block in fences("sh") for line in block.splitlines() if line]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example as a repository, on a branch one commit ahead of main."""
    folder = tmp_path_factory.mktemp("readme") / "tiny-trainer"
    shutil.copytree(ROOT / "examples" / "tiny-trainer", folder)
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    git(folder, "switch", "-q", "-c", "topic")
    write(folder, {"requirements.txt": "torch==2.4.1\nnumpy==1.26.4\npyyaml\n"})
    commit(folder)
    return folder


def test_there_are_examples():
    assert len(COMMANDS) > 10


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("make ")])
def test_make_targets_are_there(line):
    target = line.split()[1]
    assert re.search(rf"^{re.escape(target)}:", MAKEFILE, re.M)


def test_the_commands_run_in_their_order(example, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(example)
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", str(tmp_path))
    done = 0
    for line in COMMANDS:
        words = shlex.split(line)
        if words[0] != "ml-audit" or "OWNER" in line:
            continue
        assert run(words[1:]) in (0, 1), (line, capsys.readouterr().err)
        done += 1
    assert done >= 8
    assert (example / "report.html").stat().st_size > 1000


def test_other_commands_are_make_or_name_a_repository_on_github():
    assert all(line.startswith(("ml-audit ", "make ")) for line in COMMANDS)


def test_the_configuration_is_valid_and_names_rules_that_exist():
    # The rest are workflows: test_workflows.py checks them.
    [text] = [text for text in fences("yaml") if "\njobs:\n" not in text]
    for ignore in parse_config(text.encode()).ignore:
        assert any(names_rule(ignore.rule, rule.id) for rule in RULES), ignore.rule


def test_the_comment_is_read_and_names_a_rule_that_exists():
    [text] = fences("python")
    [comment] = ignores(text)
    assert comment.reason and set(comment.rules) <= {rule.id for rule in RULES}


def test_what_it_points_to_is_there():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    for target in targets:
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_picture_fetches_nothing():
    text = (ROOT / "docs" / "audit.svg").read_text("utf-8")
    addresses = set(re.findall(r"https?://[^\s\"')<]+", text))
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses
    assert "ml-audit" in text


def test_generated_files_are_up_to_date():
    for path, text in generate.documents():
        assert path.read_text("utf-8") == text, f"{path.name}: run make generate"
    assert generate.stale() == []
