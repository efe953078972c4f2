"""`ml-audit doctor`."""

import os
import platform
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import click

from audit.engine.exit_codes import ExitCode


class Check(NamedTuple):
    """One thing that was looked at. `ok` None: it is only told."""

    name: str
    ok: bool | None
    said: str


@click.command("doctor")
def doctor_command() -> int:
    """Say what ml-audit finds on this machine: Python, git, the cache, a token (never its value)."""
    from audit.cli.output import write_stdout
    from audit.safety.sanitize import terminal

    found = list(checks(os.environ))
    marks = {True: "ok", False: "PROBLEM", None: "-"}
    write_stdout(
        "".join(f"{marks[check.ok]:<8} {check.name:<10} {terminal(check.said)}\n" for check in found)
    )
    return ExitCode.UNABLE if any(check.ok is False for check in found) else ExitCode.OK


def checks(environ: Mapping[str, str]) -> Iterator[Check]:
    """Everything that decides what works here; nothing is sent anywhere."""
    from audit import __version__
    from audit.facts.collect import default_jobs

    yield Check("ml-audit", None, __version__)
    yield Check(
        "python",
        True,
        f"{platform.python_version()} ({platform.python_implementation()}), {default_jobs()} processes",
    )
    yield _git(environ)
    yield _cache(environ)
    token = next((name for name in ("GITHUB_TOKEN", "GH_TOKEN") if environ.get(name)), None)
    yield Check(
        "token",
        None,
        f"{token} is set" if token else "no GITHUB_TOKEN: public repositories only, at a low rate limit",
    )
    yield Check("server", None, environ.get("GITHUB_API_URL") or "https://api.github.com")


def _git(environ: Mapping[str, str]) -> Check:
    from audit.source.git import find_git, git_in

    program = find_git(environ)
    if program is None:
        return Check("git", False, "not found: folders are audited without commit, history and ignore rules")
    version = git_in(program, os.getcwd(), environ).ask("version")  # noqa: PTH109
    return Check("git", version is not None, f"{version or 'does not run'} ({program})")


def _cache(environ: Mapping[str, str]) -> Check:
    from audit.facts.cache import FactCache, default_folder

    folder = default_folder(environ)
    key = b"doctor"
    kept = FactCache(folder)
    kept.put_many([(key, b"ok")], 0, "derived")
    works = kept.get_many([key], "derived") == {key: b"ok"}
    kept.close()
    place = folder or "this user has no home folder, the cache"
    return Check(
        "cache", works, str(place) if works else f"{place} cannot be written: every audit starts anew"
    )
