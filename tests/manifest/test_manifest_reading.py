"""The manifest's reader: values, places, and every mistake said with its line."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.documents.errors import DocumentError
from audit.documents.manifest import Manifest, is_setting
from audit.documents.manifest import settings as declarable
from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source
from audit.facts.strict_yaml import MAX_BYTES
from audit.state.manifest import state_of
from audit.state.manifest_reading import read_declared, read_manifest

WHOLE = b"""# what we ran
schema_version: 1
project: {name: tiny, url: "https://example.org/tiny"}
experiment:
  command: python train.py --config a.yaml
  seed: 42
  profiles: [finetuning]
models:
  primary:
    id: acme/tiny
    provider: huggingface
    revision: 1234567
    trust_remote_code: false
  judge: {id: gpt-4o-2024-08-06, provider: openai}
datasets:
  train: {id: acme/reviews, split: train, path: data/a.json, sampling: {size: 0.5, seed: 1}}
training:
  learning_rate: 2e-5
  epochs: 3
  batch_size: "8"
  total_timesteps: 1e6
  lora: {rank: 8, target_modules: q_proj}
  params: {beta: 0.1, packing: true, label: "1"}
evaluation: {metrics: [accuracy, f1], implementation: {f1: scorers/f1.py}}
custom: {tools: [search, calculator], retrieval: {top_k: 5}}
stages:
  tune: {training: {epochs: 1}}
  score: {needs: tune}
