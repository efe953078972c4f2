"""Containers: Dockerfiles, dev containers, compose files, Singularity and Apptainer definitions.

Sources: https://docs.docker.com/reference/dockerfile/, https://containers.dev/implementors/json_reference/,
https://docs.docker.com/reference/compose-file/, https://apptainer.org/docs/user/latest/definition_files.html.
"""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from audit.facts.ci.steps import flatten, script_text
from audit.facts.commands.shell import read_script
from audit.facts.extracted import Extracted
from audit.facts.model import BaseImage, Command, ContainerFacts, Requirement
from audit.facts.yaml_nodes import YamlError, compose, elements, get, items, line_of, text_of

MAX_CHARS = 1_000_000
MAX_INSTRUCTIONS = 2_000
MAX_JSON = 200_000
"""Longest devcontainer.json read, in characters."""

_INSTRUCTION = re.compile(r"[ \t]*(?:ONBUILD[ \t]+)?([A-Za-z]+)[ \t]+")
_FLAG = re.compile(r"--[a-z]+(?:[.\w-]*)(?:=\S*)?[ \t]+")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_PAIR = re.compile(r"([A-Za-z_][\w.-]*)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\\\"']|\\.)*)")
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)(?::?([-+])([^}]*))?\}|\$([A-Za-z_]\w*)")
_ESCAPE = re.compile(r"#[ \t]*escape[ \t]*=[ \t]*`", re.IGNORECASE)
_SECTION = re.compile(r"%(\w+)")
_HEADER = re.compile(r"(bootstrap|from|stage)[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_JSON_TOKEN = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|//[^\n]*|/\*.*?\*/|\t", re.DOTALL)
_LIFECYCLE = (
    "initializeCommand",
    "onCreateCommand",
    "updateContentCommand",
    "postCreateCommand",
    "postStartCommand",
    "postAttachCommand",
)


@dataclass(slots=True)
class _Found:
    images: list[BaseImage] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)
    env: list[tuple[str, str, int]] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def run(self, text: str, line: int) -> None:
        """Reads shell text that stands on `line`."""
        read = read_script(text, line, "docker", self.values)
        self.commands += read.commands
        self.requirements += read.requirements

    def setenv(self, name: str, value: str, line: int) -> None:
        self.env.append((name, value[:1_000], line))
        self.values[name] = value[:1_000]

    def facts(self) -> ContainerFacts:
        return ContainerFacts(
            images=tuple(self.images),
            commands=tuple(self.commands),
            requirements=tuple(self.requirements),
            env=tuple(self.env),
        )


def extract(text: str) -> Extracted:
    """The facts of a Dockerfile, a devcontainer.json or a Singularity definition, told apart by their
    content.

    A text that is none of them has no body.
    """
    partial = f"only the first {MAX_CHARS:,} characters were read" if len(text) > MAX_CHARS else ""
    text = text[:MAX_CHARS].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    start = re.sub(r"^(?:[ \t]*//[^\n]*\n|[ \t\n]+|/\*.*?\*/)+", "", text[:4_000], flags=re.DOTALL)
    if start.startswith("{"):
        return _devcontainer(text, partial)
    if re.search(r"^[ \t]*bootstrap[ \t]*:", text, re.IGNORECASE | re.MULTILINE):
        return Extracted(_singularity(text), partial)
    found = _dockerfile(text)
    if not found.images:
        return Extracted(None, "no FROM: not a Dockerfile")
    return Extracted(found.facts(), partial)


def extract_compose(text: str) -> Extracted:
    """The facts of a compose file: images, commands and environments of its services."""
    found = _Found()
    partial = ""
    try:
        documents = compose(text)
    except YamlError as error:
        documents, partial = list(error.documents), str(error)
    lines = text.replace("\r\n", "\n").split("\n")
    for document in documents[:1]:
        for _, _, service in items(get(document, "services"))[:MAX_INSTRUCTIONS]:
            _service(found, service, lines)
    return Extracted(found.facts(), partial)


def split_image(reference: str, line: int, *, stage: bool = False) -> BaseImage:
    """`registry:5000/name:tag@sha256:…` taken apart; no tag means `latest` to the engine, and stays ""."""
    name, _, digest = reference.partition("@")
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        head, tag = name, ""
    return BaseImage(image=head[:500], tag=tag[:200], digest=digest[:200], line=line, stage=stage)


