"""The manifest `ml-audit.yaml`: what an experiment is meant to be, as the people who run it declare it. Schema version 1.

Everything may be left out: what has to be said depends on the kind of experiment, and is asked for by rules. What is said has to be of its type and
within its limits. pydantic is imported here, so import this module where a manifest is read.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic.config import JsonDict

from audit.documents.mistakes import sections_of

MANIFEST_PATH = "ml-audit.yaml"

# Types ---------------------------------------------------------------------------------------------------------------

_WHOLE = re.compile(r"[-+]?\d{1,15}(?:\.0{0,15})?[eE]\+?\d{1,2}|[-+]?\d{1,15}\.0{1,15}")
_LISTED = 200


def _counted(value: Any) -> Any:
    """ "1e6" and "3.0" are whole numbers, too; people write training steps so."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        number = float(value)
        return int(number) if number.is_integer() else value
    return value


def _text(value: Any) -> Any:
    """A version or revision is a text, also where it looks like a number."""
    return str(value) if isinstance(value, (int, float)) else value


def _several(value: Any) -> Any:
    """One word where a list is expected is a list of it."""
    return [value] if isinstance(value, str) else value


def _relative(value: str) -> str:
    parts = value.split("/")
    if value.startswith(("/", "~")) or re.match(r"[A-Za-z]:", value):
        raise ValueError("a path relative to the repository's root is expected")
    if "\\" in value:
        raise ValueError("a path with / between its parts is expected")
    if ".." in parts:
        raise ValueError("a path inside the repository is expected, without `..`")
    return value


_NAME = r"^[a-z][a-z0-9_]{0,31}$"
Role = Annotated[str, StringConstraints(pattern=_NAME)]
_CLOSED: JsonDict = {"additionalProperties": False}
"""Roles are names: a key that is none is not allowed (pydantic's schema leaves that open)."""
Line = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000),
    BeforeValidator(_text, json_schema_input_type=str | float | bool),
]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
RelativePath = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), AfterValidator(_relative)
]
Lines = Annotated[
    tuple[Line, ...],
    BeforeValidator(_several, json_schema_input_type=str | list[str]),
    Field(max_length=_LISTED),
]
Words = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=2_000)], ...],
    BeforeValidator(_several, json_schema_input_type=str | list[str]),
    Field(max_length=_LISTED),
]
Paths = Annotated[
    tuple[RelativePath, ...],
    BeforeValidator(_several, json_schema_input_type=str | list[str]),
    Field(max_length=_LISTED),
]
Whole = Annotated[int, BeforeValidator(_counted), Field(ge=-(2**63), lt=2**63)]
Count = Annotated[int, BeforeValidator(_counted), Field(ge=1, lt=2**63)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]
TopP = Annotated[float, Field(gt=0, le=1)]
Free = Annotated[dict[str, JsonValue], Field(max_length=1_000)]
"""A table that this program does not look into: it is compared and recorded as it is."""

Provider = Literal[
    "huggingface",
    "openai",
    "openrouter",
    "anthropic",
    "google",
    "azure",
    "bedrock",
    "vertex",
    "mistral",
    "cohere",
    "together",
    "fireworks",
    "groq",
    "deepseek",
    "ollama",
    "vllm-served",
    "local",
    "other",
]
"""Who serves a model: the hub, an API, one's own server, or a folder of the repository."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# Sections ------------------------------------------------------------------------------------------------------------


class Project(_Section):
    """What the repository is called in papers and reports."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    url: Line | None = None
    description: Prose | None = None


class Experiment(_Section):
    """The experiment as a whole. `command`: what makes the numbers, as one types it; `profiles`: the kinds of experiment that it is."""

    name: Line | None = None
    description: Prose | None = None
    command: Line | None = None
    seed: Whole | None = None
    profiles: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,60}$")], ...],
        BeforeValidator(_several, json_schema_input_type=str | list[str]),
        Field(max_length=50),
    ] = ()


class Model(_Section):
    """One model. `id`: as its provider calls it, for `local` a path in the repository; `revision`: the commit for the hub; `chat_template`: the path of
    a template, or the name of one; `adapter`: id or path of LoRA or other weights put on it."""

    id: Line | None = None
    provider: Provider | None = None
    revision: Line | None = None
    tokenizer: Line | None = None
    tokenizer_revision: Line | None = None
    chat_template: Line | None = None
    dtype: Line | None = None
    quantization: Line | None = None
    adapter: Line | None = None
    adapter_revision: Line | None = None
    trust_remote_code: bool | None = None
    params: Free = {}

    @model_validator(mode="after")
    def _local_id_is_a_path(self) -> "Model":
        if self.provider == "local" and self.id is not None:
            try:
                _relative(self.id)
            except ValueError as error:
                raise ValueError(f"with provider local, id names a file or folder: {error}") from None
        return self


