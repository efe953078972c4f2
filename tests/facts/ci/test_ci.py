# ruff: noqa: E501 (small files as one string each)
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.ci.extract import extract
from audit.facts.model import CiFacts, CiStep


def facts(text: str) -> CiFacts:
    body = extract(text).body
    assert isinstance(body, CiFacts)
    return body


def commands(found: CiFacts) -> list[tuple[str, str, str, int]]:
    """(job, program, target, line)."""
    return [(j.name, c.program, c.target, c.line) for j in found.jobs for s in j.steps for c in s.commands]


GITHUB = """\
on:
  push: {branches: [main]}
  pull_request:
env: {ARGS: --fast}
jobs:
  test:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
      - name: Install
        run: |
          # comment
          pip install torch==2.0

          pip install -e .
      - run: >
          pytest tests
          -k "not slow"
          $ARGS

          python smoke.py
      - run: pytest
          --plain
      - shell: python
        run: |
          import os
  call:
    uses: org/repo/.github/workflows/x.yml@v1
"""


def test_github_workflow() -> None:
    found = facts(GITHUB)
    assert (found.system, found.triggers) == ("github", ("push", "pull_request"))
    assert commands(found) == [
        ("test", "pip", "", 13),
        ("test", "pip", "", 15),
        ("test", "pytest", "", 17),
        ("test", "python", "smoke.py", 21),
        ("test", "pytest", "", 22),
    ]
    pytest_step = found.jobs[0].steps[2].commands[0]
    assert [(f.name, f.value, f.line) for f in pytest_step.flags] == [
        ("-k", "not slow", 18),
        ("--fast", "", 19),
    ]
    assert found.jobs[0].steps[0] == CiStep(name="", uses="actions/checkout@v4", line=9)
    assert found.jobs[1].steps == (CiStep(name="", uses="org/repo/.github/workflows/x.yml@v1", line=28),)
    assert [(r.name, r.exact, r.line, r.source) for r in found.requirements] == [("torch", True, 13, "ci")]


def test_composite_action() -> None:
    found = facts("name: a\nruns:\n  using: composite\n  steps:\n    - run: python x.py\n      shell: bash\n")
    assert found.system == "github-action"
    assert commands(found) == [("a", "python", "x.py", 5)]
    assert commands(facts("name: a\nruns:\n  using: node20\n  main: x.js\n")) == []


def test_gitlab_with_templates() -> None:
    found = facts(
        "stages: [test]\nvariables: {N: 3}\nbefore_script:\n  - pip install tox\n.base: &base\n  script:\n    - pytest -n $N\n"
        ".never:\n  script: [python never.py]\nunit:\n  extends: .base\nmerged:\n  <<: *base\n  before_script: []\ndeploy:\n  script:\n    - python d.py\n    - |\n      python e.py\n"
    )
    assert found.system == "gitlab"
    assert commands(found) == [
        ("unit", "pip", "", 4),
        ("unit", "pytest", "", 7),
        ("merged", "pytest", "", 7),
        ("deploy", "pip", "", 4),
        ("deploy", "python", "d.py", 17),
        ("deploy", "python", "e.py", 19),
    ]
    assert found.jobs[1].steps[0].commands[0].flags[0].value == "3"


