from textwrap import dedent

import pytest

from audit.documents.finding import Severity, Status
from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.model import DocsFacts, TextFacts
from tests.rules.factory import bodies, context, failures, outcomes, status

TRAIN = """\
    import argparse
    import torch

    def get_args():
        parser = argparse.ArgumentParser()
        parser.add_argument("--lr", type=float)
        parser.add_argument("--batch-size", "-b", type=int)
        parser.add_argument("--amp", action="store_true")
        return parser.parse_args()

    if __name__ == "__main__":
        args = get_args()
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
        for _ in range(args.batch_size):
            loss = model(torch.ones(1, 1)).sum()
            loss.backward()
            optimizer.step()
    """


def with_readme(text: str, more: dict[str, str] | None = None) -> dict[str, str]:
    return {"train.py": TRAIN, "README.md": text, **(more or {})}


GUIDE = """\
    # Project

    ```bash
    pip install -r requirements.txt
    python train.py --lr 0.1
    ```
    """


def test_a_readme() -> None:
    assert status("documentation.readme", context()) is Status.PASS
    assert status("documentation.readme", context(readme=False)) is Status.FAIL


def test_a_guide_that_says_it_all() -> None:
    given = context(with_readme(GUIDE))
    for name in ("install", "usage", "training", "missing_files", "unknown_flags"):
        assert status(f"documentation.{name}", given) is Status.PASS, name


def test_a_readme_of_words_alone() -> None:
    given = context(with_readme("# Project\n\nWe propose a method.\n"))
    assert failures("documentation.install", given) == [
        "README.md gives no command that installs what the code needs."
    ]
    assert failures("documentation.usage", given) == [
        "README.md shows no command and no code that runs anything of this repository."
    ]
    assert failures("documentation.training", given) == [
        "No document gives the command that trains (train.py can)."
    ]


def test_without_a_readme_the_other_rules_have_nothing_to_say() -> None:
    for name in ("install", "usage", "training"):
        assert (
            status(f"documentation.{name}", context({"train.py": TRAIN}, readme=False))
            is Status.NOT_APPLICABLE
        )


def test_without_training_no_command_is_missed() -> None:
    given = context({"lib.py": "def f():\n    return 1\n", "README.md": "x"}, training_loop="none")
    assert status("documentation.training", given) is Status.NOT_APPLICABLE
    assert status("documentation.hardware", given) is Status.NOT_APPLICABLE
    assert status("documentation.results", given) is Status.NOT_APPLICABLE
    assert status("documentation.citation", given) is Status.NOT_APPLICABLE


def test_a_readme_that_was_not_read_is_not_judged() -> None:
    given = bodies(context(with_readme("x")), facts={"README.md": TextFacts()})
    for name in ("install", "usage", "training", "citation", "hardware", "results"):
        assert status(f"documentation.{name}", given) is Status.NOT_CHECKED, name


def test_a_script_that_holds_the_training_command_records_it() -> None:
    train = (
        "import torch\nfrom torch import optim\ndef main():\n    opt = optim.SGD(p, lr=1)\n"
        "    for x in d:\n        loss = f(x)\n        loss.backward()\n        opt.step()\nmain()\n"
    )
    files = {"train.py": train, "README.md": "# A method\n\n## Training\n\nSee `run_example.sh`.\n"}
    assert status("documentation.training", context(files)) is Status.FAIL
    script = {"run_example.sh": "python train.py --lr 1\n"}
    (outcome,) = outcomes("documentation.training", context({**files, **script}))
    assert (outcome.status, outcome.message) == (
        Status.PASS,
        "run_example.sh holds the command that trains.",
    )
    examples = {"examples/train.py": train, "README.md": "# A library\n"}
    (outcome,) = outcomes("documentation.training", context(examples))
    assert outcome.severity is Severity.INFO


def test_training_through_a_pipeline_is_documented() -> None:
    text = "# P\n\n```\ndvc exp run\n```\n"
    assert status("documentation.training", context(with_readme(text))) is Status.PASS


# Files and flags that are not there


def test_a_command_that_runs_a_missing_file() -> None:
    text = "# P\n\n```\npython tools/old_train.py\npython evaluate_al.py\npython unheard_of.py\npython other/thing.py\n```\n"
    more = {"tools/new.py": "print(1)\n", "evaluate_all.py": "print(1)\n"}
    found = outcomes("documentation.missing_files", context(with_readme(text, more)))
    assert [(each.message, each.severity) for each in found] == [
        ("README.md:4 runs tools/old_train.py, and no file of that name is in the repository.", None),
        ("README.md:5 runs evaluate_al.py, and no file of that name is in the repository.", Severity.INFO),
    ]
    assert found[1].fix is not None and found[1].fix.text == "Is evaluate_all.py meant?"


