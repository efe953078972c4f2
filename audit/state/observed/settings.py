"""The layers of what is set for one run: defaults, configuration files, the command that starts it."""

from collections.abc import Iterable, Iterator

from audit.documents.state import Scalar
from audit.state.observed.options import Said

_NOT_OURS = ("deepspeed", "fsdp_config", "accelerate", "hydra.", "defaults.")
"""Keys of other programs' settings."""


class Settings:
    """Options and keys by name. A dotted key answers to its own name and to each of its ends."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[Said, ...]] = {}
        self._keys: dict[str, frozenset[str]] = {}
        self.choices: dict[str, tuple[Scalar, ...]] = {}

    def copy(self) -> "Settings":
        """A copy that can be added to."""
        other = Settings()
        other._said, other._keys, other.choices = dict(self._said), dict(self._keys), self.choices
        return other

    def add(self, key: str, said: Said | None) -> None:
        """Notes what a place says of `key`; None: the option exists and has no value."""
        if key.startswith(_NOT_OURS):
            return
        self._said[key] = (*self._said.get(key, ()), *((said,) if said is not None else ()))
        last = key.rpartition(".")[2]
        keys = self._keys.get(last, frozenset())
        if key not in keys:
            self._keys[last] = keys | {key}

    def drop(self, key: str, rank: int) -> None:
        """Forgets what was said of `key` with this rank: a later place of the same kind replaces it."""
        self._said[key] = tuple(said for said in self._said.get(key, ()) if said.rank != rank)

    def names(self) -> Iterable[str]:
        """Every key, dotted ones whole."""
        return self._said

    def about(self, name: str) -> tuple[Said, ...]:
        """What is said of the option, key or end of a key, the last word first. Nothing where several keys could be meant."""
        return tuple(sorted(self._rows(name), key=lambda said: -said.rank))

    def has(self, name: str) -> bool:
        """Whether there is such an option, with or without a value."""
        return name in self._said or bool(self._ending(name))

    def _rows(self, name: str) -> Iterator[Said]:
        if self._said.get(name):
            yield from self._said[name]
            return
        ending = self._ending(name) - {name}
        if len(ending) == 1:
            yield from self._said[next(iter(ending))]

    def _ending(self, name: str) -> frozenset[str]:
        keys = self._keys.get(name.rpartition(".")[2], frozenset())
        return (
            frozenset(key for key in keys if key == name or key.endswith("." + name)) if "." in name else keys
        )
