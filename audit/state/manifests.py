"""Either manifest: this program's own, or that of the tool whose users move here."""

from audit.state.manifest_reading import Declared, read_declared


def read_any(data: bytes, name: str) -> Declared:
    """What the manifest called `name` (a path) declares. Raises DocumentError, a line for every mistake."""
    if name.rpartition("/")[2] == "reprollm.yaml":
        from audit.state.reprollm import read_reprollm

        return read_reprollm(data, name)
    return read_declared(data, name)
