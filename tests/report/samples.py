"""Sample reports: a usual one, one without findings, and one in which every text is hostile."""

from typing import Any

import msgspec

from audit.documents.finding import Edit, Finding, Fix, Severity, Status
from audit.documents.place import Gap, Place
from audit.documents.report import (
    Analysis,
    Coverage,
    DetectedProfile,
    Dimension,
    Dimensions,
    Loss,
    Patterns,
    Profiles,
    Quality,
    Report,
    Summary,
    Tool,
)
from audit.documents.rule import RuleText
from audit.documents.signals import Checkpoint, CriticalDependency, HubCalls, HubId, Signal, Signals

RULES = {
    "determinism.seed": RuleText(
        "Every random number generator is seeded",
        "Two runs draw different numbers, so no result can be compared with another.",
        "Seed each generator before the first draw.",
        "https://example.org/rules/determinism.seed",
    ),
    "environment.lock": RuleText(
        "Dependencies are locked",
        "A later installation brings other versions.",
        "Commit a lock file.",
    ),
    "security.torch-load": RuleText(
        "Downloaded weights are loaded safely",
        "A pickle runs code when it is loaded.",
        "Use weights_only=True.",
    ),
}


def signals(**values: Any) -> Signals:
    """Signals of a small PyTorch repository, some of them replaced."""
    plain: dict[str, Any] = {
        "readme": True,
        "license": "MIT",
        "citation": False,
        "dependency_manifest": ("requirements.txt",),
        "lockfile": "none",
        "python_version": None,
        "critical_dependencies": {"torch": CriticalDependency(declared=">=2", exact=False)},
        "container": False,
        "tests": True,
        "ci_tests": True,
        "benchmarks": False,
        "frameworks": ("numpy", "torch"),
        "training_loop": "raw_torch",
        "seed_control": ("numpy",),
        "determinism_flags": (),
        "dataloader_worker_seeding": None,
        "nondeterminism": (),
        "distributed": ("ddp",),
        "all_reduce": False,
        "mixed_precision": True,
        "gradient_accumulation": False,
        "checkpoint": Checkpoint(model=True, optimizer=True),
        "resume": False,
        "evaluation": True,
        "experiment_tracking": ("wandb",),
        "config_driven": ("argparse",),
        "config_conflicts": (),
        "dataset_sources": ("hub",),
        "dataset_pinned": "no",
        "hub_calls": HubCalls(total=2, pinned=0, passthrough=1),
        "trust_remote_code": False,
        "model_ids": (HubId("example/model", "train.py", 7),),
        "dataset_ids": (),
        "api_models": (),
        "training_method": (),
        "quantization": (),
        "judge": False,
        "secrets_tracked": (),
        "performance_hints": (),
    }
    plain.update(values)
    evidence = {
        "readme": (Place("README.md"),),
        "seed_control": (Place("train.py", 12, "np.random.seed(0)"),),
    }
    return Signals(**{name: Signal(value, evidence.get(name, ())) for name, value in plain.items()})


def dimension(score: float | None, *losses: Loss) -> Dimension:
    return Dimension(score, 0.125, losses)


def summary(findings: tuple[Finding, ...], new: int | None = None, fixed: int | None = None) -> Summary:
    """The counts that belong to `findings`."""

    def count(status: Status, severity: Severity | None = None) -> int:
        return sum(f.status is status and severity in (None, f.severity) for f in findings)

    return Summary(
        critical=count(Status.FAIL, Severity.CRITICAL),
        warning=count(Status.FAIL, Severity.WARNING),
        info=count(Status.FAIL, Severity.INFO),
        passed=count(Status.PASS),
        not_applicable=count(Status.NOT_APPLICABLE),
        not_checked=count(Status.NOT_CHECKED),
        suppressed=count(Status.SUPPRESSED),
        new=new,
        fixed=fixed,
    )


