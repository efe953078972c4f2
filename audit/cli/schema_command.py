"""`ml-audit schema NAME`."""

import click

NAMES = ("audit-report", "verdict", "drift", "manifest", "profile", "config")


@click.command("schema", epilog="\b\nExamples:\n  ml-audit schema audit-report > audit-report.schema.json\n")
@click.argument("name", type=click.Choice(NAMES))
def schema_command(name: str) -> None:
    """Print the JSON schema of a document: the audit report, the failure verdict, the drift; the manifest `ml-audit.yaml`, a profile in
    `.ml-audit/profiles/`, or the configuration `.ml-audit/config.yaml`."""
    from audit.cli.output import write_stdout

    write_stdout(schema_text(name))


def schema_text(name: str) -> str:
    """The schema as indented JSON (draft 2020-12) with a newline at its end."""
    import json

    made = {
        "audit-report": _report,
        "verdict": _verdict,
        "drift": _drift,
        "manifest": _manifest,
        "profile": _profile,
        "config": _config,
    }
    schema = made[name]()
    return json.dumps(schema, indent=2) + "\n"


def _report() -> dict[str, object]:
    import msgspec

    from audit.documents.report import Report

    schema = msgspec.json.schema(Report)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ml-audit report, schema version 1",
        **schema,
    }


def _verdict() -> dict[str, object]:
    import msgspec

    from audit.documents.verdict import Verdict

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ml-audit verdict, schema version 1",
        **msgspec.json.schema(Verdict),
    }


def _drift() -> dict[str, object]:
    import msgspec

    from audit.documents.drift import Drift

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ml-audit drift, schema version 1",
        **msgspec.json.schema(Drift),
    }


def _manifest() -> dict[str, object]:
    from audit.documents.manifest import Manifest

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Manifest.model_json_schema(),
        "title": "ml-audit manifest, schema version 1",
    }


def _profile() -> dict[str, object]:
    from audit.profiles.own import OwnProfile

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **OwnProfile.model_json_schema(),
        "title": "ml-audit profile",
    }


def _config() -> dict[str, object]:
    from audit.assess.config import Config

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
