"""Settings of commands: what a launch script, a Makefile, a container or a notebook hands to a program."""

import re
from collections.abc import Iterator, Sequence

from audit.documents.state import Value
from audit.facts.model import Command, Flag, ScriptFacts
from audit.state.names import concept, plain
from audit.state.settings.key import Found
from audit.state.settings.vocabulary import words
from audit.state.values import same

_RUNNER = re.compile(r"^(?:poetry|uv|pdm|pipenv|hatch|pixi|rye) run ")
_SHELL = frozenset(
    "export set declare echo cd source eval printf read local unset mkdir cp mv rm cat".split()
)
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w.\-/@]{0,120})=(.{1,300})", re.DOTALL)
_ENVIRONMENT = re.compile(
    r"PYTHONHASHSEED|CUBLAS_WORKSPACE_CONFIG|TF_\w{1,40}|XLA_\w{1,40}|NCCL_ALGO|CUDA_VISIBLE_DEVICES|VLLM_\w{1,60}|OPENAI_(?:BASE_URL|API_BASE|MODEL)|HF_(?:ENDPOINT|HUB_OFFLINE|DATASETS_OFFLINE)|OMP_NUM_THREADS|JAX_\w{1,40}"
    r"|TORCH_\w{1,40}|TRANSFORMERS_OFFLINE|PYTORCH_\w{1,40}|ACCELERATE_\w{1,40}|TOKENIZERS_PARALLELISM|CUDA_LAUNCH_BLOCKING|OMP_\w{1,30}"
)


def script_settings(script: ScriptFacts) -> Iterator[Found]:
    """Settings of a shell script or Makefile: flags and environment of its commands, its variables, directives of a batch system."""
    handed = [found for command in script.commands for found in command_settings(command)]
    yield from handed
    for name, value, line in script.variables:
        # The facts expand variables into the commands that use them: what a flag says already is not said twice.
        known = concept(name)
        if (
            not known
            or known == "recording"
            or not value
            or "$" in value
            or any(found.concept == known and same(found.value, value) for found in handed)
        ):
            continue
        yield Found(known, "", name, value, line, f"variable {name}")
    for flag in script.directives:
        known = concept(flag.name)
        if known and known != "recording":
            yield Found(
                known, "batch system", flag.name, flag.value or True, flag.line, f"directive {flag.name}"
            )


def command_settings(command: Command) -> Iterator[Found]:
    """Settings of one command: none unless it runs a Python program or a tool that trains or evaluates."""
    scope = command.target or command.program
    runs = (
        command.target.endswith(".py")
        or command.module
        or bool(command.launchers)
        or command.program in words().programs
    )
    is_tool = command.module and command.target.partition(".")[0] in words().tools
    if not runs or is_tool or command.program in _SHELL:
        return
    for name, value in command.env:
        known = concept(name)
        if _ENVIRONMENT.fullmatch(name) or (known and known != "recording" and "$" not in value):
            yield Found(
                known or "execution.environment." + plain(name),
                scope,
                name,
                value,
                command.line,
                f"environment variable {name} of {scope}",
            )
    yield from _launcher(command, scope)
    for name, values, line in _flags(command.flags):
        if (found := _flag(name, values, line, scope)) is not None:
            yield found
    for word in command.args:
        match = _OVERRIDE.fullmatch(word)
        if match and "$" not in match[2] and "://" not in word:
            known = concept(match[1]) or "custom." + plain(match[1]).rpartition(".")[2]
            yield Found(known, scope, match[1], match[2], command.line, f"{match[1]}= of {scope}")


_LAUNCHED = re.compile(
    r"--(nproc[_-]per[_-]node|nnodes|num[_-]processes|num[_-]machines|num[_-]gpus|num[_-]nodes|mixed[_-]precision|config[_-]file|ntasks|gpus)"
    r"(?:=|[ ]+)([^\s$-]\S{0,200})"
)


def _launcher(command: Command, scope: str) -> Iterator[Found]:
    """Flags of what starts the program, which stand in front of it and are not the program's own."""
    if not command.launchers or not command.target:
        return
    head = command.text.partition(command.target)[0]
    own = {plain(flag.name) for flag in command.flags}
    for name, value in dict(_LAUNCHED.findall(head)).items():
        word = plain(name)
        if word not in own:
            known = concept(name) or "execution.launcher." + word
            yield Found(
                known, scope, f"--{name}", value, command.line, f"--{name} of {command.launchers[-1]}"
            )


def _flags(flags: Sequence[Flag]) -> Iterator[tuple[str, list[str], int]]:
    """Flags with all values that are given under one name, in order."""
    values: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for flag in flags:
        values.setdefault(flag.name, []).append(flag.value)
        lines.setdefault(flag.name, flag.line)
    for name, given in values.items():
        yield name, given, lines[name]


def _flag(name: str, values: list[str], line: int, scope: str) -> Found | None:
    word = plain(name)
    if not re.fullmatch(r"[a-z_][\w.]{0,80}", word) or len(word) < 2:
        return None
    known = concept(name) or (
        "execution.launcher." + word
        if word in words().launcher_flags
        else "custom." + word.rpartition(".")[2]
    )
    values = [_RUNNER.sub("", text) for text in values]
    value: Value = values[0] if len(values) == 1 else tuple(values)
    if any("$" in text for text in values):
        return None
    return Found(known, scope, name, True if value == "" else value, line, f"{name} of {scope}")
