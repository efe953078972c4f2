"""Provisional reading until audit/failure/reading is there."""

import gzip
import json
import re
import zipfile
from datetime import datetime
from pathlib import Path

from audit.failure.model import Capture, Hit, Kind, Line, LogSource, Reading, Signature, Stream

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\[[0-9;]{1,6}m|\x1b[()][A-Z]")
TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)Z?\]?:? ?")
RANK = re.compile(r"(?:\[default(\d+)\]:|\[rank(\d+)\]: ?| ?(\d{1,3}): )")
ROLES = {"casc": "cascade", "tear": "teardown", "conf": "confirming", "diag": "diagnostic", "warn": "warning"}


def signatures():
    import yaml

    out = []
    for path in sorted((Path(__file__).parent / "catalogue").glob("*.yaml")):
        doc = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        for s in doc["signatures"]:
            sig = Signature(
                s["id"],
                s.get("name", s["id"]),
                doc["family"],
                s["category"],
                s["role"],
                tuple(s.get("policy", ())),
                s.get("decoys", ""),
                s.get("advice", ""),
            )
            try:
                out.append(
                    (
                        sig,
                        [re.compile(p) for p in s["patterns"]],
                        [re.compile(p) for p in s.get("unless", ())],
                    )
                )
            except re.error:
                pass
    return out


def read(paths):
    sources, lines, hits = [], [], []
    sigs = signatures()
    for given in paths:
        path = Path(given)
        name = path.name if path.parent.name != "logs" else f"logs/{path.name}"
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as z:
                for info in sorted(z.namelist()):
                    if "/" in info and info.endswith(".txt"):
                        job, _, step = info.rpartition("/")
                        step = re.sub(r"^\d+_", "", step[:-4])
                        one(
                            f"{name}!{info}",
                            z.read(info),
                            Stream(job=job, step=step),
                            sources,
                            lines,
                            hits,
                            sigs,
                        )
            continue
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        m = re.search(r"rank[_-]?(\d+)", path.name)
        one(name, data, Stream(rank=int(m[1]) if m else None), sources, lines, hits, sigs)
    return Reading(tuple(sources), tuple(lines), tuple(hits), ())


def one(name, data, base, sources, lines, hits, sigs):
    text = data.decode("utf-8-sig", "replace")
    rows = text.split("\n")
    if rows and rows[-1] == "":
        rows.pop()
    sources.append(LogSource(name, len(rows), len(data), base, True, not text.endswith("\n")))
    for number, raw in enumerate(rows, 1):
        raw = raw.rstrip("\r")
        plain = raw.rsplit("\r", 1)[-1] if "\r" in raw else raw
        time = None
        plain = ANSI.sub("", plain)
        for _ in range(2):
            m = TIME.match(plain)
            if not m:
                break
            try:
                time = datetime.fromisoformat(m[1][:23].replace(",", ".")).timestamp()
            except ValueError:
                pass
            plain = plain[m.end() :]
        stream = base
        while m := RANK.match(plain):
            rank = next(g for g in m.groups() if g is not None)
            stream = Stream(base.job, base.step, int(rank), None, None)
            plain = plain[m.end() :]
        plain = re.sub(r"^\[\d\d:\d\d:\d\d\] ", "", plain)
        kinds = set()
        if raw.find("[36;1m") >= 0:
            kinds.add(Kind.ECHO)
        line = Line(name, number, raw, plain, time, stream, frozenset(kinds))
        lines.append(line)
        for sig, patterns, unless in sigs:
            m = next((m for rx in patterns if (m := rx.search(plain[:4000]))), None)
            if m and not any(u.search(plain[:4000]) for u in unless):
                caps = tuple(
                    Capture(
                        k,
                        v,
                        "number" if re.fullmatch(r"[\d.]+", v) else "text",
                        float(v) if re.fullmatch(r"\d+(\.\d+)?", v) else None,
                    )
                    for k, v in m.groupdict().items()
                    if v
                )
                hits.append(Hit(sig, line, caps, plain[:4000]))
