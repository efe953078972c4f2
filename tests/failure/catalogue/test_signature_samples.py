import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.failure.catalogue.entry import Entry, files
from audit.failure.catalogue.load import load
from audit.failure.reading.clean import matchable, without_escapes
from audit.failure.scan.knowledge import Knowledge, knowledge


@cache
def known() -> Knowledge:
    return knowledge()


def entries() -> tuple[Entry, ...]:
    return load(files())


def met(line: str) -> set[str]:
    """Ids of all signatures that the scanner and then the pattern meet on a line of a log."""
    everything = known()
    found = set()
    for index, _ in everything.finder.scan(without_escapes(line.encode()) + b"\n") or []:
        owner = everything.owners[index]
        if isinstance(owner, int) and everything.confirmed(owner, matchable(line)):
            found.add(everything.entries[owner].signature.id)
    return found


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.signature.id)
def test_samples(entry: Entry) -> None:
    for line in entry.positive:
        assert entry.signature.id in met(line), line
    for line in (*entry.negative, *entry.ordinary):
        assert entry.signature.id not in met(line), line


def test_there_are_enough_and_each_has_lines_that_it_must_not_meet() -> None:
    assert len(entries()) >= 350
    assert [entry.signature.id for entry in entries() if not (*entry.negative, *entry.ordinary)] == []


def test_every_root_says_what_to_do() -> None:
    assert [e.signature.id for e in entries() if e.signature.role == "root" and not e.signature.advice] == []


PREFIXES = (
    "2026-03-01T10:00:00.1234567Z ",
    "2026-03-01T10:00:00.123456Z 00O ",
    "[2026-03-01T10:00:00.515Z] ",
    "[rank3]: ",
    "[default0]:[rank0]: ",
    "[1,2]<stderr>:",
    "(RayWorker pid=12, ip=10.0.0.1) ",
    "trainer-0  | ",
    "\x1b[31m",
    "\x1b_bk;t=1700000000123\x07",
    " 50%|#####     | 5/10 [00:01<00:01]\r",
)


@settings(max_examples=300)
@given(st.data())
def test_a_line_is_met_whatever_is_put_around_it(data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(known().entries))
    line = data.draw(st.sampled_from(entry.positive))
    prefix = "".join(data.draw(st.lists(st.sampled_from(PREFIXES), max_size=3)))
    place = data.draw(st.integers(0, len(line)))
    coloured = f"{line[:place]}\x1b[1;31m{line[place:]}\x1b[0m"
    suffix = data.draw(st.sampled_from(("", "  ", "\r", "\x1b[K")))
    assert entry.signature.id in met(prefix + coloured + suffix)


HOSTILE = (
    "a",
    " ",
    "0",
    "_",
    "=",
    "E   ",
    "loss ",
    'File "',
    "FAILED x::",
    "Error",
    "a.b.",
    "x/",
    "iteration 1 | ",
    "[",
    "(",
    "'",
)


def test_no_pattern_runs_away_on_a_line_of_its_own_making() -> None:
    """Patterns are tried on up to 4,000 characters; one that is more than quadratic would not come to an end here."""
    for entry in known().entries:
        for pattern in (*entry.patterns, *entry.unless):
            compiled = re.compile(pattern, re.MULTILINE)
            for seed in (*HOSTILE, entry.positive[0][: max(1, len(entry.positive[0]) // 2)]):
                compiled.search((seed * (4000 // len(seed) + 1))[:4000])
