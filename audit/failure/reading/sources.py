"""Finds the logs behind what a person named: files, compressed files, archives, folders, standard input."""

import codecs
import errno
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from audit.documents.place import Gap
from audit.failure.model import Stream
from audit.failure.reading.archive import ArchiveMember, zip_members
from audit.failure.reading.runlog import Placed, run_log
from audit.failure.reading.unpack import Budget, UnpackError, compression, unpacked

_PIECE = 128 * 1024
_MOST_FILES = 5000
# What lies beside logs and is none: data, models, pictures, sources, metrics (which have readers of their own).
_NO_LOG = re.compile(
    r"\.(png|jpe?g|gif|svg|pdf|pt|pth|bin|safetensors|ckpt|npy|npz|pkl|parquet|arrow|csv|tsv|jsonl?|ya?ml|toml|xml|html?|md|rst|py|pyc|ipynb|"
    r"db|sqlite3?|wandb|so|whl|h5|onnx|tfrecords?|lock|cfg|ini|sh|rc)$|tfevents|(^|/)\.(git|venv|cache)(/|$)"
)
# torchelastic's error file is JSON and tells more than the log.
_ERROR_FILE = re.compile(r"(^|/)error\.json$|(^|/)[\w-]*error_file[\w.-]*$")
_RANK_NAME = re.compile(r"(?:^|[/_.-])(?:rank|worker|proc|task)[_.-]?(\d{1,6})(?=[_./-]|$)", re.IGNORECASE)
# torchelastic: <log dir>/<run id>_<random>/attempt_<n>/<local rank>/std(out|err).log
_ELASTIC_NAME = re.compile(r"attempt_(\d{1,4})/(\d{1,6})/(?:stdout|stderr)\.log$")
_ATTEMPT_NAME = re.compile(r"(?:^|[/_.-])attempt[_.-]?(\d{1,4})(?=[_./-]|$)", re.IGNORECASE)


class LogError(Exception):
    """What was named does not exist or cannot be opened; `args[0]` says what."""


class Opened:
    """A log that can be read once. `chunks` raises UnpackError where it is damaged; `path` is set for a plain file, which can be
    read from any place; `only_outside`: times (s) that other sources cover already.
    """

    def __init__(
        self,
        name: str,
        chunks: Callable[[], Iterator[bytes]],
        stream: Stream,
        *,
        path: Path | None = None,
        rest_of: str | None = None,
    ) -> None:
        self.name = name
        self.chunks = chunks
        self.stream = stream
        self.path = path
        self.rest_of = rest_of