FINDINGS = (
    Finding(
        "documentation.citation",
        "documentation",
        Severity.INFO,
        Status.FAIL,
        0,
        "Nothing says how to cite this work.",
        fix=Fix("Add a CITATION.cff file."),
        fingerprint="aa11",
        new=False,
    ),
    Finding(
        "environment.lock",
        "environment",
        Severity.WARNING,
        Status.FAIL,
        0,
        "torch is asked for as >=2 and nothing locks it.",
        (Place("requirements.txt", 1, "torch>=2"),),
        Fix("Pin torch to one version.", False, (Edit("requirements.txt", 1, 1, "torch==2.4.1\n"),)),
        "bb22",
        False,
    ),
    Finding(
        "determinism.seed",
        "determinism",
        Severity.CRITICAL,
        Status.FAIL,
        0,
        "torch draws random numbers while training and is not seeded; numpy is.",
        (Place("train.py", 31, "torch.randn"), Place("model.py", 9, "nn.init"), Place("data/loader.py", 4)),
        Fix(
            "Call torch.manual_seed(seed) before the model is built.",
            True,
            (Edit("train.py", 13, 12, "torch.manual_seed(args.seed)\n"),),
        ),
        "cc33",
        True,
    ),
    Finding(
        "security.torch-load",
        "security",
        Severity.CRITICAL,
        Status.FAIL,
        0,
        "A downloaded checkpoint is loaded as a pickle.",
        (Place("eval.py", 20, "torch.load(path)"),),
        None,
        "dd44",
        False,
    ),
    Finding("data.source", "data", Severity.WARNING, Status.PASS, 0, "The data set's source is stated."),
    Finding("training.loop", "training", Severity.INFO, Status.NOT_APPLICABLE, 0, "No notebook."),
    Finding(
        "hub.revision", "hub", Severity.WARNING, Status.NOT_CHECKED, 1, "The hub was not asked: level 0."
    ),
    Finding(
        "environment.container",
        "environment",
        Severity.INFO,
        Status.SUPPRESSED,
        0,
        "No container. Suppressed: a cluster image is used.",
        fingerprint="ee55",
    ),
)


def report(**changes: Any) -> Report:
    """A usual report; `changes` replace whole fields."""
    findings: tuple[Finding, ...] = changes.pop("findings", FINDINGS)
    usual = Report(
        schema_version=1,
        tool=Tool("ml-audit", "0.1.0"),
        repository="example/gpt",
        commit="0123456789abcdef0123456789abcdef01234567",
        level=0,
        generated_at="2026-01-02T03:04:05Z",
        score=6.4,
        risk="MEDIUM",
        dimensions=Dimensions(
            environment=dimension(5.0, Loss("environment.lock", 3.5, "torch is not locked")),
            determinism=dimension(3.2, Loss("determinism.seed", 5.0, "torch is not seeded")),
            documentation=dimension(9.0, Loss("documentation.citation", 1.0, "no citation")),
            testing=dimension(8.5),
            ci_cd=dimension(10.0),
            benchmarking=dimension(None),
            data=dimension(7.0),
            configuration=dimension(6.0),
        ),
        analysis=Analysis(True, True, False, True, True, False, True, False, False),
        quality=Quality(False, True, True, False),
        patterns=Patterns(True, False, False, True, False, False),
        signals=signals(),
        profiles=Profiles(("finetune",), ("finetune", "base"), (DetectedProfile("pretrain", "high"),)),
        findings=findings,
        insights=("Training can be repeated on one GPU once torch is seeded.",),
        summary=summary(findings, new=1, fixed=2),
        coverage=Coverage(
            files=42,
            parsed=37,
            partial=(Gap("legacy/old.py", "Python 2; read by the tolerant reader"),),
            skipped=(Gap("data/big.bin", "larger than 10 MB"), Gap("vendor", "a submodule")),
            notes=("The work tree is dirty.",),
        ),
    )
    return msgspec.structs.replace(usual, **changes)


def clean() -> Report:
    """Nothing to complain about, no baseline, no commit, nothing skipped."""
    none: tuple[Finding, ...] = ()
    return report(
        findings=none,
        score=10.0,
        risk="LOW",
        commit=None,
        insights=(),
        summary=summary(none),
        dimensions=Dimensions(*(dimension(10.0) for _ in range(8))),
        coverage=Coverage(files=3, parsed=3),
    )


