"""Decompresses gzip, zstd, xz and deflate streams piece by piece, within a bound on what comes out."""

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_PIECE = 128 * 1024
# What an xz or zstd stream may ask for as its window; the tools' own defaults stay below.
_MOST_WINDOW = 128 * 2**20
_MAGICS = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\x00", "xz"))


# Deflate packs a thousand to one at most, and logs some ten to one; a bomb is all at the limit. Small ones need not be told from logs.
_HARMLESS = 64 * 2**20
_MOST_PACKED = 200


class UnpackError(Exception):
    """The stream is damaged, cut short, or beyond a bound; `args[0]` says which. What came out until then is good."""


class Budget:
    """How many bytes may still come out of compressed streams; shared by all logs of one reading."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.left = size

    def take(self, count: int) -> None:
        """Raises UnpackError where nothing is left."""
        self.left -= count
        if self.left < 0:
            raise UnpackError(f"more than {self._size // 2**20} MiB unpacked; what follows was not read")


def compression(head: bytes) -> str | None:
    """What the first bytes of a file say: `gzip`, `zstd`, `xz`, or None for no compression."""
    return next((name for magic, name in _MAGICS if head.startswith(magic)), None)


def unpacked(chunks: Iterable[bytes], kind: str, budget: Budget) -> Iterator[bytes]:
    """The content of a stream of `kind` (`deflate` is that of a zip member). Raises UnpackError."""
    make, errors = _decompressor(kind)
    current: Any = None
    taken = given = 0
    for chunk in chunks:
        data = chunk
        taken += len(chunk)
        while data or (current is not None and not current.needs_input and not current.eof):
            if current is None:
                data = data.lstrip(b"\0") if kind != "deflate" else data  # padding between members
                if not data:
                    break
                current = make()
            try:
                piece = current.decompress(data, _PIECE)
            except errors as error:
                raise UnpackError(f"no sound {kind} stream: {error}") from None
            data = b""
            if piece:
                budget.take(len(piece))
                given += len(piece)
                if given > _HARMLESS and given > taken * _MOST_PACKED and kind in ("gzip", "deflate"):
                    raise UnpackError(
                        f"{_HARMLESS // 2**20} MiB unpacked of {taken // 1024} KiB: a bomb, no log"
                    )
                yield piece
            if current.eof:
                data, current = current.unused_data, None
                if kind == "deflate":
                    return
    if current is not None:
        raise UnpackError(f"the {kind} stream is cut short")


def _decompressor(kind: str) -> tuple[Callable[[], Any], tuple[type[BaseException], ...]]:
    if kind in ("gzip", "deflate"):
        igzip_lib = importlib.import_module("isal.igzip_lib")
        flag = igzip_lib.DECOMP_GZIP if kind == "gzip" else igzip_lib.DECOMP_DEFLATE
        return lambda: igzip_lib.IgzipDecompressor(flag=flag), (igzip_lib.IsalError, ValueError, EOFError)
    if kind == "xz":
        import lzma

        return lambda: lzma.LZMADecompressor(memlimit=_MOST_WINDOW), (lzma.LZMAError, EOFError)
    zstd = _zstd()
    window = {zstd.DecompressionParameter.window_log_max: _MOST_WINDOW.bit_length() - 1}
    return lambda: zstd.ZstdDecompressor(options=window), (zstd.ZstdError, EOFError)


def _zstd() -> Any:
    """The standard library's module (Python 3.14), else its backport."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return importlib.import_module("backports.zstd")
