"""Container images: the digest that a tag is today, from a Docker Engine where one answers, else from the registry."""

import re
from typing import Any

from audit.documents.lock import LockSource, Path
from audit.lock.found import Answers, Found, Surroundings, exact, offline, unresolved
from audit.net import registry
from audit.net.errors import NetworkError, NotFoundError

_SECONDS = 20
_LOCAL = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?")


def resolve(around: Surroundings, path: Path) -> Answers:
    """The digest of the image that is declared at `path` ("execution", "container")."""
    name = around.text(*path)
    if not name:
        return {}
    return {(*path[:-1], "container_digest"): _digest(around, name)}


def _digest(around: Surroundings, name: str) -> Found:
    image = registry.parse(name)
    if image is None:
        return unresolved(LockSource.REGISTRY, f"{name[:200]} is no reference of an image")
    if image.digest:
        return exact(image.digest, LockSource.MANIFEST, "named by its digest")
    if around.hub is None:
        return offline(name)
    around.step(f"Asking for {name}")
    if digest := _of_engine(name, around):
        return exact(digest, LockSource.DOCKER, name, name)
    try:
        scheme = "http" if _LOCAL.fullmatch(image.host) else "https"
        return exact(registry.digest_of(image, scheme=scheme), LockSource.REGISTRY, name, name)
    except NotFoundError as error:
        return unresolved(LockSource.NOT_FOUND, error.message, name)
    except NetworkError as error:
        return unresolved(LockSource.NETWORK_ERROR, error.message, name)


def _of_engine(name: str, around: Surroundings) -> str | None:
    """What the engine's registry says of the image, or under which digest the engine holds it; None where no engine answers or knows."""
    import docker
    import docker.errors
    import requests

    try:
        client = docker.from_env(timeout=_SECONDS, environment=dict(around.environ))
    except (docker.errors.DockerException, OSError, ValueError):
        return None
    try:
        return _asked(client, name)
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError, ValueError):
        return None
    finally:
        client.close()


def _asked(client: Any, name: str) -> str | None:
    import docker.errors

    try:
        return str(client.images.get_registry_data(name).id)
    except docker.errors.APIError:
        held = client.images.get(name).attrs.get("RepoDigests") or []
    digests = {str(one).rpartition("@")[2] for one in held}
    return digests.pop() if len(digests) == 1 else None