EVIL = (
    "a\nb",
    "::error title=PWN::forged",
    "   ::set-output name=ok::true",
    "x ##[error]forged",
    "##[add-mask]x",
    "\x1b[31mred\x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "\u202etxt.exe\u2066\u200b\ufeff",
    "\udcff\udc80caf\udce9.py",
    "\ud800 lone",
    "nul\x00byte",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "]]> --> <!-- */ </style></svg></title>",
    "{{ 7*7 }} {% raw %} ${{ github.token }}",
    "@octocat and @org/team, #1, GH-2, owner/repo#3, owner/repo@abcdef1",
    "[click](javascript:alert(1)) ![i](http://evil.example/i.png)",
    "http://evil.example www.evil.example mail@evil.example",
    "| a | b |\n|---|---|",
    "```\n# heading\n~~~",
    "`` ` ``",
    "\\` \\| \\\\| trailing\\",
    "# heading", "- item", "1. item", "    code", "> quote", "***", "===",
    "$x$ :smile: ~~no~~ **bold** _it_",
    "<!-- ml-audit:v1 -->",
    "a,b:c%d\r\n%0A::error::x",
    "%25 %SRCROOT% ../../etc/passwd",
    "\r\roverwrite", "\t", "", " ", "…" * 3,
    "e\u0301" * 5000,
    "long " * 5000,
)  # fmt: skip


# The same shape in harmless words: what a rendering makes of both must have the same structure.
HARMLESS = tuple(f"t{number}" if text.strip() else text for number, text in enumerate(EVIL))


def hostile(count: int = 120, texts: tuple[str, ...] = EVIL) -> Report:
    """`count` findings of every severity and status, with one of `texts` wherever the document takes text."""

    def evil(number: int) -> str:
        return texts[number % len(texts)]

    findings = tuple(
        Finding(
            rule=evil(n) or "r",
            category=("security", evil(n + 1))[n % 2],
            severity=tuple(Severity)[n % 3],
            status=tuple(Status)[n % 7 % 5],
            level=0,
            message=evil(n + 2),
            evidence=tuple(
                Place(evil(n + k) or "p", (None, 1, n + 1)[k % 3], evil(n + 7)) for k in range(n % 9)
            ),
            fix=Fix(evil(n + 3), bool(n % 2), (Edit(evil(n + 5) or "p", 2, 1 + n % 3, evil(n + 6)),))
            if n % 4
            else None,
            fingerprint=evil(n + 4),
            new=(None, True, False)[n % 3],
        )
        for n in range(count)
    )  # fmt: skip
    gaps = tuple(Gap(evil(n) or "p", evil(n + 1)) for n in range(count))
    losses = tuple(Loss(evil(n), 0.5, evil(n + 1)) for n in range(len(texts)))
    return report(
        tool=Tool(texts[10], texts[1]),
        repository=texts[11],
        commit=texts[1],
        generated_at=texts[0],
        risk=texts[12],
        findings=findings,
        insights=texts,
        summary=summary(findings),
        dimensions=Dimensions(*(dimension(n, *losses) for n in range(8))),
        coverage=Coverage(count, 0, gaps, gaps, texts),
        profiles=Profiles(
            texts, texts, tuple(DetectedProfile(text, text, (Place(text, 1),)) for text in texts)
        ),
        signals=signals(
            license=texts[10],
            frameworks=texts,
            critical_dependencies={text: CriticalDependency(text, False, text) for text in texts},
            model_ids=tuple(HubId(text, text, 1) for text in texts),
            nondeterminism=tuple(Place(text, 1, text) for text in texts),
        ),
    )


def evil_rules() -> dict[str, RuleText]:
    """A catalogue whose words are hostile, as project rules of an audited repository may be."""
    return {
        text or "r": RuleText(
            text, text, text, f"https://e.example/{text}" if n % 2 else f"javascript:{text}"
        )
        for n, text in enumerate(EVIL)
    }
