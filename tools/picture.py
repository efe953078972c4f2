"""Draws docs/audit.svg: a real audit of the bundled example, as a terminal shows it.

python tools/picture.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from audit.engine.audit import audit
from audit.engine.options import Effects, Options
from audit.report.text import Surface, render

ROOT = Path(__file__).resolve().parent.parent
_WIDTH = 110
_LINES = 48
_WHEN = 1_767_322_996
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "example"), ("EMAIL", "example@example.org"), ("DATE", f"{_WHEN} +0000"))
}


def example(folder: Path) -> Path:
    """The bundled example as a repository with one commit, the same id each time."""
    place = folder / "tiny-trainer"
    shutil.copytree(
        ROOT / "examples" / "tiny-trainer", place, ignore=shutil.ignore_patterns("__pycache__", "runs")
    )
    environment = {**os.environ, **_IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull}
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "An example")):
        subprocess.run(["git", *arguments], cwd=place, env=environment, check=True)
    return place


def picture() -> str:
    """The SVG, with no address in it that a browser would fetch."""
    with tempfile.TemporaryDirectory() as folder:
        options = Options(str(example(Path(folder))), use_cache=False, jobs=1)
        audited = audit(options, Effects(lambda: _WHEN, os.environ))
    text = render(audited.report, rules=audited.rules, surface=Surface(width=_WIDTH, color=True))
    lines = text.splitlines()
    shown = lines[:_LINES] + ([f"... {len(lines) - _LINES} more lines"] if len(lines) > _LINES else [])
    console = Console(record=True, width=_WIDTH, file=open(os.devnull, "w"), force_terminal=True, _environ={})  # noqa: SIM115, PTH123
    console.print(Text.from_ansi("$ ml-audit .\n" + "\n".join(shown)))
    svg = console.export_svg(title="ml-audit", unique_id="ml-audit")
    return re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.S)


if __name__ == "__main__":
    (ROOT / "docs" / "audit.svg").write_text(picture(), "utf-8")
    sys.exit(0)
