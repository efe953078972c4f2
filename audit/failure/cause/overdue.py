"""A test that its own time limit ended: whether it was at work to the end, waited for somebody, or waited for the network.

Label policy 6: work at its usual rate up to the limit is a budget too small; a wait that nobody ends is a hang.
"""

import re
import statistics
from collections.abc import Sequence

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Strength
from audit.failure.cause.classify import Judged
from audit.failure.digits import decimal
from audit.failure.model import Line
from audit.failure.structure.progress import metric_line
from audit.failure.structure.pytest_blocks import Block

_TIMEOUT = re.compile(r"\bTimeout \(?>\s?(?P<limit>\d[\d.]*) ?s\)?")
_STACKS = re.compile(r"\+{8,} Timeout \+{8,}|~{8,} Stack of ")
_STEP_TIME = re.compile(
    r"(?:(?:step|iter(?:ation)?|batch)[ _]?time|time(?:/| per )(?:step|iter\w*|batch)|elapsed)[\"']?\s?[:=]?\s?(?P<t>\d[\d.]*)\s?(?P<u>ms|s)\b|"
    r"(?P<t2>\d[\d.]*)\s?(?P<u2>ms|s)/(?:it|step|batch)\b",
    re.IGNORECASE,
)
_LIVING = 5
"""Lines of progress that make a rate."""
_SLOWER = 2.0
"""The factor by which steps have to slow down before the rate is no longer the usual one."""
_NETWORK = re.compile(
    r"(?:^|/)(?:urllib3?|requests|httpx|httpcore|aiohttp|botocore|boto3|huggingface_hub|gcsfs|s3fs|grpc)/|http/client\.py|(?:^|/)(?:ssl|socket)\.py"
)
_WAITING_PLACE = re.compile(
    r"(?:^|/)(?:threading|queue|selectors|concurrent/futures/_base|multiprocessing/(?:connection|queues|popen_\w+|synchronize|pool)|"
    r"torch/distributed/\w+|asyncio/\w+)\.py"
)
_WAITING = re.compile(
    r"\.(?:acquire|wait|join|get|recv|result|synchronize|barrier|poll|accept)\(\s*[^()]{0,40}\)|\b(?:barrier|all_reduce|all_gather|broadcast|reduce_scatter|recv|"
    r"monitored_barrier)\("
)

_TAKES_A_LOCK = re.compile(
    r"(?:async )?with [\w.\[\]()]{0,60}(?:lock|mutex|semaphore|condition|cond)\w{0,20}(?:\(\))?:?",
    re.IGNORECASE,
)


def judged(block: Block, source: str, found: Judged) -> Judged:
    """What a block is that ended by pytest's time limit; `found` where it did not, or where it cannot be seen. `source`: the statement it was in."""
    root = block.root
    if root is None or _TIMEOUT.search(root.message or root.line.text) is None:
        return found
    if _at_work(_written(block.captured)):
        return msgspec.structs.replace(
            found,
            signature="test_time_limit",
            category=Category.METRIC_POLICY,
            strength=Strength.NAMED,
            why="Steps advanced at their usual rate until the limit ended the test: the limit does not fit the amount of work.",
        )
    paths = [path for path, _, _ in block.frames]
    if any(_NETWORK.search(path) for path in paths[-6:]):
        return msgspec.structs.replace(
            found,
            category=Category.INFRA_RUNTIME,
            strength=Strength.NAMED,
            why="The test waited for an answer over the network when its limit ended it.",
        )
    if (paths and _WAITING_PLACE.search(paths[-1])) or _WAITING.search(source):
        return msgspec.structs.replace(
            found,
            category=Category.CORRECTNESS,
            strength=Strength.GENERIC,
            why=f"The test waited in `{source[:120]}` when its limit ended it, and printed no progress: a hang.",
        )
    return found


def waits(path: str, statement: str) -> bool:
    """Whether a frame waits for another thread or process."""
    return bool(_WAITING_PLACE.search(path) or _WAITING.search(statement) or _TAKES_A_LOCK.match(statement))


def asks_the_network(path: str) -> bool:
    """Whether a frame is of code that waits for an answer over the network."""
    return bool(_NETWORK.search(path))


def _written(captured: Sequence[Line]) -> Sequence[Line]:
    """What the test wrote, without the stacks that are dumped at the end."""
    end = next((index for index, line in enumerate(captured) if _STACKS.search(line.text)), len(captured))
    return captured[:end]


def _at_work(lines: Sequence[Line]) -> bool:
    """Whether progress was printed to the end, and where the lines tell how long a step took, at one rate."""
    living = [index for index, line in enumerate(lines) if metric_line(line.text)]
    if len(living) < _LIVING or len(lines) - living[-1] > max(10, len(lines) // 5):
        return False
    times = [
        decimal(found["t"] or found["t2"]) * (0.001 if (found["u"] or found["u2"]).lower() == "ms" else 1)
        for index in living
        if (found := _STEP_TIME.search(lines[index].text[:600]))
    ]
    if len(times) < _LIVING:
        return True
    half = len(times) // 2
    return statistics.fmean(times[half:]) < _SLOWER * statistics.fmean(times[:half])
