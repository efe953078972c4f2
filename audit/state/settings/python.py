"""Settings of Python code: defaults of options and dataclasses, constants, keywords of the calls that train, evaluate, load and seed."""

import re
from collections.abc import Iterator
from functools import cached_property

from audit.documents.state import Value
from audit.facts.python.model import Assign, Call, Param, PythonFacts, Scope
from audit.facts.python.vocabulary import CONFIG_RECEIVERS
from audit.state.names import concept, plain
from audit.state.settings.calls import call_settings
from audit.state.settings.expressions import Unknown, entries_of, value_of
from audit.state.settings.key import Found
from audit.state.settings.vocabulary import words

# A file that draws a page shows models and prompts to people: it runs no experiment.
_PAGES = frozenset({"gradio", "streamlit", "dash", "nicegui", "chainlit", "panel"})
_CONFIG_CLASS = re.compile(
    r"(?i)(?:conf(?:ig)?|args|arguments|params|hparams|hyperparams|hyperparameters|options|settings)$"
)
_CONFIG_FILE = re.compile(
    r"(?i)(?:^|/)(?:conf|confs|config|configs|cfg|cfgs|experiments?|recipes|hparams)/|(?:^|/)[\w-]*(?:config|configs|hparams|hyperparameters|settings|defaults|params|options|args|arguments|constants)\.py$"
)
_CONFIG_FUNCTION = re.compile(
    r"(?:get_|make_|create_|default_|base_)*(?:config|hparams|hyperparameters|configs)(?:_\w{1,40})?"
)
_DECLARED = re.compile(r"typer\.(?:Option|Argument)\(([^,()]{1,60})[,)]")
_FLAGS = re.compile(r"-{1,2}[A-Za-z][\w.\-]*")
_FEW = 2

Options = Iterator[Found]


def python_settings(file: str, facts: PythonFacts) -> Iterator[Found]:
    """The settings of one Python file (or of the code of one notebook)."""
    if any(item.module.partition(".")[0] in _PAGES for item in facts.imports):
        return
    reader = _Reader(file, facts)
    yield from reader.options()
    yield from reader.parameters()
    yield from reader.assignments()
    yield from reader.metrics()
    for call in facts.calls:
        yield from call_settings(call, reader.scope_name(call.scope))


