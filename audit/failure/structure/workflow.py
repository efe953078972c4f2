"""What a checkout's workflows say of the steps that a log shows: their names, and whether their failure is tolerated or expected to be survived."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from audit.failure.structure.steps import Conclusion, Job, Step

MOST_STEPS = 2_000
"""Steps that are looked at: more than any project's workflows hold together."""
_EXPRESSION = re.compile(r"\$\{\{.{0,200}?\}\}")
_WHATEVER = re.compile(r"\b(?:always|failure|cancelled)\(\)")


class Written(msgspec.Struct, frozen=True):
    """One step as a workflow writes it. `command`: the first line of its script. `tolerated`: `continue-on-error`. `whatever`: it
    runs also after a failure.
    """

    path: str
    job: str
    name: str
    command: str
    tolerated: bool
    whatever: bool


def written_steps(documents: Mapping[str, Any]) -> list[Written]:
    """The steps of GitHub workflows and the scripts of GitLab jobs, from their parsed YAML by path. Never raises for what they hold."""
    found: list[Written] = []
    for path, document in documents.items():
        if not isinstance(document, dict):
            continue
        steps = _github(path, document) if ".github/workflows/" in path else _gitlab(path, document)
        found += [step for _, step in zip(range(MOST_STEPS), steps, strict=False)]
    return found


def _github(path: str, document: Mapping[Any, Any]) -> Iterator[Written]:
    jobs = document.get("jobs")
    for key, job in jobs.items() if isinstance(jobs, dict) else ():
        steps = job.get("steps") if isinstance(job, dict) else None
        for step in steps if isinstance(steps, list) else ():
            if not isinstance(step, dict):
                continue
            command = _first_line(step.get("run")) or str(step.get("uses") or "")
            yield Written(
                path,
                str(job.get("name") or key),
                str(step.get("name") or ""),
                command,
                step.get("continue-on-error") is True or job.get("continue-on-error") is True,
                bool(_WHATEVER.search(str(step.get("if") or ""))),
            )


def _gitlab(path: str, document: Mapping[Any, Any]) -> Iterator[Written]:
    for key, job in document.items():
        if not isinstance(job, dict) or not isinstance(job.get("script"), (list, str)):
            continue
        scripts = job["script"] if isinstance(job["script"], list) else [job["script"]]
        for line in scripts:
            yield Written(
                path, str(key), str(key), _first_line(line), job.get("allow_failure") is True, False
            )


def _first_line(script: Any) -> str:
    lines = [
        line.strip()
        for line in str(script or "").splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]
    return lines[0] if lines else ""


def annotated(job: Job, steps: Sequence[Written]) -> Job:
    """The job with its steps' names from the workflow, and tolerated failures set apart. A job whose only failures are tolerated did not fail."""
    known = [
        (_named(step, written), written) if (written := _match(step, steps)) is not None else (step, None)
        for step in job.steps
    ]
    renamed = [
        msgspec.structs.replace(step, tolerated=True)
        if written is not None and written.tolerated and step.conclusion is Conclusion.FAILURE
        else step
        for step, written in known
    ]
    failed = [step for step in renamed if step.conclusion is Conclusion.FAILURE and not step.teardown]
    conclusion = job.conclusion
    if (
        failed
        and all(step.tolerated for step in failed)
        and job.conclusion is Conclusion.FAILURE
        and job.complete
    ):
        conclusion = Conclusion.SUCCESS
    return msgspec.structs.replace(job, steps=tuple(renamed), conclusion=conclusion)


def _named(step: Step, written: Written) -> Step:
    return msgspec.structs.replace(step, name=written.name) if written.name else step


def _match(step: Step, steps: Sequence[Written]) -> Written | None:
    command = step.command.strip()
    for written in steps:
        if command and written.command and _same(command, written.command):
            return written
        if written.name and step.name == written.name:
            return written
    return None


def _same(shown: str, written: str) -> bool:
    """Whether a command of the log is the written one, its expressions filled in."""
    if shown == written:
        return True
    if "${{" not in written:
        return False
    parts = [re.escape(part) for part in _EXPRESSION.split(written)]
    return re.fullmatch(".{0,200}?".join(parts[:12]), shown) is not None
