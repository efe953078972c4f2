from pathlib import Path

import pytest

from audit.failure.catalogue.load import CatalogueError, load

GOOD = """family: memory
ordinary:
- 'all is well'
signatures:
- id: full
  category: infra_runtime
  role: root
  policy: [1, 9]
  patterns:
  - 'no room for (?P<wanted>[\\d.]+ GiB)'
  unless:
  - 'retrying'
  captures: {wanted: GiB}
  decoys: A retry.
  advice: Make room.
  positive:
  - 'no room for 2.5 GiB'
  negative:
  - 'no room for 2.5 GiB, retrying'
"""


def loaded(folder: Path, text: str) -> None:
    (folder / "memory.yaml").write_text(text)
    load([folder / "memory.yaml"])


def test_an_entry_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "memory.yaml").write_text(GOOD)
    (entry,) = load([tmp_path / "memory.yaml"])
    assert (entry.signature.id, entry.signature.name, entry.signature.family) == ("full", "full", "memory")
    assert (entry.signature.category, entry.signature.role, entry.signature.policy) == (
        "infra_runtime",
        "root",
        (1, 9),
    )
    assert entry.captures == {"wanted": "GiB"}
    assert entry.unless == ("retrying",)
    assert (entry.signature.decoys, entry.signature.advice) == ("A retry.", "Make room.")
    assert entry.negative == ("no room for 2.5 GiB, retrying",)
    assert entry.ordinary == ("all is well",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("family: memory", "family: memories", "memory.yaml:1: family: must be memory"),
        (
            "category: infra_runtime",
            "category: infra",
            "memory.yaml:6: category: 'infra' is not one of infra_runtime, correctness",
        ),
        ("role: root", "role: cause", "memory.yaml:7: role: 'cause' is not one of root, cascade"),
        ("  role: root\n", "", "memory.yaml:5: role: missing"),
        ("  role: root\n", "  role: root\n  role: root\n", "memory.yaml:8: role: given twice"),
        ("  role: root\n", "  rolle: root\n", "memory.yaml:7: rolle: unknown; allowed are id, name"),
        ("id: full", "id: Full-Memory", "memory.yaml:5: id: must be snake_case"),
        ("policy: [1, 9]", "policy: [1, 99]", "memory.yaml:8: policy: clauses are 1 to 10"),
        (
            "'no room for (?P<wanted>[\\d.]+ GiB)'",
            "'no room(?! left) (?P<wanted>x)'",
            "memory.yaml:10: patterns: .*looking around",
        ),
        (
            "'no room for (?P<wanted>[\\d.]+ GiB)'",
            "'(?P<wanted>\\d+)'",
            "memory.yaml:10: patterns: .*needs no text",
        ),
        (
            "'no room for (?P<wanted>[\\d.]+ GiB)'",
            "'(?P<wanted>no room'",
            "memory.yaml:10: patterns: .*unterminated",
        ),
        (
            "captures: {wanted: GiB}",
            "captures: {wanted: GB}",
            "memory.yaml:13: captures: 'GB' is not one of GiB, s, ms",
        ),
        (
            "captures: {wanted: GiB}",
            "captures: {want: GiB}",
            "memory.yaml:13: captures: must name .*: want, wanted",
        ),
        ("  captures: {wanted: GiB}\n", "", "memory.yaml:10: captures: must name .*: wanted"),
        ("- 'no room for 2.5 GiB'\n", "- 12\n", "memory.yaml:17: positive: must be a text"),
        (
            "  positive:\n  - 'no room for 2.5 GiB'\n",
            "  positive: []\n",
            "memory.yaml:16: positive: must be a list with at least one",
        ),
        ("- 'all is well'", "- ['all is well']", "memory.yaml:3: ordinary: must be a text"),
        (
            "signatures:",
            "signature:",
            "memory.yaml:4: signature: unknown; allowed are family, ordinary, signatures",
        ),
        ("  role: root\n", "  role: [\n", "memory.yaml: not YAML"),
    ],
)
def test_an_error_names_file_line_key_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in GOOD
    with pytest.raises(CatalogueError, match=said):
        loaded(tmp_path, GOOD.replace(old, new))


def test_an_id_is_used_once(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"memory.yaml:20: the id full is taken"):
        loaded(tmp_path, GOOD + GOOD.split("signatures:\n")[1])
