"""Pipfile. Source: https://pipenv.pypa.io/en/latest/pipfile.html."""

from audit.facts.dependencies.line import is_project, without_credentials
from audit.facts.dependencies.poetry import poetry_requirement
from audit.facts.dependencies.toml_lines import TomlText, table
from audit.facts.extracted import Extracted
from audit.facts.model import DependencyFacts, Requirement

_NOT_PACKAGES = frozenset({"source", "requires", "scripts", "pipenv", "dev-packages", "packages"})


def extract(text: str) -> Extracted:
    """The facts of a Pipfile: `packages`, `dev-packages` (group "dev"), and any further category under its
    name."""
    toml = TomlText(text)
    requirements: list[Requirement] = []
    categories = [("", "packages"), ("dev", "dev-packages")]
    categories += [
        (name, name)
        for name, value in toml.data.items()
        if isinstance(value, dict) and name not in _NOT_PACKAGES
    ]
    for group, where in categories:
        for name, value in table(toml.data, where).items():
            requirement = poetry_requirement(name, value, toml.line(where, name), group, {}, "pipenv")
            if requirement is not None and not is_project(requirement.url):
                requirements.append(requirement)
    indexes: list[tuple[str, int]] = []
    sources = toml.data.get("source")
    for source in sources if isinstance(sources, list) else []:
        url = source.get("url") if isinstance(source, dict) else None
        if isinstance(url, str):
            indexes.append((without_credentials(url), toml.line("source", "", url)))
    requires = table(toml.data, "requires")
    key = "python_full_version" if "python_full_version" in requires else "python_version"
    python = requires.get(key)
    return Extracted(
        DependencyFacts(
            declares=bool(requirements),
            requirements=tuple(requirements),
            indexes=tuple(indexes),
            python=python if isinstance(python, str) else "",
            python_line=toml.line("requires", key) if isinstance(python, str) else 0,
        ),
        toml.error,
    )
