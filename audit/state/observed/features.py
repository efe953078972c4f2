"""What a run is made of besides its numbers: framework, backend, launcher, prompts, files."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.facts.classify import is_test_path
from audit.facts.python.model import Assign
from audit.state.observed.calls import Group
from audit.state.observed.launches import Launch
from audit.state.observed.model import Rank
from audit.state.observed.options import Said
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene
from audit.state.observed.texts import NoLiteral, literal
from audit.state.observed.tools import ToolScene
from audit.state.observed.vocabulary import role_of_name

_FRAMEWORKS = {
    "hf_trainer": "transformers", "raw_torch": "torch", "lightning": "lightning", "keras": "keras", "jax": "jax", "tf": "tensorflow", "sklearn": "scikit-learn",
}  # fmt: skip
_BACKENDS = (
    (
        "vllm",
        re.compile(r"vllm(?:\.\w+)*\.(?:LLM|AsyncLLMEngine|LLMEngine|AsyncLLM|AsyncEngineArgs|EngineArgs)"),
    ),
    ("sglang", re.compile(r"sglang(?:\.\w+)*\.(?:Engine|Runtime|gen)")),
    ("litellm", re.compile(r"litellm(?:\.\w+)*\.(?:a?completion|batch_completion)")),
    ("llama.cpp", re.compile(r"llama_cpp(?:\.\w+)*\.Llama")),
)
_PROCESSES = re.compile(r"--(?:nproc_per_node|nproc-per-node|num_processes|num_gpus)[= ](\d{1,4})\b")
_NODES = re.compile(r"--(?:nnodes|num_machines|num_nodes)[= ](\d{1,4})\b")
_MOST_PROMPTS = 8
_LONGEST = 1_990
"""Facts cut a command at 2,000 characters: what is as long is perhaps not whole."""
_PROMPT = re.compile(r"(?i)prompt|(?:^|_)instruction|system_message")
_NO_PROMPT = re.compile(
    r"(?i)name|path|file|dir|type|key|url|regex|pattern|len|token|html|filename|title|header|color|format_string|log|message_template|output|yaml|latex|chat_template"
)
_KEYED = re.compile(r"(\w+)\['([^']{1,60})'\]")


def of_command(scene: Scene, launch: Launch) -> Iterator[Group]:
    """What the command itself is."""
    command = launch.command
    if command is None:
        return
    folder = directory(scene, launch)
    if folder:
        yield _group("execution.directory", folder, launch.place, f"where {command.target} is")
    if len(command.text) < _LONGEST:
        yield _group("experiment.command", command.text, launch.place, "the command")
    if command.launchers:
        yield _group(
            "execution.launcher",
            command.launchers[-1].rpartition(" -m ")[2] or command.launchers[-1],
            launch.place,
            "the command",
        )
        processes, nodes = _PROCESSES.search(command.text), _NODES.search(command.text)
        if processes:
            yield _group(
                "execution.world_size",
                int(processes[1]) * (int(nodes[1]) if nodes else 1),
                launch.place,
                "the command",
            )
    if launch.files:
        yield _group("execution.config_files", launch.files, launch.place, "the command")


def directory(scene: Scene, launch: Launch) -> str:
    """The folder of the repository in which the command is to be given, "" for its root."""
    target = launch.command.target.removeprefix("./") if launch.command and not launch.command.module else ""
    if (
        not target.endswith(".py")
        or target in scene.repository.path_set
        or not scene.entry.path.endswith("/" + target)
    ):
        return ""
    return scene.entry.path.removesuffix("/" + target)


def of_kind(scene: Scene, launch: Launch) -> Iterator[Group]:
    """Framework, backend, and the harness that evaluates."""
    if isinstance(scene, ToolScene):
        yield from _of_tool(scene, launch)
        return
    kinds = [kind for kind in _FRAMEWORKS if kind in scene.loop_kinds]
    if len(kinds) == 1:
        heads = scene.heads
        name = "trl" if kinds[0] == "hf_trainer" and "trl" in heads else _FRAMEWORKS[kinds[0]]
        yield _group("training.framework", name, Place(scene.entry.path), f"a training loop of {name}")
    for file, call in scene.calls:
        backend = next((name for name, pattern in _BACKENDS if pattern.fullmatch(call.name)), "")
        if backend:
            yield _group(
                "inference.backend", backend, Place(file, call.line), f"{call.name.rpartition('.')[2]}()"
            )


def _of_tool(scene: ToolScene, launch: Launch) -> Iterator[Group]:
    name = scene.tool.programs[0].partition(".")[0]
    setting = {
        "evaluation": "evaluation.implementation",
        "training": "training.framework",
        "inference": "inference.backend",
    }[scene.tool.kind]
    yield _group(setting, name, launch.place, "the command")


def _group(setting: str, value: "str | int | tuple[str, ...]", place: Place, detail: str) -> Group:
    return Group(setting, (Said(value, place, detail, Rank.CODE),))


# Prompts ---------------------------------------------------------------------------------------------------------


def prompts(scene: Scene, resolver: Resolver, folder: str) -> Iterator[Group]:
    """Prompts in files that options name, and in constants of files that run. `folder`: where the command is given."""
    roles: set[str] = set()
    for key in resolver.settings.names():
        said = resolver.settings.about(key)
        if not _PROMPT.search(key.rpartition(".")[2]) and not any(
            "prompt" in str(each.value).lower() for each in said
        ):
            continue
        files = tuple(
            msgspec.structs.replace(each, value=path)
            for each in said
            if isinstance(each.value, str) and (path := _there(scene, each.value, folder))
        )
        if files:
            role = role_of_name(key) or "primary"
            if role not in roles:
                roles.add(role)
                sure = files[0].known and files[0].place == said[0].place
                yield Group(f"prompts.{role}.path", files, sure=sure)
    if not scene.is_llm:
        return
    found = [
        (file, assign, text)
        for file in sorted(scene.near)
        if not is_test_path(file)
        for assign, text in _constants(scene, file)
    ]
    if len(found) > _MOST_PROMPTS:
        return  # a collection: which of them a run takes is not said
    for file, assign, text in found:
        role = _prompt_role(assign.target, file)
        name = role if role not in roles else _slug(assign.target)
        if name and name not in roles:
            roles.add(name)
            yield _group(f"prompts.{name}.text", text, Place(file, assign.line), assign.target)


def _there(scene: Scene, name: str, folder: str) -> str:
    """The file of the repository that a word names from the folder or from the root, "" where there is none."""
    plain = name.removeprefix("./")
    paths = (f"{folder}/{plain}" if folder else plain, plain)
    return next((path for path in paths if path in scene.repository.path_set), "")


def _constants(scene: Scene, file: str) -> Iterator[tuple[Assign, str]]:
    for assign in scene.graph.python[file].assigns:
        name = assign.target
        if assign.scope or not _PROMPT.search(name) or _NO_PROMPT.search(name) or assign.annotation == "?":
            continue
        try:
            value = literal(assign.value)
        except NoLiteral:
            continue
        if isinstance(value, str) and len(value) > 40 and " " in value and "{%" not in value:
            yield assign, value


def _prompt_role(target: str, file: str) -> str:
    keyed = _KEYED.fullmatch(target)
    if keyed:
        return _slug(keyed[2])
    role = role_of_name(target) or role_of_name(file.rpartition("/")[2].removesuffix(".py"))
    if role:
        return role
    return "system" if "system" in target.lower() else "primary"


def _slug(name: str) -> str:
    text = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:32].strip("_")
    return text if text[:1].isalpha() else ""
