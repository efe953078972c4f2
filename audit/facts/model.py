"""What files other than Python say, and the envelope around the facts of any one file."""

import msgspec

from audit.facts.python.model import Ignore, PythonFacts


class Requirement(msgspec.Struct, frozen=True, array_like=True):
    """One declared dependency. `name` is normalised (PEP 503); `specifier` as written ("" for none); `exact`: `==` one version without a
    wildcard, a wheel URL, or a VCS commit. `url`: direct reference or VCS address; `commit` the 40-hex revision in it.
    `group`: "" for the main list, else the extra or dependency group ("dev"). `source`: "pip", "conda", "poetry", "docker", "readme" …
    `text`: the line as it stands in a requirements file, "" where the requirement is exact already or is not one whole line."""

    name: str
    specifier: str
    exact: bool
    line: int
    url: str = ""
    commit: str = ""
    marker: str = ""
    group: str = ""
    hashed: bool = False
    editable: bool = False
    source: str = "pip"
    text: str = ""


class DependencyFacts(msgspec.Struct, frozen=True, tag="dependencies"):
    """A manifest: requirements files, pyproject, setup.py, setup.cfg, Pipfile, conda environments.

    `declares`: whether the file declares dependencies at all (a pyproject with only tool settings does not).
    `includes`: `-r` and `-c` files as written. `indexes`: index addresses as written, without credentials. `python`: the version
    constraint as written, `python_line` its line. `name`: the project's own name. `packages`: import packages or modules that it ships, where said.
    `scripts`: console entry points {command: "module:function"}. `license`: SPDX expression or classifier text.
    """

    declares: bool = True
    requirements: tuple[Requirement, ...] = ()
    includes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    indexes: tuple[tuple[str, int], ...] = ()
    python: str = ""
    python_line: int = 0
    name: str = ""
    scripts: dict[str, str] = {}
    license: str = ""
    tools: tuple[str, ...] = ()
    invalid: tuple[tuple[str, int], ...] = ()
    conda_export: bool = False


class LockFacts(msgspec.Struct, frozen=True, tag="lock"):
    """A lock file: `packages` {normalised name: version}, `format` "uv", "poetry", "pdm", "pipfile", "pylock", "conda-lock", "pixi"."""

    format: str
    packages: dict[str, str] = {}
    hashed: bool = False
    python: str = ""


class Setting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One leaf of a configuration file: dotted key ("model.init_args.lr", list items by index), value as text, line."""

    key: str
    value: str
    line: int


class ConfigFacts(msgspec.Struct, frozen=True, tag="config"):
    """YAML, JSON, TOML or INI. `settings` is bounded (the file is then marked partial). `tags`: YAML tags and Hydra keys seen
    ("_target_", "defaults", "!function"). `format`: "yaml", "json", "toml", "ini"."""

    format: str
    settings: tuple[Setting, ...] = ()
    tags: tuple[str, ...] = ()


class Flag(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A flag on a command line with its value ("" for a switch), dashes kept: ("--learning_rate", "2e-5", 17)."""

    name: str
    value: str
    line: int


class Command(msgspec.Struct, frozen=True, array_like=True):
    """One simple command of a shell script, Makefile, Dockerfile, CI step or README fence.

    `program`: what is really run after wrappers ("python" in `CUDA_VISIBLE_DEVICES=0 srun python -m x`); `launchers`: the
    wrappers that start the training ("torchrun", "accelerate launch", "deepspeed", "srun", "mpirun"); `target`: the script path
    ("train.py") or the module behind `-m` ("pkg.train") that it runs, "" for none; `module`: whether target is a module;
    `args`: positional words after the target; `env`: assignments in front.
    `text`: the whole command on one line, at most 2,000 characters. Variables are expanded where the same file assigns them a plain value.
    """

    program: str
    text: str
    line: int
    launchers: tuple[str, ...] = ()
    target: str = ""
    module: bool = False
    args: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


