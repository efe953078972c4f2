"""`ml-audit profiles list` and `ml-audit profiles show NAME`."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # none of this is imported for --help
    from audit.profiles.definitions import Profile

_MOST_BYTES = 256 * 1024

_folder = click.option(
    "--path",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="The repository whose own profiles (.ml-audit/profiles/) are shown, too.  [default: this folder]",
)


@click.group(
    "profiles", epilog="\b\nExamples:\n  ml-audit profiles list\n  ml-audit profiles show evaluation --json\n"
)
def profiles_command() -> None:
    """List the kinds of experiment, or explain one: what it requires of a manifest, and which rules weigh more."""


@profiles_command.command("list")
@_folder
@click.option(
    "--json", "as_json", is_flag=True, help="As JSON, with everything that is known of each profile."
)
def list_command(folder: Path, as_json: bool) -> None:
    """List all profiles: name, what it is about."""
    from audit.cli.output import write_stdout

    known = _known(folder)
    if as_json:
        from audit.report.json import dump

        write_stdout(dump([_as_data(profile, known) for _, profile in sorted(known.items())]))
        return
    width = max(map(len, known))
    lines = [f"{name:<{width}}  {each.about}" for name, each in sorted(known.items())]
    write_stdout("".join(f"{_harmless(line)}\n" for line in lines))


@profiles_command.command("show")
@click.argument("name")
@_folder
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show_command(name: str, folder: Path, as_json: bool) -> None:
    """Explain the profile NAME, with all that it takes from those it extends."""
    from audit.cli.output import write_stdout

    known = _known(folder)
    if name not in known:
        near = difflib.get_close_matches(name, known, 3, 0.4)
        hint = f"perhaps {' or '.join(near)}?" if near else "`ml-audit profiles list` names them all."
        raise click.BadParameter(f"there is no profile called {name}; {hint}", param_hint="NAME")
    if as_json:
        from audit.report.json import dump

        write_stdout(dump(_as_data(known[name], known)))
        return
    write_stdout("".join(f"{_harmless(line)}\n" for line in _page(known[name], known)))


def _known(folder: Path) -> Mapping[str, "Profile"]:
    """The shipped profiles and the folder's own. Raises DocumentError."""
    from audit.profiles.definitions import OWN_FOLDER, is_own, profiles

    place = folder / OWN_FOLDER
    try:
        files = sorted(path for path in place.iterdir() if is_own(OWN_FOLDER + path.name))
    except OSError:
        return profiles()
    if not files:
        return profiles()
    from audit.profiles.own import own_profiles
    from audit.rules.catalogue import RULES

    read = [
        (OWN_FOLDER + path.name, _bytes(path)) for path in files if path.is_file() and not path.is_symlink()
    ]
    return profiles() | own_profiles(read, [rule.id for rule in RULES])


def _bytes(path: Path) -> bytes:
    """The file's content, one byte more than a profile may have at most."""
    from audit.source.errors import SourceError

    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from None


def _as_data(profile: "Profile", known: Mapping[str, "Profile"]) -> dict[str, object]:
    from audit.profiles.definitions import required, resolve, severities

    resolved = resolve([profile.name], known)
    return {
        "name": profile.name,
        "about": profile.about,
        "path": profile.path or None,
        "extends": list(profile.extends),
        "resolved": [each.name for each in resolved],
        "required": required(resolved),
        "severities": severities([profile.name], known),
        "detection": {
            "by": profile.detection.by or None,
            "imports": sorted(profile.detection.imports),
            "helpers": sorted(profile.detection.helpers),
            "words": list(profile.detection.words),
            "ignore": list(profile.detection.ignore),
        },
    }


def _page(profile: "Profile", known: Mapping[str, "Profile"]) -> list[str]:
    from audit.profiles.definitions import required, resolve, severities

    resolved = resolve([profile.name], known)
    parts = [
        f"{profile.name}{f'  ({profile.path})' if profile.path else ''}",
        profile.about,
        f"Extends: {', '.join(profile.extends) or 'nothing'}",
        "",
        "A manifest has to declare:",
    ]
    for field, source in required(resolved).items():
        parts.append(f"  {field}{f'  ({source})' if source != profile.name else ''}")
    asked = severities([profile.name], known)
    if asked:
        parts += ["", "Rules that weigh more here:"]
        parts += [f"  {severity.upper():<8}  {rule}" for rule, severity in sorted(asked.items())]
    parts += ["", f"Recognised by: {_DETECTORS.get(profile.detection.by, 'nothing: declare it')}"]
    for what, words in (("libraries", sorted(profile.detection.imports)), ("names", profile.detection.words)):
        if words:
            parts.append(f"  {what}: {', '.join(words)}")
    return parts


_DETECTORS = {
    "loop": "a training loop",
    "training": "a training loop that a language model is loaded or built for",
    "environment": "a training loop over an environment",
    "tables": "an estimator that is fitted",
    "generation": "code that generates with a model",
    "judge": "code that has a model score outputs",
    "names": "libraries and the names of files, classes and functions",
}


def _harmless(line: str) -> str:
    """A line that may quote the repository's own words."""
    from audit.safety.redact import redact
    from audit.safety.sanitize import terminal

    return redact(terminal(line, 4_000))
