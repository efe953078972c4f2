"""The zip of a run's logs, laid out as GitHub lays it out (read in the runner's and in gh's source): a file for each job, and
a folder with one for each step; each line begins with its time, and a file with a byte order mark.
"""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 2, 3, 4, 5, 123456, UTC)


def log_text(lines: Sequence[str], *, start: datetime = _START) -> bytes:
    """A log as the runner writes it: seven digits of a second, `Z`, one space; a second a line."""
    stamped = []
    for number, line in enumerate(lines):
        moment = start + timedelta(seconds=number)
        stamped.append(f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06}7Z {line}\n")
    return ("\ufeff" + "".join(stamped)).encode()


def folder_name(job: str) -> str:
    """A job's name as the folder in the zip: no slash, no colon, at most 90 units of UTF-16."""
    bare = re.sub(r"[/:]", "", job)
    return bare.encode("utf-16-le")[:180].decode("utf-16-le", "ignore").strip()


def run_logs(
    jobs: Mapping[str, Mapping[str, Sequence[str]]], *, steps: bool = True, system: bool = True
) -> bytes:
    """`jobs`: name to steps to lines. `steps` False: the folders are missing, as they sometimes are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for ordinal, (job, told) in enumerate(jobs.items()):
            folder = folder_name(job)
            packed.writestr(
                f"{ordinal}_{folder}.txt", log_text([line for lines in told.values() for line in lines])
            )
            if system:
                packed.writestr(f"{folder}/system.txt", log_text(["Requested labels: ubuntu-latest"]))
            for number, (step, lines) in enumerate(told.items(), 1):
                if steps:
                    packed.writestr(f"{folder}/{number}_{folder_name(step)}.txt", log_text(lines))
    return buffer.getvalue()
