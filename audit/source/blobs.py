"""Git's object ids, made without Git: of bytes at hand, and stand-ins for what is too much to hash."""

import hashlib


def blob_id(content: bytes, algorithm: str = "sha1") -> str:
    """The object id that Git gives to `content`. `algorithm`: the repository's object format, "sha1" or
    "sha256".
    """
    digest = hashlib.new(algorithm, b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def stand_in_id(*parts: object, algorithm: str = "sha1") -> str:
    """An id for content that is not hashed: equal only for equal `parts`, and never that of a blob by
    accident.
    """
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogateescape")
    return hashlib.new(algorithm, b"stand-in\0" + text, usedforsecurity=False).hexdigest()


def human_size(size: int) -> str:
    """`size` in bytes as people read it: "512 bytes", "48.2 MiB"."""
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= step:
            return f"{size / step:.1f} {unit}"
    return f"{size} bytes"
