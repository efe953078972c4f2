"""`reprollm.yaml`, the manifest of the tool whose users move here, as a manifest of ours.

Written from what reprollm 0.6.1 reads and writes (a program on the package index, Apache-2.0): its sections are ours, several keys have other names, and what
has no place of its own here goes to the `params` of its section, so that nothing is lost.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from audit.documents.mistakes import Hints, Mark, Mistake, Path, Positions, complaints, document_error
from audit.facts.strict_yaml import Reading, Text, read_yaml
from audit.state.manifest_reading import ADVICE, Declared, crossed, prepared

NAME: Final = "reprollm.yaml"


class Moved(msgspec.Struct, frozen=True):
    """One value: where it stood, where it belongs, and what it is (None: a key that says nothing yet)."""

    source: Path
    target: Path
    value: Any


def read_reprollm(data: bytes, name: str = NAME) -> Declared:
    """What the old manifest declares, as a manifest of ours with the places in the old one. Raises DocumentError, a line for every mistake."""
    from pydantic import ValidationError

    from audit.documents.manifest import Manifest
    from audit.state.manifest import state_of

    reading = read_yaml(data)
    if not reading.whole:
        raise document_error(reading.mistakes, name, ADVICE)
    moved, mistakes = converted(reading)
    positions = Positions(name, marks_of(moved, reading))
    manifest = None
    try:
        manifest = Manifest.model_validate(prepared(tree_of(moved), ()))
    except ValidationError as error:
        mistakes += complaints(error, Manifest, positions, Hints())
    if manifest is not None:
        mistakes += crossed(manifest, positions)
    if mistakes or manifest is None:
        raise document_error(mistakes, name, ADVICE)
    return Declared(manifest, positions, state_of(manifest, positions))


def tree_of(moved: list[Moved]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for each in moved:
        table = root
        for key in each.target[:-1]:
            table = table.setdefault(str(key), {})
        table.setdefault(str(each.target[-1]), each.value)
    return root


def marks_of(moved: list[Moved], reading: Reading) -> dict[Path, Mark]:
    """Places of the new paths: that of the old one, and for a table that of the first value in it."""
    targets: dict[Path, list[Path]] = {}
    for each in moved:
        targets.setdefault(each.source, []).append(each.target)
    marks: dict[Path, Mark] = {(): (1, 1)}
    for path, mark in reading.marks.items():
        end = next((end for end in range(len(path), 0, -1) if path[:end] in targets), 0)
        for target in targets.get(path[:end], ()):
            whole = (*target, *path[end:])
            for length in range(1, len(whole) + 1):
                marks.setdefault(whole[:length], mark)
    return marks


# What moves where -------------------------------------------------------------------------------------------------------


class _Table:
    """A table of the old manifest, taken apart key by key."""

    def __init__(self, value: Mapping[str, Any], path: Path, into: "_Conversion") -> None:
        self.value = dict(value)
        self.path = path
        self.into = into

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def move(self, key: str, *target: str) -> None:
        """The value of `key` goes to `target`."""
        if key in self.value:
            self.into.move((*self.path, key), target, self.value.pop(key))

    def move_all(self, keys: str, *target: str) -> None:
        """Those of the keys that there are keep their name below `target`."""
        for key in keys.split():
            self.move(key, *target, key)

    def rename(self, names: Mapping[str, str], *target: str) -> None:
        """Keys go under another name below `target`."""
        for old, new in names.items():
            self.move(old, *target, new)

    def below(self, key: str) -> "_Table | None":
        """The table at `key`; None where there is none, or it is left open."""
        value = self.value.pop(key, None)
        if value is None:
            return None
        path = (*self.path, key)
        if not isinstance(value, dict):
            self.into.mistake(path, "a table is expected")
            return None
        return _Table(value, path, self.into)

    def each(self, key: str) -> "Iterator[tuple[str, _Table]]":
        """The tables below `key`, by role; a role that says nothing is one of an empty table."""
        table = self.below(key)
        if table is None:
            return
        for role in list(table.value):
            if table.value[role] is None:
                table.move(role, key, role)
                continue
            found = table.below(role)
            if found is not None:
                yield role, found

    def close(self) -> None:
        """What is left has no meaning there."""
        for key in self.value:
            self.into.mistake((*self.path, key), "reprollm knows no such key")


class _Conversion:
    def __init__(self, reading: Reading) -> None:
        self.moved: list[Moved] = []
        self.mistakes: list[Mistake] = list(reading.mistakes)
        self.roles: dict[tuple[str, str], str] = {}
        self._positions = Positions("", reading.marks)

    def move(self, source: Path, target: Path, value: Any) -> None:
        """`value` goes to `target`, under the name that its role has here."""
        role = self.roles.get((str(target[0]), str(target[1]))) if len(target) > 1 else None
        self.moved.append(Moved(source, target if role is None else (target[0], role, *target[2:]), value))

    def mistake(self, path: Path, what: str) -> None:
        where = ".".join(map(str, path)) or "the file"
        self.mistakes.append(Mistake(*self._positions.nearest(path), f"{where}: {what}"))


def converted(reading: Reading) -> tuple[list[Moved], list[Mistake]]:
    """Every value with its new place, in the order of the old text's sections, and what cannot be read."""
    into = _Conversion(reading)
    if not isinstance(reading.value, dict):
        if reading.value is not None or not into.mistakes:
            into.mistake((), "a table is expected")
        return [], into.mistakes
    whole = _Table(reading.value, (), into)
    whole.move("schema_version", "schema_version")
    _project(whole)
    into.roles = renamed(reading.value)
    for role, model in whole.each("models"):
        _model(role, model, trained="training" in reading.value)
    for role, dataset in whole.each("datasets"):
        _dataset(role, dataset)
    for role, prompt in whole.each("prompts"):
        _prompt(role, prompt)
    for section in (_generation, _inference, _training, _evaluation, _privacy, _execution):
        section(whole)
    _bindings(whole)
    if custom := whole.below("custom"):
        for key in list(custom.value):
            custom.move(key, "custom", key)
    _artifacts(whole)
    whole.close()
    return _with_judge(into.moved, reading.value), into.mistakes