def test_scripts_that_source_or_run_what_a_toolkit_brings() -> None:
    files = with_readme(
        "# P\n", {"run.sh": ". utils/parse_options.sh\nbash steps/align.sh\n", "utils/own.sh": "echo\n"}
    )
    assert failures("documentation.missing_files", context(files)) == []


@pytest.mark.parametrize(
    "text",
    [
        "# P\n\n```\npython your_script.py\npython path/to/train_it.py\npython script.py\npython $SCRIPT.py\npython /abs/other.py\n```\n",
        "# P\n\n```\ngit clone https://github.com/other/tool\ncd tool\npython their.py\n```\n",
        "# P\n\n```\nwget https://example.org/prepare_it.py\npython prepare_it.py\n```\n",
        "# P\n\n## Download the dataset\n\n```\npython fetch_all.py\n```\n",
        "# P\n\nSave this:\n\n```python\nprint(1)\n```\n\n```\npython pipeline.py\n```\n",
        "# P\n\n```\npython -m other.tool\npython train.py\ncd project\npython train.py\n```\n",
    ],
)
def test_commands_about_something_else(text: str) -> None:
    assert failures("documentation.missing_files", context(with_readme(text))) == []


def test_what_lies_in_another_folder_is_there() -> None:
    text = "# P\n\n```\npython helper.py\n```\n"
    assert (
        failures(
            "documentation.missing_files", context(with_readme(text, {"src/deep/helper.py": "print(1)\n"}))
        )
        == []
    )


def test_a_flag_that_the_script_does_not_define() -> None:
    text = "# P\n\n```\npython train.py --lr 0.1 --warmup 10\npython train.py --warmup 20\n```\n"
    (outcome,) = outcomes("documentation.unknown_flags", context(with_readme(text)))
    assert (
        outcome.message
        == "README.md:4 passes --warmup to train.py, which defines no such flag and stops with an error."
    )
    assert outcome.evidence == (
        Place("README.md", 4),
        Place("train.py", 6, "where the script defines its flags"),
    )


@pytest.mark.parametrize("flags", ["--batch 4", "-b4", "--amp", "--lr=0.1", "--help", "-b 4 --batch-size 5"])
def test_spellings_that_argparse_takes(flags: str) -> None:
    assert (
        failures(
            "documentation.unknown_flags", context(with_readme(f"# P\n\n```\npython train.py {flags}\n```\n"))
        )
        == []
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("parser.parse_args()", "parser.parse_known_args()[0]"),
        ("import argparse", "import argparse\nimport tyro"),
        ('"--amp"', "name"),
        ("return parser", "parser = external.add_arguments(parser)\n    return parser"),
        ("argparse.ArgumentParser()", "argparse.ArgumentParser(parents=[outside.parser()])"),
        ("argparse.ArgumentParser()", "framework.ArgumentParser()"),
        ("argparse.ArgumentParser()", "transformers.HfArgumentParser(Args)"),
    ],
)
def test_where_flags_may_come_from_elsewhere_nothing_is_claimed(old: str, new: str) -> None:
    files = with_readme("# P\n\n```\npython train.py --warmup 10\n```\n")
    files["train.py"] = dedent(TRAIN).replace(old, new)
    assert status("documentation.unknown_flags", context(files)) is Status.NOT_APPLICABLE


def test_flags_that_an_imported_module_of_the_repository_adds() -> None:
    files = with_readme("# P\n\n```\npython train.py --warmup 10\n```\n")
    files["common.py"] = "def add_common(parser):\n    parser.add_argument('--warmup')\n"
    files["train.py"] = (
        dedent(TRAIN)
        .replace("import torch", "import torch\nfrom common import add_common")
        .replace("return parser", "add_common(parser)\n    return parser")
    )
    assert failures("documentation.unknown_flags", context(files)) == []


def test_links() -> None:
    text = """\
        # P

        [a](docs/GONE.md) [b](train.py#L3) [c](configs/) [d](https://example.org/x) [m](who@mail.example.org) [e](#part) [f](../../issues) [g](mailto:a@b.c)
        [h](/LICENSE) ![i](img%20one.png) [j](docs/there)
        """
    more = {"LICENSE": "MIT\n", "configs/a.yaml": "a: 1\n", "img one.png": "x", "docs/there.md": "x\n"}
    files = with_readme(text, more)
    found = outcomes("documentation.broken_links", context(files))
    assert [each.message for each in found] == [
        "README.md:3 links to docs/GONE.md, which is not in the repository."
    ]
    assert status("documentation.broken_links", context(with_readme("# P\n"))) is Status.NOT_APPLICABLE
    assert status("documentation.broken_links", context(with_readme("# P\n\n[b](train.py)\n"))) is Status.PASS