class ScriptFacts(msgspec.Struct, frozen=True, tag="script"):
    """Shell, Makefile or SLURM: its commands, variable assignments, `#SBATCH` directives, and what it installs by pip or conda.

    `rules`: a Makefile's targets as (name, prerequisites, line); the commands behind the line up to the next rule are its recipe."""

    format: str
    commands: tuple[Command, ...] = ()
    variables: tuple[tuple[str, str, int], ...] = ()
    directives: tuple[Flag, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    rules: tuple[tuple[str, tuple[str, ...], int], ...] = ()


class BaseImage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An image reference of FROM or `image:`; `digest` where it is pinned by one; `stage`: it names an earlier stage of the same file, or what a
    compose file builds itself."""

    image: str
    tag: str
    digest: str
    line: int
    stage: bool = False


class ContainerFacts(msgspec.Struct, frozen=True, tag="container"):
    """Dockerfile, dev container, compose file, Singularity definition."""

    images: tuple[BaseImage, ...] = ()
    commands: tuple[Command, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    env: tuple[tuple[str, str, int], ...] = ()


class CiStep(msgspec.Struct, frozen=True, array_like=True):
    """A step: `uses` (an action) or the commands of its script."""

    name: str
    uses: str
    line: int
    commands: tuple[Command, ...] = ()


class CiJob(msgspec.Struct, frozen=True, array_like=True):
    """A job with its steps."""

    name: str
    line: int
    steps: tuple[CiStep, ...] = ()


class CiFacts(msgspec.Struct, frozen=True, tag="ci"):
    """GitHub, GitLab, CircleCI, Azure, Jenkins, Travis, tox/nox: `system` names which; `triggers` what starts it."""

    system: str
    jobs: tuple[CiJob, ...] = ()
    triggers: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()


class DocsFacts(msgspec.Struct, frozen=True, tag="docs"):
    """README and other documents (Markdown, reStructuredText, plain).

    `headings`: (text, level, line). `commands`: of code fences and indented blocks that read as shell. `requirements`: of `pip install` lines.
    `python_mentions`: (version text, line). `values`: hyper-parameters in tables, lists and sentences, as (name, value, line), names normalised
    (learning_rate, batch_size, epochs, …). `defaults`: what lines say is
    a setting's default, as (flag or name as written, literal text, line). `code`: fenced Python blocks' (text, line), at most 20 of 2,000 characters.
    `links`: (target, line) of relative links and images; `bibtex` line of a `@article{`-like entry, 0 for none; `words`: number of words.
    `hub_links`: (id, line) of hub addresses. `topics`: which of hardware, results, dataset, license, citation, install, usage, training, evaluation,
    reproducibility its headings and sentences speak about, with the line: (topic, line). `variables`: words of sentences and tables that look like
    environment variables (`DATA_DIR`), sorted.
    """

    headings: tuple[tuple[str, int, int], ...] = ()
    commands: tuple[Command, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    python_mentions: tuple[tuple[str, int], ...] = ()
    values: tuple[tuple[str, str, int], ...] = ()
    defaults: tuple[tuple[str, str, int], ...] = ()
    code: tuple[tuple[str, int], ...] = ()
    links: tuple[tuple[str, int], ...] = ()
    hub_links: tuple[tuple[str, int], ...] = ()
    bibtex: int = 0
    words: int = 0
    topics: tuple[tuple[str, int], ...] = ()
    variables: tuple[str, ...] = ()


class NotebookFacts(msgspec.Struct, frozen=True, tag="notebook"):
    """A notebook. `code`: facts of its code cells, lines being those of the .ipynb file. `cells`: code cells; `executed`: how many have an execution count;
    `in_order`: counts rise from cell to cell; `stale`: an output without an execution count, or an error output, as (line, why). `outputs`: cells with output;
    `installs`: what `!pip install` / `%pip` asks for; `commands`: other `!` lines. `kernel`: language and version."""

    code: PythonFacts = PythonFacts()
    cells: int = 0
    executed: int = 0
    outputs: int = 0
    in_order: bool = True
    stale: tuple[tuple[int, str], ...] = ()
    requirements: tuple[Requirement, ...] = ()
    commands: tuple[Command, ...] = ()
    kernel: str = ""


class LicenseFacts(msgspec.Struct, frozen=True, tag="license"):
    """The SPDX id of a licence file's text, "" where the text is none that is known ("LicenseRef-…" is never invented)."""

    spdx: str = ""


class CitationFacts(msgspec.Struct, frozen=True, tag="citation"):
    """CITATION.cff, codemeta, .zenodo.json: whether it reads as one, and the keys that are missing."""

    valid: bool = True
    title: str = ""
    version: str = ""
    missing: tuple[str, ...] = ()


class DvcFacts(msgspec.Struct, frozen=True, tag="dvc"):
    """`.dvc` files, `dvc.yaml`, `dvc.lock`: tracked outputs with checksum, stages with their commands."""

    outputs: tuple[tuple[str, str, int], ...] = ()
    commands: tuple[Command, ...] = ()
    stages: tuple[str, ...] = ()


class PatternFacts(msgspec.Struct, frozen=True, tag="patterns"):
    """.gitattributes and .gitignore: (pattern, attributes, line)."""

    patterns: tuple[tuple[str, str, int], ...] = ()


class VersionFacts(msgspec.Struct, frozen=True, tag="version"):
    """`.python-version`, `runtime.txt`, `.tool-versions`: the version that is declared."""

    python: str = ""
    line: int = 1


class TextFacts(msgspec.Struct, frozen=True, tag="text"):
    """A text without facts of its own: only the envelope speaks (secrets, LFS). `variables`: names of an env file, values never."""

    variables: tuple[tuple[str, int], ...] = ()


Body = (
    PythonFacts
    | DependencyFacts
    | LockFacts
    | ConfigFacts
    | ScriptFacts
    | ContainerFacts
    | CiFacts
    | DocsFacts
    | NotebookFacts
    | LicenseFacts
    | CitationFacts
    | DvcFacts
    | PatternFacts
    | VersionFacts
    | TextFacts
)


class SecretHit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A token-shaped string with enough entropy. `kind` names the shape ("GitHub token"); the value itself is never kept."""

    kind: str
    line: int


class FileFacts(msgspec.Struct, frozen=True):
    """The facts of one blob. `partial` says what was not read whole, and why; "" where all was. `lfs`: it is a Git LFS pointer.
    `size` in bytes; `ignores`: inline suppressions of files that are not Python."""

    body: Body | None
    partial: str = ""
    secrets: tuple[SecretHit, ...] = ()
    lfs: bool = False
    size: int = 0
    ignores: tuple[Ignore, ...] = ()


__all__ = [
    "BaseImage", "Body", "CiFacts", "CiJob", "CiStep", "CitationFacts", "Command", "ConfigFacts", "ContainerFacts",
    "DependencyFacts", "DocsFacts", "DvcFacts", "FileFacts", "Flag", "Ignore", "LicenseFacts", "LockFacts", "NotebookFacts",
    "PatternFacts", "PythonFacts", "Requirement", "ScriptFacts", "SecretHit", "Setting", "TextFacts", "VersionFacts",
]  # fmt: skip