def _project(whole: _Table) -> None:
    if project := whole.below("project"):
        project.move_all("name description", "project")
        if paper := project.below("paper"):
            paper.move("url", "project", "url")
            paper.move_all("title doi", "custom", "paper")
            paper.close()
        project.close()
    if experiment := whole.below("experiment"):
        experiment.move_all("name description profiles", "experiment")
        experiment.close()


def _model(role: str, model: _Table, trained: bool) -> None:
    here = ("models", role)
    model.move_all("id provider revision dtype quantization trust_remote_code", *here)
    if tokenizer := model.below("tokenizer"):
        tokenizer.rename({"id": "tokenizer", "revision": "tokenizer_revision"}, *here)
        tokenizer.close()
    if template := model.below("chat_template"):
        template.move("path", *here, "chat_template")
        template.close()
    if adapter := model.below("adapter"):
        adapter.rename({"id": "adapter", "revision": "adapter_revision"}, *here)
        # A model that is trained here has its LoRA in the training section; one that is loaded has it beside.
        lora = ("training", "lora") if trained and role == "primary" else (*here, "params", "adapter")
        adapter.move_all("rank alpha dropout target_modules", *lora)
        adapter.move_all("provider type", *here, "params", "adapter")
        adapter.close()
    if endpoint := model.below("endpoint"):
        endpoint.move_all("base_url api_version", *here, "params", "endpoint")
        endpoint.close()
    _free(model, *here)
    model.close()


def _free(table: _Table, *target: str) -> None:
    """`params`, key by key: more can come into the same table from elsewhere."""
    if params := table.below("params"):
        for key in list(params.value):
            params.move(key, *target, "params", key)


def _dataset(role: str, dataset: _Table) -> None:
    here = ("datasets", role)
    provider = str(dataset.value.pop("provider", None) or "")
    if provider == "local" and "files" not in dataset:
        dataset.move("id", *here, "path")
    elif provider not in ("", "huggingface", "local"):
        dataset.into.move((*dataset.path, "provider"), (*here, "params", "provider"), Text(provider, True))
    dataset.move_all("id revision subset split", *here)
    dataset.move("files", *here, "path")
    if preprocessing := dataset.below("preprocessing"):
        if "script" in preprocessing:
            preprocessing.move("script", *here, "preprocessing")
            preprocessing.move("description", *here, "params", "preprocessing", "description")
        preprocessing.move("description", *here, "preprocessing")
        preprocessing.move("params", *here, "params", "preprocessing", "params")
        preprocessing.value.pop("script", None)
        preprocessing.close()
    if sampling := dataset.below("sampling"):
        sampling.rename({"n": "size", "seed": "seed", "method": "strategy"}, *here, "sampling")
        sampling.close()
    dataset.close()


