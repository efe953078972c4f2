"""What one audit is asked for, and what it may use of the world outside."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from audit.assess.gate import FailOn
from audit.documents.drift import Drift
from audit.documents.report import Report
from audit.documents.rule import RuleText

HIGHEST_LEVEL = 2
"""The highest level that a rule of the catalogue has; a report never claims a level whose rules did not run."""


class Options(msgspec.Struct, frozen=True):
    """What is audited, and how.

    `target`: a path, PATH@REF, owner/repo[@ref] or a GitHub address. `level`: "auto", "0", "1", "2", or None for what the repository's
    configuration says. `baseline`: a ref, or the path of an earlier report. `baseline_archive`: a target on GitHub that holds the baseline which
    the audited clone lacks; where it cannot be read, the report says so and knows nothing as new. `baseline_name`: what the
    report calls the baseline (its own name). `jobs`: processes, None for one per usable core.
    `use_cache`: whether facts and answers are kept between runs. `with_drift`: whether it is told what
    changed in the experiment since a baseline that is a commit.
    """

    target: str
    level: str | None = None
    profiles: tuple[str, ...] = ()
    baseline: str | None = None
    baseline_archive: str | None = None
    baseline_name: str | None = None
    jobs: int | None = None
    use_cache: bool = True
    with_drift: bool = False


class Effects(msgspec.Struct, frozen=True):
    """The world outside. `clock`: seconds since 1970. `environ`: environment variables. `step` is told what starts;
    `files` how many files of how many have been read."""

    clock: Callable[[], float]
    environ: Mapping[str, str]
    step: Callable[[str], None] = lambda _: None
    files: Callable[[int, int], None] = lambda _done, _total: None


def moment(seconds: float) -> str:
    """A clock's seconds as documents write them: UTC, to the second."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Audited(msgspec.Struct, frozen=True):
    """A report; `drift`: what changed in the experiment since the baseline, None where that was not asked for or there is no commit to
    compare with; `rules`: the words of every rule by its id, for renderings; `fail_on`: the threshold that the audited repository's
    configuration sets for itself (None where it sets none); `baseline_fail_on`: the one that held in the commit which was compared with (None where
    that was a report, or nothing)."""

    report: Report
    rules: dict[str, RuleText]
    fail_on: FailOn | None = None
    baseline_fail_on: FailOn | None = None
    drift: Drift | None = None
