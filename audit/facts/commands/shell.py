"""Shell text as commands and requirements: what every other reader of commands calls."""

from collections.abc import Mapping
from typing import NamedTuple

from audit.facts.commands.installs import requirements_of
from audit.facts.commands.launch import Peeled, build, peel
from audit.facts.commands.lexer import MAX_COMMANDS, MAX_NESTING, Lexer, Simple
from audit.facts.commands.scope import Scope
from audit.facts.model import Command, Requirement

MAX_CHARS = 400_000
"""Longest text read; the rest is left out and said."""
_MAX_INNER = 3
"""How deep `bash -c "…"` inside `bash -c "…"` is followed."""
_READS_STANDARD_INPUT = frozenset({"bash", "sh", "zsh", "sbatch", "qsub", "ssh", "bsub"})


class Script(NamedTuple):
    """What a shell text does. `variables`: (name, value as written, line); `partial`: what was left out, and
    why."""

    commands: tuple[Command, ...]
    requirements: tuple[Requirement, ...]
    variables: tuple[tuple[str, str, int], ...]
    partial: str = ""


def parse_commands(text: str, first_line: int = 1) -> tuple[Command, ...]:
    """The commands of shell text whose first line is `first_line` of its file. Never raises."""
    return read_script(text, first_line).commands


def read_script(
    text: str,
    first_line: int = 1,
    source: str = "shell",
    known: Mapping[str, str] | None = None,
    *,
    substitutions: bool = True,
) -> Script:
    """The commands, the requirements that they install (marked with `source`), and the variables of `text`.

    `known`: variables that hold before the text starts (those of a Makefile, ENV of a Dockerfile). Never
    raises.
    """
    partial = f"only the first {MAX_CHARS:,} characters were read" if len(text) > MAX_CHARS else ""
    scope = Scope()
    for name, value in (known or {}).items():
        scope.define(name, value)
    reader = _Reader(source, scope, 0 if substitutions else MAX_NESTING)
    reader.read(text[:MAX_CHARS], first_line, 0)
    if reader.truncated:
        partial = f"only the first {MAX_COMMANDS:,} commands were read"
    return Script(tuple(reader.commands), tuple(reader.requirements), tuple(scope.assigned), partial)


class _Reader:
    def __init__(self, source: str, scope: Scope, nesting: int) -> None:
        self.source = source
        self.nesting = nesting
        self.scope = scope
        self.commands: list[Command] = []
        self.requirements: list[Requirement] = []
        self.truncated = False

    def read(self, text: str, first_line: int, depth: int) -> None:
        lexer = Lexer(text, first_line, self.scope, self.nesting).read()
        self.truncated = self.truncated or lexer.truncated
        for simple in lexer.simple:
            if len(self.commands) >= MAX_COMMANDS:
                self.truncated = True
                return
            self._one(simple, depth)

    def _one(self, simple: Simple, depth: int) -> None:
        peeled = peel(simple.words)
        if depth < _MAX_INNER and self._inside(simple, peeled, depth):
            return
        command = build(peeled, simple.words, simple.line)
        if command is not None and (not simple.nested or command.target or command.launchers):
            self.commands.append(command)
            self.requirements += requirements_of(peeled.words, self.source)

    def _inside(self, simple: Simple, peeled: Peeled, depth: int) -> bool:
        """Reads text that the command hands to a shell; True where that stands for the command itself."""
        if peeled.inner is not None:
            before = len(self.commands)
            self.read(peeled.inner.text, peeled.inner.line, depth + 1)
            if peeled.launchers or peeled.env:
                self.commands[before:] = [_with(command, peeled) for command in self.commands[before:]]
            return len(self.commands) > before
        if simple.heredoc is not None and peeled.words:
            body, line = simple.heredoc
            program = peeled.words[0].text.rsplit("/", 1)[-1]
            if program in _READS_STANDARD_INPUT or body.startswith(
                ("#!/bin/bash", "#!/bin/sh", "#!/usr/bin/env bash")
            ):
                self.read(body, line, depth + 1)
        return False


def _with(command: Command, peeled: Peeled) -> Command:
    """The command of an inner shell with the launchers and assignments that stand in front of that shell."""
    return Command(
        program=command.program,
        text=command.text,
        line=command.line,
        launchers=(*peeled.launchers, *command.launchers),
        target=command.target,
        module=command.module,
        args=command.args,
        flags=command.flags,
        env=(*peeled.env, *command.env),
    )