def _prompt(role: str, prompt: _Table) -> None:
    here = ("prompts", role)
    prompt.move_all("path text", *here)
    prompt.move("format", *here, "params", "format")
    if few_shot := prompt.below("few_shot"):
        if "path" in few_shot:
            few_shot.move("path", *here, "few_shot")
            few_shot.move("n", *here, "params", "few_shot", "n")
        few_shot.move("n", *here, "few_shot")
        few_shot.value.pop("path", None)
        few_shot.close()
    prompt.close()


def _generation(whole: _Table) -> None:
    if generation := whole.below("generation"):
        generation.move_all(
            "temperature top_p top_k max_tokens seed do_sample stop repetition_penalty n", "generation"
        )
        generation.close()


def _inference(whole: _Table) -> None:
    if inference := whole.below("inference"):
        inference.move_all("backend dtype gpu_memory_utilization quantization max_model_len", "inference")
        inference.rename(_INFERENCE, "inference")
        inference.move_all("mode kv_cache_dtype", "inference", "params")
        _free(inference, "inference")
        inference.close()


_INFERENCE: Final = {"version": "backend_version", "tensor_parallel_size": "tensor_parallel"}


def _training(whole: _Table) -> None:
    if training := whole.below("training"):
        training.move_all(
            "method learning_rate optimizer scheduler batch_size gradient_accumulation epochs max_steps precision seed",
            "training",
        )
        if deepspeed := training.below("deepspeed"):
            deepspeed.move("config", "training", "params", "deepspeed", "config")
            deepspeed.close()
        _free(training, "training")
        training.close()


