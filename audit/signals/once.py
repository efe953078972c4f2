"""Answers about a repository that several signals and rules ask for."""

import functools
import weakref
from collections.abc import Callable
from typing import TypeVar

from audit.signals.repository import Repository

T = TypeVar("T")


def once(function: Callable[[Repository], T]) -> Callable[[Repository], T]:
    """The function, computed once for each repository, for as long as somebody holds it."""
    kept: weakref.WeakKeyDictionary[Repository, T] = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def asked(repository: Repository) -> T:
        if repository not in kept:
            kept[repository] = function(repository)
        return kept[repository]

    return asked
