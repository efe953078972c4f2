"""From the files of a snapshot to the state that they describe, without a manifest: one path for every setting that a file states."""

import re
from collections.abc import Iterator, Mapping

from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source, State
from audit.facts.classify import is_docs_path, is_test_path, is_vendored_path
from audit.facts.model import (
    ConfigFacts,
    ContainerFacts,
    DependencyFacts,
    DvcFacts,
    FileFacts,
    LockFacts,
    NotebookFacts,
    PythonFacts,
    ScriptFacts,
    VersionFacts,
)
from audit.state.settings.commands import command_settings, script_settings
from audit.state.settings.configs import config_settings
from audit.state.settings.environment import (
    container_settings,
    dependency_settings,
    lock_settings,
    version_settings,
)
from audit.state.settings.key import Found, Name
from audit.state.settings.python import python_settings

_TOOL = re.compile(
    r"(?:^|/)(?:convert\w*|export\w*|demos?|visuali[sz]\w*|plot\w*|upload\w*|release\w*|setup|conftest|noxfile|versioneer|make_docs|update_docs|check_\w+|lint\w*)(?:\.py|\.sh|\.ipynb|/)|(?:^|/)\.[^/]+/|(?:^|/)ci/|(?:^|/)(?:webui|frontend|website)/",
    re.I,
)


_LONGEST_PATH = 500  # longer ones are nobody's, and patterns are not tried on them
# Documents of this program: what they say is a state of its own.
_OWN = frozenset({"ml-audit.yaml", "ml-audit.lock", "reprollm.yaml", "reprollm.lock"})


def counts(path: str) -> bool:
    """Whether a file's settings are the experiment's: tests, documents, copies of others' code and tooling say nothing about it."""
    return not (
        len(path) > _LONGEST_PATH
        or path in _OWN
        or is_test_path(path)
        or is_docs_path(path)
        or is_vendored_path(path)
        or _TOOL.search(path)
    )


def settings_of(
    facts: Mapping[str, FileFacts],
    texts: Mapping[str, str] | None = None,
    data: Mapping[str, str] | None = None,
) -> State:
    """The state that these files describe: every setting at a path of its own, sorted. `texts`: the contents of prompts by path; `data`: the ids of
    the contents of data files by path."""
    leaves: dict[str, Leaf] = {}
    for path, text in (texts or {}).items():
        _add(leaves, path, iter([Found(_prompt_of(path), "", "content", text, 0, "content of the file")]))
    for path, blob in (data or {}).items():
        _add(
            leaves,
            path,
            iter([Found("datasets.files.digest", "", "content", blob, 0, "content of the file")]),
        )
    for path, file in facts.items():
        if file.body is not None and (
            counts(path) or isinstance(file.body, (DependencyFacts, LockFacts, VersionFacts, ContainerFacts))
        ):
            _add(leaves, path, found_in(path, file))
    return State(dict(sorted(leaves.items())))


_PROMPT_FILE = re.compile(
    r"(?:^|/)(?:[\w.-]*prompts?|[\w.-]*templates?|instructions?|rubrics?|few_?shots?)/(?:[^/]+/)*[^/]+\.(?:txt|md|prompt|jinja2?|j2|tmpl|template)$|(?:^|/)[\w.-]*(?:prompt|rubric|chat_template|system_message|instruction)[\w.-]*\.(?:txt|md|prompt|jinja2?|j2|tmpl)$|\.(?:prompt|jinja2?)$",
    re.I,
)
_DATA_FILE = re.compile(
    r"\.(?:csv|tsv|jsonl|parquet|arrow|feather|npy|npz|h5|hdf5|pkl|pickle|tfrecord|mat|lmdb|bin\.gz|csv\.gz|jsonl\.gz|json\.gz)$|(?:^|/)(?:data|datasets?)/(?:[^/]+/)*[^/]+\.(?:txt|json|zip|gz|xz)$",
    re.I,
)
_NO_DATA = re.compile(
    r"(?:^|/)(?:results?|outputs?|logs?|runs|wandb|assets|figures?|images?|plots?|leaderboards?|checkpoints?|static|\.[^/]+|benchmark_results|baselines?_results|predictions|model_outputs?)[\w-]*/|(?:^|/)[\w.-]*(?:results?|outputs?|predictions|metrics|leaderboard|scores?|log|benchmark|requirements|readme|license)[\w.-]*\.\w+$",
    re.I,
)