def opened(path: Path, budget: Budget, stdin: BinaryIO | None) -> tuple[list[Opened], list[Gap]]:
    """The logs behind one argument. Raises LogError."""
    if str(path) == "-":
        if stdin is None:
            raise LogError("no standard input to read")
        return [Opened("-", lambda: _decoded(_pieces(stdin)), Stream())], []
    try:
        mode = path.stat().st_mode
    except OSError as error:
        named = str(path)[:200]
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        raise LogError(f"{named}: no such file" if missing else f"{named}: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        return _folder(path, budget)
    if not stat.S_ISREG(mode):
        raise LogError(f"{path}: neither a file nor a folder")
    return _file(path, path.name, budget)


def _folder(folder: Path, budget: Budget) -> tuple[list[Opened], list[Gap]]:
    logs: list[Opened] = []
    gaps: list[Gap] = []
    files = sorted((path for path in folder.rglob("*") if not path.is_symlink()), key=_natural)
    count = 0
    for path in files:
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or (_NO_LOG.search(name) and not _ERROR_FILE.search(name)):
            continue
        count += 1
        if count > _MOST_FILES:
            gaps.append(Gap(folder.name, f"more than {_MOST_FILES} files; the others were not read"))
            break
        found, missed = _file(path, f"{folder.name}/{name}", budget, in_folder=True)
        logs += found
        gaps += missed
    return logs, gaps


def _natural(path: Path) -> list[tuple[int, str]]:
    """`rank_10` after `rank_9`."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part)
        for part in re.split(r"(\d{1,15})", path.as_posix())
    ]


def _file(
    path: Path, name: str, budget: Budget, *, in_folder: bool = False
) -> tuple[list[Opened], list[Gap]]:
    try:
        with path.open("rb") as stream:
            head = stream.read(8192)
    except OSError as error:
        if not in_folder:
            raise LogError(f"{path}: {error.strerror}") from None
        return [], [Gap(name, f"cannot be opened: {error.strerror}")]
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(path, name, budget)
    kind = compression(head)
    if kind == "gzip" and re.search(r"\.(tar\.gz|tgz)$", name):
        return _tar(path, name, budget)
    if kind is None and _binary(head):
        return [], [Gap(name, "not a text")]
    stream_of = _stream(name)
    if kind:
        return [Opened(name, lambda: _decoded(unpacked(_read(path), kind, budget)), stream_of)], []
    plain = None if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else path
    return [Opened(name, lambda: _decoded(_read(path)), stream_of, path=plain)], []


def _zip(path: Path, name: str, budget: Budget) -> tuple[list[Opened], list[Gap]]:
    try:
        members, gaps = zip_members(path, budget)
    except UnpackError as error:
        return [], [Gap(name, str(error.args[0]))]
    placed = run_log([(member.name, member.size) for member in members])
    by_name = {member.name: member for member in members}
    return [_member(name, by_name[each.name], each, budget) for each in placed], gaps


def _member(archive: str, member: ArchiveMember, placed: Placed, budget: Budget) -> Opened:
    def chunks() -> Iterator[bytes]:
        pieces = member.chunks()
        first = next(pieces, b"")
        kind = compression(first)
        whole = chain([first], pieces)
        yield from _decoded(unpacked(whole, kind, budget) if kind else whole)

    found = _stream(member.name)
    stream = Stream(placed.job, placed.step, found.rank, found.worker, found.attempt)
    return Opened(f"{archive}!{member.name}", chunks, stream, rest_of=placed.rest_of)


def _tar(path: Path, name: str, budget: Budget) -> tuple[list[Opened], list[Gap]]:
    from audit.failure.reading.tarball import tar_members

    members, gaps = tar_members(path, name, budget)
    logs = [
        Opened(f"{name}!{each.name}", lambda chunks=each.chunks: _decoded(chunks()), _stream(each.name))  # type: ignore[misc]
        for each in members
        if not _NO_LOG.search(each.name)
    ]
    return logs, gaps


def _stream(name: str) -> Stream:
    """What a file's name says of rank and attempt."""
    name = re.sub(r"(\.(log|txt|out|err|gz|zst|xz))+$", lambda found: found[0].split(".gz")[0], name)
    if elastic := _ELASTIC_NAME.search(name):
        return Stream(rank=int(elastic[2]), attempt=int(elastic[1]))
    rank, attempt = _RANK_NAME.search(name), _ATTEMPT_NAME.search(name)
    return Stream(rank=int(rank[1]) if rank else None, attempt=int(attempt[1]) if attempt else None)


def _binary(head: bytes) -> bool:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    # A program may print a NUL; a picture or a model is full of them.
    return head.count(0) * 50 > len(head)


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as stream:
        yield from _pieces(stream)


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    while piece := stream.read(_PIECE):
        yield piece


def _decoded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """UTF-8 as it is, without its byte order mark; UTF-16 (PowerShell's redirection) turned into it."""
    chunks = iter(chunks)
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= 3:
            break
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        for chunk in chain([first], chunks):
            yield decoder.decode(chunk).encode("utf-8", "replace")
        yield decoder.decode(b"", final=True).encode("utf-8", "replace")
        return
    yield first.removeprefix(codecs.BOM_UTF8)
    yield from chunks
