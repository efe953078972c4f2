"""Archives as GitHub makes them of a commit, and some that it never would."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Sequence

from .world import Commit

Member = tuple[str, bytes, bytes, str]
"""Name, content, one of tarfile's types, target of a link."""


def make_tar(members: Sequence[Member], *, comment: str = "", format_: int = tarfile.PAX_FORMAT) -> bytes:
    """A `.tar.gz`, the same bytes for the same members. `comment`: the commit's id in the global header."""
    buffer = io.BytesIO()
    headers = {"comment": comment} if comment else None
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=format_, pax_headers=headers) as tar,
    ):
        for name, content, kind, target in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, target
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tar_of(commit: Commit, top: str) -> bytes:
    """What `git archive` makes of a commit: everything below one folder, without what is hidden from archives."""
    if commit.tar is not None:
        return commit.tar
    shown = {path: content for path, content in commit.files.items() if path not in commit.hidden}
    members: list[Member] = [(path, content, tarfile.REGTYPE, "") for path, content in shown.items()]
    members += [(path, b"", tarfile.SYMTYPE, target) for path, target in commit.links.items()]
    members += [(path, b"", tarfile.DIRTYPE, "") for path in commit.submodules]
    placed = [(f"{top}/{path}", content, kind, target) for path, content, kind, target in members]
    return make_tar(placed, comment=commit.sha)


def zip_of(commit: Commit, top: str) -> bytes:
    """The same as a zip; links and submodules are left out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, content in commit.files.items():
            if path not in commit.hidden:
                packed.writestr(f"{top}/{path}", content)
    return buffer.getvalue()


def gzip_bomb(size: int) -> bytes:
    """A `.tar.gz` of one file of `size` zero bytes; small, since zeros compress a thousandfold."""
    info = tarfile.TarInfo("top/bomb.bin")
    info.size = size
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed:
        packed.write(info.tobuf(tarfile.PAX_FORMAT))
        block = bytes(2**20)
        for _ in range(size // 2**20):
            packed.write(block)
        packed.write(bytes(1024))
    return buffer.getvalue()
