"""Between the plan and the engine: with which environment, target and baseline it reads, and what the report says of that."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from audit.action.commits import Located
from audit.action.inputs import Inputs
from audit.action.plan import Checkout, Elsewhere, Plan, silent
from audit.assess.gate import Scope
from audit.documents.report import Report
from audit.engine.options import Options

_GITHUB = "github.com"


def environment(plan: Plan, inputs: Inputs, environ: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """The variables that Git, the cache and the readers of GitHub look at.

    Git reads the checkout though the container's user does not own it: the workspace and the audited folder are trusted, nothing else.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("INPUT_", "GITHUB_TOKEN", "GH_TOKEN"))
    }
    count = int(kept["GIT_CONFIG_COUNT"]) if kept.get("GIT_CONFIG_COUNT", "").isdecimal() else 0
    folders = dict.fromkeys(str(folder.resolve()) for folder in (workspace, workspace / (inputs.path or ".")))
    for place, folder in enumerate(folders, count):
        kept |= {f"GIT_CONFIG_KEY_{place}": "safe.directory", f"GIT_CONFIG_VALUE_{place}": folder}
    kept["GIT_CONFIG_COUNT"] = str(count + len(folders))
    if "ML_AUDIT_CACHE_DIR" not in kept and kept.get("RUNNER_TEMP"):
        kept["ML_AUDIT_CACHE_DIR"] = f"{kept['RUNNER_TEMP']}/ml-audit/facts"
    return kept | _credentials(plan, inputs)


def _credentials(plan: Plan, inputs: Inputs) -> dict[str, str]:
    """Which server is asked, and with which token: `repo-token` for another repository, and only the run's own server or github.com ever see one."""
    own = plan.destination.token.value
    found = {"GITHUB_API_URL": plan.destination.api_url, "GITHUB_TOKEN": own}
    if isinstance(plan.target, Elsewhere):
        other = inputs.repo_token.get_secret_value() if inputs.repo_token else ""
        host = (urlsplit(plan.target.target).hostname or "").removeprefix("www.")
        if host == _GITHUB and urlsplit(plan.destination.server_url).hostname != _GITHUB:
            return {"GITHUB_API_URL": "https://api.github.com", "GITHUB_TOKEN": other}
        return found | {"GITHUB_TOKEN": other or own}
    return found


def options(found: Located, inputs: Inputs) -> Options:
    """What the engine is asked for."""
    return Options(
        found.target,
        level=inputs.level,
        profiles=inputs.profiles,
        baseline=found.baseline,
        baseline_archive=found.archive,
        baseline_name=found.baseline_name,
        with_drift=True,
    )


def adjusted(plan: Plan, found: Located) -> Plan:
    """The plan after a look at the checkout: where the folder lies, the head that only GitHub knew, and whether it is another repository's."""
    destination = msgspec.structs.replace(plan.destination, path_prefix=found.prefix.rstrip("/"))
    if found.foreign:
        wishes = silent(plan.wishes)
        why = wishes.why_not or (found.notes[0] if found.notes else "")
        return msgspec.structs.replace(
            plan,
            destination=msgspec.structs.replace(destination, pull_number=None, base_ref=None),
            wishes=msgspec.structs.replace(wishes, why_not=why),
        )
    of_event = isinstance(plan.target, Checkout) and plan.target.commit == destination.head_sha
    if found.commit is not None and not of_event:
        destination = msgspec.structs.replace(destination, head_sha=found.commit)
    return msgspec.structs.replace(plan, destination=destination)


def completed(report: Report, plan: Plan, found: Located) -> Report:
    """The report under the repository's own name, with notes on how it came about."""
    notes = [*plan.notes, *found.notes]
    if found.no_baseline and found.no_baseline not in notes:
        notes.append(found.no_baseline)
    if plan.scope is Scope.NEW and report.baseline is None:
        notes.append("Without a baseline every finding counts as new, and all of them can close the gate.")
    coverage = msgspec.structs.replace(report.coverage, notes=(*report.coverage.notes, *notes))
    repository = report.repository if found.foreign else plan.destination.repository
    return msgspec.structs.replace(report, repository=repository, coverage=coverage)
