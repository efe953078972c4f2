"""What the fake hub holds: repositories with commits, refs, gates and faults."""

import hashlib
from dataclasses import dataclass, field


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Repository:
    """`refs`: by branch or tag; `commits`: files of each commit; `large`: paths that are stored as LFS."""

    name: str
    kind: str = "models"
    refs: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    large: set[str] = field(default_factory=set)
    gated: bool = False
    private: bool = False
    readers: set[str] = field(default_factory=set)

    def commit(self, files: dict[str, bytes], ref: str = "main") -> str:
        """A new commit on a branch, with its whole content."""
        listed = "".join(f"{path}\0{git_blob(content)}\n" for path, content in sorted(files.items()))
        name = hashlib.sha1(
            f"{self.kind}/{self.name}@{ref}#{len(self.commits)}\n{listed}".encode()
        ).hexdigest()
        self.commits[name] = dict(files)
        self.refs[ref] = name
        return name

    def resolve(self, revision: str) -> str | None:
        return self.refs.get(revision, revision if revision in self.commits else None)


@dataclass
class Fault:
    """What goes wrong with requests whose path holds `part`, `times` times (-1: always). `kind`: "429", "500", "slow", "cut", "html", "redirect"."""

    part: str
    kind: str
    times: int = 1
    retry_after: str = "1"


@dataclass
class World:
    """`moved`: old name -> new one. `tokens`: those that the hub knows. `page`: files of one page of a listing. `log`: (method, path, token)."""

    repositories: dict[tuple[str, str], Repository] = field(default_factory=dict)
    moved: dict[tuple[str, str], str] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    page: int = 1000
    log: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, name: str, kind: str = "models", **rights: object) -> Repository:
        repository = Repository(name, kind, **rights)  # type: ignore[arg-type]
        self.repositories[kind, name] = repository
        return repository

    def fault(self, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.part in path and fault.times:
                fault.times -= 1
                return fault
        return None
