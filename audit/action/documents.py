"""The documents that one run leaves for later steps: report.json, report.html, report.sarif, diff.json, diff.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from audit.action.folder import write_document
from audit.action.inputs import Inputs
from audit.documents.drift import Drift
from audit.documents.report import Report
from audit.documents.rule import RuleText
from audit.report import renderer

_DOCUMENTS = (
    ("report-json", "json", "report.json"),
    ("report-html", "html", "report.html"),
    ("sarif-file", "sarif", "report.sarif"),
)


def write_documents(
    report: Report, rules: Mapping[str, RuleText], inputs: Inputs, roots: Sequence[Path]
) -> dict[str, str]:
    """Writes all of them and gives their paths by the output that names each. Raises FolderError."""
    written = {}
    for output, form, name in _DOCUMENTS:
        place = (PurePosixPath(inputs.output_dir) / name).as_posix()
        if output == "sarif-file" and inputs.sarif_file:
            place = inputs.sarif_file
        written[output] = write_document(place, renderer(form)(report, rules=rules), roots)
    return written


DRIFT = "diff.json"


def write_drift(drift: Drift, inputs: Inputs, roots: Sequence[Path]) -> dict[str, str]:
    """Writes what changed in the experiment as JSON and as Markdown, and gives the path of the first by its output. Raises FolderError."""
    from audit.report.drift import renderer as of_drift

    folder = PurePosixPath(inputs.output_dir)
    write_document((folder / "diff.md").as_posix(), of_drift("markdown")(drift), roots)
    return {"diff-file": write_document((folder / DRIFT).as_posix(), of_drift("json")(drift), roots)}
