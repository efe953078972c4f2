"""A container registry over its HTTP API: which digest a tag is today.

OCI Distribution Specification 1.1 (manifests, `Docker-Content-Digest`) and Docker's token authentication (`WWW-Authenticate: Bearer realm=…`).
"""

import hashlib
import re
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from audit.net.errors import NetworkError, NotFoundError
from audit.net.http import Answer, Http

HUB = "registry-1.docker.io"
_MAX_MANIFEST = 8 * 2**20
_KINDS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_REFERENCE = re.compile(
    r"(?:(?P<host>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::\d{1,5})?)/)?(?P<name>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_CHALLENGE = re.compile(r'(\w+)="([^"]{0,2000})"')


class Image(msgspec.Struct, frozen=True):
    """An image reference with all that it leaves out filled in."""

    host: str
    name: str
    tag: str
    digest: str = ""


def parse(reference: str) -> Image | None:
    """The parts of "python:3.11", "ghcr.io/org/image@sha256:…"; None for what is no reference. A first part is a host where it has a dot or a port."""
    match = _REFERENCE.fullmatch(reference) if len(reference) < 500 else None
    if match is None:
        return None
    host, name = match["host"], match["name"]
    if host and not re.search(r"[.:]", host) and host != "localhost":
        host, name = None, f"{host}/{name}"
    if host in (None, "docker.io", "index.docker.io"):
        host, name = HUB, name if "/" in name else f"library/{name}"
    return Image(str(host), name, match["tag"] or "latest", match["digest"] or "")


def digest_of(image: Image, *, scheme: str = "https") -> str:
    """The digest of the manifest that the tag names. Raises NetworkError, NotFoundError where there is no such image or it may not be seen."""
    with Http(f"{scheme}://{image.host}", {"Accept": _KINDS}) as server:
        path = f"/v2/{image.name}/manifests/{image.tag}"
        answer = server.get(path, limit=_MAX_MANIFEST)
        if answer.status == 401:
            headers = {"Authorization": f"Bearer {_token(answer, image, scheme)}"}
            answer = server.get(path, limit=_MAX_MANIFEST, headers=headers)
    if answer.status in (401, 403, 404):
        raise NotFoundError(f"{image.host} shows no {image.name}:{image.tag} ({answer.status}).")
    if answer.status != 200:
        raise NetworkError(f"{image.host} answered {answer.status} about {image.name}:{image.tag}.")
    said = answer.headers.get("docker-content-digest", "")
    actual = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
    if said and said != actual:  # also catches a cut or altered answer
        raise NetworkError(
            f"{image.host} gave a manifest of {image.name}:{image.tag} that is not what its digest says."
        )
    return actual


def _token(answer: Answer, image: Image, scheme: str) -> str:
    """An anonymous token for reading, from the server that the registry names."""
    challenge = answer.headers.get("www-authenticate", "")
    said: Mapping[str, str] = dict(_CHALLENGE.findall(challenge[:4000]))
    realm = said.get("realm", "")
    if not challenge.lower().startswith("bearer") or not realm.startswith(f"{scheme}://"):
        raise NotFoundError(f"{image.host} shows {image.name} only to those who log in.")
    query = {"service": said.get("service", ""), "scope": f"repository:{image.name}:pull"}
    with Http(f"{realm}?{urlencode(query)}") as server:
        given = server.get("", limit=_MAX_MANIFEST)
    try:
        value = given.json() if given.status == 200 else {}
    except ValueError:
        value = {}
    token = value.get("token") or value.get("access_token") if isinstance(value, dict) else None
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,20000}", token):
        raise NotFoundError(f"{image.host} gives no token to read {image.name} ({given.status}).")
    return token
