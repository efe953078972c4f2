from audit.assess.insights import insights
from audit.assess.score import dimensions
from audit.documents.finding import Fix, Severity, Status
from audit.documents.rule import RuleText
from audit.documents.signals import Checkpoint, CriticalDependency, HubCalls
from tests.assess.samples import cost, finding
from tests.report.samples import signals

RULES = {"a.one": cost(), "a.two": cost(points=5.0), "b.one": cost("data", 1.0), "t.one": cost("testing")}
TEXTS = {"a.one": RuleText("One", "why", "Mend all of them.")}
QUIET = {
    "seed_control": (),
    "tests": False,
    "hub_calls": HubCalls(),
    "training_loop": "raw_torch",
    "checkpoint": None,
}


def said(findings=(), **values):
    return insights(dimensions(findings, RULES), findings, signals(**(QUIET | values)), TEXTS)


def test_where_it_stands_and_what_comes_first():
    import msgspec

    found = [
        finding("a.one", message="One."),
        msgspec.structs.replace(finding("a.two", message="Two."), fix=Fix("Mend two.")),
        finding("b.one", Severity.CRITICAL, message="B."),
        finding("t.one", status=Status.PASS),
    ]
    assert said(found) == (
        "Strongest: testing (10.0) and data (9.0).",
        "Weakest: the environment (3.0, most of it by a.two).",
        "Do first (b.one): B.",
        "Then (a.two): Mend two.",
        "Then (a.one): One.",
    )


def test_nothing_to_score_is_said():
    assert said() == ("Nothing here could be scored: no rule of any dimension applies.",)


def test_an_info_that_costs_nothing_is_no_step():
    assert not any("Do first" in sentence for sentence in said([finding("z.none", Severity.INFO)]))


def test_seeds_without_rng_state_in_checkpoints():
    sentence = "Seeds are set and training can resume, but checkpoints hold no RNG state"
    values = {
        "seed_control": ("torch",),
        "resume": True,
        "checkpoint": Checkpoint(model=True),
        "determinism_flags": ("x",),
    }
    assert any(s.startswith(sentence) for s in said(**values))
    assert not any(
        s.startswith(sentence) for s in said(**(values | {"checkpoint": Checkpoint(rng_state=True)}))
    )
    assert not any(s.startswith(sentence) for s in said(**(values | {"resume": False})))


def test_combinations():
    assert any("deterministic-algorithm flag" in s for s in said(seed_control=("torch",)))
    assert not any("deterministic-algorithm flag" in s for s in said(seed_control=("jax",)))
    assert any(
        "how many workers" in s for s in said(seed_control=("torch",), dataloader_worker_seeding=False)
    )
    assert not any(
        "how many workers" in s for s in said(seed_control=("torch",), dataloader_worker_seeding=None)
    )
    assert any("no CI job runs them" in s for s in said(tests=True, ci_tests=False))
    assert any("not the Python version" in s for s in said(lockfile="full", python_version=None))
    assert any("the data is not" in s for s in said(lockfile="full", dataset_pinned="no"))
    assert any(
        "trust_remote_code runs" in s for s in said(trust_remote_code=True, hub_calls=HubCalls(1, 0, 0))
    )
    assert not any(
        "trust_remote_code runs" in s for s in said(trust_remote_code=True, hub_calls=HubCalls(1, 1, 0))
    )
    loose = {"torch": CriticalDependency("unversioned", False)}
    assert any(
        "torch may be any version" in s
        for s in said(benchmarks=True, lockfile="none", critical_dependencies=loose)
    )
    assert any("No training entry point" in s for s in said(training_loop="none"))


def test_what_a_rule_has_cleared_is_not_said_all_the_same():
    values = {"seed_control": ("torch",), "dataloader_worker_seeding": False}
    passed = [finding("determinism.loader_workers", status=Status.PASS)]
    assert not any("how many workers" in s for s in said(passed, **values))
    failed = [*passed, finding("determinism.loader_workers")]
    assert any("how many workers" in s for s in said(failed, **values))
    unsure = [finding("determinism.loader_workers", status=Status.NOT_CHECKED)]
    assert any("how many workers" in s for s in said(unsure, **values))


def test_the_same_evidence_gives_the_same_sentences_in_any_order():
    found = [finding("a.one"), finding("a.two"), finding("b.one")]
    assert said(found) == said(list(reversed(found)))


def test_of_several_findings_of_one_rule_the_general_mend_is_said():
    found = [finding("a.one", message="First."), finding("a.one", message="Second.")]
    assert "Do first (a.one): Mend all of them. (2 findings)" in said(found)
