"""What the walk over a syntax tree keeps, and in which words."""

import ast
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.python.extract import extract, ignores
from audit.facts.python.identities import identity_kind
from audit.facts.python.model import Call, PythonFacts
from audit.facts.python.render import dotted, render


def facts(source: str) -> PythonFacts:
    body, partial = extract(dedent(source))
    assert isinstance(body, PythonFacts) and partial == ""
    return body


def call(source: str, name: str) -> Call:
    [found] = [each for each in facts(source).calls if each.name == name]
    return found


class TestNames:
    def test_imports_give_their_full_names(self):
        source = """
            import numpy as np
            from torch import manual_seed as seed_it
            from .utils import train_one
            np.random.seed(1)
            seed_it(2)
        """
        assert [c.name for c in facts(source).calls] == ["numpy.random.seed", "torch.manual_seed"]
        assert ".utils.train_one" not in facts(source).scopes[0].refs

    def test_an_import_inside_a_function_counts(self):
        source = "def f():\n    import wandb\n    wandb.init(project='x')\n"
        body = facts(source)
        assert (body.imports[0].module, body.imports[0].scope) == ("wandb", 1)
        assert body.calls[0].name == "wandb.init"

    @pytest.mark.parametrize(
        "block",
        [
            "try:\n    import apex\nexcept ImportError:\n    apex = None\n",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import apex\n",
        ],
    )
    def test_an_optional_import_is_guarded(self, block):
        [found] = [each for each in facts(block).imports if each.module == "apex"]
        assert found.guarded

    def test_a_receiver_that_is_an_expression(self):
        assert call("model(x).loss.backward()\n", "?.loss.backward").line == 1


class TestCalls:
    def test_arguments_as_text(self):
        found = call("torch.manual_seed(1337 + rank)\n", "torch.manual_seed")
        assert found.args == ("1337 + rank",)
        found = call("f(x, revision='abc', **more)\n", "f")
        assert found.kwargs == {"revision": "'abc'", "**": "more"}

    def test_where_it_stands(self):
        source = """
            def main(args):
                for epoch in range(3):
                    if args.amp and not args.cpu:
                        loss.backward()
                    else:
                        scaler.step(optimizer)
        """
        backward, step = call(source, "loss.backward"), call(source, "scaler.step")
        assert (backward.loops, backward.test) == (1, "args.amp and not args.cpu")
        assert step.test == "not args.amp and not args.cpu"
        assert facts(source).scopes[backward.scope].name == "main"

    @pytest.mark.parametrize(
        ("line", "within"),
        [
            ("for x in set(names): pass", "iter"),
            ("y = [x for x in set(names)]", "iter"),
            ("y = sorted(set(names))", "arg:sorted"),
            ("y = set(names)", "assign:y"),
            ("set(names)", "expr"),
            ("f(a=set(names))", "kwarg:a"),
            ("if set(names): pass", "test"),
            ("if list(set(names)): pass", "test"),
            ("y = 1 if set(names) else 2", "test"),
            ("with set(names): pass", "with"),
            ("with set(names) as z: pass", "assign:z"),
        ],
    )
    def test_within(self, line, within):
        assert call(line + "\n", "set").within == within

    def test_a_dead_branch_says_nothing(self):
        assert facts("if False:\n    random.seed(1)\nif 0:\n    random.seed(2)\n").calls == ()

    def test_the_main_guard_is_a_scope(self):
        body = facts("def main(): pass\nif __name__ == '__main__':\n    main()\n")
        assert [s.kind for s in body.scopes] == ["module", "function", "main"]
        assert body.scopes[2].refs == ("main",)


class TestAssignments:
    def test_what_is_kept(self):
        source = """
            torch.backends.cudnn.benchmark = True
            os.environ["TF_DETERMINISTIC_OPS"] = "1"
            class Config:
                lr: float = field(default=0.1)
                names: list = field(default_factory=lambda: ["a"])
            def save():
                state = {"model": model.state_dict(), "epoch": epoch}
                start = checkpoint["epoch"]
                hidden = compute(x)
        """
        kept = {each.target: each.value for each in facts(source).assigns}
        assert kept == {
            "torch.backends.cudnn.benchmark": "True",
            "os.environ['TF_DETERMINISTIC_OPS']": "'1'",
            "lr": "0.1",
            "names": "['a']",
            "state": "{'model': model.state_dict(), 'epoch': epoch}",
            "start": "checkpoint['epoch']",
        }


