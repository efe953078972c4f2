"""How much a change matters."""

import pytest

from audit.documents.drift import ChangeKind, DriftSeverity
from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source
from audit.profiles.definitions import profiles
from audit.state.names import _table, concept, plain
from audit.state.severity import entry_for, judged, table


def leaf(value, detail: str = "") -> Leaf:
    return Leaf(value, Source.CODE, Confidence.OBSERVED, detail, Place("a.py", 1))


def test_every_known_setting_has_an_entry_of_its_own() -> None:
    fallback = table().changes[-1]
    known = {*_table().by_name.values(), *(found for _, found in _table().by_key)}
    assert [found for found in sorted(known) if entry_for(found) is fallback] == []


def test_every_entry_decides_something_and_says_why() -> None:
    sentences = [entry.why for entries in (table().changes, *table().profiles.values()) for entry in entries]
    assert all(text.endswith(".") and len(text) > 20 for text in sentences)
    assert len(set(sentences)) == len(sentences)


def test_profiles_of_the_table_exist() -> None:
    assert set(table().profiles) <= set(profiles())


@pytest.mark.parametrize(
    ("setting", "severity"),
    [
        ("models.primary.revision", "HIGH"),
        ("models.judge.id", "HIGH"),
        ("models.primary.dtype", "MEDIUM"),
        ("stages.sft.models.primary.dtype", "MEDIUM"),
        ("datasets.evaluation.preprocessing", "MEDIUM_HIGH"),
        ("datasets.train.sampling.seed", "HIGH"),
        ("prompts.system.text", "HIGH"),
        ("generation.params.min_p", "HIGH"),
        ("inference.backend", "HIGH"),
        ("inference.max_model_len", "MEDIUM"),
        ("training.params.whatever", "HIGH"),
        ("evaluation.aggregation", "MEDIUM_HIGH"),
        ("evaluation.judge.temperature", "HIGH"),
        ("privacy.mechanism", "HIGH"),
        ("environment.driver", "LOW"),
        ("environment.gpu", "MEDIUM"),
        ("files.prompts/judge.txt", "HIGH"),
        ("custom.anything", "MEDIUM"),
        ("nobody.knows", "MEDIUM"),
        ("project.name", "NONE"),
    ],
)
def test_severities_of_the_design(setting: str, severity: str) -> None:
    assert entry_for(setting).severity.value == severity


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [
        ("==2.4.1", "==3.0.0", "MEDIUM_HIGH"),
        ("==2.4.1", "==2.5.1", "MEDIUM_HIGH"),
        ("==2.4.1", "==2.4.2", "MEDIUM"),
        ("2.4.1", "2.4.1+cu121", "MEDIUM"),
        ("==2.4", "==2.4.1", "MEDIUM"),
        ("==2.4.1", ">=2.4", "MEDIUM_HIGH"),
        (">=2.3", ">=2.4", "MEDIUM"),
        ("==2.4.*", "==2.5.*", "MEDIUM"),
    ],
)
def test_versions(before: str, after: str, severity: str) -> None:
    found, _ = judged("environment.packages.torch.declared", ChangeKind.CHANGED, leaf(before), leaf(after))
    assert found.value == severity


def test_what_is_added_switched_off_is_low() -> None:
    for value in (None, False, 0, "", "none", (), "false", "0.0"):
        assert judged("training.params.loss", ChangeKind.ADDED, None, leaf(value))[0] is DriftSeverity.LOW
    for value in (True, 1, 0.1, "cosine", ("a",)):
        assert judged("training.params.loss", ChangeKind.ADDED, None, leaf(value))[0] is DriftSeverity.HIGH


def test_a_new_default_counts_one_level_less() -> None:
    new = leaf(0.1, "default of option --mixup")
    assert judged("training.params.augmentation", ChangeKind.ADDED, None, new)[0] is DriftSeverity.MEDIUM_HIGH


def test_a_profile_only_speaks_of_its_own() -> None:
    assert entry_for("execution.world_size", ("rl",)).severity is DriftSeverity.HIGH
    assert entry_for("training.params.loss", ("rl",)) is entry_for("training.params.loss")


def test_names() -> None:
    assert plain("--learning-rate") == plain("learningRate") == plain("LEARNING_RATE") == "learning_rate"
    assert concept("optim.base_lr") == "training.learning_rate"
    assert concept("DEFAULT_SEED") == "training.seed"
    assert concept("model.optimizer.name") == "training.optimizer"
    assert concept("trainer.logger.name") == "recording"
    assert concept("metric_list.0.metric") == "evaluation.metrics"
    assert concept("nobody_knows") is None
    assert concept("x" * 1000) is None
