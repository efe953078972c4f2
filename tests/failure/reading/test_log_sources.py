import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.failure.reading import tarball, unpack
from audit.failure.reading.archive import MOST_MEMBERS
from audit.failure.reading.read import LogError, read
from audit.failure.reading.unpack import Budget, UnpackError, compression, unpacked
from audit.safety.archive import TarReader

TEXT = b"first\nTraceback (most recent call last):\nValueError: boom\n"


def zstd(data: bytes) -> bytes:
    try:
        from compression import zstd as module
    except ImportError:
        from backports import zstd as module
    return module.compress(data)


def lines(path: Path) -> list[tuple[str, int, str]]:
    return [(line.source, line.number, line.text) for line in read([path]).lines]


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("job.log", bytes),
        ("job.log.gz", gzip.compress),
        ("two.gz", lambda data: gzip.compress(data[:10], mtime=0) + gzip.compress(data[10:])),
        ("job.log.zst", zstd),
        ("job.log.xz", lzma.compress),
        ("misnamed.txt", gzip.compress),
    ],
)
def test_a_log_reads_alike_however_it_is_packed(tmp_path: Path, name: str, pack: object) -> None:
    (tmp_path / name).write_bytes(pack(TEXT))  # type: ignore[operator]
    assert lines(tmp_path / name) == [
        (name, 1, "first"),
        (name, 2, "Traceback (most recent call last):"),
        (name, 3, "ValueError: boom"),
    ]


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("a\né\n".encode("utf-16"), ["a", "é"]),
        ("a\nb\n".encode("utf-16-be").join([b"\xfe\xff", b""]), ["a", "b"]),
        (b"a\xff\xfeb\n", ["a\ufffd\ufffdb"]),
        (b"a\x0bb\x0cc\xe2\x80\xa8d\n", ["a\x0bb\x0cc\u2028d"]),
        (b"\n\nx\n", ["", "", "x"]),
        (b" 1%\r 2%\r 3%\nx\n", [" 3%", "x"]),
        (b"", []),
    ],
)
def test_lines_end_at_lf_only(tmp_path: Path, data: bytes, texts: list[str]) -> None:
    (tmp_path / "log.txt").write_bytes(data)
    assert [text for _, _, text in lines(tmp_path / "log.txt")] == texts


def test_standard_input_is_a_log() -> None:
    reading = read([Path("-")], stdin=io.BytesIO(TEXT))
    assert [(line.source, line.number) for line in reading.lines] == [("-", 1), ("-", 2), ("-", 3)]
    assert [hit.signature.id for hit in reading.hits] == ["uncaught_exception"]


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"gone\.txt: no such file"):
        read([tmp_path / "gone.txt"])
    with pytest.raises(LogError, match="standard input"):
        read([Path("-")])


def test_a_folder_is_read_in_natural_order_with_ranks_from_names(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "run_x/attempt_1/3").mkdir(parents=True)
    for name in ("rank_10.log", "rank_9.log.gz", "train.out"):
        (logs / name).write_bytes(gzip.compress(b"x\n", mtime=0) if name.endswith("gz") else b"x\n")
    (logs / "run_x/attempt_1/3/stderr.log").write_bytes(b"x\n")
    (logs / "model.bin").write_bytes(b"x\n")
    (logs / "metrics.csv").write_bytes(b"x\n")
    (logs / "picture").write_bytes(bytes(5000))
    (logs / "link.log").symlink_to("/etc/hostname")
    reading = read([logs])
    assert [(source.name, source.stream.rank, source.stream.attempt) for source in reading.sources] == [
        ("logs/rank_9.log.gz", 9, None),
        ("logs/rank_10.log", 10, None),
        ("logs/run_x/attempt_1/3/stderr.log", 3, 1),
        ("logs/train.out", None, None),
    ]
    assert [(gap.path, gap.why) for gap in reading.gaps] == [("logs/picture", "not a text")]


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("cut.gz", gzip.compress(TEXT * 50, mtime=0)[:-20], "cut short"),
        ("bad.gz", gzip.compress(TEXT, mtime=0)[:10] + b"\xff" * 40, "no sound gzip stream"),
        ("cut.xz", lzma.compress(TEXT * 50)[:-30], "cut short"),
        ("cut.zst", zstd(TEXT * 50)[:-5], "cut short"),
        ("bad.zst", zstd(TEXT)[:6] + b"\xff" * 40, "no sound zstd stream"),
        ("empty.zip", b"PK\x05\x06" + bytes(10), "its end is missing"),
        ("bad.zip", b"PK\x03\x04" + bytes(300), "its end is missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "data",
)
def test_a_damaged_file_is_said(tmp_path: Path, name: str, data: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(data)
    reading = read([tmp_path / name])
    assert len(reading.gaps) == 1
    assert why in reading.gaps[0].why
    assert all(not source.whole for source in reading.sources)


def test_what_came_before_the_damage_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT, mtime=0)[:-8])
    reading = read([tmp_path / "cut.gz"])
    assert [hit.line.number for hit in reading.hits] == [3]


