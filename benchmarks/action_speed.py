"""What the action costs on a machine: the image's size, and seconds from `docker run` to the container's end.

    python benchmarks/action_speed.py [--tree TREE] [--repeat N]

Needs a Docker Engine (DOCKER_HOST) and the development dependencies. A container is run as GitHub's runner does it, on a pull
request of a small repository, with a fake GitHub on the loopback; `--tree` adds a Git work tree of your own, a large one.
Each figure is the median of N runs (5). Printed are:

beyond base   megabytes of the image over its base image
start         `ml-audit --version` in the container
audit         the whole action on the small repository without a comment or check run
published     the same with comment, check run, summary and report files
... cold      on TREE, against its first parent, with an empty fact cache
... warm      the same again with the cache that the first left
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.container import container  # noqa: E402
from tests.e2e.repositories import NAME, Change, make_change, publish  # noqa: E402
from tests.e2e.runner import IMAGE, RUNNER_IMAGE  # noqa: E402
from tests.engine.repositories import git  # noqa: E402
from tests.fakegithub import fake_github  # noqa: E402


def size(image: str) -> int:
    """Bytes of an image with everything below it."""
    told = subprocess.run(["docker", "image", "inspect", image], check=True, capture_output=True)
    return int(json.loads(told.stdout)[0]["Size"])


def seconds(command: list[str], codes: tuple[int, ...] = (0,)) -> float:
    """How long a command takes that ends with one of these exit codes."""
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if done.returncode not in codes:
        raise SystemExit(f"exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return took


def tell(
    name: str, repeat: int, work: Callable[[], float], before: Callable[[], object] = lambda: None
) -> None:
    """Prints the median of several runs, each after `before`."""
    times = []
    for _ in range(repeat):
        before()
        times.append(work())
    print(f"{name:24}{statistics.median(times):8.2f} s   ({min(times):.2f} to {max(times):.2f})", flush=True)


def small(repeat: int) -> None:
    """The small repository. Every run finds no comment and no check run, so that it makes them."""
    with tempfile.TemporaryDirectory() as folder, fake_github() as github:
        change = make_change(Path(folder) / "trainer")
        publish(github, change)
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        repository = github.world.repositories[NAME]

        def fresh() -> None:
            repository.comments.clear()
            repository.check_runs.clear()

        alone = container(github, change, scratch, fail_on="never", comment="off", check_run="false")
        tell("audit", repeat, lambda: seconds(alone), fresh)
        whole = container(github, change, scratch, fail_on="never")
        tell("published", repeat, lambda: seconds(whole), fresh)
        assert len(repository.comments) == 1 and len(repository.check_runs) == 1


def large(tree: Path, repeat: int) -> None:
    """A work tree of one's own, its newest commit as a pull request against the one before."""
    with tempfile.TemporaryDirectory() as folder, fake_github() as github:
        copy, scratch = Path(folder) / "tree", Path(folder) / "scratch"
        git(Path(folder), "clone", "-q", "--no-hardlinks", str(tree), str(copy))
        scratch.mkdir()
        head, base = (git(copy, "rev-parse", name).strip() for name in ("HEAD", "HEAD^"))
        files = len(git(copy, "ls-files").splitlines())
        print(f"{tree.name}: {files} files")
        change = Change(copy, base, head, head)
        github.add_repository(NAME)
        command = container(github, change, scratch, fail_on="never", comment="off", check_run="false")

        def forget() -> None:
            shutil.rmtree(scratch / "temp")
            (scratch / "temp").mkdir()

        tell("... cold", repeat, lambda: seconds(command), forget)
        tell("... warm", repeat, lambda: seconds(command))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    environment = {**os.environ, "DOCKER_BUILDKIT": os.environ.get("DOCKER_BUILDKIT", "0")}
    subprocess.run(
        ["docker", "build", "--quiet", "--tag", IMAGE, ROOT], check=True, env=environment, capture_output=True
    )
    print(f"{'beyond base':24}{(size(IMAGE) - size(RUNNER_IMAGE)) / 1e6:8.1f} MB")
    version = ["docker", "run", "--rm", "--network", "none", IMAGE, "--version"]
    tell("start", options.repeat, lambda: seconds(version))
    small(options.repeat)
    if options.tree:
        large(options.tree.resolve(), options.repeat)


if __name__ == "__main__":
    main()