def is_prompt_file(path: str) -> bool:
    """Whether a file is by its name a prompt, an instruction or a chat template. Markdown is a document everywhere else."""
    if len(path) > _LONGEST_PATH:
        return False
    beside = is_test_path(path) or is_vendored_path(path) or _TOOL.search(path) or _WEB.search(path)
    return not beside and bool(_PROMPT_FILE.search(path)) and not _READ_ME.search(path)


_READ_ME = re.compile(r"(?i)(?:^|/)(?:readme|license|changelog|contributing)[^/]*$")
_WEB = re.compile(
    r"(?i)\.html?\.|(?:docker|containerfile|compose|helm|k8s|kubernetes|nginx|slurm|sbatch|readme|setup|pyproject|workflow|latex)[\w.-]*\.(?:jinja2?|j2|tmpl)$|\.(?:ya?ml|sh|toml|py|json|cfg|conf|tex|cu|cpp|h|sql|css|js)\.(?:jinja2?|j2|tmpl)$|(?:^|/)(?:issue_template|pull_request_template|email|web|docs?)[\w-]*/"
)


def is_data_file(path: str) -> bool:
    """Whether a file is by its name data that is tracked, and not what a run wrote."""
    return counts(path) and bool(_DATA_FILE.search(path)) and not _NO_DATA.search(path)


def _prompt_of(path: str) -> str:
    name = path.lower()
    if "chat_template" in name:
        return "models.primary.chat_template"
    role = next(
        (role for role in ("judge", "system") if role in name), "judge" if "rubric" in name else "user"
    )
    return f"prompts.{role}.text"


def _add(leaves: dict[str, Leaf], file: str, found: Iterator[Found]) -> None:
    seen: dict[str, int] = {}
    for one in found:
        path = Name(one.concept, file, one.scope, one.key).path
        seen[path] = seen.get(path, 0) + 1
        if seen[path] > 1:
            path = f"{path}#{seen[path]}"
        confidence = Confidence.OBSERVED if one.resolved else Confidence.UNRESOLVED
        leaves[path] = Leaf(one.value, Source.CODE, confidence, one.detail, Place(file, one.line or None))


def found_in(path: str, file: FileFacts) -> Iterator[Found]:
    """The settings of one file."""
    match file.body:
        case PythonFacts() as code:
            yield from python_settings(path, code)
        case NotebookFacts() as notebook:
            yield from python_settings(path, notebook.code)
            for command in notebook.commands:
                yield from command_settings(command)
        case ConfigFacts() as config:
            yield from config_settings(path, config)
        case ScriptFacts() as script:
            yield from script_settings(script)
        case DependencyFacts() as dependencies if not _aside(path):
            yield from dependency_settings(path, dependencies)
        case LockFacts() as lock if not _aside(path):
            yield from lock_settings(lock)
        case VersionFacts() as version:
            yield from version_settings(version)
        case ContainerFacts() as container if not _aside(path):
            yield from container_settings(container)
        case DvcFacts() as dvc:
            for output, checksum, line in dvc.outputs:
                yield Found("datasets.files.digest", "", output, checksum, line, f"checksum of {output}")
            for command in dvc.commands:
                yield from command_settings(command)
        case _:
            return


def _aside(path: str) -> bool:
    return is_test_path(path) or is_vendored_path(path) or is_docs_path(path) or "/." in "/" + path
