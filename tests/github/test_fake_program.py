"""The fake as a program: seeded from a folder, reached over its port, and everything written down."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import requests

from tests.fakegithub import TOKENS, Contract, FakeGitHub
from tests.fakegithub.seed import plant

ROOT = Path(__file__).resolve().parents[2]


def _clone(folder: Path) -> str:
    """A small Git repository with a branch; the id of its head."""
    identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for kind in ("AUTHOR", "COMMITTER"):
        identity |= {f"GIT_{kind}_NAME": "T", f"GIT_{kind}_EMAIL": "t@example.org"}

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **identity},
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    (folder / "a.py").write_text("one\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    git("checkout", "-qb", "change")
    (folder / "a.py").write_text("two\n")
    git("commit", "-qam", "second")
    return git("rev-parse", "HEAD")


def test_seed_serve_and_record(tmp_path: Path, github_contract: Contract) -> None:
    (tmp_path / "clone").mkdir()
    head = _clone(tmp_path / "clone")
    (tmp_path / "log.txt").write_text("a log\n")
    seed = {
        "repositories": [
            {
                "full_name": "octo/demo",
                "git": "clone",
                "pulls": [{"number": 5, "head": "change", "base": "main"}],
                "comments": [{"pull": 5, "author": "someone", "body": "hello"}],
                "runs": [{"id": 1, "head": "change", "jobs": [{"id": 2, "name": "test", "log": "log.txt"}]}],
            }
        ],
        "renamed": {"octo/old": "octo/demo"},
        "faults": [{"method": "GET", "path": "/check-runs", "fault": "SERVER_ERROR", "times": 1}],
    }
    (tmp_path / "seed.json").write_text(json.dumps(seed))
    command = [sys.executable, "-m", "tests.fakegithub", "--state", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())
        api = f"{where['api_url']}/repos/octo/demo"
        headers = {"Authorization": f"Bearer {TOKENS.write}"}
        with requests.Session() as session:
            session.trust_env = False
            session.headers.update(headers)
            assert session.get(f"{api}/pulls/5").json()["head"]["sha"] == head
            assert session.get(f"{api}/commits/{head}/check-runs").status_code == 500
            assert session.get(f"{api}/commits/{head}/check-runs").json()["total_count"] == 0
            assert session.post(f"{api}/issues/5/comments", json={"body": "ours"}).status_code == 201
            assert session.post(f"{api}/issues/5/comments", json={"text": "ours"}).status_code == 422
    finally:
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "'text' was unexpected" in told
    assert "'text' was unexpected" in (tmp_path / "violations.txt").read_text()
    state = json.loads((tmp_path / "state.json").read_text())["octo/demo"]
    assert [(one["author"]["login"], one["body"]) for one in state["comments"]] == [
        ("someone", "hello"),
        ("github-actions[bot]", "ours"),
    ]
    requested = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert [one["status"] for one in requested] == [200, 500, 200, 201, 422]
    assert all(one["authorized"] for one in requested)
    assert TOKENS.write not in (tmp_path / "requests.jsonl").read_text()


def test_a_seed_of_folders(tmp_path: Path, github_server: FakeGitHub) -> None:
    for name, text in (("base", "one\n"), ("head", "two\n")):
        (tmp_path / name / "pkg").mkdir(parents=True)
        (tmp_path / name / "pkg/a.py").write_text(text)
    (tmp_path / "report.zip").write_bytes(b"PK")
    seed = {
        "repositories": [
            {
                "full_name": "octo/demo",
                "private": True,
                "commits": [
                    {"ref": "main", "folder": "base"},
                    {"ref": "change", "folder": "head", "parents": ["main"], "message": "Second"},
                ],
                "pulls": [{"number": 1, "head": "change", "base": "main", "fork": "someone/demo"}],
                "runs": [
                    {
                        "id": 9,
                        "head": "change",
                        "fork": "someone/demo",
                        "artifacts": [{"id": 3, "name": "ml-audit-report", "zip": "report.zip"}],
                    }
                ],
            }
        ],
        "faults": [
            {"method": "GET", "path": "/pulls/1$", "fault": "too_many", "args": [7], "times": 1},
        ],
    }
    (tmp_path / "seed.json").write_text(json.dumps(seed))
    plant(github_server, tmp_path / "seed.json")
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {TOKENS.read_only}"
        api = f"{github_server.api_url}/repos/octo/demo"
        limited = session.get(f"{api}/pulls/1")
        assert (limited.status_code, limited.headers["Retry-After"]) == (429, "7")
        assert session.get(f"{api}/pulls/1").json()["head"]["repo"]["full_name"] == "someone/demo"
        [file] = session.get(f"{api}/pulls/1/files").json()
        assert (file["filename"], file["status"], file["additions"]) == ("pkg/a.py", "modified", 1)
        run = session.get(f"{api}/actions/runs/9").json()
        assert (run["head_repository"]["full_name"], run["pull_requests"]) == ("someone/demo", [])
        assert (
            session.get(f"{api}/actions/runs/9/artifacts").json()["artifacts"][0]["name"] == "ml-audit-report"
        )