def test_links_of_one_document_are_one_finding() -> None:
    text = "# P\n\n[a](gone/a.md) [b](gone/b.md)\n\n[c](www.example.org/x) [d](docs/\\_static/logo.png)\n\n[^1]: See the paper.\n"
    files = with_readme(text, {"docs/_static/logo.png": b"x", "sub/GUIDE.md": "# G\n\n[e](example.com)\n"})
    found = outcomes("documentation.broken_links", context(files))
    assert [each.message for each in found] == [
        "README.md links to gone/a.md, gone/b.md and www.example.org/x, which are not in the repository.",
        "sub/GUIDE.md:3 links to example.com, which GitHub takes for a file of the repository: it lacks `https://`.",
    ]


def test_links_to_what_a_build_makes() -> None:
    files = with_readme(
        "# P\n\n[a](docs/reference.md)\n", {"docs/.gitignore": "reference.md\n", "docs/x.md": "x"}
    )
    assert failures("documentation.broken_links", context(files)) == []


def test_a_missing_file_that_many_documents_run_is_one_finding() -> None:
    more = {f"{name}/README.md": "```\npython tools/gone.py\n```\n" for name in "abcd"}
    (outcome,) = outcomes(
        "documentation.missing_files", context(with_readme("# P\n", {**more, "tools/x.py": "print(1)\n"}))
    )
    assert outcome.message == (
        "a/README.md, b/README.md and 2 more run tools/gone.py, and no file of that name is in the repository."
    )


def test_missing_files_of_one_script_are_one_finding() -> None:
    more = {"build.sh": "bash tools/a.sh\nbash tools/b.sh\n", "tools/x.py": "print(1)\n"}
    (outcome,) = outcomes("documentation.missing_files", context(with_readme("# P\n", more)))
    assert outcome.message == (
        "build.sh:1 runs tools/a.sh and tools/b.sh, and no files of these names are in the repository."
    )
    assert outcome.evidence == (Place("build.sh", 1), Place("build.sh", 2))


def test_flags_that_one_document_passes_in_vain_are_one_finding() -> None:
    text = "# P\n\n```\npython train.py --warmup 10 --decay 0.1\n```\n"
    (outcome,) = outcomes("documentation.unknown_flags", context(with_readme(text)))
    assert outcome.message == (
        "README.md:4 passes --warmup and --decay to train.py, which defines no such flags and stops with an error."
    )


def test_links_of_a_documentation_site_have_another_meaning() -> None:
    files = with_readme("# P\n", {"docs/guide.md": "# G\n\n[a](../api/thing)\n"})
    assert failures("documentation.broken_links", context(files)) == []


# Terms, and what to expect


def test_the_licence() -> None:
    assert status("documentation.license", context(license="MIT")) is Status.PASS
    (outcome,) = outcomes("documentation.license", context(license=None))
    assert (outcome.status, outcome.severity) == (Status.FAIL, None)
    unknown = Signal(None, (Place("LICENSE", 1),))
    (outcome,) = outcomes("documentation.license", context(license=unknown))
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.INFO)


def test_a_licence_that_the_readme_alone_speaks_of_and_those_of_parts() -> None:
    (outcome,) = outcomes(
        "documentation.license", context(with_readme("# P\n\n## License\n\nMIT.\n"), license=None)
    )
    assert (outcome.severity, outcome.evidence) == (Severity.INFO, (Place("README.md", 3),))
    parts = {**with_readme("# P\n"), "a/LICENSE": "text\n", "b/LICENSE": "text\n"}
    (outcome,) = outcomes("documentation.license", context(parts, license=None))
    assert (
        outcome.message
        == "No licence covers the whole repository; 2 folders have their own (a/LICENSE and b/LICENSE)."
    )
    assert outcome.severity is Severity.INFO


def test_the_citation() -> None:
    assert status("documentation.citation", context(citation=True)) is Status.PASS
    assert status("documentation.citation", context(with_readme("# P\n"))) is Status.FAIL
    entry = "# P\n\n```\n@article{a,\n  title={T}\n}\n```\n"
    assert status("documentation.citation", context(with_readme(entry))) is Status.PASS


def test_hardware_and_results() -> None:
    facts = DocsFacts(topics=(("hardware", 7), ("results", 9)))
    given = bodies(context(with_readme("x")), facts={"README.md": facts})
    assert outcomes("documentation.hardware", given)[0].message == "README.md:7 says what hardware was used."
    assert outcomes("documentation.results", given)[0].message == "README.md:9 says what results to expect."
    silent = context(with_readme("# P\n"))
    assert status("documentation.hardware", silent) is Status.FAIL
    assert status("documentation.results", silent) is Status.FAIL
    assert status("documentation.hardware", context(training_loop="sklearn")) is Status.NOT_APPLICABLE
