"""The parts of a report that say in plain yes and no what the signals say in full, and what was looked at."""

from audit.documents.place import Gap
from audit.documents.report import Analysis, Coverage, Patterns, Quality
from audit.documents.signals import Signals
from audit.facts.classify import is_example_path
from audit.facts.collect import Collection
from audit.facts.kinds import Kind
from audit.signals.repository import Repository
from audit.source.snapshot import EntryKind, Snapshot


def analysis(repository: Repository, signals: Signals) -> Analysis:
    """What the repository holds. `has_requirements`: any file that declares dependencies other than pyproject.toml."""
    manifests = signals.dependency_manifest.value
    return Analysis(
        has_readme=bool(signals.readme.value),
        has_license=signals.license.value is not None or bool(repository.of_kind(Kind.LICENSE)),
        has_pyproject=bool(repository.of_kind(Kind.PYPROJECT)),
        has_requirements=any(path.rpartition("/")[2] != "pyproject.toml" for path in manifests),
        has_tests=bool(signals.tests.value),
        has_examples=any(
            is_example_path(path) and not repository.is_vendored(path)
            for path in repository.code | repository.notebooks
        ),
        has_ci=bool(repository.ci),
        has_benchmarks=bool(signals.benchmarks.value),
        has_dataset_docs=any(
            topic == "dataset" for docs in repository.docs.values() for topic, _ in docs.topics
        ),
    )


def quality(signals: Signals, repository: Repository) -> Quality:
    """How it is kept. Dependencies count as pinned where a full lock, or one exact version, holds every package that matters."""
    critical = signals.critical_dependencies.value.values()
    pinned = signals.lockfile.value == "full" or (
        bool(critical) and all(item.exact or item.locked for item in critical)
    )
    return Quality(
        has_pinned_dependencies=pinned,
        has_seed_control=bool(signals.seed_control.value),
        has_training_loop=signals.training_loop.value != "none",
        has_config_files=bool(repository.configs),
    )


def patterns(signals: Signals) -> Patterns:
    """What it is built with."""
    used = set(signals.frameworks.value)
    return Patterns(
        uses_pytorch="torch" in used,
        uses_tensorflow="tensorflow" in used,
        uses_jax="jax" in used,
        uses_distributed=bool(signals.distributed.value),
        uses_all_reduce=bool(signals.all_reduce.value),
        uses_dataparallel="dp" in signals.distributed.value,
    )


def coverage(snapshot: Snapshot, collection: Collection) -> Coverage:
    """Every file is parsed, partial, skipped, or of a kind that carries no facts: those are counted in a note and were not opened."""
    files = [entry for entry in snapshot.entries if entry.kind is not EntryKind.SUBMODULE]
    partial = [
        Gap(path, facts.partial)
        for path, facts in collection.facts.items()
        if facts.partial and facts.body is not None
    ]
    unread = [
        Gap(path, facts.partial or "nothing in it could be read")
        for path, facts in collection.facts.items()
        if facts.body is None
    ]
    links = [
        Gap(entry.path, "a symbolic link, not followed") for entry in files if entry.kind is EntryKind.SYMLINK
    ]
    parsed = sum(facts.body is not None and not facts.partial for facts in collection.facts.values())
    skipped = sorted({*collection.skipped, *snapshot.gaps, *unread, *links})
    seen = {entry.path for entry in files}
    without = len(files) - parsed - len(partial) - len({gap.path for gap in skipped} & seen)
    notes = list(snapshot.notes)
    if without:
        notes.append(
            f"{without} files are of kinds that carry no facts (data, pictures, binaries, other languages) and were not opened."
        )
    return Coverage(len(files), parsed, tuple(sorted(partial)), tuple(skipped), tuple(notes))
