from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.assess.score import WEIGHTS, dimensions, overall
from audit.documents.finding import Severity, Status
from audit.documents.report import Dimension, Dimensions
from tests.assess.samples import cost, finding

RULES = {"a.one": cost(), "a.two": cost(points=3.0), "b.one": cost("data", 4.0, Severity.CRITICAL)}


def test_weights_add_up_to_one_and_name_the_dimensions_of_the_report():
    assert round(sum(WEIGHTS.values()), 9) == 1.0
    assert tuple(WEIGHTS) == Dimensions.__struct_fields__


def test_a_failing_rule_costs_its_points_once_however_often_it_fails():
    parts = dimensions([finding("a.one", message="First."), finding("a.one", message="Second.")], RULES)
    assert parts.environment.score == 8.0
    assert [(loss.rule, loss.points, loss.message) for loss in parts.environment.why] == [
        ("a.one", 2.0, "First. (and 1 more)")
    ]


def test_a_lesser_case_costs_half_a_step():
    parts = dimensions([finding("b.one", Severity.WARNING)], RULES)
    assert parts.data.score == 8.0
    parts = dimensions([finding("b.one", Severity.INFO)], RULES)
    assert parts.data.score == 9.0
    parts = dimensions([finding("b.one", Severity.INFO), finding("b.one", Severity.CRITICAL)], RULES)
    assert parts.data.score == 6.0


def test_a_worse_case_costs_no_more_than_the_rules_points():
    assert dimensions([finding("a.one", Severity.CRITICAL)], RULES).environment.score == 8.0


def test_what_passes_scores_ten_and_what_was_not_judged_nothing():
    found = [
        finding("a.one", status=Status.PASS),
        finding("b.one", status=Status.NOT_APPLICABLE),
        finding("a.two", status=Status.NOT_CHECKED),
    ]
    parts = dimensions(found, RULES)
    assert parts.environment.score == 10.0
    assert parts.data.score is None
    assert parts.testing.score is None
    assert overall(parts) == 10.0


def test_a_suppressed_failure_costs_nothing():
    parts = dimensions(
        [finding("a.one", status=Status.SUPPRESSED), finding("a.two", status=Status.PASS)], RULES
    )
    assert parts.environment.score == 10.0


def test_a_rule_of_no_dimension_and_an_unknown_rule_cost_nothing():
    rules = RULES | {"x.y": cost("", 0.0)}
    assert overall(dimensions([finding("x.y"), finding("un.known")], rules)) == 0.0


def test_the_mean_is_weighted_over_what_has_a_score():
    none = Dimension(None, 0.1)
    parts = Dimensions(Dimension(10.0, 0.3), none, none, none, none, none, Dimension(5.0, 0.1), none)
    assert overall(parts) == 8.8  # (10 * 0.3 + 5 * 0.1) / 0.4 = 8.75


POINTS = st.floats(0, 10).map(lambda x: round(x, 2))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(WEIGHTS)), POINTS, st.sampled_from(Severity), st.sampled_from(Status)
        ),
        max_size=30,
    )
)
def test_what_is_named_adds_up_to_what_was_lost(cases):
    rules, found = {}, []
    for number, (dimension, points, severity, status) in enumerate(cases):
        name = f"c.{number}"
        rules[name] = cost(dimension, points)
        found.append(finding(name, severity, status))
    parts = dimensions(found, rules)
    for name in WEIGHTS:
        part = getattr(parts, name)
        if part.score is None:
            assert part.why == ()
            continue
        assert 0.0 <= part.score <= 10.0
        assert round(part.score + sum(loss.points for loss in part.why), 2) == 10.0
        assert all(loss.points > 0 for loss in part.why)
    assert 0.0 <= overall(parts) <= 10.0
    assert dimensions(list(reversed(found)), rules) == parts
