"""Real repositories in a temporary folder, with a Git configuration of their own."""

import os
import subprocess
from pathlib import Path

import pytest


class Repo:
    """A Git work tree under construction."""

    def __init__(self, path: Path, environ: dict[str, str]) -> None:
        self.path = path
        self.environ = environ

    def git(self, *arguments: str, fails: bool = False) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=self.environ, capture_output=True, text=True, check=False
        )
        assert fails or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str | bytes, content: bytes | str = b"x\n") -> Path:
        path = self.path / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self, **files: str) -> str:
        """Writes `files` (`__` for a dot in their names), commits all that there is; the commit's id."""
        for name, content in files.items():
            self.write(name.replace("__", "."), content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a commit")
        return self.git("rev-parse", "HEAD")

    def settle(self) -> None:
        """Makes the index older than no file, so that Git trusts it and looks into no content."""
        for line in self.git("ls-files").splitlines():
            os.utime(self.path / line, (1_600_000_000, 1_600_000_000), follow_symlinks=False)
        self.git("update-index", "--refresh", fails=True)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """What a program run by a person would see, without this machine's own configuration."""
    home = tmp_path / "home"
    home.mkdir()
    config = home / "gitconfig"
    config.write_text(
        "[user]\nname = A\nemail = a@example.org\n[init]\ndefaultBranch = main\n"
        '[commit]\ngpgSign = false\n[protocol "file"]\nallow = always\n'
    )
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TMPDIR": str(tmp_path),
    }


@pytest.fixture
def repo(tmp_path: Path, environ: dict[str, str]) -> Repo:
    """An empty repository in a folder called `project`."""
    path = tmp_path / "project"
    path.mkdir()
    made = Repo(path, environ)
    made.git("init", "--quiet")
    return made
