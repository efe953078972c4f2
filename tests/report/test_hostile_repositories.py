"""Hostile file names, YAML values and source text, through every rule, into whole rendered comments."""

import msgspec
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.assess.gate import FailOn, Scope
from audit.documents.finding import Status
from audit.report import comment, summary, workflow
from audit.report.annotations import annotations
from audit.rules import catalogue
from audit.safety.sanitize import basic_plane
from tests.rules.computed import LOOP, audited

from . import samples, stories
from .hostile_text import PIECES, TEXT
from .test_comment import assert_inert


def as_git_gives_it(name: str) -> str:
    """Any text as a file's name: bytes, of which those that are not UTF-8 come surrogate-escaped."""
    data = name.encode("utf-8", "surrogatepass").replace(b"/", b"").replace(b"\0", b"")
    return data.decode("utf-8", "surrogateescape") or "x"


NAMES = st.one_of(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.text(max_size=20)).map(
    as_git_gives_it
)

LOADS = """
import os, pickle, torch, yaml
from datasets import load_dataset
from huggingface_hub import hf_hub_download
from urllib.request import urlopen

data = load_dataset({name!r})
weights = torch.load(hf_hub_download({name!r}, {name!r}), weights_only=False)
other = pickle.load(urlopen({name!r}))
settings = yaml.load(open({name!r}))
exec(open({name!r}).read())
os.system(f"cp {{args.path}} " + {name!r})
"""


def findings_of(folder: str, name: str, text: str):
    """The findings about a repository in which all names and values are these."""
    clean = text.encode("utf-8", "replace").decode()
    values = {"model": {"name": clean, "lr": 1, clean or "k": clean}, "seed": 1, "data": {"path": clean}}
    files = {
        f"{folder}/{name}.py": LOADS.format(name=clean),
        f"{folder}/train.py": LOOP + f"\nif __name__ == '__main__':\n    train(None, {clean!r})\n",
        f"configs/{name}.yaml": yaml.safe_dump(values, allow_unicode=True),
        "configs/a.yaml": yaml.safe_dump({**values, "seed": 2}),
        "requirements.txt": f"torch>=2\nnumpy  # {clean}\n{clean}\n",
        "README.md": f"# {clean}\n\n    python {name}.py --seed {clean}\n\n`pip install {clean}`\n",
        ".github/workflows/ci.yml": yaml.safe_dump(
            {"on": "push", "jobs": {"a": {"steps": [{"run": clean}]}}}
        ),
        "Dockerfile": f"FROM {clean or 'x'}\nRUN pip install {clean}\n",
    }
    encoded = {path: body.encode("utf-8", "replace") for path, body in files.items()}
    return catalogue.run(audited(encoded, "someone/project"), catalogue.RULES)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NAMES, NAMES, TEXT)
def test_nothing_of_a_repository_becomes_markup_or_a_command(folder: str, name: str, text: str) -> None:
    findings = tuple(
        msgspec.structs.replace(each, new=True) if each.status is Status.FAIL else each
        for each in findings_of(folder, name, text)
    )
    assert any(each.status is Status.FAIL for each in findings)
    report = samples.report(
        findings=findings, summary=samples.summary(findings, len(findings), 0), insights=(text,)
    )
    base = stories.Baseline(name, None, 5.0, "LOW", findings[:20])
    story = stories.story(report, FailOn.INFO, Scope.NEW, baseline=base, rules={})
    links = (f"https://github.com/example/gpt/blob/{stories.COMMIT}/", "https://github.com/example/gpt/")
    for render in (comment.render, comment.render_check, summary.render):
        assert_inert(render(story), links)
    for line in workflow.annotation_lines(findings, {}):
        assert line.startswith(("::error ", "::warning ", "::notice ")) or line[0].isdigit()
        assert "\n" not in line and "##[" not in line
    for one in annotations(story, 200).shown:
        for value in (one["path"], one["message"], one["title"]):
            value.encode()
            assert value == basic_plane(value)
