"""Differences of commits: hunks that Git can apply, with lines counted as a review counts them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakegithub import Commit
from tests.fakegithub.diffs import changes, hunks


def patch_of(before: bytes, after: bytes) -> str | None:
    found = changes(Commit({"f": before}), Commit({"f": after}))
    return found[0].patch if found else None


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        (b"", b"a\n", "@@ -0,0 +1 @@\n+a"),
        (b"a\n", b"", "@@ -1 +0,0 @@\n-a"),
        (b"a\n", b"a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file"),
        (
            b"a",
            b"a\nb",
            "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file",
        ),
        (b"a\r\n", b"b\r\n", "@@ -1 +1 @@\n-a\r\n+b\r"),
        (b"a\x0cb\n", b"a\x0cc\n", "@@ -1 +1 @@\n-a\x0cb\n+a\x0cc"),
        (b"a\0", b"b\0", None),
        (b"", b"x\n" * 600_000, None),
    ],
)
def test_patches(before: bytes, after: bytes, patch: str | None) -> None:
    assert patch_of(before, after) == patch


def test_hunks_and_their_lines() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 41))
    after = before.replace(b"\n10\n", b"\nten\n").replace(b"\n30\n", b"\n")
    patch = patch_of(before, after)
    assert patch is not None
    assert [(first, last) for first, last, _ in hunks(patch)] == [(7, 13), (27, 32)]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "-\n", "+x\n", "@@ -1 +1 @@\n", "\\\n", "\n"]), max_size=12)


@settings(max_examples=40, deadline=None)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_git_applies_every_patch(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str],
    after: list[str],
    cut_before: bool,
    cut_after: bool,
) -> None:
    old = "".join(before).removesuffix("\n") if cut_before else "".join(before)
    new = "".join(after).removesuffix("\n") if cut_after else "".join(after)
    patch = patch_of(old.encode(), new.encode())
    if patch is None or old == new:
        return
    folder: Path = tmp_path_factory.mktemp("diff")
    (folder / "f").write_bytes(old.encode())
    (folder / "p").write_text(f"--- a/f\n+++ b/f\n{patch}\n")
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", "p"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert ((folder / "f").read_bytes() if (folder / "f").exists() else b"") == new.encode()
