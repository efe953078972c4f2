"""Options that every command has."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def verbosity(function: F) -> F:
    """Adds --quiet and --verbose. The latter is also looked for by `main.run`, for errors before a command has begun."""
    function = click.option("--quiet", "-q", is_flag=True, help="No progress, no closing lines on stderr.")(
        function
    )
    return click.option("--verbose", "-v", is_flag=True, help="Say how long it took; show tracebacks.")(
        function
    )
