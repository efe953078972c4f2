"""CRC-32C (Castagnoli) as TensorFlow's record files mask it. Pure Python: some megabytes a second."""


def _table() -> tuple[int, ...]:
    rows = []
    for index in range(256):
        crc = index
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 if crc & 1 else crc >> 1
        rows.append(crc)
    return tuple(rows)


_TABLE = _table()


def masked(data: bytes) -> int:
    """The masked checksum that stands beside the data in a record file."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
