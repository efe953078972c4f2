"""All facts of a snapshot: from the cache where it has them, from the bytes where not, in parallel where that pays."""

import contextlib
import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import parent_process
from threading import Thread
from typing import Any

import msgspec

from audit.documents.place import Gap
from audit.facts.cache import FactCache, extractor_version
from audit.facts.classify import kind_of
from audit.facts.decode import decode
from audit.facts.kinds import Kind
from audit.facts.model import FileFacts, SecretHit
from audit.facts.python.extract import ignores
from audit.facts.registry import READINGS, extractor_for
from audit.safety.sanitize import unicode_text
from audit.safety.secrets import prepare
from audit.safety.texts import with_texts
from audit.source.blobs import human_size
from audit.source.snapshot import BlobReader, Entry, EntryKind, Snapshot

_BATCH = 1_000
_PARALLEL_FROM = 400_000
_CHUNK_BYTES = 600_000
_CHUNK_FILES = 64
_UNKNOWN_SIZE = 8_000
_SECONDS_PER_FILE = 30
_LFS = b"version https://git-lfs.github.com/spec/v1"
_decoder = msgspec.msgpack.Decoder(FileFacts)
_encoder = msgspec.msgpack.Encoder()

Progress = Callable[[int, int], None]
Item = tuple[Entry, Kind]


class Collection(msgspec.Struct, frozen=True):
    """The facts of every file that carries any, by path, in the snapshot's order; `skipped`: what was not read, and why."""

    facts: dict[str, FileFacts]
    kinds: dict[str, Kind]
    skipped: tuple[Gap, ...]


def collect(
    snapshot: Snapshot, *, jobs: int, cache: FactCache | None, now: int, progress: Progress | None = None
) -> Collection:
    """Collects the facts of `snapshot` with up to `jobs` processes. `now` (seconds) stamps what is cached.

    The result does not depend on `jobs`, on the order of completion, or on what the cache held.
    """
    items = [
        (entry, kind)
        for entry in snapshot.entries
        if entry.kind is EntryKind.FILE and (kind := kind_of(entry.path)) is not Kind.OTHER
    ]
    with _collector_off():
        known = _from_cache(items, cache)
        missing = list({key: item for item in items if (key := _key(*item)) not in known}.values())
        reasons = _extract_all(missing, snapshot.reader, jobs, known, _Keeper(cache, now), progress)
    facts = {entry.path: known[key] for entry, kind in items if (key := _key(entry, kind)) in known}
    kinds: dict[str, Kind] = {entry.path: kind for entry, kind in items}
    skipped = [Gap(entry.path, why) for entry, kind in items if (why := reasons.get(_key(entry, kind)))]
    return Collection(facts, kinds, tuple(sorted(skipped)))


def known_facts(entries: Iterable[Entry], cache: FactCache) -> dict[str, FileFacts]:
    """The facts of those of these files that the cache has, by path."""
    items = [(entry, kind_of(entry.path)) for entry in entries]
    known = _from_cache(items, cache)
    return {entry.path: known[key] for entry, kind in items if (key := _key(entry, kind)) in known}


