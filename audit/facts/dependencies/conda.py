"""conda environments.

Source: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html.
"""

import yaml

from audit.facts.dependencies.line import is_project, parse_conda, without_credentials
from audit.facts.dependencies.requirements import extract as extract_requirements
from audit.facts.extracted import Extracted
from audit.facts.model import DependencyFacts, Requirement
from audit.facts.yaml_nodes import YamlError, compose, elements, get, items, line_of, text_of

MAX_REQUIREMENTS = 10_000


def extract(text: str) -> Extracted:
    """The facts of an environment.yml. `conda_export`: most packages carry a build string or every one a
    version,
    as `conda env export` writes them. YAML that is no environment declares nothing."""
    partial = ""
    try:
        documents = compose(text)
    except YamlError as error:
        documents, partial = list(error.documents), str(error)
    root = documents[0] if documents else None
    listed = get(root, "dependencies")
    if not isinstance(listed, yaml.SequenceNode):
        return Extracted(DependencyFacts(declares=False), partial)
    requirements: list[Requirement] = []
    includes: list[str] = []
    indexes = [
        (without_credentials(text_of(node)), line_of(node)) for node in elements(get(root, "channels"))
    ]
    invalid: list[tuple[str, int]] = []
    python, python_line, builds, plain = "", 0, 0, 0
    for node in listed.value[:MAX_REQUIREMENTS]:
        if isinstance(node, yaml.MappingNode):
            for key, _, value in items(node):
                if key == "pip":
                    _pip(value, requirements, (includes, indexes, invalid))
            continue
        requirement = parse_conda(text_of(node), line_of(node))
        if requirement is None:
            if text_of(node):
                invalid.append((text_of(node)[:300], line_of(node)))
            continue
        builds += requirement.specifier.count("=") == 2 and "==" not in requirement.specifier
        plain += 1
        if requirement.name == "python":
            python, python_line = requirement.specifier, requirement.line
        requirements.append(requirement)
    return Extracted(
        DependencyFacts(
            requirements=tuple(requirements),
            includes=tuple(includes),
            indexes=tuple((url, line) for url, line in indexes if url),
            python=python,
            python_line=python_line,
            name=text_of(get(root, "name")),
            invalid=tuple(invalid),
            conda_export=plain >= 5 and (builds * 10 >= plain * 9 or _without_builds(root, requirements)),
        ),
        partial,
    )


def _without_builds(root: yaml.Node | None, requirements: list[Requirement]) -> bool:
    """Whether `conda env export --no-builds` wrote this: it names its prefix, and gives every package a version."""
    listed = [r for r in requirements if r.source == "conda"]
    return get(root, "prefix") is not None and all(r.specifier.startswith("=") for r in listed)


def _pip(
    node: yaml.Node,
    requirements: list[Requirement],
    found: tuple[list[str], list[tuple[str, int]], list[tuple[str, int]]],
) -> None:
    """The `pip:` list: each item is a line of a requirements file."""
    includes, indexes, invalid = found
    for item in elements(node)[:MAX_REQUIREMENTS]:
        text, line = text_of(item), line_of(item)
        if not text or is_project(text):
            continue
        body = extract_requirements(text.replace("\n", " ")).body
        if not isinstance(body, DependencyFacts):
            continue
        requirements += [_at(requirement, line) for requirement in body.requirements]
        includes += body.includes
        indexes += [(url, line) for url, _ in body.indexes]
        invalid += [(text, line) for text, _ in body.invalid]


def _at(requirement: Requirement, line: int) -> Requirement:
    return Requirement(
        name=requirement.name,
        specifier=requirement.specifier,
        exact=requirement.exact,
        line=line,
        url=requirement.url,
        commit=requirement.commit,
        marker=requirement.marker,
        hashed=requirement.hashed,
        editable=requirement.editable,
    )