class Sampling(_Section):
    """Which part of a data set is taken. `size`: examples, or a share below 1."""

    size: Positive | None = None
    seed: Whole | None = None
    strategy: Line | None = None


class Dataset(_Section):
    """One data set: `id` on the hub, or `path` (one or several files or folders) in the repository. `preprocessing`: a script's path, or a sentence."""

    id: Line | None = None
    path: Paths | None = None
    revision: Line | None = None
    subset: Line | None = None
    split: Line | None = None
    preprocessing: Prose | None = None
    sampling: Sampling | None = None
    params: Free = {}


class Prompt(_Section):
    """One prompt: a file, or the text itself. `few_shot`: how many examples, or the file that they come from."""

    path: RelativePath | None = None
    text: Prose | None = None
    few_shot: Line | None = None
    params: Free = {}

    @model_validator(mode="after")
    def _one_source(self) -> "Prompt":
        if self.path is not None and self.text is not None:
            raise ValueError("either path or text is expected, not both")
        return self


class Generation(_Section):
    """How outputs are drawn. `top_k` -1 and 0: all, as libraries have it."""

    temperature: Temperature | None = None
    top_p: TopP | None = None
    top_k: Annotated[int, BeforeValidator(_counted), Field(ge=-1, lt=2**63)] | None = None
    max_tokens: Count | None = None
    stop: Words | None = None
    seed: Whole | None = None
    n: Count | None = None
    repetition_penalty: Positive | None = None
    do_sample: bool | None = None
    params: Free = {}


class Inference(_Section):
    """What runs the model: vllm, transformers, sglang, llama.cpp, an API's client."""

    backend: Line | None = None
    backend_version: Line | None = None
    dtype: Line | None = None
    tensor_parallel: Count | None = None
    quantization: Line | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    max_model_len: Count | None = None
    params: Free = {}


class Lora(_Section):
    """Low-rank adaptation."""

    rank: Count | None = None
    alpha: Positive | None = None
    dropout: Share | None = None
    target_modules: Lines | None = None


class Training(_Section):
    """How a model is trained. `batch_size`: examples per device and step; `gradient_accumulation`: steps added up to one update."""

    method: Line | None = None
    framework: Line | None = None
    learning_rate: NotNegative | None = None
    batch_size: Count | None = None
    gradient_accumulation: Count | None = None
    epochs: Positive | None = None
    max_steps: Annotated[int, BeforeValidator(_counted), Field(ge=-1, lt=2**63)] | None = None
    total_timesteps: Count | None = None
    optimizer: Line | None = None
    scheduler: Line | None = None
    warmup_steps: Annotated[int, BeforeValidator(_counted), Field(ge=0, lt=2**63)] | None = None
    warmup_ratio: Share | None = None
    weight_decay: NotNegative | None = None
    precision: Line | None = None
    seed: Whole | None = None
    max_length: Count | None = None
    gradient_clipping: NotNegative | None = None
    lora: Lora | None = None
    params: Free = {}


class Judge(_Section):
    """How the judge is asked; which model and prompt it is stands in `models.judge` and `prompts.judge`."""

    temperature: Temperature | None = None
    top_p: TopP | None = None
    max_tokens: Count | None = None
    seed: Whole | None = None
    repetitions: Count | None = None


def _kind(value: object) -> str:
    return "table" if isinstance(value, dict) else "line"


class Evaluation(_Section):
    """How outputs are scored. `implementation`: what computes the metrics (a package and version, a file), one for all or one each by metric;
    `definitions`: what counts, by term ("refusal", "attack success"); `query_budget`: queries per example."""

    metrics: Lines | None = None
    implementation: (
        Annotated[
            Annotated[Line, Tag("line")] | Annotated[dict[Line, Line], Tag("table")], Discriminator(_kind)
        ]
        | None
    ) = None
    aggregation: Line | None = None
    repetitions: Count | None = None
    definitions: Annotated[dict[Line, Prose], Field(max_length=_LISTED)] | None = None
    query_budget: Count | None = None
    judge: Judge | None = None
    params: Free = {}


class Privacy(_Section):
    """What is protected from whom, by what, and how that is measured."""

    threat_model: Prose | None = None
    mechanism: Prose | None = None
    metrics: Lines | None = None
    attack: Prose | None = None
    params: Free = {}


class Execution(_Section):
    """How a run is started. `directory`: where, relative to the root; `container`: an image; `python`: its version;
    `config_files`: files that the run reads its settings from."""

    command: Line | None = None
    directory: RelativePath | None = None
    launcher: Line | None = None
    world_size: Count | None = None
    container: Line | None = None
    python: Line | None = None
    config_files: Paths | None = None
    params: Free = {}


