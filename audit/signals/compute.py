"""All signals of a repository, in one place: which function answers which question, and which answer needs another first."""

from audit.documents.signals import Signals
from audit.signals import (
    api_models,
    checkpoints,
    conflicts,
    data,
    documentation,
    environment,
    frameworks,
    hub,
    judge,
    methods,
    nondeterminism,
    performance,
    security,
    seeds,
    surface,
    testing,
    training,
)
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath


def compute_signals(repository: Repository, path: TrainingPath) -> Signals:
    """Every signal of the design, with its evidence."""
    seed_control = seeds.seed_control(repository, path)
    checkpoint = checkpoints.checkpoint(repository, path)
    resume = checkpoints.resume(repository, path)
    mixed_precision = training.mixed_precision(repository, path)
    return Signals(
        readme=documentation.readme(repository),
        license=documentation.license_id(repository),
        citation=documentation.citation(repository),
        dependency_manifest=environment.dependency_manifest(repository),
        lockfile=environment.lockfile(repository),
        python_version=environment.python_version(repository),
        critical_dependencies=environment.critical_dependencies(repository),
        container=environment.container(repository),
        tests=testing.tests(repository),
        ci_tests=testing.ci_tests(repository, path),
        benchmarks=testing.benchmarks(repository),
        frameworks=frameworks.frameworks(repository, path),
        training_loop=training.training_loop(repository, path),
        seed_control=seed_control,
        determinism_flags=seeds.determinism_flags(repository, path),
        dataloader_worker_seeding=seeds.dataloader_worker_seeding(repository, path),
        nondeterminism=nondeterminism.nondeterminism(
            repository, path, seed_control.value, checkpoint.value, resume.value
        ),
        distributed=training.distributed(repository, path),
        all_reduce=training.all_reduce(repository, path),
        mixed_precision=mixed_precision,
        gradient_accumulation=training.gradient_accumulation(repository, path),
        checkpoint=checkpoint,
        resume=resume,
        evaluation=training.evaluation(repository, path),
        experiment_tracking=surface.experiment_tracking(repository, path),
        config_driven=surface.config_driven(repository, path),
        config_conflicts=conflicts.config_conflicts(repository, path),
        dataset_sources=data.dataset_sources(repository, path),
        dataset_pinned=data.dataset_pinned(repository, path),
        hub_calls=hub.hub_calls(repository, path),
        trust_remote_code=hub.trust_remote_code(repository, path),
        model_ids=hub.model_ids(repository, path),
        dataset_ids=hub.dataset_ids(repository, path),
        api_models=api_models.api_models(repository, path),
        training_method=methods.training_method(repository, path),
        quantization=methods.quantization(repository, path),
        judge=judge.judge(repository, path),
        secrets_tracked=security.secrets_tracked(repository),
        performance_hints=performance.performance_hints(repository, path, mixed_precision.value),
    )
