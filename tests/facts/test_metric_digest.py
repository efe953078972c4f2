"""The digest of a metric's code."""

import ast

import pytest

from audit.facts.python.digest import metric_digest
from audit.facts.python.extract import extract

ONE = """
def accuracy(output, target, k=5):
    "Share of right answers."
    best = output.topk(k)
    right = best.eq(target)  # compare
    print("done")
    return right.sum() / len(target)
"""
RENAMED = """
def accuracy(
    out: "Tensor", tgt, k=5,
) -> float:
    top = out.topk(k)
    hits = top.eq(tgt)
    return hits.sum() / len(tgt)
"""


def digest(source: str) -> str:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    return metric_digest(node)


def test_layout_names_comments_and_prints_do_not_count() -> None:
    assert digest(ONE) == digest(RENAMED) != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("topk", "sort"),
        ("k=5", "k=1"),
        ("right.sum()", "right.mean()"),
        ("/ len", "* len"),
        ("best.eq(target)", "target.eq(best)"),
    ],
)
def test_what_is_computed_counts(old: str, new: str) -> None:
    assert digest(ONE) != digest(ONE.replace(old, new))


def test_only_metrics_have_one() -> None:
    assert digest("def train(x):\n    return x\n") == ""
    assert digest("def accelerate(x):\n    return x\n") == ""
    assert digest("def compute_f1_score(x):\n    return x\n") != ""


def test_a_huge_function_has_none() -> None:
    assert digest("def f1(x):\n" + "    x = x + 1\n" * 5_000) == ""


def test_facts_carry_it() -> None:
    facts = extract(ONE).body
    [scope] = [scope for scope in facts.scopes if scope.name == "accuracy"]
    assert scope.digest == digest(ONE)
