"""Profiles that a repository defines for itself."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.documents.errors import DocumentError
from audit.profiles import profiles, required, resolve, severities
from audit.profiles.definitions import Detection, Profile, is_own
from audit.profiles.own import known_profiles, own_profiles
from tests.signals.building import build

ABLATION = b"""about: One thing is left out at a time.
extends: [finetuning]
required: [custom.ablation.removed, training.epochs]
severities: {train.optimizer_declared: critical}
detection: {words: [ablation], imports: [ablator]}
"""


def own(**files: str) -> dict[str, Profile]:
    return own_profiles(
        [(f".ml-audit/profiles/{name}.yaml", text.encode()) for name, text in files.items()],
        ("train.optimizer_declared", "eval.metrics_declared"),
    )


def mistakes(**files: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        own(**files)
    assert caught.value.advice
    return caught.value.message.splitlines()


def test_a_profile_of_ones_own() -> None:
    path = ".ml-audit/profiles/ablation.yaml"
    (made,) = own_profiles([(path, ABLATION)]).values()
    assert made == Profile(
        "ablation",
        "One thing is left out at a time.",
        ("finetuning",),
        ("custom.ablation.removed", "training.epochs"),
        {"train.optimizer_declared": "critical"},
        Detection("names", frozenset({"ablator"}), frozenset(), ("ablation",)),
        path,
    )


def test_it_inherits_from_shipped_profiles_and_from_its_own() -> None:
    made = own(a="about: first\nextends: [b, evaluation]\n", b="about: second\nrequired: [custom.x]\n")
    there = profiles() | made
    assert [each.name for each in resolve(["a"], there)] == ["core", "b", "inference", "evaluation", "a"]
    fields = required(resolve(["a"], there))
    assert fields["custom.x"] == "b" and fields["evaluation.metrics"] == "evaluation"


def test_a_childs_severity_goes_before_its_parents_and_the_gravest_of_several_holds() -> None:
    made = own(
        mild="about: mild\nextends: [evaluation]\nseverities: {eval.metrics_declared: info}\n",
        grave="about: grave\nseverities: {eval.metrics_declared: warning}\n",
    )
    there = profiles() | made
    assert severities(["evaluation"], there)["eval.metrics_declared"] == "critical"
    assert severities(["mild"], there)["eval.metrics_declared"] == "info"
    assert severities(["mild", "grave"], there)["eval.metrics_declared"] == "warning"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("about: some\nextends: [finetune]\n", "a.yaml:2:11: extends: there is no profile finetune; perhaps finetuning."),
        ("about: some\nextends: zzz\n", "extends: there is no profile zzz; there are a, agent, core,"),
        ("about: some\nextends: [a]\n", "a.yaml:2:1: extends: the profile extends itself: a -> a."),
        ("about: some\nrequired: [training.lr]\n", "a.yaml:2:12: required: training.lr names no setting of the manifest; perhaps training."),
        ("about: some\nseverities: {eval.metric_declared: info}\n", "severities: there is no rule eval.metric_declared; perhaps eval.metrics_declared."),
        ("about: some\nseverities: {eval.metrics_declared: high}\n", "one of 'critical', 'warning' or 'info' is expected, not `high`"),
        ("about: some\nname: b\n", "a.yaml:2:1: name: a file called b.yaml is expected to define b."),
        ("about: some\nrequire: [custom.x]\n", "a.yaml:2:1: require: this key is not known; perhaps required? Allowed: name, about,"),
        ("extends: [core]\n", "a.yaml:1:1: about: is missing."),
        ("about: some\nextends: &x [core]\n", "a.yaml:2:10: the anchor &x is not read"),
        ("about: some\ndetection: {words: ['(a+)+$']}\n", "does not fit"),
        ("- a\n", "a.yaml:1:1: a table is expected: name, about, extends,"),
        ("", "a.yaml:1:1: a table is expected"),
    ],
)  # fmt: skip
def test_mistakes_have_file_line_and_mend(text: str, said: str) -> None:
    (line,) = mistakes(a=text)
    assert line.startswith(".ml-audit/profiles/") and said in line


def test_a_circle_through_others_is_told_whole() -> None:
    (line,) = mistakes(
        a="about: one\nextends: [b]\n", b="about: two\nextends: [c]\n", c="about: three\nextends: a\n"
    )
    assert line == ".ml-audit/profiles/a.yaml:2:1: extends: the profile extends itself: a -> b -> c -> a."


def test_a_shipped_profile_is_not_redefined() -> None:
    (line,) = mistakes(core="about: mine\nextends: []\n")
    assert "core is a shipped profile" in line


def test_two_files_of_one_name() -> None:
    files = [(f".ml-audit/profiles/a.{end}", b"about: some\n") for end in ("yaml", "yml")]
    with pytest.raises(
        DocumentError, match=r"a.yml:1:1: .ml-audit/profiles/a.yaml defines the profile a, too"
    ):
        own_profiles(files)


def test_more_files_than_anybody_needs() -> None:
    with pytest.raises(DocumentError, match="more than 20 files"):
        own(**{f"p{n}": "about: some\n" for n in range(21)})


def test_a_long_chain_is_resolved() -> None:
    made = own(
        **{f"p{n:02}": f"about: some\nextends: [{f'p{n + 1:02}' if n < 19 else 'core'}]\n" for n in range(20)}
    )
    assert len(resolve(["p00"], profiles() | made)) == 21


def test_a_wide_lattice_is_resolved_in_one_pass() -> None:
    """Each profile extends all those behind it: 2^19 ways lead to the last."""
    made = own(
        **{
            f"p{n:02}": f"about: some\nextends: [{', '.join(f'p{m:02}' for m in range(n + 1, 20)) or 'core'}]\n"
            for n in range(20)
        }
    )
    assert len(resolve(["p00"], profiles() | made)) == 21
    assert severities(["p00"], profiles() | made) == {}


def test_which_files_define_profiles() -> None:
    assert is_own(".ml-audit/profiles/a.yaml") and is_own(".ml-audit/profiles/a.yml")
    assert not is_own(".ml-audit/profiles/sub/a.yaml")
    assert not is_own(".ml-audit/profiles/a.txt")
    assert not is_own("x/.ml-audit/profiles/a.yaml")


def test_those_of_a_snapshot() -> None:
    snapshot = build(
        {".ml-audit/profiles/ablation.yaml": ABLATION, ".ml-audit/profiles/README.md": "x"}
    ).snapshot
    assert set(known_profiles(snapshot)) - set(profiles()) == {"ablation"}
    assert known_profiles(build({"a.py": "1"}).snapshot) == profiles()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_give_a_profile_or_a_document_error(data: bytes) -> None:
    try:
        own_profiles([(".ml-audit/profiles/a.yaml", data)])
    except DocumentError as error:
        assert error.message


NAMES = st.sampled_from(["a", "b", "c", "core", "evaluation", "x"])


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=4), max_size=4))
def test_any_lineage_resolves_or_is_refused(parents: dict[str, list[str]]) -> None:
    files = {name: json.dumps({"about": "some", "extends": extends}) for name, extends in parents.items()}
    try:
        made = own(**files)
    except DocumentError as error:
        assert error.message.startswith(".ml-audit/profiles/")
    else:
        for name in made:
            assert resolve([name], profiles() | made)[-1].name == name
