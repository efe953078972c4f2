import random

import pytest

from audit.failure.scan.knowledge import Knowledge, knowledge
from audit.failure.scan.matcher import MOST_MATCHES, HyperscanMatcher, LiteralMatcher, compiled
from audit.failure.scan.sweep import Limits, Sweep, Swept, blocks, joined

SMALL = Limits(whole=500, head=400, tail=400, between=4000, hits=3)


@pytest.fixture(scope="module")
def known() -> Knowledge:
    return knowledge()


def swept(known: Knowledge, data: bytes, limits: Limits = SMALL, size: int = 1000) -> Swept:
    sweep = Sweep(known, known.finder, limits)
    for block in blocks((data[i : i + size] for i in range(0, len(data), size)), 1000):
        sweep.feed(block)
    return sweep.result()


def kept(result: Swept) -> dict[int, bytes]:
    """Line number -> line, of all spans."""
    lines: dict[int, bytes] = {}
    for number, data in result.spans:
        for place, line in enumerate(data.removesuffix(b"\n").split(b"\n")):
            assert lines.setdefault(number + place, line) == line
    return lines


def quiet(count: int) -> list[bytes]:
    return [b"quiet line %d" % number for number in range(1, count + 1)]


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 100_000])
def test_lines_are_counted_and_found_whatever_the_size_of_chunks(known: Knowledge, size: int) -> None:
    lines = quiet(300)
    lines[149] = b"ValueError: boom"
    result = swept(known, b"\n".join(lines), size=size)
    assert (result.lines, result.size, result.ends_in_line) == (300, len(b"\n".join(lines)), True)
    assert [(known.entries[each.entry].signature.id, each.number) for each in result.findings] == [
        ("uncaught_exception", 150)
    ]
    told = kept(result)
    assert all(told[number] == lines[number - 1] for number in told)
    assert set(range(130, 191)) <= set(told)
    assert {1, 2, 300} <= set(told)
    assert 70 not in told


@pytest.mark.parametrize("escape", [b"", b"\x1b[31m"])
def test_the_surroundings_of_every_finding_are_kept(known: Knowledge, escape: bytes) -> None:
    picker = random.Random(3)
    lines = quiet(3000)
    places = sorted(picker.sample(range(100, 2900), 6))
    for place in places:
        lines[place - 1] = escape + b"ValueError: boom"
    result = swept(known, b"\n".join(lines) + b"\n", Limits(500, 400, 400, 10**6, 100))
    told = kept(result)
    for place in places:
        assert set(range(place - 20, place + 41)) <= set(told), place
        assert told[place] == lines[place - 1]
    assert result.lost == 0
    assert not result.ends_in_line


def test_of_many_hits_the_first_and_last_are_kept_and_all_counted(known: Knowledge) -> None:
    result = swept(
        known,
        b"".join(b"x\n" * 30 + b"ValueError: boom\n" for _ in range(50)),
        Limits(500, 400, 400, 1000, 3),
    )
    assert [each.number for each in result.findings] == [31, 62, 93, 1488, 1519, 1550]
    assert set(result.counts.values()) == {50}
    assert result.lost > 0
    assert sum(len(span.data) for span in result.spans) < 12_000


def test_memory_is_bounded_by_the_limits(known: Knowledge) -> None:
    result = swept(known, b"ValueError: boom\n" * 20_000, size=4096)
    assert sum(len(span.data) for span in result.spans) < 30_000
    assert len(result.findings) == 6


def test_what_a_dense_block_holds_is_found_once(known: Knowledge) -> None:
    block = b"ValueError: boom\n" * (MOST_MATCHES + 10)
    result = swept(known, block + b"KeyError: 'x'\n", size=len(block) + 14)
    assert result.dense
    assert result.lines == MOST_MATCHES + 11


def test_a_line_of_megabytes_is_scanned_in_pieces_and_kept_in_part(known: Knowledge) -> None:
    long = b"#" * 1_500_000 + b"\rValueError: boom\r" + b"#" * 1_500_000
    result = swept(known, b"a\n" + long + b"\nb\n", Limits(), size=131_072)
    assert result.lines == 3
    assert [(each.number, each.text) for each in result.findings] == [(2, "ValueError: boom")]
    assert sum(len(span.data) for span in result.spans) < 2_200_000


def test_parts_of_a_log_are_put_together(known: Knowledge) -> None:
    first = swept(known, b"a\nValueError: x\n")
    second = swept(known, b"b\nKeyError: 'y'\nc")
    whole = joined([first, second])
    assert (whole.lines, whole.ends_in_line) == (5, True)
    assert [
        each.number
        for each in whole.findings
        if known.entries[each.entry].signature.id == "uncaught_exception"
    ] == [2, 4]
    assert kept(whole)[5] == b"c"


def test_both_matchers_find_the_same(known: Knowledge) -> None:
    patterns = [r"^FAIL x", r"exit code \d+", r"a\w+ b", "[✗x]y", r"^E   +\w*Error"]
    data = "FAIL x\n[rank1]: FAIL x\nexit code 12\naé b\n✗y\nE   ValueError\nnothing\n".encode()
    fast, slow = HyperscanMatcher(patterns, compiled(patterns)), LiteralMatcher(patterns)
    lines = {(index, data.count(b"\n", 0, end - 1)) for index, end in fast.scan(data) or []}
    assert lines == {(index, data.count(b"\n", 0, end - 1)) for index, end in slow.scan(data) or []}
    assert lines == {(0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)}
    assert (
        {index for index, _ in fast.clone().first(data)}
        == {index for index, _ in slow.first(data)}
        == {0, 1, 2, 3, 4}
    )
    assert fast.scan(b"exit code 1\n" * (MOST_MATCHES + 2)) is None
    assert slow.scan(b"exit code 1\n" * (MOST_MATCHES + 2)) is None
