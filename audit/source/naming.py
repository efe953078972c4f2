"""How a repository is called: by its remote's address without credentials, else by its folder."""

from pathlib import PurePosixPath
from urllib.parse import urlsplit, urlunsplit


def without_credentials(address: str) -> str:
    """A remote's address with no password or token in it: `https://x:t@host/o/r?k=v` becomes
    `https://host/o/r`.
    """
    if "://" not in address:
        user, at, rest = address.rpartition("@")
        return f"{user.partition(':')[0]}{at}{rest}" if at and "/" not in user else address
    try:
        parts = urlsplit(address)
    except ValueError:
        scheme, _, rest = address.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"
    user, at, host = parts.netloc.rpartition("@")
    # Over ssh the user name is part of the address ("git@"); over https it can be a token.
    kept = f"{user.partition(':')[0]}@" if at and parts.scheme in ("ssh", "git+ssh") else ""
    return urlunsplit((parts.scheme, kept + host, parts.path, "", ""))


def repository_name(remote: str | None, folder: str) -> str:
    """`owner/name` where `remote` lies on a server, else the name of the folder."""
    return _name_on_server(remote or "") or PurePosixPath(folder.replace("\\", "/")).name or folder


def _name_on_server(remote: str) -> str:
    if "://" in remote:
        try:
            parts = urlsplit(remote)
        except ValueError:
            return ""
        path = parts.path if parts.scheme != "file" else ""
    else:
        head, colon, path = remote.partition(":")
        # `host:owner/name`; not a path, and not a drive letter of Windows.
        if not colon or "/" in head or "\\" in path or len(head) < 2:
            return ""
    path = path.strip("/").removesuffix(".git").strip("/")
    return path if "/" in path else ""
