"""Reads the protobuf wire format (protobuf.dev, "Encoding") without a schema: field numbers and raw values."""

import struct
from collections.abc import Iterator

Field = tuple[int, int | bytes]
"""Field number, and an int (varint) or the bytes (fixed 64, fixed 32, length-delimited)."""

_FIXED = {1: 8, 5: 4}


class WireError(ValueError):
    """The bytes are no protobuf message."""


def fields(data: bytes) -> Iterator[Field]:
    """The fields of a message in the order written. Raises WireError where the bytes are no message."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            found, at = varint(data, at)
            yield number, found
            continue
        if wire == 2:
            size, at = varint(data, at)
        elif wire in _FIXED:
            size = _FIXED[wire]
        else:  # groups are used by none of the writers, and what follows could not be told apart
            raise WireError(f"wire type {wire}")
        if size > end - at:
            raise WireError("a field reaches beyond its message")
        yield number, data[at : at + size]
        at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned 64-bit number at an offset, and the offset after it. Raises WireError where it does not end."""
    result = shift = 0
    end = len(data)
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise WireError("a number that does not end")


def signed(number: int) -> int:
    """An int64 from its two's complement."""
    return number - 2**64 if number >= 2**63 else number


def double(raw: bytes) -> float:
    """A fixed 64 as a float. Raises WireError where there are not 8 bytes."""
    if len(raw) != 8:
        raise WireError("no double")
    return float(struct.unpack("<d", raw)[0])


def single(raw: bytes) -> float:
    """A fixed 32 as a float. Raises WireError where there are not 4 bytes."""
    if len(raw) != 4:
        raise WireError("no float")
    return float(struct.unpack("<f", raw)[0])


def text(raw: int | bytes) -> str:
    """A string; what is not UTF-8 is replaced."""
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else ""


def submessage(raw: int | bytes) -> bytes:
    """The bytes of an embedded message. Raises WireError where the field holds a number."""
    if isinstance(raw, bytes):
        return raw
    raise WireError("no message")
