"""Models behind an API: how far their name is fixed, and whether the provider still knows it."""

from urllib.parse import quote

from audit.documents.lock import LockSource, Path
from audit.documents.state import Confidence
from audit.lock.found import Answers, Found, Surroundings
from audit.net.errors import NetworkError
from audit.net.http import Http
from audit.signals.api_models import pinnability

_MAX_ANSWER = 16 * 2**20
_APIS = {
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY", "/models/{id}"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "/v1/models/{id}"),
    "mistral": ("MISTRAL_BASE_URL", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "/models/{id}"),
    "openrouter": ("OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "/models"),
    "together": ("TOGETHER_BASE_URL", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "/models"),
}
"""By provider: the variable with another address, the address, the variable with the key, the path that tells about a model."""

_FIXED = frozenset({"dated_snapshot"})
_WORDS = {
    "dated_snapshot": "a dated snapshot",
    "month_day_snapshot": "a snapshot without its year, which providers retire",
    "versioned": "a version whose state the provider may change",
    "hosted_weights": "open weights at a host that names no revision",
    "deployment_name": "a deployment's own name: which model it serves is set at the provider",
    "mutable_alias": "a name that the provider points at newer models",
}


def pinnability_of(around: Surroundings, path: Path, name: str, provider: str) -> Answers:
    """The kind of name that a model of an API has: no API tells more."""
    kind = "deployment_name" if provider == "azure" else pinnability(name)
    note = _WORDS[kind]
    if around.verify_api:
        note = f"{note}; {_known(around, name, provider)}"
    confidence = Confidence.EXACT if kind in _FIXED else Confidence.DECLARED
    return {(*path, "pinnability"): Found(kind, LockSource.PROVIDER, confidence, note)}


def _known(around: Surroundings, name: str, provider: str) -> str:
    """Whether the provider knows the model, in words."""
    if provider not in _APIS:
        return f"not verified, {provider} has no list that is known here"
    variable, address, secret, path = _APIS[provider]
    key = around.environ.get(secret, "")
    if not key:
        return f"not verified, {secret} is not set"
    headers = {"Authorization": f"Bearer {key}"}
    if provider == "anthropic":
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    around.step(f"Asking {provider} for {name}")
    try:
        with Http(around.environ.get(variable) or address, headers) as server:
            answer = server.get(path.format(id=quote(name, safe="")), limit=_MAX_ANSWER)
            listed = answer.json() if answer.status == 200 else None
    except NetworkError as error:
        return f"not verified, {error.message.rstrip('.')}"
    except ValueError:
        return "not verified, the answer is no JSON"
    if answer.status in (401, 403):
        return f"not verified, the provider does not accept {secret}"
    if answer.status == 404:
        return "the provider does not know it"
    if answer.status != 200:
        return f"not verified, the provider answered {answer.status}"
    if "{id}" in path:
        return "the provider knows it"
    rows = listed.get("data") if isinstance(listed, dict) else listed
    if not isinstance(rows, list):
        return "not verified, the answer is no list of models"
    names = [row.get("id") for row in rows if isinstance(row, dict)]
    return "the provider knows it" if name in names else "the provider does not list it"