def _not_secret(value: str) -> str:
    from audit.safety.secret_names import is_secret_name

    if is_secret_name(value):
        raise ValueError("the name of a secret is not bound: its value would be read and compared")
    return value


class Binding(_Section):
    """Where a field of the manifest shows when a run starts. `flag`: of the command line, as it is typed (`--lr`); `config`: `path:dotted.key` of a YAML,
    JSON or TOML file; `env`: an environment variable that is no secret."""

    flag: Annotated[str, StringConstraints(pattern=r"^-{1,2}[A-Za-z][\w.-]{0,99}$")] | None = None
    config: Annotated[str, StringConstraints(pattern=r"^[^:\s][^:]{0,400}:[^\s:]{1,200}$")] | None = None
    env: (
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w{0,99}$"), AfterValidator(_not_secret)] | None
    ) = None


class Artifact(_Section):
    """Something that a run leaves: weights, predictions, tables."""

    path: RelativePath | None = None
    metadata: Free = {}


class Stage(_Section):
    """One step of a pipeline; what it leaves out holds from the top level. `needs`: the stages whose results it takes."""

    needs: Annotated[
        tuple[Role, ...],
        BeforeValidator(_several, json_schema_input_type=str | list[str]),
        Field(max_length=50),
    ] = ()
    models: Annotated[dict[Role, Model], Field(max_length=50, json_schema_extra=_CLOSED)] = {}
    datasets: Annotated[dict[Role, Dataset], Field(max_length=50, json_schema_extra=_CLOSED)] = {}
    prompts: Annotated[dict[Role, Prompt], Field(max_length=_LISTED, json_schema_extra=_CLOSED)] = {}
    generation: Generation | None = None
    inference: Inference | None = None
    training: Training | None = None
    evaluation: Evaluation | None = None
    execution: Execution | None = None


class Manifest(_Section):
    """The whole file."""

    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    project: Project | None = None
    experiment: Experiment | None = None
    models: Annotated[dict[Role, Model], Field(max_length=50, json_schema_extra=_CLOSED)] = {}
    datasets: Annotated[dict[Role, Dataset], Field(max_length=50, json_schema_extra=_CLOSED)] = {}
    prompts: Annotated[dict[Role, Prompt], Field(max_length=_LISTED, json_schema_extra=_CLOSED)] = {}
    generation: Generation | None = None
    inference: Inference | None = None
    training: Training | None = None
    evaluation: Evaluation | None = None
    privacy: Privacy | None = None
    execution: Execution | None = None
    stages: Annotated[dict[Role, Stage], Field(max_length=50, json_schema_extra=_CLOSED)] = {}
    bindings: Annotated[dict[str, Binding], Field(max_length=_LISTED)] = {}
    custom: Free = {}
    artifacts: Annotated[dict[Role, Artifact], Field(max_length=_LISTED, json_schema_extra=_CLOSED)] = {}

    @property
    def profiles(self) -> tuple[str, ...]:
        """The declared profiles."""
        return self.experiment.profiles if self.experiment else ()


# Paths ---------------------------------------------------------------------------------------------------------------

_OPEN = "*"


def settings() -> Iterator[str]:
    """Every path that can be declared, "*" for a key of one's own: `models.*.id`, `training.lora.rank`, `generation.params.*`."""
    yield from _settings(Manifest, "")


def _settings(section: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in section.model_fields.items():
        path = prefix + name
        below, keyed = sections_of(field.annotation)
        if below is not None:
            yield from _settings(below, f"{path}.{_OPEN}." if keyed else f"{path}.")
        elif name in ("params", "custom", "metadata", "definitions"):
            yield f"{path}.{_OPEN}"
        else:
            yield path


def is_setting(path: str) -> bool:
    """Whether `path` names something that a manifest can declare, or a whole role (`prompts.judge`) or table (`evaluation.definitions`)."""
    parts = path.split(".")
    return bool(path) and all(parts) and any(_fits(parts, known.split(".")) for known in settings())


def _fits(parts: list[str], known: list[str]) -> bool:
    table = known[-1] == _OPEN
    if table and len(parts) > len(known):
        parts = parts[: len(known)]  # an open table is as deep as its writer likes
    if len(parts) > len(known) or any(
        theirs not in (ours, _OPEN) for ours, theirs in zip(parts, known, strict=False)
    ):
        return False
    whole = len(parts) == len(known)
    return whole or known[len(parts) - 1] == _OPEN or (table and len(parts) == len(known) - 1)
