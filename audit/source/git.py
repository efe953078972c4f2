"""Git, asked so that nothing which the asked repository configures can run, reach the network or be written.

A repository's own `.git/config` and attributes may name programs (fsmonitor, hooks, filters, text conversion,
transports). Only plumbing that reads is called; what could still start a program is overridden on the
command's own level, which outranks every file; the environment is rebuilt from the few variables that are
needed.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec

from audit.source.errors import SourceError

_SECONDS = 60
_MAX_OUTPUT = 512 * 2**20
_KEPT = (
    "PATH", "HOME", "XDG_CONFIG_HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA",
    "PROGRAMDATA", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "SUDO_UID", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)  # fmt: skip
_ALWAYS = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    # A list of allowed protocols that holds none: a lazy fetch of an older Git fails before it starts a
    # transport.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "core.sshCommand": "",
    "credential.helper": "",
    "diff.external": "",
}


class GitError(Exception):
    """A Git command failed; `args[0]` is the first line that it complained with."""


class GitTimeoutError(GitError):
    """A Git command did not end in time."""


class Git(msgspec.Struct, frozen=True):
    """Git in the folder `folder`. Picklable: a worker process asks with the same safeguards."""

    program: str
    folder: str
    environment: tuple[tuple[str, str], ...]

    def start(self, *arguments: str, errors: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """A running `git` with its input and output as pipes."""
        return subprocess.Popen(
            [self.program, *arguments],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )

    def run(self, *arguments: str, feed: bytes = b"", seconds: int = _SECONDS) -> bytes:
        """What `git` writes, given `feed` on its input. Raises GitError where it fails, takes longer than
        `seconds` or writes too much.
        """
        with tempfile.TemporaryFile() as complaints:
            process = self.start(*arguments, errors=complaints.fileno())
            timer = threading.Timer(seconds, process.kill)
            timer.daemon = True  # an interruption while it starts must not make the exit wait for it
            try:
                timer.start()
                output = _exchange(process, feed)
            finally:
                timer.cancel()
                if process.poll() is None:
                    process.kill()
                process.wait()
            complaints.seek(0)
            said = complaints.read(4096).decode("utf-8", "replace")
        if output is None:
            raise GitError(f"git {arguments[0]} wrote more than {_MAX_OUTPUT // 2**20} MiB")
        if process.returncode < 0:
            raise GitTimeoutError(f"git {arguments[0]} did not end within {seconds} seconds")
        if process.returncode:
            raise GitError(
                _first_complaint(said) or f"git {arguments[0]} failed with status {process.returncode}"
            )
        return output

    def ask(self, *arguments: str) -> str | None:
        """One line of answer, None where `git` fails: for questions whose answer may be "there is none"."""
        try:
            return self.run(*arguments).decode("utf-8", "surrogateescape").rstrip("\n")
        except GitError:
            return None

    def with_variables(self, variables: Mapping[str, str]) -> "Git":
        """The same with further environment variables."""
        return Git(self.program, self.folder, tuple(sorted({**dict(self.environment), **variables}.items())))

    def with_settings(self, settings: Mapping[str, str]) -> "Git":
        """The same with settings that outrank every configuration file.

        They travel in variables, not as `-c name=value`: a name may hold `=`, and a hostile one would then
        escape.
        """
        environment = dict(self.environment)
        count = int(environment.get("GIT_CONFIG_COUNT", "0"))
        for place, (name, value) in enumerate(settings.items(), count):
            environment[f"GIT_CONFIG_KEY_{place}"] = name
            environment[f"GIT_CONFIG_VALUE_{place}"] = value
        environment["GIT_CONFIG_COUNT"] = str(count + len(settings))
        return Git(self.program, self.folder, tuple(sorted(environment.items())))


def _exchange(process: subprocess.Popen[bytes], feed: bytes) -> bytes | None:
    """Writes `feed` while reading, so that neither side waits for the other; None where the output exceeds
    its bound.
    """
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 (pipes were asked for)
    stdin, stdout = process.stdin, process.stdout

    def write() -> None:
        try:
            with stdin:
                stdin.write(feed)
        except OSError:
            pass

    writer = threading.Thread(target=write, daemon=True) if feed else None
    if writer is None:
        stdin.close()
    else:
        writer.start()
    chunks: list[bytes] = []
    size = 0
    with stdout:
        while chunk := stdout.read(2**20):
            chunks.append(chunk)
            size += len(chunk)
            if size > _MAX_OUTPUT:
                process.kill()
                break
    if writer is not None:
        writer.join()
    return b"".join(chunks) if size <= _MAX_OUTPUT else None


def _first_complaint(said: str) -> str:
    for line in said.splitlines():
        if not line.startswith(("warning:", "hint:")) and line.strip():
            return line.removeprefix("fatal: ").removeprefix("error: ").strip()[:300]
    return ""


def find_git(environ: Mapping[str, str]) -> str | None:
    """The full path of the `git` program, None where there is none."""
    found = shutil.which("git", path=environ.get("PATH", os.defpath))
    return str(Path(found).absolute()) if found else None


def git_in(program: str, folder: str, environ: Mapping[str, str]) -> Git:
    """Git for the repository whose root (or bare folder) is `folder`, a real path, and for none above it."""
    environment = {name: environ[name] for name in _KEPT if name in environ}
    # Settings that the user's own environment gives (a safe.directory in a container, say) are kept; ours
    # come after them.
    if (count := environ.get("GIT_CONFIG_COUNT", "")).isdecimal() and int(count) < 1000:
        environment["GIT_CONFIG_COUNT"] = count
        for place in range(int(count)):
            for name in (f"GIT_CONFIG_KEY_{place}", f"GIT_CONFIG_VALUE_{place}"):
                environment[name] = environ.get(name, "")
    environment |= {**_ALWAYS, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent)}
    return Git(program, folder, tuple(sorted(environment.items()))).with_settings(_OVERRIDES)


class Repository(msgspec.Struct, frozen=True):
    """A repository that Git accepts, with every program that its configuration names switched off.

    `algorithm`: its object format. `bare`: it has no work tree. `partial`: contents may not
    have been fetched. `remote`: the origin's address as configured, perhaps with credentials.
    """

    git: Git
    algorithm: str
    bare: bool
    shallow: bool
    partial: bool
    remote: str | None


def open_repository(git: Git) -> Repository | None:
    """Asks Git about the repository in `git.folder`; None where Git sees none there.

    Raises SourceError where there is one that Git will not or cannot read.
    """
    try:
        answers = git.run(
            "rev-parse", "--is-bare-repository", "--is-shallow-repository", "--show-object-format"
        ).split()
        listed = git.run("config", "--list", "-z")
    except GitError as error:
        if "not a git repository" in str(error).lower():
            return None
        raise refusal(git.folder, error) from None
    settings = _settings(listed)
    if len(answers) != 3 or settings.get("core.fsmonitor") != "false":
        raise SourceError("This version of Git is too old to be used safely.", "Install Git 2.31 or newer.")
    bare = answers[0] == b"true"
    quiet = git.with_settings(_switched_off(settings))
    if not bare:
        # Whatever core.worktree says: the work tree is the folder that was given.
        quiet = quiet.with_variables({"GIT_WORK_TREE": git.folder})
    return Repository(
        git=quiet,
        algorithm=answers[2].decode(),
        bare=bare,
        shallow=answers[1] == b"true",
        partial="extensions.partialclone" in settings
        or any(name.endswith((".promisor", ".partialclonefilter")) for name in settings),
        remote=_remote(settings),
    )


def refusal(folder: str, error: GitError, *, of_index: bool = False) -> SourceError:
    """Git's complaint about the repository in `folder`, or about its index, as an error with advice."""
    said = str(error)
    if "dubious ownership" in said or "unsafe repository" in said:
        return SourceError(
            f"Git refuses to read {folder}, because it belongs to another user.",
            f"If you trust it, run: git config --global --add safe.directory {shlex.quote(folder)}",
        )
    if isinstance(error, GitTimeoutError):
        return SourceError(
            f"Git was stopped while it read {folder}: {said}.",
            f"Look for pipes named .gitignore or .gitattributes, or audit the commit itself: {folder}@HEAD",
        )
    if of_index:
        return SourceError(
            f"Git cannot read the index of {folder}: {said}.",
            f"Rebuild it (delete .git/index, then run git reset), or audit the commit itself: {folder}@HEAD",
        )
    if "config" in said.lower():
        what, advice = "its configuration for ", "Mend the line that it names."
    else:
        what, advice = "", "Run git fsck there, or clone the repository anew."
    return SourceError(f"Git cannot read {what}{folder}: {said}.", advice)


def _settings(listed: bytes) -> dict[str, str]:
    """`git config --list -z` as a dict; the last value of a name wins."""
    settings: dict[str, str] = {}
    for record in listed.decode("utf-8", "surrogateescape").split("\0"):
        name, _, value = record.partition("\n")
        if name:
            settings[name] = value
    return settings


def _switched_off(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that silence each filter driver and promisor remote that is configured."""
    silenced: dict[str, str] = {}
    for name in settings:
        section, _, rest = name.partition(".")
        driver = rest.rpartition(".")[0]
        if section == "filter" and driver:
            silenced |= {f"filter.{driver}.{key}": "" for key in ("clean", "smudge", "process")}
            silenced[f"filter.{driver}.required"] = "false"
        elif section == "remote" and name.endswith(".promisor"):
            silenced[name] = "false"
    return silenced


def _remote(settings: Mapping[str, str]) -> str | None:
    """The address of `origin`, else of the only remote."""
    addresses = {
        name[len("remote.") : -len(".url")]: value
        for name, value in settings.items()
        if name.startswith("remote.") and name.endswith(".url")
    }
    if "origin" in addresses:
        return addresses["origin"] or None
    return next(iter(addresses.values())) if len(addresses) == 1 else None
