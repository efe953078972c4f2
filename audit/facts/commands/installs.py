"""What an install command asks for: pip, conda, uv, Poetry, PDM and Pipenv lines as requirements."""

import re
from collections.abc import Sequence

from audit.facts.commands.lexer import Word
from audit.facts.commands.wrappers import options
from audit.facts.dependencies.line import is_project, parse_conda, parse_requirement
from audit.facts.model import Requirement

_PIP_VALUES = options(
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target --prefix"
    " --root --src --platform"
    " --python-version --implementation --abi --trusted-host --proxy --timeout --retries --cache-dir"
    " --upgrade-strategy --no-binary"
    " --only-binary --progress-bar --global-option --install-option --config-settings -C --use-deprecated"
    " --use-feature --cert"
    " --log --report --python -p --index --default-index --index-strategy --torch-backend --prerelease"
    " --resolution --group --extra"
    " --keyring-provider --exclude-newer --link-mode --extra-index --overrides --override --build-constraint"
    " -b --root-user-action"
    " --python-platform --reinstall-package -P --upgrade-package --source -G --optional --tag --branch --rev"
    " --platform -E --extras --markers --package --project --directory --categories --with-group"
    " --python-preference --color"
    " --exists-action"
)
_CONDA_VALUES = options(
    "-c --channel -n --name -p --prefix --file -f --solver --revision --platform --subdir --repodata-fn -r"
    " --root-prefix --environment"
    " --default-packages --clone --experimental-solver --channel-priority --freeze"
)
_EDITABLE = frozenset({"-e", "--editable"})
_BUNDLE = re.compile(r"-[qUvIH]+([a-zA-Z])")
"""Short options in one word, as in `-qr requirements.txt`: the last of them may take the next word."""
_PIP = frozenset({"pip", "pip2", "pip3", "pipx", "pip-sync"})
_CONDA = frozenset({"conda", "mamba", "micromamba", "conda.exe"})


def requirements_of(words: Sequence[Word], source: str) -> list[Requirement]:
    """The requirements that the peeled command `words` installs, marked with `source`; none for any other
    command."""
    if not words:
        return []
    head = words[0].text.lstrip("!%").replace("\\", "/").rsplit("/", 1)[-1]
    rest = list(words[1:])
    if head.startswith(("python", "py")) and len(rest) > 1 and "-m" in {w.text for w in rest[:3]}:
        at = next(i for i, w in enumerate(rest[:3]) if w.text == "-m")
        head, rest = (rest[at + 1].text, rest[at + 2 :]) if at + 1 < len(rest) else ("", [])
    if head == "uv" and rest and rest[0].text == "pip":
        head, rest = "pip", rest[1:]
    verb_at = next((i for i, w in enumerate(rest[:4]) if not w.text.startswith("-")), len(rest))
    verb = rest[verb_at].text if verb_at < len(rest) else ""
    if (head in _PIP or _is_versioned_pip(head)) and verb == "install":
        return _pip(rest[verb_at + 1 :], source)
    if (head in {"uv", "poetry", "pdm", "rye", "pixi"} and verb == "add") or (
        head == "pipenv" and verb == "install"
    ):
        return _add(rest[verb_at + 1 :], source, head)
    if head in _CONDA and verb in {"install", "create", "update"}:
        return _conda(rest[verb_at + 1 :], source)
    return []


def _is_versioned_pip(head: str) -> bool:
    return head.startswith("pip") and bool(head[3:]) and head[3:].replace(".", "").isdigit()


def _pip(words: Sequence[Word], source: str) -> list[Requirement]:
    found: list[Requirement] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        option, equals, value = word.text.partition("=")
        if bundle := _BUNDLE.fullmatch(option):
            option = f"-{bundle[1]}"
        if option in _EDITABLE:
            if not equals and at < len(words):
                word, value = words[at], words[at].text
                at += 1
            _append(found, value, word.line, source, editable=True)
        elif word.text.startswith("-") and len(word.text) > 1:
            at += int(option in _PIP_VALUES and not equals)
        else:
            _append(found, word.text, word.line, source)
    return found


def _append(found: list[Requirement], text: str, line: int, source: str, *, editable: bool = False) -> None:
    is_file = text.lower().endswith((".txt", ".in"))  # named without the -r that it lacks
    if is_file or is_project(text) or "{{" in text or text.startswith(("$", "<")):
        return
    requirement = parse_requirement(text, line, source=source, editable=editable)
    if requirement is not None:
        found.append(requirement)


def _add(words: Sequence[Word], source: str, head: str) -> list[Requirement]:
    """`uv add`, `poetry add NAME@^1.0`, `pdm add`, `pipenv install`."""
    plain: list[Word] = []
    for word in words:
        name, at, version = word.text.partition("@")
        if (
            head == "poetry"
            and at
            and version
            and not version.startswith(("git+", " "))
            and "://" not in word.text
        ):
            operator = "" if version[0] in "^~<>=!*" or version == "latest" else "=="
            pinned = Word(
                name + ("" if version in {"latest", "*"} or version[0] in "^~" else operator + version),
                word.line,
            )
            plain.append(pinned)
        else:
            plain.append(word)
    return _pip(plain, source)


def _conda(words: Sequence[Word], source: str) -> list[Requirement]:
    found: list[Requirement] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        option, equals, _ = word.text.partition("=")
        if word.text.startswith("-"):
            at += int(option in _CONDA_VALUES and not equals)
            continue
        if (
            "$" in word.text
            or "/" in word.text.partition("::")[0]
            or word.text.endswith((".yml", ".yaml", ".txt"))
        ):
            continue
        requirement = parse_conda(word.text, word.line, source=source)
        if requirement is not None:
            found.append(requirement)
    return found
