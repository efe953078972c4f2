"""What can hurt whoever runs the code: secrets that everybody can read, and files that run code when they are opened."""

import re
from collections import defaultdict
from collections.abc import Iterable

from audit.documents.finding import Edit, Fix, Severity
from audit.documents.place import Place
from audit.facts.classify import is_example_path
from audit.facts.kinds import Kind
from audit.facts.model import PatternFacts
from audit.facts.python.model import Call, PythonFacts
from audit.rules.flags import literal
from audit.rules.imports import declarations, locked, normalise
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted, listed
from audit.signals.repository import Repository

_NO_CODE = "The repository holds no Python code of its own."


def secrets(context: Context) -> Iterable[Outcome]:
    signal = context.signals.secrets_tracked
    for path in signal.value[:OUTCOME_LIMIT]:
        places = [each for each in signal.evidence if each.path == path]
        facts = context.repository.file(path)
        if not places and facts is not None:
            places = [Place(path, hit.line, hit.kind) for hit in facts.secrets]
        kind = next((each.note for each in places if each.note), "a credential")
        yield failed(
            f"{path} is tracked and holds what looks like a secret ({kind}).",
            *capped(places or [Place(path)]),
            key="secret",
        )
    if len(signal.value) > OUTCOME_LIMIT:
        yield failed(
            f"{len(signal.value) - OUTCOME_LIMIT} further tracked files hold what looks like a secret.",
            key="more",
        )
    if not signal.value:
        yield passed("No tracked file holds what looks like a secret.")


