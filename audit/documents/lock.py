"""The lock: what a manifest names, resolved to exact identities, with how sure each is. Schema version 1.

Read back on every audit, so a Struct and not a pydantic model: importing that costs more than reading a lock does.
"""

import enum

import msgspec

from audit.documents.state import Confidence, Value

SCHEMA_VERSION = 1
LOCK_PATH = "ml-audit.lock"

SECTIONS = (
    "project", "experiment", "models", "datasets", "prompts", "generation", "inference", "training", "evaluation", "privacy",
    "execution", "custom", "artifacts", "stages", "environment", "files",
)  # fmt: skip
"""The sections of the file in their order: those of the manifest, then what only a lock knows."""

Path = tuple[str, ...]
"""Where a value stands: its keys, from the section down. Names of packages and files hold dots, so it is no dotted text."""


class LockSource(enum.Enum):
    """Where a value was had from, or why it was not."""

    MANIFEST = "manifest"
    HUB_API = "hub_api"
    HUB_FILE = "hub_file"
    FILESYSTEM = "filesystem"
    REPOSITORY = "repository"
    INSTALLED = "installed_metadata"
    PROVIDER = "provider"
    DOCKER = "docker"
    REGISTRY = "registry"
    PLATFORM = "platform"
    NVIDIA_SMI = "nvidia_smi"
    OFFLINE = "offline"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    NETWORK_ERROR = "network_error"


class Resolved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value. `confidence` is exact, declared or unresolved; `resolved_at`: UTC, the moment since when it has been this; `note`: what a reader
    has to know, of a hub's value what was asked for."""

    value: Value
    source: LockSource
    confidence: Confidence
    resolved_at: str
    note: str = ""


class LockedManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest that was resolved."""

    path: str
    sha256: str


class Lock(msgspec.Struct, frozen=True):
    """All of the file. `values` in the file's order; `lines`: the line of each value where the lock was read from a file."""

    schema_version: int
    tool: str
    manifest: LockedManifest
    values: dict[Path, Resolved]
    lines: dict[Path, int] = {}