def renamed(whole: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Roles with another name here: the data that is scored on, and what judges (the old manifest names those roles, ours calls them `judge`)."""
    found = {}
    if "evaluation" not in _roles(whole, "datasets"):
        found["datasets", "eval"] = "evaluation"
    for section, role in _judging(whole).items():
        if role != "primary" and "judge" not in _roles(whole, section):
            found[section, role] = "judge"
    return found


def _roles(whole: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    value = whole.get(section)
    return value if isinstance(value, dict) else {}


def _judging(whole: Mapping[str, Any]) -> dict[str, str]:
    """The roles of the judge's model and prompt in the old manifest, by section."""
    judge = _roles(whole, "evaluation").get("judge")
    if not isinstance(judge, dict):
        return {}
    return {
        "models": str(judge.get("model_ref") or "judge"),
        "prompts": str(judge.get("prompt_ref") or "judge"),
    }


def _with_judge(moved: list[Moved], whole: Mapping[str, Any]) -> list[Moved]:
    """The values, and those of the primary model or prompt under the role `judge`, too, where it judges itself."""
    found = list(moved)
    for section, role in _judging(whole).items():
        if role == "primary" and "judge" not in _roles(whole, section):
            found += [
                Moved(each.source, (section, "judge", *each.target[2:]), each.value)
                for each in moved
                if each.target[:2] == (section, "primary")
            ]
    return found


def _evaluation(whole: _Table) -> None:
    evaluation = whole.below("evaluation")
    if evaluation is None:
        return
    _metrics(evaluation)
    evaluation.move_all("aggregation repetitions definitions query_budget", "evaluation")
    evaluation.move("thresholds", "evaluation", "params", "thresholds")
    if judge := evaluation.below("judge"):
        if params := judge.below("params"):
            params.move_all("temperature top_p max_tokens seed", "evaluation", "judge")
            params.close()
        judge.move("repetitions", "evaluation", "judge", "repetitions")
        judge.move("parser", "evaluation", "params", "judge", "parser")
        judge.value.pop("model_ref", None)
        judge.value.pop("prompt_ref", None)
        judge.close()
    evaluation.close()


def _metrics(evaluation: _Table) -> None:
    rows = evaluation.value.pop("metrics", None)
    path = (*evaluation.path, "metrics")
    if rows is None:
        return
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        evaluation.into.mistake(path, "a list of tables with a name is expected")
        return
    names = []
    for index, row in enumerate(rows):
        metric = _Table(row, (*path, index), evaluation.into)
        name = metric.value.pop("name", None)
        if not isinstance(name, str) or not name:
            metric.into.mistake(metric.path, "a name is expected")
            continue
        names.append(name)
        metric.move("implementation", "evaluation", "implementation", str(name))
        metric.move("params", "evaluation", "params", "metrics", str(name))
        metric.close()
    if names or not rows:
        evaluation.into.move(path, ("evaluation", "metrics"), names or None)


def _privacy(whole: _Table) -> None:
    privacy = whole.below("privacy")
    if privacy is None:
        return
    privacy.move_all("threat_model metrics", "privacy")
    for key, name in (("mechanism", "name"), ("attack", "method")):
        if table := privacy.below(key):
            table.move(name, "privacy", key)
            table.move("params", "privacy", "params", key)
            if key == "attack":
                table.move("query_budget", "privacy", "params", "attack_query_budget")
            table.close()
    privacy.close()


def _execution(whole: _Table) -> None:
    if execution := whole.below("execution"):
        execution.move_all("command seed", "experiment")
        execution.move("cwd", "execution", "directory")
        execution.move("config_files", "execution", "config_files")
        execution.move("env_requirements", "execution", "params", "env_requirements")
        execution.close()


_FIELDS: Final = (
    (r"execution\.(command|seed)", r"experiment.\1"),
    (r"execution\.cwd", "execution.directory"),
    (r"inference\.version", "inference.backend_version"),
    (r"inference\.tensor_parallel_size", "inference.tensor_parallel"),
    (r"inference\.(mode|kv_cache_dtype)", r"inference.params.\1"),
    (r"models\.(\w+)\.tokenizer\.id", r"models.\1.tokenizer"),
    (r"models\.(\w+)\.tokenizer\.revision", r"models.\1.tokenizer_revision"),
    (r"models\.(\w+)\.chat_template\.path", r"models.\1.chat_template"),
    (r"models\.(\w+)\.adapter\.id", r"models.\1.adapter"),
    (r"models\.(\w+)\.adapter\.revision", r"models.\1.adapter_revision"),
    (r"models\.primary\.adapter\.(rank|alpha|dropout|target_modules)", r"training.lora.\1"),
    (r"models\.(\w+)\.adapter\.(\w+)", r"models.\1.params.adapter.\2"),
    (r"models\.(\w+)\.endpoint\.(\w+)", r"models.\1.params.endpoint.\2"),
    (r"datasets\.(\w+)\.files", r"datasets.\1.path"),
    (r"datasets\.(\w+)\.sampling\.n", r"datasets.\1.sampling.size"),
    (r"datasets\.(\w+)\.sampling\.method", r"datasets.\1.sampling.strategy"),
    (r"datasets\.(\w+)\.preprocessing\.script", r"datasets.\1.preprocessing"),
    (r"training\.deepspeed\.config", "training.params.deepspeed.config"),
    (r"evaluation\.judge\.params\.(\w+)", r"evaluation.judge.\1"),
    (r"evaluation\.thresholds\.(.+)", r"evaluation.params.thresholds.\1"),
    (r"prompts\.(\w+)\.few_shot\.\w+", r"prompts.\1.few_shot"),
    (r"privacy\.mechanism\.name", "privacy.mechanism"),
    (r"privacy\.attack\.method", "privacy.attack"),
    (r"project\.paper\.url", "project.url"),
)
"""Paths of fields there and here; the first that fits the whole path counts, the others are called the same."""


def field(path: str) -> str:
    """What a field of the old manifest is called in ours."""
    for old, new in _FIELDS:
        if match := re.fullmatch(old, path[:300]):
            return match.expand(new)
    return path


def _bindings(whole: _Table) -> None:
    for path, binding in whole.each("bindings"):
        section, _, rest = field(path).partition(".")
        role, _, key = rest.partition(".")
        role = whole.into.roles.get((section, role), role)
        name = ".".join(part for part in (section, role, key) if part)
        binding.rename({"cli": "flag", "config": "config", "env": "env"}, "bindings", name)
        binding.close()


def _artifacts(whole: _Table) -> None:
    artifacts = whole.below("artifacts")
    if artifacts is None:
        return
    outputs = artifacts.value.pop("outputs", None)
    if isinstance(outputs, list):
        for index, output in enumerate(outputs):
            source = (*artifacts.path, "outputs", index)
            artifacts.into.moved.append(Moved(source, ("artifacts", f"output_{index + 1}", "path"), output))
    elif outputs is not None:
        artifacts.into.mistake((*artifacts.path, "outputs"), "a list of paths is expected")
    artifacts.move("metadata", "artifacts", "all", "metadata")
    artifacts.close()
