"""Endpoints about workflow runs: runs, attempts, jobs, logs, artifacts. Contents lie on the second host, behind links that
live for a minute.
"""

from .routing import Answer, Call, error, not_found, route
from .world import Artifact, Job, Run

_RUNS = "/repos/{owner}/{repo}/actions/runs"
_GONE = "Server Error: logs have expired or were deleted"


def _run(call: Call) -> Run | None:
    return call.repository.runs.get(call.number("run_id"))


@route("GET", _RUNS)
def runs(call: Call) -> Answer:
    sha, event = call.one("head_sha"), call.one("event")
    shown = [
        run for run in call.repository.runs.values() if sha in ("", run.head_sha) and event in ("", run.event)
    ]
    return call.paged([call.shapes.run(call.repository, run, run.attempt) for run in shown], "workflow_runs")


@route("GET", f"{_RUNS}/{{run_id}}")
def run(call: Call) -> Answer:
    found = _run(call)
    return (
        not_found() if found is None else Answer(200, call.shapes.run(call.repository, found, found.attempt))
    )


@route("GET", f"{_RUNS}/{{run_id}}/attempts/{{attempt_number}}")
def attempt(call: Call) -> Answer:
    found, number = _run(call), call.number("attempt_number")
    if found is None or not 1 <= number <= found.attempt:
        return not_found()
    return Answer(200, call.shapes.run(call.repository, found, number))


def _jobs(call: Call, attempt: int | None) -> Answer:
    found = _run(call)
    if found is None:
        return not_found()
    wanted = attempt or found.attempt
    shown = [
        job
        for job in call.repository.jobs.values()
        if job.run == found.id
        and (job.attempt == wanted or (attempt is None and call.one("filter", "latest") == "all"))
    ]
    return call.paged([call.shapes.job(call.repository, found, job) for job in shown], "jobs")


@route("GET", f"{_RUNS}/{{run_id}}/jobs")
def jobs(call: Call) -> Answer:
    return _jobs(call, None)


@route("GET", f"{_RUNS}/{{run_id}}/attempts/{{attempt_number}}/jobs")
def jobs_of_attempt(call: Call) -> Answer:
    return _jobs(call, call.number("attempt_number"))


def _job(call: Call) -> Job | None:
    return call.repository.jobs.get(call.number("job_id"))


@route("GET", "/repos/{owner}/{repo}/actions/jobs/{job_id}")
def job(call: Call) -> Answer:
    found = _job(call)
    if found is None:
        return not_found()
    return Answer(200, call.shapes.job(call.repository, call.repository.runs[found.run], found))


@route("GET", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs", "actions:read")
def job_log(call: Call) -> Answer:
    found = _job(call)
    if found is None:
        return not_found()
    if found.log is None:
        return error(410, _GONE)
    return Answer(302, headers={"Location": call.link(f"job-logs/{found.id}.txt", found.log, "text/plain")})


def _logs(call: Call, attempt: int | None) -> Answer:
    found = _run(call)
    if found is None or (attempt or found.attempt) not in found.logs:
        return not_found()
    content = found.logs[attempt or found.attempt]
    if content is None:
        return error(410, _GONE)
    address = call.link(
        f"actions-results/{found.id}/{attempt or found.attempt}/logs.zip", content, "application/zip"
    )
    return Answer(302, headers={"Location": address})


@route("GET", f"{_RUNS}/{{run_id}}/logs", "actions:read")
def run_logs(call: Call) -> Answer:
    return _logs(call, None)


@route("GET", f"{_RUNS}/{{run_id}}/attempts/{{attempt_number}}/logs", "actions:read")
def attempt_logs(call: Call) -> Answer:
    return _logs(call, call.number("attempt_number"))


def _listed(call: Call, artifacts: list[Artifact]) -> Answer:
    name = call.one("name")
    newest = sorted((one for one in artifacts if name in ("", one.name)), key=lambda one: -one.id)
    return call.paged([call.shapes.artifact(call.repository, one) for one in newest], "artifacts")


@route("GET", f"{_RUNS}/{{run_id}}/artifacts")
def artifacts_of_run(call: Call) -> Answer:
    found = _run(call)
    if found is None:
        return not_found()
    return _listed(call, [one for one in call.repository.artifacts.values() if one.run == found.id])


@route("GET", "/repos/{owner}/{repo}/actions/artifacts")
def artifacts(call: Call) -> Answer:
    return _listed(call, list(call.repository.artifacts.values()))


def _artifact(call: Call) -> Artifact | None:
    return call.repository.artifacts.get(call.number("artifact_id"))


@route("GET", "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}")
def artifact(call: Call) -> Answer:
    found = _artifact(call)
    if found is None:
        return not_found()
    return Answer(200, call.shapes.artifact(call.repository, found))


@route("GET", "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}", "actions:read")
def artifact_zip(call: Call) -> Answer:
    found = _artifact(call)
    if found is None or call.params["archive_format"] != "zip":
        return not_found()
    if found.expired:
        return error(410, "Artifact has expired")
    return Answer(
        302, headers={"Location": call.link(f"artifacts/{found.id}.zip", found.content, "application/zip")}
    )