class _Reader:
    def __init__(self, file: str, facts: PythonFacts) -> None:
        self.file, self.facts = file, facts
        self._names: dict[int, str] = {}
        self.of_experiment = self._of_experiment()

    def scope_name(self, index: int) -> str:
        """`Trainer.fit` for the method; "" for the module and its main guard."""
        if index not in self._names:
            parts: list[str] = []
            at = index
            while 0 <= at < len(self.facts.scopes) and len(parts) < 20:
                scope = self.facts.scopes[at]
                if scope.kind in ("class", "function"):
                    parts.append(scope.name)
                at = scope.parent
            self._names[index] = ".".join(reversed(parts))
        return self._names[index]

    def _of_experiment(self) -> bool:
        """Whether options of unknown names count, too: the file works with a framework."""
        return any(item.module.partition(".")[0] in words().frameworks for item in self.facts.imports)

    # Options -----------------------------------------------------------------------------------------------------

    def options(self) -> Options:
        """Defaults of argparse, absl, click and typer."""
        for call in self.facts.calls:
            last = call.name.rpartition(".")[2]
            if last == "add_argument":
                yield from self._argparse(call)
            elif last.startswith("DEFINE_") and len(call.args) > 1:
                yield from self._option(call.args[0].strip("'\""), call.args[1], call, "flag")
            elif (
                last in ("option", "Option")
                and call.args
                and call.name.partition(".")[0] in ("click", "typer", "rich_click")
            ):
                name = next((arg.strip("'\"") for arg in call.args if arg.strip("'\"").startswith("--")), "")
                default = call.kwargs.get(
                    "default", "False" if call.kwargs.get("is_flag") == "True" else "None"
                )
                yield from self._option(name.partition("/")[0], default, call, "option")

    def _argparse(self, call: Call) -> Options:
        names = [
            arg.strip("'\"") for arg in call.args if arg[:1] in "'\"" and _FLAGS.fullmatch(arg.strip("'\""))
        ]
        name = next((name for name in names if name.startswith("--")), names[-1] if names else "")
        if not name:
            return
        action = call.kwargs.get("action", "").strip("'\"")
        if action in ("help", "version"):
            return
        default = call.kwargs.get("default") or {"store_true": "False", "store_false": "True"}.get(
            action, "None"
        )
        yield from self._option(name, default, call, "option")

    def _option(self, name: str, default: str, call: Call, word: str) -> Options:
        known = concept(name)
        if not name or (known is None and not self.of_experiment):
            return
        kind = known or "custom." + re.sub(r"[^\w]", "_", plain(name))
        found = made(
            kind,
            self.scope_name(call.scope),
            _shown(name),
            default,
            call.line,
            f"default of {word} {_shown(name)}",
        )
        if found:
            yield found

    # Parameters --------------------------------------------------------------------------------------------------

    def parameters(self) -> Options:
        """Defaults of function parameters that bear the name of a setting."""
        for index, scope in enumerate(self.facts.scopes):
            for param in scope.params:
                known = concept(param.name)
                if known and known != "recording" and param.default:
                    yield from self._parameter(known, index, scope, param)

    def _parameter(self, known: str, index: int, scope: Scope, param: Param) -> Options:
        declared = _DECLARED.match(param.default)
        found = made(
            known,
            self.scope_name(index),
            param.name,
            declared[1] if declared else param.default,
            param.line,
            f"default of {scope.name}({param.name}=)",
        )
        if found and found.resolved:
            yield found

    # Metrics ------------------------------------------------------------------------------------------------------

    def metrics(self) -> Options:
        """What functions that are named as metrics compute, as a digest of their code."""
        for index, scope in enumerate(self.facts.scopes):
            if scope.digest and scope.kind == "function":
                name = self.scope_name(index)
                yield Found(
                    f"evaluation.code.{scope.name}",
                    name.rpartition(".")[0],
                    f"{scope.name}()",
                    f"code {scope.digest}",
                    scope.line,
                    f"code of {name}()",
                )

    # Constants ---------------------------------------------------------------------------------------------------

    def assignments(self) -> Options:
        """Fields of dataclasses and configuration classes, constants of modules, values that are set on configurations."""
        for assign in self.facts.assigns:
            scope = self.facts.scopes[assign.scope] if assign.scope < len(self.facts.scopes) else None
            if scope is not None and assign.value:
                yield from self._assignment(assign, scope)

    def _assignment(self, assign: Assign, scope: Scope) -> Options:
        target, holder = assign.target, ""
        if _PROMPT.search(target) and (found := self._prompt(assign)):
            yield found
            return
        if "[" in target:
            yield from self._item(assign)
            return
        if "." in target:
            holder = target.partition(".")[0]
            known = concept(target.rpartition(".")[2])
            if holder.startswith(("torch", "tensorflow", "jax", "numpy", "os", "random")):
                yield from self._library(assign)
                return
            if holder == "self":
                target = target[5:]
            elif holder not in CONFIG_RECEIVERS:
                return
            else:
                known = known or (
                    None if target.count(".") > 4 else "custom." + plain(target).rpartition(".")[2]
                )
        else:
            known = concept(target)
        whole = self._is_whole(assign, scope, holder)
        if assign.value[:1] == "{" and holder != "self":
            yield from self._dictionary(assign, known)
            return
        if known is None and whole and _CONSTANT_NAME.fullmatch(target):
            known = "custom." + plain(target)
        if known is None or known == "recording" or (not whole and not _counts_here(target, assign.value)):
            return
        said = f"default of field {target}" if scope.kind == "class" else f"{target} = …"
        found = made(known, self.scope_name(assign.scope), target, assign.value, assign.line, said)
        if found and (found.resolved or scope.kind == "class"):
            yield found

    def _prompt(self, assign: Assign) -> Found | None:
        """A text that is named as a prompt."""
        text, name = assign.value, plain(assign.target.rpartition(".")[2])
        cut = text.endswith(("…'", "…"))
        if (
            len(text) < _SHORTEST_PROMPT
            or text.lstrip("rbfRBF")[:1] not in "'\""
            or "." in assign.target.removeprefix("self.")
        ):
            return None
        try:
            value: Value = value_of(text.replace("…", "...") if cut else text.removeprefix("f"))
        except Unknown:
            value = text
        if not isinstance(value, str) or (" " not in value and "\n" not in value):
            return None
        if _NO_PROMPT.search(name) or "</" in value:
            return None
        role = next((role for role in ("judge", "system", "user") if role in name), "user")
        return Found(
            f"prompts.{role}.text",
            self.scope_name(assign.scope),
            assign.target,
            value,
            assign.line,
            f"text of {assign.target}",
        )

    def _is_whole(self, assign: Assign, scope: Scope, holder: str) -> bool:
        """Whether the place is one where settings stand and nothing else: a configuration class, a file of constants."""
        if scope.kind == "class":
            dataclass = any("dataclass" in decorator or "chex" in decorator for decorator in scope.decorators)
            return bool(assign.annotation and dataclass and self._has_settings(assign.scope)) or bool(
                _CONFIG_CLASS.search(scope.name)
            )
        if holder and holder != "self":
            return bool(_CONFIG_FILE.search(self.file) or _CONFIG_FUNCTION.fullmatch(scope.name))
        return scope.kind in ("module", "main") and not holder and self._holds_settings

    @cached_property
    def _holds_settings(self) -> bool:
        """Whether the file is a configuration: by its name, and by two constants at least that are settings."""
        if not _CONFIG_FILE.search(self.file):
            return False
        modules = {index for index, scope in enumerate(self.facts.scopes) if scope.kind in ("module", "main")}
        known = {concept(a.target) for a in self.facts.assigns if a.scope in modules} - {None, "recording"}
        return len(known) >= _FEW

    def _has_settings(self, scope: int) -> bool:
        known = {concept(a.target) for a in self.facts.assigns if a.scope == scope} - {None, "recording"}
        return len(known) >= _FEW

    def _dictionary(self, assign: Assign, known: str | None) -> Options:
        entries = entries_of(assign.value)
        names = {key: concept(key) for key in entries}
        if sum(1 for found in names.values() if found and found != "recording") < _FEW and not known:
            return
        for key, value in entries.items():
            kind = names[key] or "custom." + re.sub(r"[^\w]", "_", plain(key).rpartition(".")[2])
            if kind != "recording":
                yield Found(
                    kind,
                    self.scope_name(assign.scope),
                    f"{assign.target}.{key}",
                    value,
                    assign.line,
                    f"{assign.target}[{key!r}]",
                )

    def _item(self, assign: Assign) -> Options:
        """`os.environ['PYTHONHASHSEED'] = '0'`."""
        match = _ENVIRON.fullmatch(assign.target)
        known = concept(match[1]) if match else None
        if match and known and known != "recording":
            found = made(known, "", match[1], assign.value, assign.line, f"environment variable {match[1]}")
            if found:
                yield found

    def _library(self, assign: Assign) -> Options:
        """`torch.backends.cudnn.benchmark = True`."""
        match = _SWITCH.fullmatch(assign.target)
        if not match:
            return
        kind = (
            "training.precision" if match[1] in ("allow_tf32", "fp32_precision") else "execution.determinism"
        )
        found = made(kind, "", assign.target, assign.value, assign.line, f"{assign.target} = …")
        if found:
            yield found