# -- Dockerfile
# ----------------------------------------------------------------------------------------------------


def _dockerfile(text: str) -> _Found:
    found = _Found()
    stages: set[str] = set()
    arguments: dict[str, str] = {}
    for instruction, body, line in _instructions(text):
        if instruction == "FROM":
            _from(found, body, line, stages, arguments)
        elif instruction == "ARG":
            for name, value in _PAIR.findall(body):
                arguments[name] = _bare(value)
                found.values[name] = _expand(_bare(value), found.values)
        elif instruction == "ENV":
            _env(found, body, line)
        elif instruction in {"RUN", "CMD", "ENTRYPOINT"}:
            _command(found, body, line)
    return found


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """(instruction, body, line): continuation lines kept, comments inside them blanked, flags taken off
    RUN."""
    lines = text.split("\n")
    escape = "`" if _ESCAPE.match(text) else "\\"
    at = count = 0
    while at < len(lines) and count < MAX_INSTRUCTIONS:
        first = at
        head = lines[at]
        at += 1
        if not head.strip() or head.lstrip().startswith("#"):
            continue
        body = [head]
        while body[-1].rstrip().endswith(escape) and at < len(lines):
            nxt = lines[at]
            at += 1
            if not nxt.strip() or nxt.lstrip().startswith("#"):
                nxt = escape
            body.append(nxt)
        found = _INSTRUCTION.match(body[0])
        if found is None:
            continue
        name = found[1].upper()
        if name in {"RUN", "COPY"} and (heredoc := _HEREDOC.search("\n".join(body))) is not None:
            while at < len(lines):
                body.append(lines[at])
                at += 1
                if lines[at - 1].strip() == heredoc[2]:
                    break
            if name == "COPY":
                continue
        if escape == "`":
            body = [line.rstrip()[:-1] + "\\" if line.rstrip().endswith("`") else line for line in body]
        count += 1
        yield name, "\n".join([body[0][found.end() :], *body[1:]]), first + 1


def _from(found: _Found, body: str, line: int, stages: set[str], arguments: dict[str, str]) -> None:
    words = body.replace("\\\n", " ").split()
    words = [word for word in words if not word.startswith("--")]
    if not words:
        return
    reference = _expand(words[0], arguments)
    found.images.append(split_image(reference, line, stage=reference.lower() in stages))
    stages.add(str(len(found.images) - 1))
    if len(words) > 2 and words[1].lower() == "as":
        stages.add(words[2].lower())


def _env(found: _Found, body: str, line: int) -> None:
    """`ENV NAME=value …` with each pair on its own line, or the old `ENV NAME value`."""
    pairs = list(_PAIR.finditer(body))
    if pairs and body[: pairs[0].start()].strip() == "":
        counted = 0
        for pair in pairs[:MAX_INSTRUCTIONS]:
            line += body.count("\n", counted, pair.start())
            counted = pair.start()
            found.setenv(pair[1], _expand(_bare(pair[2]), found.values), line)
        return
    name, _, value = body.strip().partition(" ")
    if name:
        found.setenv(name, _expand(value.strip(), found.values), line)


def _command(found: _Found, body: str, line: int) -> None:
    while (flag := _FLAG.match(body)) is not None:
        body = body[flag.end() :]
    body = body.lstrip(" \t")
    while body.startswith("\\\n"):
        body, line = body[2:].lstrip(" \t"), line + 1
        while (flag := _FLAG.match(body)) is not None:
            body = body[flag.end() :].lstrip(" \t")
    words = _exec_form(body)
    if words is not None:
        found.run(shlex.join(words), line)
        return
    heredoc = _HEREDOC.match(body)
    if heredoc is not None:  # the body is the script, whatever interpreter a first line of it may name
        rest, _, script = body.partition("\n")
        script = script.rpartition("\n")[0] if script.rstrip().endswith(heredoc[2]) else script
        if not rest[heredoc.end() :].strip() and not script.startswith(
            ("#!/usr/bin/env python", "#!/usr/bin/python")
        ):
            found.run(script, line + 1)
            return
    found.run(body, line)


def _exec_form(body: str) -> list[str] | None:
    """The words of `["program", "argument"]`."""
    if not body.startswith("["):
        return None
    try:
        words = json.loads(body.replace("\\\n", " "))
    except (ValueError, RecursionError):
        return None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


