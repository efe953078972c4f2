"""What is made from the table of the action's inputs and outputs: both action files, the tables of the README, the JSON schema."""

import enum
import json
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from audit.action.inputs import GIVEN, OUTPUTS, Inputs, allowed, choices, names

COMPOSITE_STEPS = Path("composite") / "steps.yml"
_MARK = "# inputs"
_HEAD = """# Made from audit/action/inputs.py by `make generate`.
name: ml-audit
description: Can this machine-learning repository be reproduced? Findings with file, line, reason and fix, on every pull request.
author: ml-audit
branding:
  icon: check-circle
  color: purple
"""


def container_action() -> str:
    """`action.yml`: the release workflow puts the image's digest in place of `Dockerfile`."""
    return f"{_HEAD}{_inputs()}{_outputs(values=False)}runs:\n  using: docker\n  image: Dockerfile\n"


def composite_action(root: Path) -> str:
    """`composite/action.yml`: the same inputs and outputs around the steps of `composite/steps.yml`."""
    lines = []
    for line in (root / COMPOSITE_STEPS).read_text("utf-8").splitlines():
        if line.strip() != _MARK:
            lines.append(line)
            continue
        indent = line[: line.index(_MARK)]
        lines += [f"{indent}{_variable(name)}: ${{{{ inputs.{name} }}}}" for name in names()]
    steps = "\n".join(line for line in lines if not line.startswith("#")).strip("\n")
    return f"{_HEAD}{_inputs()}{_outputs(values=True)}{steps}\n"


def _variable(name: str) -> str:
    return f"INPUT_{name.upper().replace('-', '_')}"


def _inputs() -> str:
    parts = ["inputs:"]
    for name in names():
        parts += [
            f"  {name}:",
            f"    description: {json.dumps(_described(name))}",
            "    required: false",
            f"    default: {json.dumps(default(name))}",
        ]
    return "\n".join(parts) + "\n"


def _outputs(*, values: bool) -> str:
    parts = ["outputs:"]
    for name, description in OUTPUTS.items():
        parts += [f"  {name}:", f"    description: {json.dumps(description)}"]
        if values:
            parts.append(f"    value: ${{{{ steps.audit.outputs.{name} }}}}")
    return "\n".join(parts) + "\n"


def _field(name: str) -> FieldInfo:
    return Inputs.model_fields[name.replace("-", "_")]


def _described(name: str) -> str:
    return f"{_field(name).description} Allowed: {allowed(_field(name))}."


def default(name: str) -> str:
    """The default as an action file writes it; empty where there is none."""
    value = _field(name).default
    match value:
        case _ if name in GIVEN:
            return GIVEN[name]
        case None | ():
            return ""
        case bool():
            return str(value).lower()
        case enum.Enum():
            return str(value.value)
    return str(value)


def input_table() -> str:
    rows = [
        f"| `{name}` | {_cell(f'{_field(name).description}')} | {_cell(allowed(_field(name)))} | {_code(default(name))} |"
        for name in names()
    ]
    return "| input | what it says | allowed | default |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def output_table() -> str:
    rows = [f"| `{name}` | {_cell(text)} |" for name, text in OUTPUTS.items()]
    return "| output | what it holds |\n|---|---|\n" + "\n".join(rows) + "\n"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def schema() -> str:
    """The JSON schema of what stands under `with:`."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Inputs of the ml-audit action",
        "description": "What may stand under `with:`. An empty text is the same as leaving the input out.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _property(name) for name in names()},
    }
    return json.dumps(document, indent=2) + "\n"


def _property(name: str) -> dict[str, Any]:
    field = _field(name)
    found: dict[str, Any] = {"description": _described(name)}
    options = choices(field)
    if field.annotation is bool:
        return found | {"enum": [True, False, "true", "false", ""], "default": field.default}
    if options:
        return found | {"enum": [*options, ""], "default": default(name)}
    bounds = Inputs.model_json_schema(by_alias=True)["properties"][name]
    if bounds.get("type") == "integer" or any(
        part.get("type") == "integer" for part in bounds.get("anyOf", ())
    ):
        number = next(part for part in (bounds, *bounds.get("anyOf", ())) if part.get("type") == "integer")
        limits = {key: number[key] for key in ("minimum", "maximum") if key in number}
        return found | {
            "anyOf": [{"type": "integer", **limits}, {"type": "string", "pattern": "^[0-9]*$"}],
            "default": field.default if field.default is not None else "",
        }
    return found | {"type": "string", "default": default(name)}