bindings: {training.learning_rate: {flag: --lr}}
"""


def mistakes(data: bytes | str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_manifest(data if isinstance(data, bytes) else data.encode(), "m.yaml")
    assert caught.value.advice
    return caught.value.message.splitlines()


def only(data: bytes | str) -> str:
    (one,) = mistakes(data)
    return one


def test_values_have_the_type_of_their_field() -> None:
    manifest = read_manifest(WHOLE)
    assert manifest.training is not None and manifest.evaluation is not None
    assert manifest.training.learning_rate == 2e-5
    assert (manifest.training.batch_size, manifest.training.total_timesteps) == (8, 1_000_000)
    assert manifest.models["primary"].revision == "1234567"  # a revision is a text, whatever it looks like
    assert manifest.training.params == {"beta": 0.1, "packing": True, "label": "1"}
    assert manifest.evaluation.implementation == {"f1": "scorers/f1.py"}
    assert manifest.profiles == ("finetuning",)


def test_the_state_has_every_value_with_its_line() -> None:
    declared = read_declared(WHOLE, "sub/ml-audit.yaml")
    state = state_of(declared.manifest, declared.positions)
    assert list(state.leaves) == sorted(state.leaves)
    assert state.leaves["models.primary.revision"] == Leaf(
        "1234567", Source.MANIFEST, Confidence.DECLARED, "", Place("sub/ml-audit.yaml", 12)
    )
    values = {path: leaf.value for path, leaf in state.leaves.items()}
    assert values["training.epochs"] == 3 and isinstance(values["training.epochs"], int)
    assert values["training.lora.target_modules"] == ("q_proj",)
    assert values["datasets.train.path"] == "data/a.json"
    assert values["datasets.train.sampling.size"] == 0.5
    assert values["custom.tools"] == ("search", "calculator")
    assert values["custom.retrieval.top_k"] == 5
    assert values["stages.tune.training.epochs"] == 1
    assert values["bindings.training.learning_rate.flag"] == "--lr"
    assert "experiment.profiles" not in values and "schema_version" not in values
    assert state.leaves["training.params.beta"].place == Place("sub/ml-audit.yaml", 23)


def test_a_state_without_places() -> None:
    assert state_of(Manifest()).leaves == {}
    assert state_of(read_manifest(b"project: {name: x}")).leaves["project.name"].place is None


@pytest.mark.parametrize(
    "data", [b"", b"# nothing\n", b"---\n", b"null\n", b"\xef\xbb\xbf", b"{}", b"models:\n"]
)
def test_an_empty_manifest_declares_nothing(data: bytes) -> None:
    assert read_manifest(data) == Manifest()


def test_a_key_that_says_nothing_is_not_declared() -> None:
    manifest = read_manifest(b"models:\n  primary:\n    id:  # TODO\n    dtype: ~\ncustom: {a: null, b: 1}\n")
    assert manifest.models["primary"].id is None
    assert manifest.custom == {"b": 1}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("training: {lr: 3}", "m.yaml:1:12: training.lr: this key is not known; perhaps learning_rate? Allowed: method, framework,"),
        ("trainin: {}", "m.yaml:1:1: trainin: this key is not known; perhaps training? Allowed: schema_version, project,"),
        ("\ntemperature: 3", "m.yaml:2:1: temperature: this key is not known here; perhaps generation.temperature?"),
        ("experiment: {seeds: 1}", "experiment.seeds: this key is not known; perhaps seed?"),
        ("models:\n  primary: {torch_dtype: x}", "m.yaml:2:13: models.primary.torch_dtype: this key is not known; perhaps dtype?"),
        ("models: {Primary: {}}", "models.Primary: `Primary` does not fit"),
        ("models: {a: {provider: openia}}", "is expected, not `openia`; perhaps openai."),
        ("models: {a: {trust_remote_code: maybe}}", "m.yaml:1:14: models.a.trust_remote_code: true or false is expected, not `maybe`."),
        ("models: {a: {provider: local, id: ../x}}", "models.a: with provider local, id names a file or folder:"),
        ("models: [a]", "models: a table is expected, not a list."),
        ("project: 5", "project: a table is expected, not `5`."),
        ("experiment: {command: [a]}", "experiment.command: a text is expected, not a list."),
        ("generation: {temperature: 3}", "generation.temperature: 2 or less is expected, not `3`."),
        ("generation: {top_p: 0}", "generation.top_p: a number above 0 is expected, not `0`."),
        ("generation: {max_tokens: abc}", "generation.max_tokens: a whole number is expected, not `abc`."),
        ("inference: {gpu_memory_utilization: 1.2}", "1 or less is expected, not `1.2`."),
        ("training: {learning_rate: .nan}", "training.learning_rate: a number is expected"),
        ("training: {learning_rate: inf}", "training.learning_rate: a finite number is expected"),
        ("training: {max_steps: 1.5}", "training.max_steps: a whole number is expected, not `1.5`."),
        ("prompts: {a: {path: a, text: b}}", "prompts.a: either path or text is expected, not both."),
        ("prompts: {a: {path: /etc/x}}", "prompts.a.path: a path relative to the repository's root is expected."),
        ("prompts: {a: {path: C:/x}}", "a path relative to the repository's root is expected."),
        ("prompts: {a: {path: a/../../x}}", "a path inside the repository is expected, without `..`."),
        ("datasets: {a: {path: ['a\\b']}}", "m.yaml:1:23: datasets.a.path.0: a path with / between its parts is expected."),
        ("bindings: {training.lr: {flag: --lr}}", "bindings.training.lr: this names no setting of the manifest; perhaps training."),
        ("bindings: {training.seed: {env: HF_TOKEN}}", "the name of a secret is not bound"),
        ("stages: {a: {needs: [b]}}", "m.yaml:1:22: stages.a.needs: there is no stage b; there are a."),
        ("evaluation: {implementation: [a]}", "evaluation.implementation: a text is expected, not a list."),
        ("schema_version: 2", "schema_version: 1 or less is expected, not `2`."),
        ("- a\n- b", "m.yaml:1:1: a table is expected: schema_version, project,"),
        ("x", "m.yaml:1:1: a table is expected"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place_and_what_is_allowed(data: str, said: str) -> None:
    assert said in only(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"custom: {a: &x 1}\n", "m.yaml:1:13: the anchor &x is not read; write the values out where they are needed."),
        (b"custom:\n  a: &x 1\n  b: *x\n", "m.yaml:3:6: the alias *x is not read; write the value out."),
        (b"custom:\n  a: !!python/object:os.system x\n", "m.yaml:2:6: the tag tag:yaml.org,2002:python/object:os.system is not read"),
        (b"custom:\n  <<: {a: 1}\n", "m.yaml:2:3: the merge key << is not read"),
        (b"project: {}\nmodels: {}\nproject: {}\n", "m.yaml:3:1: project is written twice, first in line 1; keep one."),
        (b"project: {}\n---\nproject: {}\n", "m.yaml:2:1: only one YAML document is expected"),
        (b"? [a, b]\n: 1\n", "m.yaml:1:3: a key must be a word."),
        (b"a: [1\nb: 2\n", "m.yaml:2:2: this is no YAML:"),
        (b"project:\n  name: \"\xff\"\n", "m.yaml:2:10: the file is not UTF-8; save it as UTF-8."),
        (b"project:\n  name: \x00\n", "m.yaml:2:1: this is no YAML:"),
        (b"#" * (MAX_BYTES + 1), "m.yaml:1:1: the file is larger than 256 KiB."),
        (b"custom: " + b"[" * 500 + b"]" * 500, "nested deeper than 16 levels."),
        (b"custom: " + b"{a: " * 20_000, "nested deeper than 16 levels."),
        (b"custom: {a: [" + b"1," * 30_000 + b"]}", "more than 20,000 values."),
    ],
)  # fmt: skip
def test_what_yaml_can_do_beyond_plain_data_is_refused(data: bytes, said: str) -> None:
    assert any(said in line for line in mistakes(data))


def test_an_alias_bomb_ends_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "m.yaml:1:5: the anchor &a0 is not read" in mistakes("\n".join(lines))[0]


def test_every_mistake_is_told_in_the_order_of_the_file() -> None:
    found = mistakes("training:\n  lr: 1\n  epochs: x\ngeneration:\n  n: 0\nx: &a 1\n")
    assert [line.split(":")[1] for line in found] == ["2", "3", "5", "6", "6"]


def test_so_many_mistakes_are_bounded() -> None:
    found = mistakes("".join(f"k{n}: 1\n" for n in range(9_000)))
    assert len(found) <= 51


def test_stages_do_not_need_themselves() -> None:
    found = mistakes("stages:\n  a: {needs: [b]}\n  b: {needs: [a]}\n  c: {needs: [a]}\n")
    assert [line.partition(": stages.")[2][:1] for line in found] == ["a", "b"]


def test_no_secret_is_quoted() -> None:
    token = "ghp_" + "A1b2C3d4E5f6" * 3
    assert token not in "\n".join(mistakes(f"training: {{epochs: {token}}}"))


def test_roles_may_be_called_like_pydantics_tags() -> None:
    assert only("models:\n  a: {}\n  table:\n    trust_remote_code: maybe\n").startswith(
        "m.yaml:4:5: models.table.trust_remote_code:"
    )


def test_settings_that_can_be_declared() -> None:
    known = list(declarable())
    assert "models.*.revision" in known and "stages.*.training.lora.rank" in known
    for path in (
        "models.primary.id",
        "prompts.judge",
        "custom.retrieval.top_k",
        "evaluation.definitions",
        "evaluation.definitions.refusal",
        "generation.params.x",
        "stages.a.training.epochs",
    ):
        assert is_setting(path), path
    for path in (
        "",
        "a..b",
        "training",
        "models",
        "training.lr",
        "models.primary.id.x",
        "generation.temperature.x",
    ):
        assert not is_setting(path), path


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_any_bytes_give_a_manifest_or_a_document_error(data: bytes) -> None:
    try:
        state_of(read_manifest(data))
    except DocumentError as error:
        assert error.message


KEYS = st.sampled_from(
    "project experiment models datasets prompts generation training evaluation stages bindings custom artifacts primary id path text seed "
    "sampling size lora rank params metrics judge needs name metadata x".split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_table_gives_a_manifest_or_mistakes_with_lines(value: object) -> None:
    import json

    try:
        declared = read_declared(json.dumps(value).encode(), "m.yaml")
    except DocumentError as error:
        assert all(line.startswith("m.yaml:") for line in error.message.splitlines())
    else:
        for leaf in state_of(declared.manifest, declared.positions).leaves.values():
            assert leaf.place is not None and leaf.place.line == 1


def test_two_values_for_one_path_are_a_mistake() -> None:
    text = "custom:\n  a.b: 1\n  a: {b: 2}\n"
    assert only(text) == "m.yaml:3:7: custom.a.b: two values come to this path; keep one, or rename its key."
    assert read_manifest(b"custom: {a.b: 1, a: {c: 2}}").custom == {"a.b": 1, "a": {"c": 2}}


def test_too_many_entries_are_counted() -> None:
    rows = "".join(f"  m{number}: {{id: a/b}}\n" for number in range(51))
    assert only(f"models:\n{rows}") == "m.yaml:1:1: models: at most 50 entries are allowed, there are 51."
