"""The recorded events: each file holds the variables that the runner sets and the payload, as GitHub's webhooks shape it."""

import json
from pathlib import Path
from typing import Any

from audit.action.event import Event, parse_event
from audit.action.inputs import Inputs, read_inputs
from audit.action.plan import Plan, plan

EVENTS = Path(__file__).parent / "events"
HEAD = "11a3c5e7f90b2d4f6a8c0e1b3d5f7a9c0b2d4f6a"
BASE = "22b4d6f80a1c3e5f7b9d0f2a4c6e8b0d1f3a5c7e"
MERGE = "33c5e7a91b2d4f6a8c0e1b3d5f7a9c0b2d4f6a8c"
REPOSITORY = "deep-lab/tiny-lm"
TOKEN = "ghs_" + "t" * 36

RUNNER = {
    "GITHUB_REPOSITORY": REPOSITORY,
    "GITHUB_RUN_ID": "5501",
    "GITHUB_WORKFLOW": "CI",
    "GITHUB_JOB": "audit",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_API_URL": "https://api.github.com",
    "GITHUB_GRAPHQL_URL": "https://api.github.com/graphql",
    "GITHUB_STEP_SUMMARY": "/github/file_commands/step_summary_1",
}


def recorded(name: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Variables and payload of one event."""
    record = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    return {**RUNNER, **record["environ"]}, record["payload"]


def event_of(name: str) -> Event:
    environ, payload = recorded(name)
    return parse_event(environ["GITHUB_EVENT_NAME"], json.dumps(payload).encode())


def inputs_of(**given: str) -> Inputs:
    """Inputs as a container gets them: names with underscores for hyphens here."""
    named = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in given.items()}
    return read_inputs({"INPUT_GITHUB-TOKEN": TOKEN, **named})


def planned(name: str, **given: str) -> Plan:
    environ, _ = recorded(name)
    return plan(event_of(name), environ, inputs_of(**given))
