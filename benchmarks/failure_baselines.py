"""Naive readers of logs beside `ml-audit failure`, on a folder of labelled failures: who names the cause's line?

    python benchmarks/failure_baselines.py CORPUS [--no-own]

A folder of cases as `corpus/failures/README.md` describes them. The baselines read only the logs and name one line: the first line that says
error, the last one, the last match of a list of patterns ordered by priority (the design of log classifiers that keep the best rule's last match), and
`grep -i error` (a hit where any matching line is the cause: what a person would still have to search). A case without a cause counts as hit where
no line is named. Printed: share of cases hit exactly, and within three lines.
"""

import argparse
import gzip
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from audit.engine.failure import FailureEffects, FailureOptions, analyse

ERROR = re.compile(r"error|exception|fail(?:ed|ure)|fatal", re.IGNORECASE)
PRIORITY = [
    re.compile(pattern)
    for pattern in (
        r"^\S* ?E  +\w*(?:Error|Exception)\b",
        r"\b(?:[A-Za-z_]+\.)*[A-Z]\w*(?:Error|Exception): ",
        r"^\S* ?FAILED \S+::",
        r"\b(?:ERROR|FATAL)\b",
        r"##\[error\]",
        r"[Ee]rror",
    )
]
Place = tuple[str, int]


def texts(folder: Path, logs: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each log's name (of an archive's member its last part) and lines."""
    for name in logs:
        path = folder / name
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    if member.endswith(".txt"):
                        yield Path(member).name, archive.read(member).decode("utf-8", "replace").split("\n")
        else:
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            yield path.name, data.decode("utf-8-sig", "replace").split("\n")


def every(folder: Path, logs: list[str]) -> list[Place]:
    return [
        (name, number)
        for name, lines in texts(folder, logs)
        for number, line in enumerate(lines, 1)
        if ERROR.search(line)
    ]


def by_priority(folder: Path, logs: list[str]) -> list[Place]:
    best: tuple[int, Place] | None = None
    for name, lines in texts(folder, logs):
        for number, line in enumerate(lines, 1):
            rank = next((index for index, pattern in enumerate(PRIORITY) if pattern.search(line)), None)
            if rank is not None and (best is None or rank <= best[0]):
                best = (rank, (name, number))
    return [best[1]] if best else []


BASELINES: dict[str, Callable[[Path, list[str]], list[Place]]] = {
    "first error line": lambda folder, logs: every(folder, logs)[:1],
    "last error line": lambda folder, logs: every(folder, logs)[-1:],
    "last match by priority": by_priority,
    "grep -i error": every,
}


def own(folder: Path, inputs: dict[str, object]) -> list[Place]:
    """The product's own answer."""
    paths = [folder / str(name) for name in inputs.get("metrics") or []]  # type: ignore[attr-defined]
    options = FailureOptions(
        tuple(str(folder / str(name)) for name in inputs["logs"]),  # type: ignore[attr-defined]
        str(folder / str(inputs["repo"])) if inputs.get("repo") else None,
        tuple(paths),
        (),
        folder / str(inputs["claims"]) if inputs.get("claims") else None,
    )
    cause = analyse(options, FailureEffects(os.environ)).verdict.cause
    return [] if cause is None else [(Path(cause.file.split("!")[-1]).name, cause.line)]


def hit(told: list[Place], expect: dict[str, object], near: int) -> bool:
    cause = expect.get("cause")
    if not isinstance(cause, dict):
        return not told
    names = {
        Path(str(cause["file"]).split("!")[-1]).name,
        Path(str(cause.get("member") or cause["file"])).name,
    }
    lines = {cause["line"], *cause.get("also", [])}
    return any(name in names and any(abs(line - wanted) <= near for wanted in lines) for name, line in told)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--no-own", action="store_true", help="baselines only")
    args = parser.parse_args()
    cases = [
        (path.parent, yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted(args.corpus.glob("*/case.yaml"))
    ]
    if not cases:
        sys.exit("no cases found")
    rows: dict[str, list[tuple[bool, bool]]] = {}
    for folder, case in cases:
        logs = case["inputs"]["logs"]
        for name, read in BASELINES.items():
            told = read(folder, logs)
            rows.setdefault(name, []).append((hit(told, case["expect"], 0), hit(told, case["expect"], 3)))
        if not args.no_own:
            told = own(folder, case["inputs"])
            rows.setdefault("ml-audit failure", []).append(
                (hit(told, case["expect"], 0), hit(told, case["expect"], 3))
            )
    print(f"{len(cases)} cases{'':18} exact   within 3 lines")
    for name, results in rows.items():
        exact, close = (sum(result[index] for result in results) / len(results) for index in (0, 1))
        print(f"{name:26} {exact:6.3f}   {close:6.3f}")
    print(
        json.dumps(
            {name: round(sum(r[0] for r in results) / len(results), 4) for name, results in rows.items()}
        )
    )


if __name__ == "__main__":
    main()
