"""Pages about the signatures of failures: one for each family, an index, and how to add one."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from audit.failure.catalogue.entry import UNITS, Entry, files
from audit.failure.catalogue.load import load

# Clauses of the label policy, which `policy` of an entry refers to by number.
POLICY = (
    "Out of memory is `infra_runtime`, unless a change of configuration, batch or sequence length, or a fixed cap explains it (`data_config`), "
    "or memory grows from step to step (`correctness`).",
    "A metric below its limit is `correctness` where a defect of the code is found, `ml_regression` where the drop is real and the runtime was "
    "healthy, `metric_policy` where it lies within the noise or only time, tolerance or the expected file moved.",
    "NaN or infinity is `correctness` in an operation's own test, `ml_regression` in training with a healthy runtime, `infra_runtime` where a repeat on "
    "the same node differs, `data_config` where the input holds it.",
    "Golden values: an exact comparison that fails beside an approximate one that passes and a good loss is `metric_policy`; a loss outside of the "
    "tolerance follows clause 2; another node that answers otherwise is `infra_runtime` or inconclusive.",
    "A name that is gone: where the repository did not change and the version was not pinned, `data_config`; where its own code uses what was "
    "removed, `correctness`.",
    "Time limits: progress at the usual rate until the cut is `metric_policy`; a rate that fell to half with evidence about the machine is "
    "`infra_runtime`, without it inconclusive; silence is a hang, `correctness` where stacks or collectives show it.",
    "A gate that ran nothing is `metric_policy`, never passed.",
    "An unexpected pass, a throughput that improved, a changed representation are `metric_policy`.",
    "Exit code 137, `Killed`, a cancel or a cut log without confirmation are inconclusive, or `infra_runtime` where the runner was lost; never out of memory.",
    "A job that is green with errors in its log has passed.",
)


def pages(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every page with its text."""
    entries = load(files())
    families = [
        (name, list(found)) for name, found in groupby(entries, key=lambda entry: entry.signature.family)
    ]
    yield folder / "README.md", _index(families, len(entries))
    for name, found in families:
        yield folder / f"{name}.md", _family(name, found)


_INTRODUCTION = """# Signatures of failures

Made from the code by `make generate`.

{count} signatures in {families} families (`audit/failure/catalogue/*.yaml`). A signature names what a line of a log says; which of the lines is
the cause is decided by their roles, by what happened before and after, and by the structure of the log.

| family | signatures | for example |
|---|---|---|
{rows}

## Roles

- `root`: may be the cause.
- `cascade`: mostly a consequence; the cause only where nothing came before.
- `teardown`: how peers and launchers end; never the cause.
- `confirming`: confirms or locates another.
- `diagnostic`: advice or routine; never decides.
- `warning`: routine until it repeats or ends the run.

## Where the category is arguable

{policy}

## Adding one

An entry in the family's file is all it takes; `pytest tests/failure/catalogue` runs its lines.

```yaml
- id: cuda_out_of_reach     # snake_case, reads well in a verdict
  name: cuda_oom            # optional: what the verdict says, where several ids mean the same
  category: infra_runtime   # or correctness, data_config, ml_regression, metric_policy, by_context
  role: root
  policy: [1]               # optional: clauses above
  patterns:                 # any of them, on a cleaned line: no colours, time stamps, rank prefixes
  - 'out of reach: (?P<requested>[\\d.]+ GiB)'
  captures:                 # every group has a unit: {units}
    requested: GiB
  unless:                   # optional: what takes a match back
  - '[Rr]etrying'
  decoys: A retry is none.  # optional: what looks like it
  advice: Free the device.  # what to do; needed for roots
  positive:
  - 'RuntimeError: out of reach: 2.00 GiB'
  negative:                 # optional beside the family's `ordinary` lines, which none of its signatures meets
  - 'out of reach: 2.00 GiB, retrying'
```

Patterns are those of Python's `re` without looking around and back references; each needs a text of two or more characters that is always there.
"""


def _index(families: list[tuple[str, list[Entry]]], count: int) -> str:
    return _INTRODUCTION.format(
        count=count,
        families=len(families),
        rows="\n".join(
            f"| [{name}]({name}.md) | {len(found)} | {_examples(found)} |" for name, found in families
        ),
        policy="\n".join(f"{number}. {clause}" for number, clause in enumerate(POLICY, 1)),
        units=", ".join(UNITS),
    )


def _examples(found: list[Entry]) -> str:
    roots = [entry.signature.id for entry in found if entry.signature.role == "root"] or [
        found[0].signature.id
    ]
    return ", ".join(f"`{name}`" for name in roots[:3])


def _family(name: str, found: list[Entry]) -> str:
    parts = [f"# {name}\n", "Made from the code by `make generate`.\n"]
    for entry in found:
        signature = entry.signature
        said = f" · said as `{signature.name}`" if signature.name != signature.id else ""
        clauses = f" · policy {', '.join(map(str, signature.policy))}" if signature.policy else ""
        parts.append(f"## {signature.id}\n\n{signature.category} · {signature.role}{said}{clauses}\n")
        parts += [
            f"{text}\n"
            for text in (
                signature.advice,
                signature.decoys and f"*Not to be taken for it:* {signature.decoys}",
            )
            if text
        ]
        lines = "\n".join(line.replace("\t", " ") for line in entry.positive)
        parts.append(f"````text\n{lines}\n````\n")
    return "\n".join(parts)