class _Keeper:
    """Hands facts to the cache in batches: a killed run loses the last one at most."""

    def __init__(self, cache: FactCache | None, now: int) -> None:
        self.cache, self.now = cache, now
        self.rows: list[tuple[bytes, bytes]] = []

    def keep(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Takes rows; writes when enough have come together."""
        if self.cache is not None:
            self.rows += rows
            if len(self.rows) >= _BATCH:
                self.flush()

    def flush(self) -> None:
        """Writes what is waiting."""
        if self.cache is not None and self.rows:
            self.cache.put_many(self.rows, self.now)
            self.rows = []


@contextmanager
def _collector_off() -> Iterator[None]:
    """Facts hold no cycles: a garbage collection during decoding only walks a growing heap again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.freeze()
            gc.enable()


def _key(entry: Entry, kind: Kind) -> bytes:
    return f"{entry.blob} {kind.value} {extractor_version()}".encode()


def _from_cache(items: Sequence[Item], cache: FactCache | None) -> dict[bytes, FileFacts]:
    known: dict[bytes, FileFacts] = {}
    if cache is not None:
        for key, value in cache.get_many({_key(*item) for item in items if item[0].blob}).items():
            with contextlib.suppress(msgspec.MsgspecError):  # a damaged row is made anew
                known[key] = _decoder.decode(value)
    return known


def _extract_all(
    items: Sequence[Item],
    reader: BlobReader,
    jobs: int,
    known: dict[bytes, FileFacts],
    keeper: _Keeper,
    progress: Progress | None,
) -> dict[bytes, str]:
    """Adds the facts of `items` to `known` and to the cache; answers reasons by key for what could not be read."""
    reasons: dict[bytes, str] = {}
    done = 0
    for rows in _results(_chunks(items), reader, jobs):
        for key, _, value, _ in rows:
            if isinstance(value, bytes):
                known[key] = _decoder.decode(value)
            else:
                reasons[key] = value
        keeper.keep((key, value) for key, _, value, same in rows if same and isinstance(value, bytes))
        done += len(rows)
        if progress:
            progress(done, len(items))
    keeper.flush()
    return reasons


# Key, path, facts or the reason why there are none, and whether the bytes were those that the key names: a file can
# change between listing and reading, and what was read then must not be kept under the id of what was listed.
Row = tuple[bytes, str, bytes | str, bool]


def _results(chunks: list[list[Item]], reader: BlobReader, jobs: int) -> Iterator[list[Row]]:
    size = sum(item[0].size or _UNKNOWN_SIZE for chunk in chunks for item in chunk)
    if jobs < 2 or len(chunks) < 2 or size < _PARALLEL_FROM:
        for chunk in chunks:
            yield extract_chunk(chunk, reader)
        return
    yield from _in_processes(chunks, reader, jobs)


def _in_processes(chunks: list[list[Item]], reader: BlobReader, jobs: int) -> Iterator[list[Row]]:
    """Spreads chunks over processes. Where one dies, what was under way is read again file by file, each in a process of its own."""
    prepare()  # before the workers are forked: they inherit it
    waiting = list(reversed(chunks))
    suspects: list[Item] = []
    pool = _processes(jobs)
    running: dict[Future[list[Row]], list[Item]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < 2 * jobs:
                chunk = waiting.pop()
                running[pool.submit(extract_chunk, chunk, reader)] = chunk
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                chunk = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    suspects += chunk
                    for other in running.values():
                        suspects += other
                    running.clear()
                    pool.shutdown(wait=False, cancel_futures=True)
                    pool = _processes(jobs)
                    break
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    for item in suspects:
        yield [_alone(item, reader)]


def _alone(item: Item, reader: BlobReader) -> Row:
    with _processes(1) as pool:
        try:
            return pool.submit(extract_chunk, [item], reader).result()[0]
        except BrokenProcessPool:
            return _key(*item), item[0].path, "its reader crashed on it", False


def _processes(number: int) -> ProcessPoolExecutor:
    """Workers. Where they are not forked (macOS, Windows), Python would let them import from the folder that we run in first: the audited one."""
    os.environ["PYTHONSAFEPATH"] = "1"
    return ProcessPoolExecutor(number, initializer=_start_worker)


def _start_worker() -> None:
    gc.disable()
    prepare()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this worker when the audit is gone, killed perhaps: it would wait for work forever, and hold open the pipe that the report goes to."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


def _chunks(items: Iterable[Item]) -> list[list[Item]]:
    chunks: list[list[Item]] = []
    current: list[Item] = []
    size = 0
    for item in items:
        current.append(item)
        size += item[0].size or _UNKNOWN_SIZE
        if size >= _CHUNK_BYTES or len(current) >= _CHUNK_FILES:
            chunks.append(current)
            current, size = [], 0
    if current:
        chunks.append(current)
    return chunks


def extract_chunk(items: Sequence[Item], reader: BlobReader) -> list[Row]:
    """Reads and extracts some files; runs in a worker process or in this one."""
    rows: list[Row] = []
    small = [entry for entry, kind in items if (entry.size or 0) <= READINGS[kind].limit]
    contents = iter(reader.read(small))
    for entry, kind in items:
        key, limit = _key(entry, kind), READINGS[kind].limit
        if (entry.size or 0) > limit:
            rows.append((key, entry.path, too_large(entry.size or 0, limit), True))
            continue
        given, data = next(contents)
        if isinstance(data, str):
            rows.append((key, entry.path, data, False))
        elif len(data) > limit:
            rows.append((key, entry.path, too_large(len(data), limit), False))
        else:
            value = _encoded(extract_file(data, kind))
            rows.append((key, entry.path, value, given.blob == entry.blob))
    return rows


def _encoded(facts: FileFacts) -> bytes:
    try:
        return _encoder.encode(facts)
    except UnicodeEncodeError:  # an escape in the file stands for half a character: "\ud800"
        return _encoder.encode(with_texts(facts, unicode_text))


def too_large(size: int, limit: int) -> str:
    """The reason that a report gives for a file over its kind's limit."""
    return f"{human_size(size)}, over the limit of {human_size(limit)} for its kind"


def extract_file(data: bytes, kind: Kind) -> FileFacts:
    """The facts of one content. Never raises: what an extractor trips over is a partial reading, and says so."""
    if data.startswith(_LFS):
        return FileFacts(
            body=None, partial="Git LFS pointer, the content is not here", lfs=True, size=len(data)
        )
    text, remark = decode(data)
    if not text and remark:
        return FileFacts(body=None, partial=remark, size=len(data))
    try:
        with _time_limit(_SECONDS_PER_FILE):
            body, partial = extractor_for(kind)(text)
            secrets = _secrets(text)
            own = () if kind is Kind.PYTHON else ignores(text)
    except _OutOfTime:
        return FileFacts(body=None, partial=f"not read within {_SECONDS_PER_FILE} seconds", size=len(data))
    except Exception as error:  # the last net under every extractor: one file must not end the audit
        return FileFacts(
            body=None, partial=f"its reader failed on it ({type(error).__name__})", size=len(data)
        )
    return FileFacts(
        body=body,
        partial="; ".join(filter(None, (partial, remark))),
        secrets=secrets,
        size=len(data),
        ignores=own,
    )


def _secrets(text: str) -> tuple[SecretHit, ...]:
    from audit.safety.secrets import scan

    return tuple(SecretHit(match.kind, match.line) for match in scan(text)[:50])


class _OutOfTime(BaseException):
    """Raised by the alarm; not an Exception, so that no extractor swallows it."""


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Interrupts Python code that runs too long, where the platform has alarms and this is the main thread."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise _OutOfTime

    try:
        previous = signal.signal(signal.SIGALRM, ring)
    except ValueError:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def default_jobs() -> int:
    """One process per usable core, at most eight."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, usable))
