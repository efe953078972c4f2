"""Which extractor reads which kind of file, and up to what size. Extractors are imported when first used."""

from functools import cache
from importlib import import_module
from typing import NamedTuple, cast

from audit.facts.extracted import Extractor
from audit.facts.kinds import Kind

MIB = 1024 * 1024


class Reading(NamedTuple):
    """`extractor` as "module:function" below `audit.facts`; `limit` in bytes: larger files are skipped and said to be."""

    extractor: str
    limit: int = 2 * MIB


READINGS: dict[Kind, Reading] = {
    Kind.PYTHON: Reading("python.extract:extract", 8 * MIB),
    Kind.NOTEBOOK: Reading("notebook:extract", 32 * MIB),
    Kind.REQUIREMENTS: Reading("dependencies.requirements:extract"),
    Kind.PYPROJECT: Reading("dependencies.pyproject:extract"),
    Kind.SETUP_PY: Reading("dependencies.setup_py:extract"),
    Kind.SETUP_CFG: Reading("dependencies.setup_cfg:extract"),
    Kind.PIPFILE: Reading("dependencies.pipfile:extract"),
    Kind.CONDA: Reading("dependencies.conda:extract"),
    Kind.LOCK: Reading("dependencies.locks:extract", 16 * MIB),
    Kind.PYTHON_VERSION: Reading("dependencies.versions:extract"),
    Kind.YAML: Reading("config:extract_yaml", MIB),
    Kind.JSON: Reading("config:extract_json", MIB // 2),
    Kind.TOML: Reading("config:extract_toml", 4 * MIB),
    Kind.INI: Reading("config:extract_ini", 4 * MIB),
    Kind.SHELL: Reading("commands.script:extract"),
    Kind.MAKEFILE: Reading("commands.makefile:extract"),
    Kind.DOCKERFILE: Reading("containers:extract"),
    Kind.COMPOSE: Reading("containers:extract_compose"),
    Kind.CI: Reading("ci.extract:extract"),
    Kind.DOCS: Reading("docs:extract", 4 * MIB),
    Kind.LICENSE: Reading("license:extract"),
    Kind.CITATION: Reading("citation:extract"),
    Kind.DVC: Reading("dvc:extract", 8 * MIB),
    Kind.GIT_ATTRIBUTES: Reading("patterns:extract"),
    Kind.GIT_IGNORE: Reading("patterns:extract"),
    Kind.ENV_FILE: Reading("envfile:extract"),
    Kind.KEY_FILE: Reading("envfile:extract"),
    Kind.TEXT: Reading("envfile:extract_text", 1 * MIB),
}


@cache
def extractor_for(kind: Kind) -> Extractor:
    """The function that reads files of this kind; KeyError for OTHER, which none reads."""
    module, _, name = READINGS[kind].extractor.partition(":")
    return cast(Extractor, getattr(import_module(f"audit.facts.{module}"), name))