_PROMPT = re.compile(r"(?i)prompt|template|instruction|system_message|few_?shot|rubric")
_NO_PROMPT = re.compile(
    r"pattern|regex|url|path|file|dir(?:_|$)|html|error|usage|help|name$|_key$|_id$|doc(?:_|$)|docstring|css|sql|filename|url_template|log_|message_template|commit"
)
_SHORTEST_PROMPT = 20
_CONSTANT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,60}")
_ENVIRON = re.compile(r"os\.environ\[['\"](\w{1,60})['\"]\]")
_SWITCH = re.compile(
    r"torch\.backends\.[\w.]{0,40}?\.?(benchmark|deterministic|enabled|allow_tf32|fp32_precision|allow_fp16_reduced_precision_reduction|allow_bf16_reduced_precision_reduction)"
)


def _counts_here(target: str, value: str) -> bool:
    """Whether a plain assignment in code sets something: `epoch = 0` begins to count, `loss = 0` to add up."""
    name = plain(target).rpartition(".")[2]
    return name not in words().counters and value not in (
        "0",
        "0.0",
        "None",
        "''",
        "[]",
        "()",
        "{}",
        "False",
        "-1",
        "set()",
        "inf",
    )


def _shown(name: str) -> str:
    return name if name.startswith("-") else "--" + name


def made(kind: str, scope: str, key: str, text: str, line: int, detail: str) -> Found | None:
    """A setting of an expression's text; with the text itself where it spells no value. None for what is empty."""
    if not text:
        return None
    try:
        value: Value = value_of(text)
        return Found(kind, scope, key, value, line, detail)
    except Unknown:
        return Found(kind, scope, key, text, line, detail, resolved=False)