@pytest.mark.parametrize(
    ("system", "text", "expected"),
    [
        (
            "circleci",
            "version: 2.1\ncommands:\n  setup:\n    steps:\n      - run: pip install x\njobs:\n  t:\n    steps:\n      - checkout\n      - setup\n"
            "      - run:\n          name: n\n          command: |\n            pytest\n      - python/install\nworkflows: {w: {jobs: [t]}}\n",
            [("t", "pip", "", 5), ("t", "pytest", "", 14)],
        ),
        (
            "azure",
            "trigger: [main]\njobs:\n- job: t\n  steps:\n  - task: UsePythonVersion@0\n  - script: pytest\n    displayName: d\n  - bash: |\n      python x.py\n",
            [("t", "pytest", "", 6), ("t", "python", "x.py", 9)],
        ),
        ("travis", "language: python\ninstall: pip install x\nscript:\n  - pytest\n  - python x.py\n", [("build", "pip", "", 2), ("build", "pytest", "", 4), ("build", "python", "x.py", 5)]),
        ("buildkite", "steps:\n  - label: t\n    command: pytest\n  - wait\n  - commands:\n      - python x.py\n", [("t", "pytest", "", 3), ("", "python", "x.py", 6)]),
        ("bitbucket", "pipelines:\n  default:\n    - step:\n        name: t\n        script:\n          - pytest\n", [("t", "pytest", "", 6)]),
        ("drone", "kind: pipeline\nname: p\nsteps:\n- name: t\n  image: i\n  commands:\n  - pytest\n", [("p", "pytest", "", 7)]),
        ("cirrus", "test_task:\n  container: {image: i}\n  install_script: pip install x\n  test_script:\n    - pytest\n", [("test_task", "pip", "", 3), ("test_task", "pytest", "", 5)]),
        ("codebuild", "version: 0.2\nphases:\n  build:\n    commands:\n      - pytest\n", [("build", "pytest", "", 5)]),
        ("cloudbuild", "steps:\n- name: python\n  entrypoint: python\n  args: ['-m', 'pytest']\n", [("build", "python", "pytest", 2)]),
        ("appveyor", "install:\n  - ps: pip install x\nbuild_script: []\ntest_script:\n  - pytest\n", [("build", "pip", "", 2), ("build", "pytest", "", 5)]),
        (
            "jenkins",
            "pipeline {\n  stages {\n    stage('Build') {\n      steps { sh 'pip install x' }\n    }\n    stage(\"Test\") {\n      steps {\n        sh '''\n"
            "          pytest\n        '''\n        sh(script: \"python x.py\", returnStdout: true)\n      }\n    }\n  }\n}\n",
            [("Build", "pip", "", 4), ("Test", "pytest", "", 9), ("Test", "python", "x.py", 11)],
        ),
        (
            "tox",
            "[tox]\nenvlist = py3\n[testenv]\ndeps =\n    pytest==8.0\n    py3: rich\n    -r x.txt\ncommands =\n    pytest {posargs} \\\n      -x\n    py3: - python x.py\n",
            [("testenv", "pytest", "", 9), ("testenv", "python", "x.py", 11)],
        ),
        (
            "nox",
            "import nox\n\n@nox.session(python=['3.11'])\ndef tests(session):\n    session.install('rich', '-e', '.')\n    session.run('pytest', '-q', *session.posargs)\n\ndef no(session):\n    session.run('x')\n",
            [("tests", "pip", "", 5), ("tests", "pytest", "", 6)],
        ),
        ("lightning", "trigger: {push: {}}\nimage: i\nrun: |\n  pytest\n", [("run", "pytest", "", 4)]),
    ],
)  # fmt: skip
def test_services(system: str, text: str, expected: list[tuple[str, str, str, int]]) -> None:
    found = facts(text)
    assert (found.system, commands(found)) == (system, expected)


def test_tox_dependencies() -> None:
    found = facts("[testenv]\ndeps =\n    pytest==8.0\n    py3: rich\n    -r x.txt\n    {[base]deps}\n")
    assert [(r.name, r.exact, r.line, r.source, r.group) for r in found.requirements] == [
        ("pytest", True, 3, "tox", "testenv"),
        ("rich", False, 4, "tox", "testenv"),
    ]


def test_files_of_other_tools_and_mistakes() -> None:
    assert extract("[flake8]\nmax-line-length = 1\n").partial == ""
    assert extract("name: x\n").partial == "a CI file of no known service"
    assert extract("on: [push\njobs:\n").partial.startswith("not YAML")
    bomb = (
        "on: push\na: &a [x, x]\n"
        + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(9))
        + "jobs:\n  j:\n    steps: *b8\n"
    )
    assert facts(bomb).jobs[0].steps == ()


@settings(deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(
            st.sampled_from(
                [
                    *GITHUB.split("\n"),
                    "pipeline {",
                    "sh '''",
                    "[tox]",
                    "import nox",
                    "steps:",
                    "- script: x",
                    "&a *a",
                    "stages:",
                ]
            ),
            max_size=30,
        ).map("\n".join),
    )
)
def test_never_raises(text: str) -> None:
    extract(text)


def test_a_gitlab_pipeline_whose_jobs_stand_elsewhere() -> None:
    text = "workflow:\n  rules:\n    - if: $CI_COMMIT_BRANCH\nstages: [test]\ninclude:\n  - .gitlab/stages/test.yml\n"
    found = extract(text)
    assert isinstance(found.body, CiFacts)
    assert (found.body.system, found.partial) == ("gitlab", "")
