"""`reprollm.lock` as a State. `data/reprollm.lock` was written by `reprollm lock --offline` 0.6.1 for `data/reprollm-full.yaml`."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.documents.errors import DocumentError
from audit.documents.state import Confidence, Source
from audit.state.reprollm import read_reprollm
from audit.state.reprollm_lock import read_reprollm_lock

DATA = Path(__file__).parent / "data"
LOCK = (DATA / "reprollm.lock").read_bytes()
EMPTY = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_values_are_where_ours_has_them() -> None:
    leaves = read_reprollm_lock(LOCK).leaves
    values = {path: leaf.value for path, leaf in leaves.items()}
    assert values["models.primary.revision"] == "0123456789abcdef0123456789abcdef01234567"
    assert values["models.primary.tokenizer_revision"] == "1234567"
    assert values["models.primary.chat_template"] == EMPTY
    assert values["models.judge.pinnability"] == "snapshot_alias"
    assert values["datasets.evaluation.sha256.data/a.json"] == EMPTY
    assert values["files.configs/a.yaml"] == EMPTY
    assert values["training.learning_rate"] == 2e-5
    assert values["evaluation.metrics"] == ("f1", "em")
    assert values["environment.python"] == "3.11.7"
    assert {leaf.source for leaf in leaves.values()} == {Source.LOCK}
    assert list(leaves) == sorted(leaves)


def test_how_sure_a_value_is_comes_along() -> None:
    leaves = read_reprollm_lock(LOCK).leaves
    unresolved = leaves["models.primary.adapter_revision"]
    assert (unresolved.value, unresolved.confidence) == (None, Confidence.UNRESOLVED)
    assert unresolved.detail == "offline mode; run reprollm lock with network access"
    assert leaves["models.primary.revision"].confidence is Confidence.DECLARED
    assert leaves["models.primary.chat_template"].confidence is Confidence.EXACT
    assert leaves["files.ds.json"].confidence is Confidence.EXACT


def test_places_are_those_of_the_file() -> None:
    lines = LOCK.decode().splitlines()
    leaves = read_reprollm_lock(LOCK, "old/reprollm.lock").leaves
    for path, text in (
        ("models.primary.id", "id: acme/tiny"),
        ("training.epochs", "epochs: 3"),
        ("files.ds.json", "sha256:"),
    ):
        place = leaves[path].place
        assert place is not None and place.line is not None and place.path == "old/reprollm.lock"
        assert text in lines[place.line - 1]


def test_it_says_what_its_manifest_says() -> None:
    declared = read_reprollm((DATA / "reprollm-full.yaml").read_bytes()).state.leaves
    locked = read_reprollm_lock(LOCK).leaves
    both = declared.keys() & locked.keys()
    assert len(both) > 40
    # What a lock resolves is a digest there.
    assert {path for path in both if declared[path].value != locked[path].value} <= {
        "models.primary.chat_template",
        "models.primary.adapter_revision",
        "inference.backend_version",
    }


def test_packages_stand_where_ours_do() -> None:
    leaves = read_reprollm_lock(b"environment: {packages: {torch: 2.4.1, scikit-learn: 1.5.1}}").leaves
    assert {path: leaf.value for path, leaf in leaves.items()} == {
        "environment.packages.scikit-learn.installed": "1.5.1",
        "environment.packages.torch.installed": "2.4.1",
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"- a", "reprollm.lock:1:1: a table is expected."),
        (b"a: &x 1", "reprollm.lock:1:4: the anchor &x is not read"),
        (
            b"models: {a: x}\ntraining: {epochs: three}",
            "reprollm.lock:2:12: training.epochs: a number is expected",
        ),
        (b"training: {epoch: 3}", "reprollm.lock:1:12: training.epoch: reprollm knows no such key."),
        (b"a: [", "reprollm.lock:1:5: this is no YAML"),
    ],
)
def test_mistakes_have_lines(data: bytes, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_reprollm_lock(data)
    assert any(line.startswith(said) for line in caught.value.message.splitlines()), caught.value.message


KEYS = st.sampled_from(
    "models datasets prompts files training inference evaluation environment packages primary judge eval id revision value source confidence note "
    "tokenizer adapter chat_template sha256 config_sha256 local weights path metrics name version model_ref".split()
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 9)
    | st.text(max_size=6)
    | st.sampled_from(["exact", "unresolved"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=5),
    max_leaves=16,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_table_is_read_or_refused(value: object) -> None:
    try:
        read_reprollm_lock(yaml.safe_dump(value, allow_unicode=True).encode())
    except DocumentError as error:
        assert error.message


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_reprollm_lock(data)
    except DocumentError as error:
        assert error.message