class TestReferences:
    def test_only_what_can_lead_somewhere(self):
        source = """
            from helpers import run
            def local(): pass
            def f(cfg, unknown):
                local()
                run(cfg)
                x = unknown.step_all()
                y = torch.cat([x, cfg])
                return len(y)
        """
        [scope] = [s for s in facts(source).scopes if s.name == "f"]
        assert scope.refs == ("?.step_all", "helpers.run", "local")

    def test_functions_handed_on(self):
        source = "import jobs\ndef work(): pass\ndef f(pool):\n    pool.map(work, target=jobs.other)\n"
        [scope] = [s for s in facts(source).scopes if s.name == "f"]
        assert {"work", "jobs.other"} <= set(scope.refs)


class TestIdentities:
    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ("meta-llama/Llama-2-7b-hf", "hub"),
            ("gpt-4-0613", "api"),
            ("claude-3-opus-20240229", "api"),
            ("https://example.org/data.zip", "url"),
            ("/home/someone/data", "path"),
            ("C:\\data\\train", "path"),
            ("a b/c", ""),
            ("/usr/bin/env", ""),
            ("train", ""),
            ("x/y/z", ""),
        ],
    )
    def test_kind(self, value, kind):
        assert identity_kind(value) == kind

    def test_roles(self):
        source = """
            def f(name="org/default"):
                load("org/arg")
                load(path="org/kw")
                x = {"k": "org/value"}
                y = ["org/item"]
                z = "org/assigned"
        """
        assert {t.value: t.role for t in facts(source).texts} == {
            "org/default": "default:name",
            "org/arg": "arg:load:0",
            "org/kw": "kwarg:load:path",
            "org/value": "item:'k'",
            "org/item": "item:assign:y",
            "org/assigned": "assign:z",
        }


def test_reads_of_settings():
    source = "a = args.lr\nb = cfg['seed']\nc = getattr(opt, 'rate', 1)\nd = config.get('depth')\ne = other.thing\n"
    assert facts(source).attributes == ("depth", "lr", "rate", "seed")


def test_inline_suppressions():
    source = "x = 1\ny = 2  # ml-audit: ignore[data.source, hub.code] fixed elsewhere\n"
    [found] = ignores(source)
    assert (found.rules, found.reason, found.line) == (("data.source", "hub.code"), "fixed elsewhere", 2)


class TestWhatPythonRefuses:
    OLD = "import torch\nfrom lib import go\nprint 'hello'\ndef f(x):\n    torch.manual_seed(3)\n    raise E, 'no'\n"

    def test_python_2_is_read_and_said_to_be_partial(self):
        body, partial = extract(self.OLD)
        assert isinstance(body, PythonFacts) and body.parser == "tree_sitter"
        assert "read tolerantly" in partial and "line 3" in partial
        assert [i.module for i in body.imports] == ["torch", "lib"]
        assert [(c.name, c.line, c.args) for c in body.calls] == [("torch.manual_seed", 5, ("3",))]
        assert [s.name for s in body.scopes] == ["", "f"]

    @pytest.mark.parametrize(
        "source", ["x = " + "(" * 3000 + ")" * 3000, "x = " + "+".join(["1"] * 30_000), "a\0b"]
    )
    def test_nested_or_binary(self, source):
        body, partial = extract(source)
        assert partial and (body is None or isinstance(body, PythonFacts))


_NAMES = st.sampled_from(
    ["a", "b.c", "f(1)", "x['k']", "'s'", "0.5", "None", "lambda q: q", "[1, 2]", "{'k': v}", "-n", "not z"]
)


@settings(max_examples=200)
@given(st.lists(_NAMES, min_size=1, max_size=6), st.sampled_from([" + ", " and ", ", "]))
def test_rendering_gives_back_python(parts, glue):
    """What is short enough to be kept whole parses to the same tree."""
    source = "(" + glue.join(f"({part})" for part in parts) + ",)"
    tree = ast.parse(source, mode="eval").body
    text = render(tree, {}, 10_000)
    assert ast.dump(ast.parse(text, mode="eval").body) == ast.dump(tree)


@given(st.text(max_size=300))
def test_any_text_is_survived(source):
    body, _ = extract(source)
    assert body is None or isinstance(body, PythonFacts)


def test_rendering_is_bounded():
    tree = ast.parse("f(" + ", ".join(f"'{'x' * 50}{i}'" for i in range(500)) + ")", mode="eval").body
    assert len(render(tree, {}, 120)) <= 120
    assert dotted(ast.parse("a.b.c", mode="eval").body, {"a": "alpha.beta"}) == "alpha.beta.b.c"
