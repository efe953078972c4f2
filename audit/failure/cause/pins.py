"""An interface that is not there: whose is it? A package that was released anew breaks code that did not change, which is a matter of pins;
the repository's own names missing is a matter of its code (label policy 5).
"""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin
from audit.failure.cause.scene import Scene
from audit.failure.gates.checkout import Checkout

_MODULE = re.compile(
    r"module '(?P<a>[\w.]+)' has no attribute|cannot import name '[\w.]+' from '(?P<b>[\w.]+)'|No module named '(?P<c>[\w.]+)'|"
    r"`(?P<d>np|numpy)\.\w+` was removed in the NumPy|(?P<e>numpy|torch|pandas|jax|tensorflow|keras|transformers)\.\w[\w.]* (?:was|has been) removed"
)
_CIRCULAR = re.compile(r"partially initialized|circular import")
_PINNED = re.compile(r"^\s*(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?P<rest>[^#;]*)")
_REQUIREMENTS = re.compile(r"(?:^|/)(?:requirements[\w.-]*\.(?:txt|in|lock)|constraints[\w.-]*\.txt)$")


def decide(scene: Scene, candidate: Candidate) -> Candidate:
    """The candidate, as a matter of pins where the missing interface is another package's and the checkout does not pin that package exactly."""
    if (
        candidate.origin not in (Origin.TEST, Origin.EXCEPTION)
        or candidate.category is not Category.CORRECTNESS
    ):
        return candidate
    text = " ".join(line.text for line in (candidate.line, *candidate.context))
    found = _MODULE.search(text)
    if found is None or _CIRCULAR.search(text):
        return candidate
    package = next(group for group in found.groups() if group).partition(".")[0]
    package = {"np": "numpy"}.get(package, package)
    if scene.checkout is None:
        outside = "site-packages" in text or "dist-packages" in text
        return _pins(candidate, package) if outside or found["d"] or found["e"] else candidate
    if _own(scene.checkout, package) or pinned(scene.checkout, package):
        return candidate
    return _pins(candidate, package)


def _pins(candidate: Candidate, package: str) -> Candidate:
    return msgspec.structs.replace(
        candidate,
        category=Category.DATA_CONFIG,
        sure=False,
        why=f"What is missing is of the package {package}, whose version is not pinned: another release of it does not have what the code asks for.",
    )


def _own(checkout: Checkout, package: str) -> bool:
    return any(
        path.startswith((f"{package}/", f"src/{package}/")) or path in (f"{package}.py", f"src/{package}.py")
        for path in checkout.paths
    )


def pinned(checkout: Checkout, package: str) -> bool:
    """Whether a requirements file pins the package to one version."""
    wanted = package.lower().replace("_", "-")
    return any(
        name.lower().replace("_", "-") == wanted and rest.strip().startswith(("==", "===", "@"))
        for name, rest in _declared(checkout)
    )


def _declared(checkout: Checkout) -> Iterator[tuple[str, str]]:
    for path in [path for path in checkout.paths if _REQUIREMENTS.search(path)][:20]:
        for line in (checkout.text(path) or "").splitlines()[:2000]:
            if line.strip() and not line.lstrip().startswith(("#", "-")) and (found := _PINNED.match(line)):
                yield found["name"], found["rest"]
