"""Notebooks: whether what they show is what their code gives."""

from collections.abc import Iterable, Iterator

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.model import NotebookFacts
from audit.rules.imports import Declaration, installs_itself
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import capped, counted, listed

_NONE = "The repository has no notebooks."
_HUGE = 5 * 2**20
"""Bytes from which a notebook with outputs counts as huge: diffs and reviews of it stop working."""


def _notebooks(context: Context) -> Iterator[tuple[str, NotebookFacts]]:
    yield from sorted(context.repository.notebooks.items())


def _weight(context: Context) -> Severity | None:
    """A notebook beside code is an illustration; where there is nothing else it is the experiment."""
    return Severity.INFO if context.repository.code else None


def _closing(context: Context, bad: list[Outcome], many: str, fine: str) -> Iterator[Outcome]:
    """Findings one by one while they are few; of many notebooks with one fault a single one, whose sentence ends in `many`."""
    if len(bad) <= _SINGLY:
        yield from bad
    else:
        places = [each.evidence[0] for each in bad]
        names = listed([place.path for place in places], 4)
        yield failed(
            f"{counted(len(bad), 'notebook')} {many} ({names}).",
            *capped((Place(place.path, place.line, place.note) for place in places), 20),
            fix=bad[0].fix,
            key="many",
            severity=bad[0].severity,
        )
    if not bad:
        yield passed(fine) if context.repository.notebooks else not_applicable(_NONE)


_SINGLY = 3
"""Notebooks that are told one by one."""


def order(context: Context) -> Iterable[Outcome]:
    bad = [
        failed(
            f"The cells of {path} were not run from top to bottom: running it again may give other outputs.",
            Place(path),
            severity=_weight(context),
        )
        for path, book in _notebooks(context)
        if book.executed and not book.in_order
    ]
    yield from _closing(
        context,
        bad,
        "were not run from top to bottom, so that running them again may give other outputs",
        "Every notebook was run from top to bottom, or is without outputs.",
    )


def outputs(context: Context) -> Iterable[Outcome]:
    bad = []
    for path, book in _notebooks(context):
        if not book.stale:
            continue
        if not book.executed and all("error" not in why for _, why in book.stale):
            bad.append(
                failed(
                    f"{path} keeps outputs and no execution counts: in which order its cells ran cannot be told.",
                    Place(path, book.stale[0][0]),
                    severity=Severity.INFO,
                )
            )
            continue
        line, why = book.stale[0]
        more = f" and {len(book.stale) - 1} more" if len(book.stale) > 1 else ""
        bad.append(
            failed(
                f"{path} keeps {counted(len(book.stale), 'output')} that no run of the notebook as it stands has given: {why} (line {line}{more}).",
                *capped(Place(path, at, reason) for at, reason in book.stale),
                severity=_weight(context),
            )
        )
    yield from _closing(
        context,
        bad,
        "keep outputs of cells that were not run as they stand, or whose order cannot be told",
        "No notebook keeps an error or an output of a cell that was not run.",
    )


def size(context: Context) -> Iterable[Outcome]:
    bad = []
    for path, book in _notebooks(context):
        facts = context.repository.file(path)
        if facts is not None and facts.size >= _HUGE and book.outputs:
            bad.append(
                failed(f"{path} holds {facts.size / 2**20:.0f} MiB, nearly all of it outputs.", Place(path))
            )
    yield from _closing(
        context,
        bad,
        "hold more than 5 MiB each, nearly all of it outputs",
        "No notebook is larger than 5 MiB.",
    )


def installs(context: Context) -> Iterable[Outcome]:
    bad = []
    installing = False
    tools = {"pip", "setuptools", "wheel"}
    for path, book in _notebooks(context):
        installing = installing or bool(book.requirements)
        loose = [
            each
            for each in book.requirements
            if not (each.exact or each.editable or each.name in tools)
            and not installs_itself(Declaration(path, each), context.repository)
        ]
        if not loose:
            continue
        names = tuple(dict.fromkeys(each.name for each in loose))
        bad.append(
            failed(
                f"{path} installs {listed(names)} without {'a version' if len(names) == 1 else 'versions'}.",
                *capped(Place(path, each.line, each.name) for each in loose),
                fix="Write the versions: `%pip install NAME==VERSION`.",
            )
        )
    if not installing and context.repository.notebooks:
        yield not_applicable("No notebook installs packages.")
    else:
        yield from _closing(
            context,
            bad,
            "install packages without versions",
            "Notebooks that install packages name exact versions.",
        )


RULES = (
    Rule(
        "notebooks.order",
        Severity.WARNING,
        "Notebooks were run from top to bottom",
        "Cells that ran in another order leave results that nobody gets from the notebook as it stands.",
        "Restart the kernel, run all cells, save; or clear all outputs.",
        "documentation",
        1,
        "Execution counts 1, 2, 3.",
        "Execution counts 7, 3, 12.",
        order,
    ),
    Rule(
        "notebooks.outputs",
        Severity.WARNING,
        "Outputs belong to the code",
        "An output of a cell that was edited or never run, or a traceback, says something else than the code does.",
        "Run the notebook anew, or clear its outputs.",
        "documentation",
        1,
        "Every output belongs to an executed cell.",
        "A cell without execution count shows a result.",
        outputs,
    ),
    Rule(
        "notebooks.size",
        Severity.INFO,
        "Notebooks are small",
        "Pictures and tables in outputs bloat every clone and make changes of code impossible to review.",
        "Clear outputs before committing (nbstripout), and publish rendered notebooks elsewhere.",
        "documentation",
        0.25,
        "A notebook of 80 KB.",
        "A notebook of 20 MB.",
        size,
    ),
    Rule(
        "notebooks.installs",
        Severity.INFO,
        "Notebooks install exact versions",
        "A cell that installs the newest release breaks when the next one comes out.",
        "Pin the version in the install line.",
        "environment",
        0.5,
        "%pip install transformers==4.44.2",
        "!pip install transformers",
        installs,
    ),
)
