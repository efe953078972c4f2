"""What a simple command really runs: wrappers and launchers taken off, the target and its flags read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from audit.facts.commands.lexer import Word
from audit.facts.commands.wrappers import MODULES, SCRIPT_RUNNERS, SWITCHES, WRAPPERS, Wrapper
from audit.facts.model import Command, Flag

MAX_TEXT = 2_000
MAX_FLAG = 1_000
"""Longest value of a flag or positional word that is kept, in characters."""

_PYTHON = re.compile(r"(?:python|pypy|ipython|pythonw|py)(?:\d(?:\.\d+)?t?)?(?:\.exe)?", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_NUMBER = re.compile(r"-?(?:\d|\.\d)[\w.+-]*")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "source", ".", "csh", "tcsh"})
_PYTHON_VALUES = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_SUBMITTERS = frozenset({"sbatch", "qsub", "bsub", "condor_submit", "oarsub", "salloc"})
_RUN_FILE = frozenset(
    {"streamlit", "papermill", "marimo", "chainlit", "jupyter", "modal", "flask", "fiftyone"}
)
_TALKS_ABOUT = frozenset(
    {"echo", "printf", "which", "type", "alias", "ls", "ln", "cp", "chmod", "grep", "cat", "touch"}
)
"""Programs that take `python` as a mere word."""
_VARIABLE = re.compile(r"\$\{?\w+\}?|\$[@*]|\$\{\w+\[@\]\}")
_PYTHON_VARIABLE = re.compile(
    r"\$\{?(?:\w*_)?PYTHON(?:3|_?(?:BIN|EXE|CMD|PATH|EXECUTABLE))?\}?", re.IGNORECASE
)
_MAX_PEELS = 12


@dataclass(slots=True)
class Peeled:
    """A command without its wrappers. `words` starts with the program; `inner` is shell text to be read in
    its place."""

    words: list[Word]
    env: list[tuple[str, str]] = field(default_factory=list)
    launchers: list[str] = field(default_factory=list)
    script: bool = False
    module: bool = False
    inner: Word | None = None


def peel(words: Sequence[Word]) -> Peeled:
    """Takes assignments, wrappers and launchers off the front of `words`."""
    peeled = Peeled(list(words))
    for _ in range(_MAX_PEELS):
        _take_env(peeled)
        if not peeled.words or not _peel_one(peeled):
            break
    _take_env(peeled)
    return peeled


def build(peeled: Peeled, original: Sequence[Word], line: int) -> Command | None:
    """The command that `peeled` holds; None where only assignments stand."""
    words = peeled.words
    text = _text(original)
    env = tuple(peeled.env)
    launchers = tuple(peeled.launchers)
    if not words:
        if not launchers:
            return None
        return Command(program=launchers[-1], text=text, line=line, launchers=launchers, env=env)
    program, target, module, rest = _target(peeled)
    flags, args = read_flags(rest, SWITCHES.get(target if module else program, frozenset()))
    return Command(
        program=program,
        text=text,
        line=line,
        launchers=launchers,
        target=target,
        module=module,
        args=args,
        flags=flags,
        env=env,
    )


def read_flags(
    words: Sequence[Word], switches: frozenset[str] = frozenset()
) -> tuple[tuple[Flag, ...], tuple[str, ...]]:
    """The flags and the positional words of `words`.

    The word behind a flag is its value unless it looks like a flag itself or the flag is one of `switches`;
    further numbers behind a number belong to it, too (`--betas 0.9 0.95`). Behind `--` everything is
    positional.
    """
    flags: list[Flag] = []
    args: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.text == "--":
            args += [w.text[:MAX_FLAG] for w in words[at:]]
            break
        if not _is_flag(word):
            args.append(word.text[:MAX_FLAG])
            continue
        name, equals, value = word.text.partition("=")
        takes = not equals and name not in switches
        if takes and at < len(words) and not _is_flag(words[at]) and words[at].text != "--":
            value = words[at].text
            at += 1
            while (
                _NUMBER.fullmatch(value.rsplit(" ", 1)[-1])
                and at < len(words)
                and _NUMBER.fullmatch(words[at].text)
            ):
                value = f"{value} {words[at].text}"
                at += 1
        flags.append(Flag(name=name[:MAX_FLAG], value=value[:MAX_FLAG], line=word.line))
    return tuple(flags), tuple(args)


def _is_flag(word: Word) -> bool:
    text = word.text
    if len(text) < 2 or text[0] != "-" or (word.quoted and " " in text):
        return False
    return _NUMBER.fullmatch(text) is None


def _take_env(peeled: Peeled) -> None:
    words = peeled.words
    at = 0
    while at < len(words) and (found := _ASSIGNMENT.match(words[at].text)) and not words[at].quoted:
        peeled.env.append((found[1], words[at].text[found.end() :][:MAX_FLAG]))
        at += 1
    del words[:at]


def _base(text: str) -> str:
    return text.replace("\\", "/").rsplit("/", 1)[-1]


_WHICH = re.compile(r"\$\((?:which|command -v|type -p)[ \t]+([\w./-]+)\)|`which[ \t]+([\w./-]+)`")


def _peel_one(peeled: Peeled) -> bool:
    """Takes one wrapper off; False where the front is a program of its own."""
    words = peeled.words
    found = _WHICH.fullmatch(words[0].text)
    if found is not None:
        words[0] = Word(found[1] or found[2], words[0].line)
    elif _PYTHON_VARIABLE.fullmatch(words[0].text):
        words[0] = Word("python", words[0].line)
    head = _base(words[0].text.lstrip("!%"))
    if _PYTHON.fullmatch(head):
        return _peel_python(peeled)
    if head in _SHELLS or head in {"eval", "su", "ssh", "gcloud"}:
        return _peel_shell(peeled, head)
    if head in {"screen", "tmux"} and " " in words[-1].text:  # `-X stuff "…"`, `send-keys "…"`, `new -d "…"`
        peeled.inner = Word(words[-1].text.removesuffix("\\r").removesuffix("\\n").strip(), words[-1].line)
        return False
    if head in _SUBMITTERS:
        _take_option_text(peeled, ("--wrap",))
        return False
    for length in (3, 2, 1):
        name = " ".join([head, *(w.text for w in words[1:length])])
        wrapper = WRAPPERS.get(name) if len(words) >= length else None
        if wrapper is not None:
            return _skip(peeled, words[length:], wrapper, name)
    if (
        head in {"uv", "poetry", "conda", "docker", "pipenv"}
        and len(words) > 2
        and words[1].text.startswith("-")
    ):
        # options in front of the sub-command: `poetry -C dir run …`
        run = next((i for i, w in enumerate(words[:6]) if w.text in {"run", "exec"}), 0)
        wrapper = WRAPPERS.get(f"{head} {words[run].text}") if run else None
        if wrapper is not None:
            return _skip(peeled, words[run + 1 :], wrapper, head)
    return _peel_runner(peeled, head)


def _skip(peeled: Peeled, rest: list[Word], wrapper: Wrapper, name: str) -> bool:
    """Skips the options of a wrapper. What is left is the command, or a script for those that take one."""
    at = 0
    if (
        name == "ray job submit"
        and (behind := next((i for i, w in enumerate(rest) if w.text == "--"), -1)) >= 0
    ):
        at = behind
    positional = wrapper.words
    module = no_python = False
    while at < len(rest):
        text = rest[at].text
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1:
            option = text.partition("=")[0]
            module = module or option in {"-m", "--module"}
            no_python = no_python or option in {"--no_python", "--no-python"}
            at += 1 + _values(wrapper, text, rest[at + 1 :])
        elif positional:
            positional -= 1
            at += 1
        elif _is_options(rest, at):
            at += 1
        else:
            break
    command = rest[at:]
    if wrapper.launcher:
        peeled.launchers.append(name)
    if wrapper.script and not no_python:
        peeled.words = [Word("python", command[0].line), *command] if command else []
        peeled.script = True
        peeled.module = module
        return False
    if name in {"uv run", "pdm run", "rye run"} and command:
        if module:
            peeled.words = [Word("python", command[0].line), *command]
            peeled.script = peeled.module = True
            return False
        if command[0].text.endswith(".py"):
            command = [Word("python", command[0].line), *command]
    peeled.words = command
    return bool(command)


def _is_options(words: Sequence[Word], at: int) -> bool:
    """Whether the word at `at` is an unknown variable that stands for options: the script follows it."""
    if _VARIABLE.fullmatch(words[at].text) is None:
        return False
    behind = next((w.text for w in words[at + 1 : at + 6] if not _VARIABLE.fullmatch(w.text)), "")
    return behind.endswith(".py") or behind == "-m" or _PYTHON.fullmatch(_base(behind)) is not None


def _values(wrapper: Wrapper, option: str, following: Sequence[Word]) -> int:
    """How many words behind `option` are its values."""
    if "=" in option or not following:
        return 0
    if option in wrapper.pairs:
        return min(2, len(following))
    if not wrapper.switches:
        return int(option in wrapper.valued)
    if option in wrapper.switches:
        return 0
    value = following[0].text
    if not wrapper.script and _PYTHON.fullmatch(_base(value)):
        return 0
    return int(not (value.startswith("-") and len(value) > 1) and not value.endswith(".py"))


def _peel_python(peeled: Peeled) -> bool:
    """`python -m torch.distributed.launch …` and the like; other calls of Python stay."""
    words = peeled.words
    at = _python_options(words)
    if at >= len(words):
        return False
    module = _module_at(words, at)
    if module is None:
        return _run_with_script_launcher(peeled, at)
    name, behind = module
    known = MODULES.get(name)
    if known is None and name in {"accelerate", "deepspeed", "horovod.runner"}:
        known = {"deepspeed": "deepspeed", "horovod.runner": "horovodrun"}.get(name, "accelerate launch")
    if known is not None:
        rest = words[behind:]
        if name.endswith("accelerate_cli") or name == "accelerate":
            rest = rest[1:]
        _skip(peeled, rest, WRAPPERS[known], f"python -m {name}")
        return not peeled.script and bool(peeled.words)
    if name in SCRIPT_RUNNERS:
        peeled.words = [Word(name, words[0].line), *words[behind:]]
        return _peel_runner(peeled, name)
    return False


def _run_with_script_launcher(peeled: Peeled, at: int) -> bool:
    """`python /opt/conda/bin/torchrun …`, `python $(which accelerate) launch …`: the launcher as a script."""
    words = peeled.words
    found = _WHICH.fullmatch(words[at].text)
    head = _base((found[1] or found[2]) if found is not None else words[at].text)
    if head in {"torchrun", "accelerate", "deepspeed"}:
        peeled.words = [Word(head, words[at].line), *words[at + 1 :]]
        return True
    return False


def _peel_runner(peeled: Peeled, head: str) -> bool:
    """`coverage run x.py`, `kernprof -l x.py`, `debugpy --listen … -m pkg`: Python runs what is behind."""
    words = peeled.words
    valued = SCRIPT_RUNNERS.get(head)
    if valued is None:
        return _peel_unknown(peeled, head)
    at = 1
    if head in {"coverage", "mprof"}:
        if len(words) < 2 or words[1].text != "run":
            return False
        at = 2
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-m":
        at += 2 if words[at].text in valued else 1
    if at >= len(words):
        return False
    peeled.words = [Word("python", words[0].line), *words[at:]]
    return True


def _peel_unknown(peeled: Peeled, head: str) -> bool:
    """Some other program in front of `python script.py`: a notifier, a profiler, a queue's own runner."""
    words = peeled.words
    if len(words) > 1 and _VARIABLE.fullmatch(words[0].text) and words[1].text.endswith(".py"):
        peeled.words = [Word("python", words[0].line), *words[1:]]
        return True
    if len(words) < 3 or head in _TALKS_ABOUT or not _PYTHON.fullmatch(_base(words[1].text)):
        return False
    if not (words[2].text.endswith(".py") or words[2].text in {"-m", "-u"}):
        return False
    peeled.words = words[1:]
    return True