def test_what_comes_out_of_a_stream_is_bounded() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    with pytest.raises(UnpackError, match="more than 1 MiB unpacked"):
        for piece in unpacked([bomb], "gzip", Budget(2**20)):
            assert len(piece) <= 128 * 1024
    assert compression(bomb) == "gzip"


def test_a_tar_is_read_too(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        for name in ("job/a.log", "../b.log"):
            info = tarfile.TarInfo(name)
            info.size = len(TEXT)
            archive.addfile(info, io.BytesIO(TEXT))
    assert [source.name for source in read([tmp_path / "logs.tar.gz"]).sources] == ["logs.tar.gz!job/a.log"]


def make_zip(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_members_that_lead_out_link_or_repeat_are_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("../evil.txt", TEXT)
        archive.writestr("/etc/passwd", TEXT)
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("good.txt", TEXT)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("good.txt", b"other\n")
    reading = read([tmp_path / "logs.zip"])
    assert [source.name for source in reading.sources] == ["logs.zip!good.txt"]
    assert sorted((gap.path, gap.why) for gap in reading.gaps) == [
        ("logs.zip!../evil.txt", "its name leads out of the archive"),
        ("logs.zip!/etc/passwd", "its name leads out of the archive"),
        ("logs.zip!good.txt", "a second member of that name"),
        ("logs.zip!link.txt", "a link"),
    ]


def test_a_zip_of_a_hundred_thousand_members_is_refused(tmp_path: Path) -> None:
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 40_000, 40_000, 46 * 40_000, 4, 0)
    (tmp_path / "many.zip").write_bytes(b"PK\x03\x04" + bytes(100) + end)
    assert read([tmp_path / "many.zip"]).gaps[0].why == f"more than {MOST_MEMBERS} members"
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 10, 10, 2**27, 4, 0)
    (tmp_path / "long.zip").write_bytes(b"PK\x03\x04" + bytes(100) + end)
    assert "directory has 128 MiB" in read([tmp_path / "long.zip"]).gaps[0].why


def test_a_member_that_is_not_where_it_should_be_is_said(tmp_path: Path) -> None:
    make_zip(tmp_path / "logs.zip", {"a.txt": TEXT * 100, "b.txt": TEXT})
    data = bytearray((tmp_path / "logs.zip").read_bytes())
    data[0:4] = b"XXXX"
    data[0:0] = b""
    (tmp_path / "logs.zip").write_bytes(
        b"PK\x03\x04" + bytes(data[4:])[:40] + b"\xff" * 30 + bytes(data[74:])
    )
    reading = read([tmp_path / "logs.zip"])
    assert {gap.path for gap in reading.gaps} == {"logs.zip!a.txt"}
    assert [hit.line.source for hit in reading.hits] == ["logs.zip!b.txt"]


def stamped(start: int, *texts: str) -> bytes:
    return b"".join(
        f"2026-03-01T10:00:{start + i:02}.0000000Z {text}\n".encode() for i, text in enumerate(texts)
    )


def test_a_job_is_not_read_twice_when_its_steps_are_there(tmp_path: Path) -> None:
    one, two = stamped(1, "a", "b"), stamped(3, "ValueError: x")
    make_zip(
        tmp_path / "logs.zip",
        {
            "0_test (3.11).txt": one + two,
            "test (3.11)/1_Set up.txt": one,
            "test (3.11)/2_Run tests.txt": two,
            "test (3.11)/system.txt": b"s\n",
        },
    )
    reading = read([tmp_path / "logs.zip"])
    assert [(source.name, source.stream.job, source.stream.step) for source in reading.sources] == [
        ("logs.zip!test (3.11)/1_Set up.txt", "test (3.11)", "Set up"),
        ("logs.zip!test (3.11)/2_Run tests.txt", "test (3.11)", "Run tests"),
        ("logs.zip!test (3.11)/system.txt", "test (3.11)", None),
    ]


