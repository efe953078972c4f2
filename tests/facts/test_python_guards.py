"""Imports that wait until the code knows that a package is installed."""

import pytest

from audit.facts.python.extract import extract
from audit.facts.python.model import PythonFacts


def guarded(code: str) -> dict[str, bool]:
    body = extract(code).body
    assert isinstance(body, PythonFacts)
    return {each.module: each.guarded for each in body.imports}


@pytest.mark.parametrize(
    "code",
    [
        "if is_te_pytorch_available():\n    import transformer_engine\n",
        "if utils.is_te_available():\n    import transformer_engine\n",
        "if _TE_AVAILABLE and version > 2:\n    from transformer_engine import pytorch\n",
        "if not is_te_available():\n    pass\nelse:\n    import transformer_engine\n",
        "if not (HAS_TE or FORCED):\n    pass\nelse:\n    x = 1\nif HAS_TE:\n    import transformer_engine\n",
        "try:\n    import transformer_engine\nexcept ImportError:\n    pass\n",
    ],
)
def test_asked_for_first(code: str) -> None:
    assert guarded(code) == {"transformer_engine": True}


@pytest.mark.parametrize(
    "code",
    [
        "if not HAS_TE:\n    import transformer_engine\n",
        "if is_te_available():\n    pass\nelse:\n    import transformer_engine\n",
        "if is_te_available() or forced:\n    import transformer_engine\n",
        "if args.available:\n    import transformer_engine\n",
    ],
)
def test_not_asked_for(code: str) -> None:
    assert guarded(code) == {"transformer_engine": False}
