"""Action files, workflows and every workflow in the documentation: valid by GitHub's schemas, and nothing for zizmor to report."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = [ROOT / "action.yml", ROOT / "composite" / "action.yml"]
PAGES = [ROOT / "README.md", ROOT / "docs" / "action.md"]
# `uses: owner/name[/path]@<commit> # <tag>`
PINNED = re.compile(r"uses: [\w.-]+/[\w.-]+(?:/[\w./-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def recipes() -> list[tuple[str, str]]:
    """Every workflow that the documentation shows: name and text."""
    return [
        (f"{page.stem}-{number}.yml", text)
        for page in PAGES
        for number, text in enumerate(
            re.findall(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        )
        if re.search(r"^jobs:$", text, re.M)
    ]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation's workflows as files where zizmor and the schema expect them."""
    folder = tmp_path_factory.mktemp("recipes") / ".github" / "workflows"
    folder.mkdir(parents=True)
    for name, text in recipes():
        (folder / name).write_text(text, "utf-8")
    return folder


def check(schema: str, *files: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def zizmor(*arguments: str | Path) -> None:
    program = Path(sys.executable).with_name("zizmor")
    done = subprocess.run(
        [program, "--offline", "--no-progress", *arguments], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No findings to report" in done.stdout


def test_workflows_are_valid():
    check("vendor.github-workflows", *WORKFLOWS)


def test_action_files_are_valid():
    check("vendor.github-actions", *ACTIONS)


def test_dependabot_is_valid():
    check("vendor.dependabot", ROOT / ".github" / "dependabot.yml")


def test_workflows_of_the_documentation_are_valid(shown):
    assert len(recipes()) >= 5
    check("vendor.github-workflows", *sorted(shown.iterdir()))


def test_zizmor_reports_nothing_on_the_project():
    zizmor("--persona", "pedantic", ROOT / ".github", *ACTIONS)


def test_zizmor_reports_nothing_on_the_documentation(shown, tmp_path):
    """Our own action may be named by its moving tag, so that one line can be pasted; every other one is pinned."""
    config = tmp_path / "zizmor.yml"
    config.write_text(
        "rules:\n  unpinned-uses:\n    config:\n      policies:\n        OWNER/*: ref-pin\n        '*': hash-pin\n"
    )
    zizmor("--config", config, shown)


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_others_actions_are_pinned_by_commit_and_say_their_tag(path):
    for line in path.read_text("utf-8").splitlines():
        if "uses:" in line and "uses: ./" not in line:
            assert PINNED.search(line), line


def test_every_pin_of_an_action_is_the_same_everywhere():
    seen: dict[str, set[str]] = {}
    texts = [path.read_text("utf-8") for path in [*WORKFLOWS, *ACTIONS, *PAGES]]
    for text in texts:
        for name, pin in re.findall(r"uses: ([\w.-]+/[\w.-]+)[\w./-]*@([0-9a-f]{40} # \S+)", text):
            seen.setdefault(name, set()).add(pin)
    assert {name: pins for name, pins in seen.items() if len(pins) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_start_without_permissions_and_keep_no_credentials(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert "permissions" in job and "timeout-minutes" in job
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_are_bash_and_get_values_through_the_environment(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            script = step.get("run", "")
            assert "${{" not in script
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_both_actions_have_the_same_inputs_and_outputs():
    container, composite = (yaml.safe_load(path.read_text("utf-8")) for path in ACTIONS)
    assert container["inputs"] == composite["inputs"]
    assert list(container["outputs"]) == list(composite["outputs"])
    for name, output in composite["outputs"].items():
        assert output["description"] == container["outputs"][name]["description"]
        assert output["value"] == f"${{{{ steps.audit.outputs.{name} }}}}"
    assert container["branding"] == composite["branding"]


def test_the_composite_action_passes_every_input_through_the_environment():
    composite = yaml.safe_load(ACTIONS[1].read_text("utf-8"))
    audit = composite["runs"]["steps"][-1]
    for name in composite["inputs"]:
        assert audit["env"][f"INPUT_{name.upper().replace('-', '_')}"] == f"${{{{ inputs.{name} }}}}"
    assert all("${{" not in step.get("run", "") for step in composite["runs"]["steps"])