def test_lines_of_missing_steps_come_from_the_whole_job(tmp_path: Path) -> None:
    one, two, three = stamped(1, "a", "b"), stamped(3, "ValueError: x", "y"), stamped(5, "c")
    make_zip(
        tmp_path / "logs.zip",
        {
            "0_test.txt": one + two + three,
            "test/1_Set up.txt": one,
            "test/3_Post.txt": three,
            "1_lint.txt": b"z\n",
        },
    )
    reading = read([tmp_path / "logs.zip"])
    told = [(line.source.split("!")[1], line.number, line.text) for line in reading.lines]
    assert told == [
        ("test/1_Set up.txt", 1, "a"),
        ("test/1_Set up.txt", 2, "b"),
        ("test/3_Post.txt", 1, "c"),
        ("1_lint.txt", 1, "z"),
        ("0_test.txt", 3, "ValueError: x"),
        ("0_test.txt", 4, "y"),
    ]
    assert [(hit.line.number, hit.line.stream.job) for hit in reading.hits] == [(3, "test")]


def test_an_archive_of_another_kind_gives_all_its_files(tmp_path: Path) -> None:
    make_zip(tmp_path / "x.zip", {"rank_1.log": b"a\n", "sub/rank_0.log.gz": gzip.compress(b"b\n", mtime=0)})
    reading = read([tmp_path / "x.zip"])
    assert [(line.source, line.text, line.stream.rank) for line in reading.lines] == [
        ("x.zip!rank_1.log", "a", 1),
        ("x.zip!sub/rank_0.log.gz", "b", 0),
    ]


def test_members_that_share_bytes_are_a_bomb(tmp_path: Path) -> None:
    make_zip(tmp_path / "x.zip", {"1_a.txt": b"a\n" * 1000})
    data = (tmp_path / "x.zip").read_bytes()
    directory, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[directory:end]
    entries = b"".join(entry[:46] + b"%d_a.txt" % number + entry[53:] for number in range(1, 10))
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, len(entries), directory, 0)
    (tmp_path / "x.zip").write_bytes(data[:directory] + entries + tail)
    reading = read([tmp_path / "x.zip"])
    assert [source.lines for source in reading.sources] == [1000]
    assert [gap.why for gap in reading.gaps] == ["its bytes are those of another member too"] * 8


def test_what_unpacks_to_hundreds_of_times_its_size_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "_HARMLESS", 2**20)
    (tmp_path / "x.log.gz").write_bytes(gzip.compress(b"a b\n" * 2**20))
    (tmp_path / "y.log.gz").write_bytes(
        gzip.compress(b"".join(b"step %d of %d\n" % (n, n * n) for n in range(80_000)))
    )
    bomb, log = read([tmp_path / "x.log.gz"]), read([tmp_path / "y.log.gz"])
    assert [gap.why for gap in bomb.gaps] == ["1 MiB unpacked of 4 KiB: a bomb, no log"]
    assert bomb.sources[0].size < 2 * 2**20
    assert not bomb.sources[0].whole
    assert not log.gaps
    assert log.sources[0].lines == 80_000


def test_a_tar_archive_is_unpacked_once_to_find_its_members_and_once_to_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        for number in range(20):
            member = tarfile.TarInfo(f"{number}.log")
            member.size = 4
            archive.addfile(member, io.BytesIO(b"a\nb\n"))
    walks = []

    class Counted(TarReader):
        def __init__(self, *arguments: Any) -> None:
            walks.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(tarball, "TarReader", Counted)
    reading = read([tmp_path / "x.tar.gz"])
    assert [(source.name, source.lines) for source in reading.sources] == [
        (f"x.tar.gz!{number}.log", 2) for number in range(20)
    ]
    assert len(walks) == 2


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=3000),
    packed=st.sampled_from([bytes, gzip.compress, lzma.compress]),
    cut=st.integers(0, 40),
)
def test_no_bytes_raise(tmp_path: Path, data: bytes, packed: Callable[[bytes], bytes], cut: int) -> None:
    whole = packed(data)
    (tmp_path / "log").write_bytes(whole[: len(whole) - cut])
    reading = read([tmp_path / "log"])
    assert all(line.number >= 1 for line in reading.lines)
    if (
        packed is bytes
        and not cut
        and reading.sources
        and compression(data) is None
        and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))
    ):
        assert reading.sources[0].lines == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 400), byte=st.integers(0, 255))
def test_no_damaged_zip_raises(tmp_path: Path, place: int, byte: int) -> None:
    make_zip(tmp_path / "logs.zip", {"0_job.txt": TEXT, "job/1_a.txt": TEXT})
    data = bytearray((tmp_path / "logs.zip").read_bytes())
    data[place % len(data)] = byte
    (tmp_path / "logs.zip").write_bytes(bytes(data))
    assert read([tmp_path / "logs.zip"]).sources is not None


def test_digits_of_any_script_in_names(tmp_path: Path) -> None:
    for name in ("1².log", "²", "rank_٣.log", "10.log", "9.log"):
        (tmp_path / name).write_text("a\n")
    assert len(read([tmp_path]).sources) == 5