def _peel_shell(peeled: Peeled, head: str) -> bool:
    """`bash -c "…"`, `eval "…"`, `ssh host "…"`: the text is read in place of the command."""
    words = peeled.words
    if head == "eval":
        if len(words) > 1:
            peeled.inner = Word(" ".join(w.text for w in words[1:]), words[1].line)
    elif head in {"ssh", "su"}:
        if len(words) > 2 and " " in words[-1].text:
            peeled.inner = words[-1]
    elif head == "gcloud":
        _take_option_text(peeled, ("--command",))
    else:
        for at, word in enumerate(words[1:-1], 1):
            if not word.text.startswith("-") or word.text.startswith("--"):
                continue
            if word.text.endswith("c"):
                peeled.inner = words[at + 1]
                break
    return False


def _take_option_text(peeled: Peeled, names: tuple[str, ...]) -> None:
    for at, word in enumerate(peeled.words):
        name, equals, value = word.text.partition("=")
        if name in names:
            if equals:
                peeled.inner = Word(value, word.line)
            elif at + 1 < len(peeled.words):
                peeled.inner = peeled.words[at + 1]


def _python_options(words: Sequence[Word]) -> int:
    """The index behind Python's own options; that of `-m` or `-c` where one of them follows."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text in _PYTHON_VALUES:
            at += 2
        elif (text.startswith("-") and len(text) > 1 and not _ends_options(text)) or _is_options(words, at):
            at += 1
        else:
            break
    return at


def _ends_options(option: str) -> bool:
    """Whether a group of Python's short options carries `-m` or `-c` (`-um`, `-mpkg`); `-W…` and `-X…` do
    not."""
    if option.startswith(("--", "-W", "-X")):
        return False
    return "m" in option or "c" in option


def _module_at(words: Sequence[Word], at: int) -> tuple[str, int] | None:
    """The module of `-m` at index `at`, and the index behind it."""
    option = words[at].text
    if not option.startswith("-") or "m" not in option or option.startswith("--"):
        return None
    attached = option.partition("m")[2]
    if attached:
        return attached, at + 1
    return (words[at + 1].text, at + 2) if at + 1 < len(words) else None


def _target(peeled: Peeled) -> tuple[str, str, bool, Sequence[Word]]:
    """(program, target, whether that is a module, the words behind)."""
    words = peeled.words
    written = words[0].text.lstrip("!%") or words[0].text
    program = _base(written)
    if peeled.script:
        return "python", _relative(words[1].text) if len(words) > 1 else "", peeled.module, words[2:]
    if _PYTHON.fullmatch(program):
        return _python_target(program, words)
    if program in _SHELLS or program in _SUBMITTERS:
        return _first_file(program, words, (".sh", ".slurm", ".sbatch", ".bash", ".job", ".pbs", ".sub"))
    if program in _RUN_FILE:
        return _first_file(program, words, (".py", ".ipynb"))
    if "/" in written and program.endswith((".py", ".sh", ".bash")):
        return ("python" if program.endswith(".py") else "bash"), _relative(written), False, words[1:]
    return program, "", False, words[1:]


def _python_target(program: str, words: Sequence[Word]) -> tuple[str, str, bool, Sequence[Word]]:
    at = _python_options(words)
    if at >= len(words):
        return program, "", False, words[1:]
    module = _module_at(words, at)
    if module is not None:
        return program, module[0], True, words[module[1] :]
    text = words[at].text
    if text.startswith("-"):  # `-c code`, or standard input
        return program, "", False, words[at + 2 :]
    return program, _relative(text), False, words[at + 1 :]


def _first_file(
    program: str, words: Sequence[Word], endings: tuple[str, ...]
) -> tuple[str, str, bool, Sequence[Word]]:
    """The first word that names a file to run; for a shell the first word that is no option will do."""
    for at, word in enumerate(words[1:], 1):
        if word.text.startswith(("-", "+")):
            continue
        if word.text.endswith(endings) or (
            program in _SHELLS and "=" not in word.text and " " not in word.text
        ):
            return program, _relative(word.text), False, [*words[1:at], *words[at + 1 :]]
    return program, "", False, words[1:]


def _relative(path: str) -> str:
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path[:MAX_FLAG]


def _text(words: Sequence[Word]) -> str:
    """The command on one line, words with blanks in quotes."""
    parts: list[str] = []
    length = 0
    for word in words:
        text = word.text[:MAX_TEXT].replace("\n", " ")
        if not text or any(c in text for c in " \t\"'<>|&;()"):
            text = f"'{text}'" if "'" not in text else f'"{text}"'
        parts.append(text)
        length += len(text) + 1
        if length > MAX_TEXT:
            break
    return " ".join(parts)[:MAX_TEXT]