def _bare(value: str) -> str:
    if value[:1] in "'\"" and value[:1] == value[-1:] and len(value) > 1:
        return value[1:-1]
    return value


def _expand(text: str, values: dict[str, str]) -> str:
    """`$NAME`, `${NAME}` and `${NAME:-default}`; what is unknown stays as written."""

    def replace(match: re.Match[str]) -> str:
        value = values.get(match[1] or match[4])
        if match[2] == "-":
            return value or match[3]
        if match[2] == "+":
            return match[3] if value else ""
        return match[0] if value is None else value

    return _REFERENCE.sub(replace, text)[:4_000] if "$" in text else text


# -- Singularity
# ---------------------------------------------------------------------------------------------------


def _singularity(text: str) -> ContainerFacts:
    """Header and sections; `%post` is what builds the image, `%runscript` what it runs."""
    found = _Found()
    section = ""
    body: list[str] = []
    first = 1
    bootstrap = ""
    for number, line in enumerate([*text.split("\n"), "%end"], 1):
        start = _SECTION.match(line)
        if start is not None:
            _end_section(found, section, body, first)
            section, body, first = start[1].lower(), [], number + 1
            continue
        if section:
            body.append(line)
            continue
        header = _HEADER.match(line.strip())
        if header is None:
            continue
        if header[1].lower() == "bootstrap":
            bootstrap = header[2].strip().lower()
        elif header[1].lower() == "from" and bootstrap in {
            "docker",
            "library",
            "oras",
            "shub",
            "docker-daemon",
            "localimage",
        }:
            found.images.append(split_image(header[2].strip(), number))
    return found.facts()


def _end_section(found: _Found, section: str, body: list[str], first: int) -> None:
    if section in {"post", "runscript", "startscript", "test"}:
        found.run("\n".join(body), first)
    elif section == "environment":
        for name, value, line in read_script("\n".join(body), first).variables:
            found.setenv(name, value, line)


# -- dev containers and compose
# ------------------------------------------------------------------------------------


def _devcontainer(text: str, partial: str) -> Extracted:
    """JSON with comments, read as YAML for its lines: comments become blanks, so that every line stays in
    place."""
    found = _Found()
    if len(text) > MAX_JSON:
        return Extracted(found.facts(), f"longer than {MAX_JSON:,} characters")
    blanked = _JSON_TOKEN.sub(_blank, text)
    try:
        documents = compose(blanked)
    except YamlError as error:
        documents, partial = list(error.documents), str(error)
    root = documents[0] if documents else None
    image = get(root, "image")
    if image is not None and text_of(image):
        found.images.append(split_image(text_of(image), line_of(image)))
    for key in ("containerEnv", "remoteEnv"):
        for name, _, value in items(get(root, key))[:500]:
            found.setenv(name, text_of(value), line_of(value))
    for key in _LIFECYCLE:
        node = get(root, key)
        commands = [value for _, _, value in items(node)]
        for each in commands or ([] if node is None else [node]):
            if isinstance(each, yaml.SequenceNode):
                words = [text_of(word) for word in elements(each)]
                found.run(shlex.join(words), line_of(each))
            elif text_of(each):
                found.run(text_of(each), line_of(each))
    return Extracted(found.facts(), partial)


def _blank(match: re.Match[str]) -> str:
    token = match[0]
    return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)


def _service(found: _Found, service: yaml.Node, lines: list[str]) -> None:
    image = get(service, "image")
    if image is not None and text_of(image):
        # Beside `build` it names what is built here, which no registry has.
        built = get(service, "build") is not None
        found.images.append(split_image(_expand(text_of(image), {}), line_of(image), stage=built))
    environment = get(service, "environment")
    for name, _, value in items(environment)[:500]:
        found.env.append((name, text_of(value)[:1_000], line_of(value)))
    for item in elements(environment)[:500] if isinstance(environment, yaml.SequenceNode) else ():
        name, _, text = text_of(item).partition("=")
        found.env.append((name, text[:1_000], line_of(item)))
    for key in ("entrypoint", "command"):
        node = get(service, key)
        if isinstance(node, yaml.SequenceNode):
            words = [text_of(word) for word in flatten(node)]
            found.run(shlex.join(words), line_of(node))
        elif isinstance(node, yaml.ScalarNode) and text_of(node):
            found.run(*script_text(node, lines))
