"""The page of profiles: what each is about, requires, and weighs."""

from audit.profiles.definitions import profiles, required, resolve, severities
from audit.rules.catalogue import RULES


def text() -> str:
    parts = [
        "# Profiles\n",
        "Made from the code by `make generate`. [manifest.md](manifest.md) says how a profile is declared, and how to define others.\n",
        "| profile | is | extends |\n|---|---|---|",
    ]
    parts += [
        f"| [{name}](#{name}) | {profile.about} | {', '.join(profile.extends)} |"
        for name, profile in sorted(profiles().items())
    ]
    for name in sorted(profiles()):
        parts += ["", *_section(name)]
    return "\n".join(parts) + "\n"


def _section(name: str) -> list[str]:
    profile = profiles()[name]
    resolved = resolve([name])
    lines = [f"## {name}\n", f"{profile.about}\n"]
    lines.append("| a manifest has to declare | asked for by |\n|---|---|")
    lines += [f"| `{field}` | {source} |" for field, source in required(resolved).items()]
    asked = severities([name])
    pages = {rule.id for rule in RULES}
    if asked:
        lines.append("\n| weighs more | as |\n|---|---|")
        lines += [
            f"| {f'[{rule}](rules/{rule}.md)' if rule in pages else rule} | {severity.upper()} |"
            for rule, severity in sorted(asked.items())
        ]
    return lines
