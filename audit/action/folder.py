"""The folder with the documents of one run, written so that a kill at any moment leaves the old file or the new one.

It lies in the checkout, whose files are a stranger's: a link that stands where the folder or one of its files is to be would lead the write somewhere else.
"""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath


class FolderError(Exception):
    """A document cannot be written there. `message`: one sentence saying what happened; `advice`: what to do."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


def write_document(name: str, text: str, roots: Sequence[Path]) -> str:
    """Writes `text` to the file `name`, relative to the first of `roots` (the workspace) or an absolute path below one of them. Gives `name` as the
    steps after this one can use it. Raises FolderError.
    """
    root, below = _confined(name, roots)
    try:
        folder = _folder(root, below.parts[:-1], name)
        _replace(folder / below.name, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise FolderError(f"{name} cannot be written: {error.strerror}.", "Name another place.") from None
    return PurePosixPath(name).as_posix()


def _confined(name: str, roots: Sequence[Path]) -> tuple[Path, Path]:
    """The root that `name` lies below, and the path from there."""
    absolute = Path(os.path.normpath(roots[0] / name))
    for root in roots:
        if absolute != root and absolute.is_relative_to(root):
            return root, absolute.relative_to(root)
    raise FolderError(
        f"{name} leads out of the workspace, where no later step would find it.",
        "Give a path relative to the workspace.",
    )


def _folder(root: Path, parts: Sequence[str], name: str) -> Path:
    folder = root
    for part in parts:
        folder = folder / part
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        if folder.is_symlink() or not folder.is_dir():
            raise FolderError(
                f"{name} cannot be written: {part} is a symbolic link or no folder in the checkout.",
                "Name another place.",
            )
    return folder


def _replace(file: Path, data: bytes) -> None:
    """A rename puts the new file in the place of whatever stands there, a link too."""
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(draft, 0o644)  # noqa: PTH101 (the steps after a container's are another user's)
        os.replace(draft, file)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)  # noqa: PTH108
        raise
