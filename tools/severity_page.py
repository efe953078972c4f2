"""The catalogue of drift severities, made from the table."""

from audit.state.severity import Entry, table


def text() -> str:
    """`docs/drift-severities.md`."""
    shipped = table()
    parts = [
        "# How much a change of the experiment matters\n",
        "Made from the code by `make generate`. The first row with a pattern that fits the setting's path decides; `*` stands for any characters. "
        "What a setting of code is called there, and what is made of versions, defaults and switches, tells [diff.md](diff.md).\n",
        *_table(shipped.changes),
        "## By profile\n",
        "Asked before the others where the repository holds that kind of experiment.\n",
    ]
    for name, entries in sorted(shipped.profiles.items()):
        parts += [f"### {name}\n", *_table(entries)]
    return "\n".join(parts)


def _table(entries: tuple[Entry, ...]) -> list[str]:
    rows = [
        f"| {', '.join(f'`{glob}`' for glob in entry.match)} | {entry.severity.value}{' (versions)' if entry.versions else ''} | {entry.why} |"
        for entry in entries
    ]
    return ["| setting | severity | why |\n|---|---|---|", *rows, ""]
