"""The report's plain yes-or-no answers, drawn from the signals and the repository's files."""

import re
from typing import Final

from audit.documents.report import Analysis, Patterns, Quality
from audit.documents.signals import Signals
from audit.facts.classify import is_docs_path, is_example_path, is_test_path
from audit.facts.kinds import Kind
from audit.signals.repository import Repository

_DATASET_DOCS: Final = re.compile(
    r"(?:.*/)?(?:data_?sets?|data|data_?card|data_?sheet|dataset_?card)(?:[-_.]\w+)?\.(?:md|rst|txt)|(?:.*/)?(?:data|datasets?)/readme[\w.-]*",
    re.I,
)
_CONFIG_FOLDERS: Final = re.compile(
    r"(?:^|/)(?:conf|confs|config|configs|cfg|cfgs|recipes|hparams|hyperparams|experiments?)(?:/|$)", re.I
)
_CONFIG_NAME: Final = re.compile(
    r"(?:.*[-_.])?(?:config|cfg|conf|params|hparams|hyperparams|settings|experiment|train|training|args|recipe)s?(?:[-_.].*)?\.\w+",
    re.I,
)
_CONFIG_KINDS: Final = (Kind.YAML, Kind.JSON, Kind.TOML, Kind.INI)
_SESSION_FILES: Final = ("tox.ini", "noxfile.py")


def analysis(repository: Repository, signals: Signals) -> Analysis:
    """What the repository holds."""
    return Analysis(
        has_readme=signals.readme.value,
        has_license=signals.license.value is not None or bool(signals.license.evidence),
        has_pyproject=bool(repository.of_kind(Kind.PYPROJECT)),
        has_requirements=any(not is_docs_path(path) for path in repository.of_kind(Kind.REQUIREMENTS)),
        has_tests=signals.tests.value,
        has_examples=any(
            is_example_path(path) and not is_test_path(path) and not repository.is_vendored(path)
            for path in repository.paths
        ),
        has_ci=any(path.rpartition("/")[2] not in _SESSION_FILES for path in repository.ci),
        has_benchmarks=signals.benchmarks.value,
        has_dataset_docs=_has_dataset_docs(repository),
    )


def quality(repository: Repository, signals: Signals) -> Quality:
    """How it is kept. Dependencies are pinned where a lock covers them or every critical one asks for one version."""
    critical = signals.critical_dependencies.value.values()
    return Quality(
        has_pinned_dependencies=signals.lockfile.value == "full"
        or (bool(critical) and all(each.exact or each.locked for each in critical)),
        has_seed_control=bool(signals.seed_control.value),
        has_training_loop=signals.training_loop.value != "none",
        has_config_files=_has_config_files(repository),
    )


def patterns(signals: Signals) -> Patterns:
    """What it is built with."""
    frameworks = set(signals.frameworks.value)
    return Patterns(
        uses_pytorch="torch" in frameworks,
        uses_tensorflow="tensorflow" in frameworks,
        uses_jax="jax" in frameworks,
        uses_distributed=bool(signals.distributed.value),
        uses_all_reduce=signals.all_reduce.value,
        uses_dataparallel=not {"ddp", "dp"}.isdisjoint(signals.distributed.value),
    )


def _has_dataset_docs(repository: Repository) -> bool:
    """A document about data by its name, or a README that speaks about the dataset."""
    readme = repository.docs.get(repository.readme or "")
    if readme is not None and any(topic == "dataset" for topic, _ in readme.topics):
        return True
    return any(_DATASET_DOCS.fullmatch(path) and not repository.is_vendored(path) for path in repository.docs)


def _has_config_files(repository: Repository) -> bool:
    """Files that hold an experiment's settings: in a folder for them, or named so."""
    return any(
        repository.kinds[path] in _CONFIG_KINDS
        and not path.startswith(".")
        and (
            _CONFIG_FOLDERS.search(path.rpartition("/")[0]) or _CONFIG_NAME.fullmatch(path.rpartition("/")[2])
        )
        for path in repository.configs
    )
