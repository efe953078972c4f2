"""Workflows run by `act` on a real Docker Engine, with the action's image and a GitHub on the loopback."""

import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
STAND_INS = Path(__file__).parent / "stand_ins"
IMAGE = "ml-audit:e2e"
RUNNER_IMAGE = "python:3.13-slim-trixie"
ACT = Path(sys.executable).with_name("act")
_USES = re.compile(r"uses: ([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@(\S+)")


@dataclass(frozen=True)
class Ran:
    """What a run of act came to. `lines`: act's JSON messages."""

    code: int
    lines: tuple[dict[str, Any], ...]
    errors: str

    @property
    def text(self) -> str:
        """What happened, for a test that fails."""
        return "\n".join(line["msg"].rstrip() for line in self.lines) + "\n" + self.errors

    @property
    def jobs(self) -> dict[str, str]:
        """The result of each job ("success", "failure"), legs of a matrix under one name: failure if one failed."""
        found: dict[str, str] = {}
        for line in self.lines:
            if "jobResult" in line and found.get(line["jobID"]) != "failure":
                found[line["jobID"]] = line["jobResult"]
        return found

    @property
    def outputs(self) -> dict[str, str]:
        """All outputs that steps set."""
        return {line["name"]: line["arg"] for line in self._commands("set-output")}

    @property
    def summary(self) -> str:
        """The job summaries, one after another."""
        return "\n".join(line["content"] for line in self._commands("summary"))

    @property
    def annotations(self) -> list[tuple[str, dict[str, str], str]]:
        """Level, properties and text of every annotation that was made by a workflow command."""
        return [
            (line["command"], line["kvPairs"], line["arg"])
            for line in self._commands("error", "warning", "notice")
        ]

    @property
    def said(self) -> list[str]:
        """What the steps wrote, line by line, without act's own messages."""
        return [line["msg"].rstrip("\n") for line in self.lines if line.get("raw_output")]

    def _commands(self, *names: str) -> Iterator[dict[str, Any]]:
        return (line for line in self.lines if line.get("command") in names)


@dataclass
class Runner:
    """One machine. `artifacts`: the folder where the stand-ins keep what workflows upload."""

    action: Path
    artifacts: Path
    server: str
    graphql: str
    token: str
    repository: str = "acme/trainer"
    extra: dict[str, str] = field(default_factory=dict)

    def run(
        self,
        event: str,
        payload: Mapping[str, Any],
        workspace: Path,
        workflow: str,
        *,
        job: str | None = None,
        environment: Mapping[str, str] | None = None,
        run_id: int = 4711,
        attempt: int = 1,
    ) -> Ran:
        """Runs the workflow on the event in the workspace, a Git work tree at the commit that GitHub would check out."""
        with tempfile.TemporaryDirectory() as folder:
            event_file, workflow_file = Path(folder) / "event.json", Path(folder) / "workflow.yml"
            event_file.write_text(json.dumps(payload), "utf-8")
            workflow_file.write_text(workflow, "utf-8")
            told = {
                "GITHUB_API_URL": self.server,
                "GITHUB_GRAPHQL_URL": self.graphql,
                "GITHUB_REPOSITORY": self.repository,
                "GITHUB_RUN_ID": str(run_id),
                "GITHUB_RUN_ATTEMPT": str(attempt),
                **self.extra,
                **(environment or {}),
            }
            command = [
                str(ACT), event, "--json",
                "--workflows", str(workflow_file), "--eventpath", str(event_file),
                "--platform", f"ubuntu-latest={RUNNER_IMAGE}", "--platform", f"ubuntu-24.04={RUNNER_IMAGE}",
                "--pull=false", "--network", "host", "--container-daemon-socket", "-",
                "--container-options", f"--volume {self.artifacts}:/artifacts",
                "--secret", f"GITHUB_TOKEN={self.token}", "--no-cache-server",
                *(f"--env={name}={value}" for name, value in told.items()),
                *(f"--local-repository={at}={path}" for at, path in self._replaced(workflow)),
            ]  # fmt: skip
            if job:
                command += ["--job", job]
            return self._ran(command, workspace)

    def _replaced(self, workflow: str) -> Iterator[tuple[str, Path]]:
        texts = [workflow, (ROOT / "composite" / "action.yml").read_text("utf-8")]
        for name, pin in sorted({pair for text in texts for pair in _USES.findall(text)}):
            if name == "OWNER/ml-audit":
                yield f"{name}@{pin}", self.action
            elif name != "actions/checkout":  # act does that itself
                yield f"{name}@{pin}", STAND_INS / name.partition("/")[2]

    def _ran(self, command: Sequence[str], workspace: Path) -> Ran:
        # act names containers by workflow and job, so two of its runs would meet.
        with (Path(tempfile.gettempdir()) / "ml-audit-act.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = subprocess.run(
                command, cwd=workspace, check=False, capture_output=True, text=True, timeout=600,
                env={**os.environ, "DOCKER_BUILDKIT": "0", "XDG_CACHE_HOME": str(self.artifacts.parent / "act-cache")},
            )  # fmt: skip
        lines = []
        for line in done.stdout.splitlines():
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                lines.append({"msg": line})
        return Ran(done.returncode, tuple(lines), done.stderr)
