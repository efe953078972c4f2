"""The bounded reader of tar archives, against Python's own and against damage."""

import contextlib
import gzip
import io
import tarfile
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.safety.archive import ArchiveError, Bounds, Member, MemberKind, TarReader, TooMuchError, safe_parts


def packed(*members: tuple[str, bytes], format_: int = tarfile.PAX_FORMAT, comment: str = "") -> bytes:
    buffer = io.BytesIO()
    headers = {"comment": comment} if comment else None
    with tarfile.open(fileobj=buffer, mode="w:gz", format=format_, pax_headers=headers) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def read(archive: bytes, bounds: Bounds | None = None) -> list[tuple[Member, bytes]]:
    tar = TarReader(io.BytesIO(archive), bounds)
    return [(member, b"".join(tar.content())) for member in tar]


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=300).filter(
    lambda name: not name.endswith("/")
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(names, st.binary(max_size=2000)), max_size=8),
    st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]),
)
def test_it_reads_what_tarfile_writes(members: list[tuple[str, bytes]], format_: int) -> None:
    found = read(packed(*members, format_=format_))
    assert [(member.name.decode(), content) for member, content in found] == members
    assert all(member.size == len(content) for member, content in found)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=3000))
def test_it_never_raises_anything_else(raw: bytes) -> None:
    for archive in (raw, gzip.compress(raw)):
        with contextlib.suppress(ArchiveError):
            read(archive)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_nor_on_damaged_headers(data: st.DataObject) -> None:
    archive = bytearray(
        gzip.decompress(packed(("top/" + "n" * 150, b"content"), ("top/b", b"b"), comment="c" * 40))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ArchiveError):
        read(gzip.compress(bytes(archive)))


def test_the_comment_of_git_archive() -> None:
    tar = TarReader(io.BytesIO(packed(("a", b"a"), comment="f" * 40)))
    assert [member.name for member in tar] == [b"a"]
    assert tar.comment == "f" * 40


def test_content_left_unread_is_passed_over() -> None:
    tar = TarReader(io.BytesIO(packed(("a", b"a" * 5000), ("b", b"b"))))
    assert [(member.name, member.size, member.kind) for member in tar] == [
        (b"a", 5000, MemberKind.FILE),
        (b"b", 1, MemberKind.FILE),
    ]


def test_several_gzip_members_are_one_stream() -> None:
    plain = gzip.decompress(packed(("a", b"a" * 5000), ("b", b"b")))
    split = gzip.compress(plain[:700]) + gzip.compress(plain[700:])
    assert [content for _, content in read(split)] == [b"a" * 5000, b"b"]


def test_what_is_cut_short_is_an_error() -> None:
    whole = packed(("a", bytes(range(256)) * 100))
    for length in (0, 1, 20, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ArchiveError, match=r"cut short|sound gzip"):
            read(whole[:length])
    plain = gzip.decompress(whole)
    with pytest.raises(ArchiveError, match="ends in the middle of a file"):
        read(gzip.compress(plain[:5000]))


def test_bounds() -> None:
    archive = packed(("a", bytes(3 * 2**20)), ("b", b"b"))
    with pytest.raises(TooMuchError, match="more than 2 MiB unpacked"):
        read(archive, Bounds(unpacked=2 * 2**20))
    with pytest.raises(TooMuchError, match="more than 1 members"):
        read(archive, Bounds(members=1))
    assert len(read(archive)) == 2


def test_a_header_that_claims_gigabytes_is_refused_unread() -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 7 * 2**30
    bomb = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(2**20))
    with pytest.raises(ArchiveError, match="extended header is too long"):
        read(bomb)


def test_memory_stays_flat() -> None:
    bomb = packed(("bomb", bytes(100 * 2**20)))
    tracemalloc.start()
    tar = TarReader(io.BytesIO(bomb))
    size = 0
    for _ in tar:
        size += sum(map(len, tar.content()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 100 * 2**20
    assert peak < 4 * 2**20


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (b"a/b", [b"a", b"b"]),
        (b"a//b/", [b"a", b"b"]),
        (b"/a", None),
        (b"../a", None),
        (b"a/..", None),
        (b"a/./b", None),
        (b"", None),
        (b"/", None),
        (b"a\0b", None),
        (b"a" * 5000, None),
        (b"..a/...", [b"..a", b"..."]),
        (b"a\\..\\b", [b"a\\..\\b"]),
    ],
)
def test_safe_parts(name: bytes, parts: list[bytes] | None) -> None:
    assert safe_parts(name) == parts