def env_file_ignored(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    why = _uses_env_file(repository)
    if why is None:
        yield not_applicable("Nothing here reads a .env file.")
        return
    patterns = {
        pattern.strip("/")
        for path, body in repository.bodies(PatternFacts)
        if path == ".gitignore"
        for pattern, _, _ in body.patterns
    }
    if patterns & {".env", ".env*", "*.env", ".env.*", "**/.env", ".*", ".env.local"}:
        yield passed(".gitignore keeps the .env file out of Git.", Place(".gitignore"))
        return
    if ".env" in repository.path_set:
        yield not_applicable(
            "The .env file is tracked; whether it holds secrets is the matter of security.secrets_tracked."
        )
        return
    edit = Edit(".gitignore", 1, 0, ".env\n")
    yield failed(
        f"{why.path}{f':{why.line}' if why.line else ''} reads a .env file, and .gitignore does not keep it out: `git add .` would publish what is in it.",
        why,
        fix=Fix("Add `.env` to .gitignore.", safe=True, edits=(edit,)),
    )


def _uses_env_file(repository: Repository) -> Place | None:
    for path, facts in repository.code.items():
        for item in facts.imports:
            if item.module.partition(".")[0] == "dotenv":
                return Place(path, item.line)
    template = next(
        (
            path
            for path in repository.of_kind(Kind.ENV_FILE)
            if path.startswith(".env.") and path.endswith(("example", "sample", "template", "dist"))
        ),
        None,
    )
    return Place(template) if template else None


# Files that run code -----------------------------------------------------------------------------------------------------

_DOWNLOADS = re.compile(
    r"(?:hf_hub_download|snapshot_download|cached_download|cached_path|get_file|urlretrieve|urlopen|wget\.download|gdown\.download|download_url|download_file"
    r"|requests\.get|download_root|_download|download_)\b|\bdownload\(|https?://"
)
_PICKLES = frozenset(
    {
        "pickle.load",
        "pickle.loads",
        "cPickle.load",
        "cPickle.loads",
        "_pickle.load",
        "dill.load",
        "dill.loads",
        "cloudpickle.load",
        "cloudpickle.loads",
        "joblib.load",
        "sklearn.externals.joblib.load",
    }
)
_SAFE_BY_DEFAULT = (2, 6)
"""From this release of PyTorch on `torch.load` refuses pickled code unless it is told otherwise (release notes of 2.6)."""


def torch_load(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    calls = [
        (path, facts, call)
        for path, facts in repository.code.items()
        for call in facts.calls
        if call.name == "torch.load"
    ]
    if not calls:
        yield not_applicable("The code does not call torch.load.")
        return
    safe_release = _torch_is_safe(repository)
    downloads = _Downloads()
    downloaded: list[Place] = []
    switched_off: list[Place] = []
    plain: list[Place] = []
    for path, facts, call in calls:
        given = call.kwargs.get("weights_only", "")
        if given and given != "False":
            continue
        if given == "False" or not safe_release:
            group = downloaded if downloads.reach(call, facts) else switched_off if given else plain
            group.append(Place(path, call.line, "weights_only=False" if given else ""))
    advice = "Pass `weights_only=True`, or publish and load the weights as safetensors."
    if downloaded:
        yield failed(
            f"torch.load unpickles a downloaded file in {_spots(downloaded)}: whoever can change the file runs code here.",
            *capped(downloaded),
            fix=advice,
            key="downloaded",
        )
    if switched_off:
        yield failed(
            f"torch.load is told to unpickle anything (weights_only=False) in {_spots(switched_off)}.",
            *capped(switched_off),
            fix=advice,
            key="weights_only",
            severity=Severity.INFO,
        )
    if plain:
        yield failed(
            f"torch.load is called without weights_only in {_spots(plain)}: with PyTorch before 2.6, "
            "which no manifest rules out, a checkpoint from elsewhere runs code.",
            *capped(plain), fix=advice, key="default", severity=Severity.INFO,
        )  # fmt: skip
    if not (downloaded or switched_off or plain):
        yield passed(
            "Every torch.load refuses pickled code.",
            *capped(Place(path, call.line) for path, _, call in calls),
        )


def _spots(places: list[Place]) -> str:
    if len(places) == 1:
        return f"{places[0].path}:{places[0].line}"
    files = tuple(dict.fromkeys(place.path for place in places))
    return f"{counted(len(places), 'place')} ({listed(files, 3)})"


def _torch_is_safe(repository: Repository) -> bool:
    """Whether every version of PyTorch that the manifests or a lock allow is one that is safe by default."""
    version = locked(repository).get("torch")
    if version:
        return _number(version[0]) >= _SAFE_BY_DEFAULT
    asked = [
        each.requirement.specifier
        for each in declarations(repository)
        if normalise(each.requirement.name) == "torch"
    ]
    lowest = [match[1] for text in asked if (match := re.search(r"(?:>=|==|~=|\^)\s*([\d.]+)", text))]
    return (
        bool(asked)
        and len(lowest) == len(asked)
        and all(_number(each) >= _SAFE_BY_DEFAULT for each in lowest)
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:2]) or (0,)


class _Downloads:
    """What comes from the network, as far as a function shows; what a file assigns is looked through once."""

    def __init__(self) -> None:
        self._assigned: dict[int, dict[tuple[int, str], int]] = {}

    def reach(self, call: Call, facts: PythonFacts) -> bool:
        """Whether what `call` opens was downloaded."""
        source = call.args[0] if call.args else next(iter(call.kwargs.values()), "")
        if _DOWNLOADS.search(source):
            return True
        assigned = self._assigned_in(facts)
        return any(
            assigned.get((call.scope, name), call.line + 1) <= call.line
            for name in re.findall(r"[A-Za-z_]\w*", source)
        )

    def _assigned_in(self, facts: PythonFacts) -> dict[tuple[int, str], int]:
        """The first line of every name, by scope, that a download is assigned to."""
        if id(facts) not in self._assigned:
            found: dict[tuple[int, str], int] = {}
            for call in facts.calls:
                if call.within.startswith("assign:") and _DOWNLOADS.search(f"{call.name}("):
                    place = (call.scope, call.within.removeprefix("assign:"))
                    found[place] = min(call.line, found.get(place, call.line))
            self._assigned[id(facts)] = found
        return self._assigned[id(facts)]


def pickles(context: Context) -> Iterable[Outcome]:
    calls = [
        (path, facts, call)
        for path, facts in context.repository.code.items()
        for call in facts.calls
        if call.name in _PICKLES
    ]
    arrays = [
        (path, facts, call)
        for path, facts in context.repository.code.items()
        for call in facts.calls
        if call.name == "numpy.load" and call.kwargs.get("allow_pickle") == "True"
    ]
    if not calls and not arrays:
        yield not_applicable("The code opens no pickle.")
        return
    downloads = _Downloads()
    bad = [(path, call) for path, facts, call in (*calls, *arrays) if downloads.reach(call, facts)]
    for path, call in bad[:OUTCOME_LIMIT]:
        yield failed(
            f"{path}:{call.line} unpickles a downloaded file ({call.name}): whoever can change the file runs code here.",
            Place(path, call.line),
            key=call.name,
        )
    if not bad:
        where = capped(Place(path, call.line) for path, _, call in (*calls, *arrays))
        yield passed(
            f"{counted(len(calls) + len(arrays), 'pickle')} opened, none of which is seen to come from the network.",
            *where,
        )


def yaml_load(context: Context) -> Iterable[Outcome]:
    looked = 0
    unsafe: list[Place] = []
    bare: list[Place] = []
    for path, facts in context.repository.code.items():
        for call in facts.calls:
            if call.name not in _YAML_READERS:
                continue
            looked += 1
            loader = call.kwargs.get("Loader") or (call.args[1] if len(call.args) > 1 else "")
            if call.name.startswith("yaml.unsafe") or loader.endswith(
                ("UnsafeLoader", "yaml.Loader", "CLoader")
            ):
                unsafe.append(Place(path, call.line, loader.rpartition(".")[2] or call.name))
            elif not loader and "**" not in call.kwargs and call.name in ("yaml.load", "yaml.load_all"):
                bare.append(Place(path, call.line, call.name))
    if unsafe:
        yield failed(
            f"YAML is read with a loader that runs code in {_spots(unsafe)}: a settings file from elsewhere does what it likes.",
            *capped(unsafe, 10), key="loader", fix="Use `yaml.safe_load`.",
        )  # fmt: skip
    if bare:
        yield failed(
            f"{bare[0].note} is called without a Loader in {_spots(bare)}: an error with PyYAML 6, and with versions before 5.1 it runs code.",
            *capped(bare, 10), key="no loader", fix="Use `yaml.safe_load`.",
        )  # fmt: skip
    if not looked:
        yield not_applicable("The code does not call yaml.load.")
    elif not unsafe and not bare:
        yield passed("YAML is read with a loader that builds plain values only.")


_YAML_READERS = frozenset(
    {"yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load", "yaml.unsafe_load_all"}
)


_FROM_SETTINGS = re.compile(
    r"(?<!['\"])\b(?:args|opt|opts|options|cfg|config|conf|configs|hparams|params|FLAGS|flags|settings|kwargs|sys\.argv|os\.environ|input)\b(?!['\"])"
)
_FROM_OUTSIDE = re.compile(
    r"\b(?:response|completion|completions|generated\w*|generation|output_text|llm_output|model_output|reply|prediction|requests\.\w+|urlopen|answer|tool_call\w*|arguments)\b"
)
_READS_FILE = re.compile(r"\bopen\(|\.read\(|read_text\(")


def evaluated(context: Context) -> Iterable[Outcome]:
    looked = 0
    found: dict[str, list[Place]] = defaultdict(list)
    for path, facts in context.repository.code.items():
        for call in facts.calls:
            if call.name not in _EVALUATORS or not call.args:
                continue
            looked += 1
            kind = _evaluated(call)
            if kind:
                word, source = call.name.rpartition(".")[2], call.args[0]
                shown = source if len(source) <= 60 else source[:59] + "…"
                found[kind].append(Place(path, call.line, f"{word}({shown})"))
    for kind in sorted(found, key=list(_EVALUATED).index):
        said, advice = _EVALUATED[kind]
        places = found[kind]
        what = (
            f"{places[0].path}:{places[0].line} runs {said}"
            if len(places) == 1
            else f"{_spots(places)} run {said}"
        )
        yield failed(
            f"{what} as code: {listed(tuple(dict.fromkeys(place.note for place in places)), 3)}.",
            *capped(places, 10),
            key=kind,
            fix=advice or None,
            severity=None if kind == "outside" else Severity.INFO,
        )
    if not looked:
        yield not_applicable("The code calls neither eval nor exec.")
    elif not found:
        yield passed(
            f"{counted(looked, 'call')} of eval or exec, none on text that is seen to come from settings, files or a model."
        )


_EVALUATORS = frozenset({"eval", "exec", "execfile", "builtins.eval", "builtins.exec"})

_EVALUATED = {
    "outside": (
        "text that a model or a server wrote",
        "Parse it (`ast.literal_eval`, `json.loads`), or run it in a sandbox of its own.",
    ),
    "file": ("a file", ""),
    "setting": ("a setting", ""),
}
"""Where text that is run comes from: how it is said, and what to do where that is more than the rule's own fix."""


def _evaluated(call: Call) -> str:
    """Where the text comes from, "" where it is a constant or nothing tells."""
    source = call.args[0]
    if literal(source) is not None:
        return ""
    if _FROM_OUTSIDE.search(source):
        return "outside"
    if _READS_FILE.search(source) or call.name == "execfile":
        return "file"
    return "setting" if _FROM_SETTINGS.search(source) else ""


_SHELLS = frozenset(
    {"os.system", "os.popen", "commands.getoutput", "subprocess.getoutput", "subprocess.getstatusoutput"}
)
_SUBPROCESS = frozenset(
    {
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.Popen",
    }
)


def shell(context: Context) -> Iterable[Outcome]:
    looked = 0
    bad: list[Place] = []
    for path, facts in context.repository.code.items():
        for call in facts.calls:
            through_shell = call.name in _SHELLS or (
                call.name in _SUBPROCESS and call.kwargs.get("shell") == "True"
            )
            if not through_shell or not call.args:
                continue
            looked += 1
            if _FROM_SETTINGS.search(call.args[0]) and (
                "{" in call.args[0]
                or "%" in call.args[0]
                or "+" in call.args[0]
                or ".format(" in call.args[0]
            ):
                bad.append(Place(path, call.line, "" if not is_example_path(path) else "example"))
    if bad:
        yield failed(
            f"Settings are put into a shell command in {_spots(bad)}: a value with a blank or a semicolon runs something else.",
            *capped(bad),
        )
    elif looked:
        yield passed("No setting is put into a shell command, as far as each call shows.")
    else:
        yield not_applicable("The code runs nothing through a shell.")


RULES = (
    Rule(
        "security.secrets_tracked",
        Severity.CRITICAL,
        "No secrets in Git",
        "A key in Git is in every clone and in the history for good: who finds it uses it.",
        "Revoke the secret now, remove it from the file, and read it from the environment.",
        "configuration",
        3,
        "token = os.environ['HF_TOKEN']",
        "A tracked .env with a token in it.",
        secrets,
        security_severity=9.0,
    ),
    Rule(
        "security.env_file_ignored",
        Severity.INFO,
        "The .env file is ignored",
        "One `git add .` publishes every key in it.",
        "Add .env to .gitignore.",
        "configuration",
        0.5,
        ".gitignore has a line .env",
        "load_dotenv() is called, .gitignore does not mention .env.",
        env_file_ignored,
        security_severity=4.0,
    ),
    Rule(
        "security.torch_load",
        Severity.WARNING,
        "Checkpoints are loaded without running code",
        "A pickled checkpoint runs whatever its author put into it, with all rights of whoever loads it.",
        "torch.load(…, weights_only=True), or safetensors.",
        "configuration",
        0.5,
        "torch.load(path, weights_only=True)",
        "torch.load(hf_hub_download(repo, 'model.bin'), weights_only=False)",
        torch_load,
        security_severity=7.5,
    ),
    Rule(
        "security.pickle",
        Severity.WARNING,
        "Downloaded pickles are not opened",
        "Opening a pickle runs the code in it.",
        "Publish the data as JSON, Parquet, npz or safetensors; at least check a checksum before opening it.",
        "configuration",
        0.5,
        "json.load of a downloaded file.",
        "pickle.load(urlopen(url))",
        pickles,
        security_severity=7.5,
    ),
    Rule(
        "security.yaml_load",
        Severity.WARNING,
        "YAML is read safely",
        "The full loaders of PyYAML build any Python object that the file names.",
        "yaml.safe_load",
        "configuration",
        0.5,
        "yaml.safe_load(text)",
        "yaml.load(text)",
        yaml_load,
        security_severity=6.0,
    ),
    Rule(
        "security.eval",
        Severity.WARNING,
        "Text from outside is not run as code",
        "eval and exec give whoever writes the text the rights of the process; and settings that are code cannot be read, compared or recorded.",
        "ast.literal_eval, a registry of names, or a format for settings (YAML, JSON, TOML).",
        "configuration",
        0.5,
        "ast.literal_eval(args.shape)",
        "eval(response)",
        evaluated,
        security_severity=7.0,
    ),
    Rule(
        "security.shell",
        Severity.INFO,
        "Settings are not put into shell commands",
        "A path with a blank breaks the command; a value with a semicolon runs another one.",
        "Pass a list of arguments to subprocess.run, without shell=True.",
        "configuration",
        0.25,
        "subprocess.run(['cp', args.src, args.dst])",
        "os.system(f'cp {args.src} {args.dst}')",
        shell,
        security_severity=4.0,
    ),
)
