"""Rules of level 2: a lock that holds, one that lacks something, one that is out of date."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.documents.finding import Finding, Severity, Status
from audit.engine.audit import audit
from audit.engine.options import Effects, Options
from tests.fakehub.world import Fault, World
from tests.lock.conftest import MANIFEST

Command = Callable[..., tuple[int, str]]


def findings(repository: Path, tmp_path: Path) -> list[Finding]:
    environ = {
        "XDG_CACHE_HOME": str(tmp_path / "audit-cache"),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }
    report = audit(Options(str(repository)), Effects(time.time, environ)).report
    assert report.level == 2
    return [finding for finding in report.findings if finding.level == 2]


def failing(repository: Path, tmp_path: Path) -> dict[str, str]:
    """The messages of what failed, by rule."""
    return {each.rule: each.message for each in findings(repository, tmp_path) if each.status is Status.FAIL}


def test_a_fresh_lock_passes_everything(lock: Command, repository: Path, tmp_path: Path) -> None:
    lock()
    found = findings(repository, tmp_path)
    assert {each.rule: each.status for each in found if each.status is not Status.PASS} == {
        "gen.backend_version_locked": Status.NOT_APPLICABLE,
        "judge.pinnability_recorded": Status.NOT_APPLICABLE,
    }
    assert all(each.evidence[0].path == "ml-audit.lock" for each in found if each.status is Status.PASS)


@pytest.mark.parametrize(
    ("file", "text", "rule", "said"),
    [
        ("ml-audit.yaml", MANIFEST.replace("revision: main", "revision: v2"), "consistency.model_identity", "org/tiny@v2 is declared"),
        ("ml-audit.yaml", MANIFEST.replace("org/tiny", "org/big"), "consistency.model_identity", "org/big"),
        ("ml-audit.yaml", MANIFEST.replace("split: train", "split: test"), "consistency.model_identity", "and is test"),
        ("ml-audit.yaml", MANIFEST.replace("2e-5", "1e-5"), "consistency.lock_fresh", "and is 1e-05"),
        ("ml-audit.yaml", MANIFEST + "generation: {temperature: 0.7}\n", "consistency.generation_params", "not locked yet"),
        ("ml-audit.yaml", MANIFEST + "custom: {tools: [a]}\n", "consistency.custom_fields", "custom.tools"),
        ("prompts/judge.txt", "Be kind.\n", "consistency.file_hashes", "files.prompts/judge.txt was sha256:"),
        ("conf.yaml", "a: 2\n", "consistency.file_hashes", "files.conf.yaml"),
        ("data/eval.jsonl", "{}{}\n", "consistency.file_hashes", "datasets.evaluation.sha256"),
        ("requirements.txt", "torch==2.5.0\n", "consistency.env_vs_lock", "torch.declared was ==2.4.0"),
    ],
)  # fmt: skip
def test_what_is_out_of_date_fails_under_its_rule_alone(
    lock: Command, repository: Path, tmp_path: Path, file: str, text: str, rule: str, said: str
) -> None:
    lock()
    (repository / file).write_text(text)
    found = failing(repository, tmp_path)
    assert list(found) == [rule]
    assert said in found[rule]


@pytest.mark.parametrize(
    "text",
    [MANIFEST.replace("2e-5", "0.00002"), "# why\n" + MANIFEST, MANIFEST.replace("\n", "\r\n")],
)
def test_a_manifest_that_says_the_same_is_not_out_of_date(
    lock: Command, repository: Path, tmp_path: Path, text: str
) -> None:
    lock()
    (repository / "ml-audit.yaml").write_bytes(text.encode())
    assert failing(repository, tmp_path) == {}


def test_a_second_look_at_an_edited_prompt_is_not_the_first_ones(
    lock: Command, repository: Path, tmp_path: Path
) -> None:
    """A text has no facts that differ; its digest does, so the assessment of the tree before does not serve."""
    lock()
    assert failing(repository, tmp_path) == {}
    (repository / "prompts/judge.txt").write_text("Be strict.\n")
    assert list(failing(repository, tmp_path)) == ["consistency.file_hashes"]
    (repository / "prompts/judge.txt").write_text("Judge.\n")
    assert failing(repository, tmp_path) == {}


def test_what_could_not_be_resolved_fails_with_the_reason(
    lock: Command, repository: Path, world: World, tmp_path: Path
) -> None:
    world.faults.append(Fault("/", "500", times=-1))
    (repository / "prompts/judge.txt").unlink()
    (repository / "data/eval.jsonl").unlink()
    lock()
    found = {each.rule: each for each in findings(repository, tmp_path) if each.status is Status.FAIL}
    assert found.keys() == {
        "model.revision_pinned", "model.tokenizer_pinned", "model.chat_template_hashed", "dataset.revision_pinned",
        "dataset.local_files_hashed", "prompt.hashed",
    }  # fmt: skip
    assert "answered 500" in found["model.revision_pinned"].message
    assert found["prompt.hashed"].severity is Severity.CRITICAL  # it is the judge's
    assert found["model.revision_pinned"].severity is Severity.CRITICAL  # it is the primary model


def test_a_model_in_a_lesser_role_weighs_less(lock: Command, repository: Path, tmp_path: Path) -> None:
    (repository / "ml-audit.yaml").write_text(MANIFEST.replace("primary:", "draft:"))
    lock("--offline")
    found = {each.rule: each for each in findings(repository, tmp_path) if each.status is Status.FAIL}
    assert found["model.revision_pinned"].severity is Severity.WARNING


@pytest.mark.parametrize(
    ("name", "status", "severity"),
    [
        ("gpt-4o-2024-08-06", Status.PASS, None),
        ("gpt-4o", Status.FAIL, Severity.WARNING),
        ("gpt-4-0613", Status.FAIL, Severity.WARNING),
    ],
)
def test_a_judge_behind_an_api_is_pinned_by_a_dated_name(
    lock: Command, repository: Path, tmp_path: Path, name: str, status: Status, severity: Severity | None
) -> None:
    text = MANIFEST.replace("models:\n", f"models:\n  judge: {{id: {name}, provider: openai}}\n")
    (repository / "ml-audit.yaml").write_text(text)
    lock()
    [found] = [each for each in findings(repository, tmp_path) if each.rule == "judge.pinnability_recorded"]
    assert found.status is status
    assert severity is None or found.severity is severity


@pytest.mark.parametrize(
    ("requirement", "status"),
    [("vllm==0.6.3", Status.PASS), ("vllm", Status.FAIL), ("vllm>=0.6", Status.FAIL)],
)
def test_a_backend_has_a_version(
    lock: Command, repository: Path, tmp_path: Path, requirement: str, status: Status
) -> None:
    (repository / "ml-audit.yaml").write_text(MANIFEST + "inference: {backend: vllm}\n")
    (repository / "requirements.txt").write_text(f"torch==2.4.0\n{requirement}\n")
    (repository / "train.py").write_text("import torch\nimport vllm\n")
    lock()
    [found] = [each for each in findings(repository, tmp_path) if each.rule == "gen.backend_version_locked"]
    assert found.status is status


def test_a_file_that_git_ignores_is_not_checked_and_said(
    lock: Command, repository: Path, tmp_path: Path
) -> None:
    (repository / ".gitignore").write_text("data/\n")
    lock()
    found = [each for each in findings(repository, tmp_path) if each.rule == "consistency.file_hashes"]
    assert {each.status for each in found} == {Status.PASS, Status.NOT_CHECKED}
    assert "evaluation.sha256" in next(each.message for each in found if each.status is Status.NOT_CHECKED)
