"""What the exit code of a command says: the one table."""

import enum
from collections.abc import Mapping
from types import MappingProxyType


class ExitCode(enum.IntEnum):
    """The exit codes of every command."""

    OK = 0
    GATE = 1
    USAGE = 2
    UNABLE = 3
    INTERNAL = 4
    INTERRUPTED = 130


MEANINGS: Mapping[ExitCode, str] = MappingProxyType(
    {
        ExitCode.OK: "nothing at or above the threshold",
        ExitCode.GATE: "the gate is closed: findings at or above the threshold",
        ExitCode.USAGE: "wrong usage, or a configuration or baseline that is not valid",
        ExitCode.UNABLE: "it could not be done: the target cannot be read, or the network failed",
        ExitCode.INTERNAL: "a fault of ml-audit itself",
        ExitCode.INTERRUPTED: "interrupted from the keyboard",
    }
)
