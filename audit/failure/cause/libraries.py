"""A package whose native part could not be loaded says so when it is imported, and fails later where that part is called."""

import re

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene
from audit.failure.model import Kind, Line
from audit.failure.structure.steps import Job

_PACKAGE = re.compile(r"(?:site|dist)-packages/(?P<name>[A-Za-z]\w{1,60})/")
_NOT_LOADED = re.compile(
    r"\bload(?:ing)? (?:error|failed)|\b(?:failed|unable|could not|cannot) (?:to )?(?:be )?(?:load|import|initiali[sz]e|find)\w*|"
    r"\bcannot open shared object|\bbinary not found|\bundefined symbol\b|\bno (?:binary|library|kernels?) (?:for|found)",
    re.IGNORECASE,
)
_NEAR = 25
"""Lines around an exception's in which a test report prints its frames."""
_SAID_BY_CODE = frozenset(
    {
        "AttributeError",
        "NameError",
        "TypeError",
        "RuntimeError",
        "NotImplementedError",
        "ImportError",
        "OSError",
    }
)


def not_loaded_before(scene: Scene, job: Job, found: Candidate) -> Candidate | None:
    """The line by which the package that raised said at its import that its library is not there; None where it said no such thing."""
    if found.category is not Category.CORRECTNESS or found.kind.rpartition(".")[2] not in _SAID_BY_CODE:
        return None
    package = _raising(found)
    if package is None:
        return None
    for step in job.steps:
        for line in step.lines:
            if _says(line, package) and (line.source != found.line.source or line.number < found.line.number):
                return Candidate(
                    line,
                    "native_library_missing",
                    Category.DATA_CONFIG,
                    Strength.NAMED,
                    Origin.SIGNATURE,
                    step,
                    Outcome.UNRESOLVED,
                    failing=found.failing,
                    why=f"The package {package} could not load its library, and failed where it was called.",
                    at=line.time,
                )
        if step is found.step:
            break
    return None


def _raising(found: Candidate) -> str | None:
    """The installed package whose frame stands nearest to the exception."""
    near = [
        line
        for line in found.step.lines
        if line.source == found.line.source and abs(line.number - found.line.number) <= _NEAR
    ]
    for line in sorted(near, key=lambda line: (abs(line.number - found.line.number), line.number)):
        if package := _PACKAGE.search(line.text[:600]):
            return package["name"]
    return None


def _says(line: Line, package: str) -> bool:
    text = line.text[:600]
    return (
        package in text
        and not line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST_ID}
        and not text.lstrip().startswith("File ")
        and _NOT_LOADED.search(text) is not None
    )
