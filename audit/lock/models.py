"""Models: the commit of a hub model, of its tokenizer and adapter, its chat template and configuration; local ones by their files."""

import hashlib
import json
from typing import Any

from audit.documents.lock import LockSource, Path
from audit.lock.found import Answers, Found, Surroundings, exact, offline, unavailable, unresolved
from audit.lock.providers import pinnability_of
from audit.net.hub import Hub, Repo, RepoType, UnavailableError

_HUB = frozenset({"", "huggingface", "vllm-served"})


def resolve(around: Surroundings, path: Path) -> Answers:
    """All that is known of the model declared at `path` ("models", role)."""
    name, provider = around.text(*path, "id"), around.text(*path, "provider").lower()
    if not name:
        return {}
    if provider == "local" or (provider in _HUB and around.files.holds(name.removeprefix("./"))):
        return _local(around, path, name.removeprefix("./"))
    if provider not in _HUB:
        return pinnability_of(around, path, name, provider)
    return _of_hub(around, path, name)


def _of_hub(around: Surroundings, path: Path, name: str) -> Answers:
    revision = around.text(*path, "revision") or "main"
    asked = f"{name}@{revision}"
    wanted: list[Path] = [
        (*path, key) for key in ("revision", "config", "tokenizer_revision", "chat_template")
    ]
    if around.hub is None:
        return dict.fromkeys(wanted, offline(asked)) | _adapter(around, path)
    around.step(f"Asking for {asked}")
    try:
        repo = around.hub.repo(RepoType.MODEL, name, revision)
    except UnavailableError as error:
        return dict.fromkeys(wanted, unavailable(error, asked)) | _adapter(around, path)
    answers = {
        (*path, "revision"): _commit(repo, name, revision),
        (*path, "config"): _config(around.hub, repo, "config.json", asked),
    }
    return answers | _tokenizer(around, path, repo, asked) | _adapter(around, path)


def _commit(repo: Repo, name: str, revision: str) -> Found:
    note = "" if revision == repo.commit else f"{revision} was this commit"
    if repo.id != name:
        note = "; ".join(filter(None, (note, f"{name} is called {repo.id} now")))
    return exact(repo.commit, LockSource.HUB_API, note, f"{name}@{revision}")


def _config(hub: Hub, repo: Repo, file: str, asked: str) -> Found:
    try:
        content = hub.file(RepoType.MODEL, repo.id, repo.commit, file) if file in repo.files else None
    except UnavailableError as error:
        return unavailable(error, asked)
    if content is None:
        return exact(None, LockSource.HUB_FILE, f"the repository holds no {file}", asked)
    return exact(_sha256(content), LockSource.HUB_FILE, file, asked)


def _tokenizer(around: Surroundings, path: Path, model: Repo, asked: str) -> Answers:
    """The tokenizer's commit and chat template: those of the model's own repository unless another is declared."""
    hub = around.hub
    other = around.text(*path, "tokenizer")
    revision = around.text(*path, "tokenizer_revision")
    repo = model
    if hub is None:
        return {}
    if other or revision:
        name, revision = other or model.id, revision or "main"
        asked = f"{name}@{revision}"
        try:
            repo = hub.repo(RepoType.MODEL, name, revision)
        except UnavailableError as error:
            missing = unavailable(error, asked)
            return {(*path, "tokenizer_revision"): missing, (*path, "chat_template"): missing}
        commit = _commit(repo, name, revision)
    else:
        commit = exact(repo.commit, LockSource.HUB_API, "the model's own repository", asked)
    return {
        (*path, "tokenizer_revision"): commit,
        (*path, "chat_template"): _chat_template(hub, repo, asked),
    }


def _chat_template(hub: Hub, repo: Repo, asked: str) -> Found:
    """The template that the tokenizer would apply: a file of its own wins over the one in a JSON file, as in transformers."""
    try:
        for file in ("chat_template.jinja", "chat_template.json", "tokenizer_config.json"):
            content = hub.file(RepoType.MODEL, repo.id, repo.commit, file) if file in repo.files else None
            if content is None:
                continue
            template = content if file.endswith(".jinja") else _within(content)
            if template is not None:
                return exact(_sha256(template), LockSource.HUB_FILE, file, asked)
    except UnavailableError as error:
        return unavailable(error, asked)
    except ValueError as error:
        return unresolved(LockSource.HUB_FILE, f"{repo.id}: {error}", asked)
    return exact(None, LockSource.HUB_FILE, "the repository holds no chat template", asked)


def _within(content: bytes) -> bytes | None:
    """The template in a JSON file: text, or several by name, which are put into one order. Raises ValueError for what is no JSON."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("its tokenizer's configuration is not JSON") from None
    template = document.get("chat_template") if isinstance(document, dict) else None
    if isinstance(template, str):
        return template.encode("utf-8", "surrogatepass")
    try:
        return json.dumps(sorted(map(_spelt, template))).encode() if isinstance(template, list) else None
    except RecursionError:
        raise ValueError("its chat template is nested too deeply") from None


def _spelt(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _adapter(around: Surroundings, path: Path) -> Answers:
    name = around.text(*path, "adapter")
    if not name:
        return {}
    at, config = (*path, "adapter_revision"), (*path, "adapter_config")
    if around.files.holds(name.removeprefix("./")):
        return {(*path, "adapter_sha256"): around.files.digest(name)}
    revision = around.text(*at) or "main"
    asked = f"{name}@{revision}"
    if around.hub is None:
        return dict.fromkeys((at, config), offline(asked))
    try:
        repo = around.hub.repo(RepoType.MODEL, name, revision)
    except UnavailableError as error:
        return dict.fromkeys((at, config), unavailable(error, asked))
    return {
        at: _commit(repo, name, revision),
        config: _config(around.hub, repo, "adapter_config.json", asked),
    }


def _local(around: Surroundings, path: Path, place: str) -> Answers:
    """A model in the repository's folder: all of its files, and its configuration on its own."""
    answers = {(*path, "sha256"): around.files.digest(place)}
    if around.files.holds(f"{place}/config.json"):
        answers[(*path, "config")] = around.files.digest(f"{place}/config.json")
    return answers


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
