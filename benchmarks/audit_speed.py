"""What an audit costs, as ratios within one run.

    python benchmarks/audit_speed.py TREE [--jobs N] [--repeat N] [--skip cold,warm,...]

TREE is a Git work tree; about 5,000 Python files make the numbers steady. It is copied (hard links would let the change of one file
reach the original) and the copy is audited. Every audit is a process of its own, as from the command line. Printed are:

floor      every tracked blob read, nothing else
parse      `ast.parse` of every Python file, with the same number of processes
cold       an audit with an empty cache
warm       the same again
one file   the same after one Python file changed
help       `ml-audit --help`
dimensions what the rules of each dimension cost, and facts, signals before them, in one process
"""

import argparse
import ast
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from audit.facts.collect import collect, default_jobs
from audit.rules.catalogue import RULES, run
from audit.rules.rule import Context
from audit.signals.compute import compute_signals
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath
from audit.source.open import open_snapshot


def parse(paths: list[str]) -> int:
    """Parses the files as plain Python does, its garbage collector on; how many Python accepts."""
    warnings.simplefilter("ignore")
    good = 0
    for path in paths:
        try:
            ast.parse(Path(path).read_bytes())
            good += 1
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return good


def parse_all(paths: list[str], jobs: int) -> int:
    if jobs == 1:
        return parse(paths)
    parts = [paths[start : start + 64] for start in range(0, len(paths), 64)]
    with ProcessPoolExecutor(jobs) as pool:
        return sum(pool.map(parse, parts))


def read_all(paths: list[str]) -> int:
    return sum(len(Path(path).read_bytes()) for path in paths)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _environment(cache: Path) -> dict[str, str]:
    """As a user has it: with the bytecode that an installation leaves behind."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"ML_AUDIT_CACHE_DIR": str(cache)}


def audit_process(tree: Path, cache: Path, jobs: int) -> tuple[float, float]:
    """Seconds and the peak of memory in MiB, children included, of one audit."""
    arguments = [
        sys.executable,
        "-m",
        "audit",
        "audit",
        str(tree),
        "--json",
        "--fail-on",
        "never",
        "--quiet",
        "--jobs",
        str(jobs),
    ]
    code = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(code)"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=_environment(cache),
        check=True,
        capture_output=True,
        text=True,
    )
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    return time.perf_counter() - started, int(done.stdout) / unit


def per_dimension(tree: Path, jobs: int) -> dict[str, float]:
    """Seconds by part, in this process."""
    spent: dict[str, float] = {}
    started = time.perf_counter()
    with open_snapshot(str(tree), environ=os.environ) as snapshot:
        spent["snapshot"] = time.perf_counter() - started
        started = time.perf_counter()
        repository = Repository(snapshot, collect(snapshot, jobs=jobs, cache=None, now=0))
        spent["facts"] = time.perf_counter() - started
        started = time.perf_counter()
        path = TrainingPath(repository)
        signals = compute_signals(repository, path)
        spent["signals"] = time.perf_counter() - started
        context = Context(repository, path, signals)
        by_dimension = defaultdict(list)
        for rule in RULES:
            by_dimension[rule.dimension or "(no dimension)"].append(rule)
        for dimension, rules in sorted(by_dimension.items()):
            started = time.perf_counter()
            run(context, rules)
            spent[dimension] = time.perf_counter() - started
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument(
        "--repeat", type=int, default=3, help="runs of each measurement but cold; the median counts"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree, cache = Path(folder) / "tree", Path(folder) / "cache"
        shutil.copytree(options.tree, tree, symlinks=True)
        measure(tree, cache, options.jobs, options.repeat)


def help_process(cache: Path) -> None:
    arguments = [sys.executable, "-m", "audit", "--help"]
    subprocess.run(arguments, env=_environment(cache), stdout=subprocess.DEVNULL, check=True)


def measure(tree: Path, cache: Path, jobs: int, repeat: int) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=tree, check=True, capture_output=True).stdout
    named = [tree / os.fsdecode(name) for name in listed.split(b"\0") if name]
    paths = [str(path) for path in named if path.is_file()]
    python = [path for path in paths if path.endswith(".py")]
    subprocess.run(
        ["git", "status", "--porcelain"], cwd=tree, check=True, capture_output=True
    )  # settles the index of the copy

    def median(work: Callable[[], float]) -> float:
        return statistics.median(work() for _ in range(repeat))

    seconds = {
        "floor": median(lambda: timed(lambda: read_all(paths))),
        "parse": median(lambda: timed(lambda: parse_all(python, jobs))),
    }
    seconds["help"] = median(lambda: timed(lambda: help_process(cache)))
    audit_process(
        tree, cache.with_name("another"), jobs
    )  # leaves bytecode and the files in memory, as for parse
    seconds["cold"], memory = audit_process(tree, cache, jobs)
    seconds["warm"] = median(lambda: audit_process(tree, cache, jobs)[0])
    target = Path(python[len(python) // 2])
    text = target.read_bytes()

    def changed(number: int) -> float:
        target.write_bytes(text + b"\n# changed %d\n" % number)
        return audit_process(tree, cache, jobs)[0]

    seconds["one file"] = statistics.median(changed(number) for number in range(repeat))
    target.write_bytes(text)
    print(f"{len(paths)} files, {len(python)} Python files, {jobs} processes, {os.cpu_count()} cores")
    for name, spent in seconds.items():
        print(
            f"{name:<10} {spent:8.2f} s   {spent / seconds['parse']:7.2f} x parse   {spent / seconds['floor']:8.1f} x floor"
        )
    print(f"cold / parse      {seconds['cold'] / seconds['parse']:.2f}   (at most 1.5)")
    print(f"warm / cold       {seconds['warm'] / seconds['cold']:.3f}   (at most 0.1; warm at most 0.6 s)")
    print(f"one file / warm   {seconds['one file'] / seconds['warm']:.2f}   (at most 2)")
    print(f"peak memory       {memory:.0f} MiB in the largest process   (at most 300)")
    for name, spent in per_dimension(tree, jobs).items():
        print(f"  {name:<16} {spent * 1000:9.1f} ms")
    print(f"this process peaked at {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
