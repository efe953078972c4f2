from audit.documents.finding import Severity, Status
from tests.rules.computed import LOOP, failing, only_status

README = "# P\n\n```bash\npython train.py\n```\n"
MAIN = "\nif __name__ == '__main__':\n"


def test_source() -> None:
    local = {
        "README.md": README,
        "train.py": LOOP + MAIN + "    import pandas as pd\n    train(1, pd.read_csv(path))\n",
    }
    (found,) = failing("data.source", local)
    assert (
        found.message
        == "Training reads local files, and neither the code nor a document says where they come from."
    )
    told = local | {"README.md": README + "\n## Dataset\n\nFrom the archive of the city.\n"}
    assert only_status("data.source", told) is Status.PASS
    named = local | {"README.md": README.replace("train.py", "train.py --data imagenet")}
    assert only_status("data.source", named) is Status.PASS
    loaded = local | {
        "train.py": LOOP
        + MAIN
        + "    from datasets import load_dataset\n    train(1, load_dataset('imdb'))\n"
    }
    assert only_status("data.source", loaded) is Status.PASS


def test_no_training_has_no_data() -> None:
    files = {"lib/__init__.py": "def f():\n    return 1\n"}
    for name in ("source", "documentation", "split_seeded"):
        assert only_status(f"data.{name}", files) is Status.NOT_APPLICABLE


def test_documentation() -> None:
    files = {"README.md": README, "train.py": LOOP + MAIN + "    train(1, 2)\n"}
    assert len(failing("data.documentation", files)) == 1
    assert only_status("data.documentation", files | {"data/README.md": "# Data\n"}) is Status.PASS


def test_checksums() -> None:
    script = "wget https://example.org/corpus.tar.gz\n"
    (found,) = failing("data.checksums", {"download_data.sh": script})
    assert found.message == (
        "download_data.sh downloads a file and compares no checksum: whatever the address answers is used."
    )
    checked = script + "echo '00 corpus.tar.gz' | sha256sum -c\n"
    assert only_status("data.checksums", {"download_data.sh": checked}) is Status.NOT_APPLICABLE
    assert only_status("data.checksums", {"install_dependencies.sh": script}) is Status.NOT_APPLICABLE


def test_many_downloads_are_told_together() -> None:
    files = {f"data/{n}/download_data.sh": "wget https://example.org/a.zip\n" for n in range(9)}
    found = failing("data.checksums", files)
    assert len(found) == 4
    assert found[-1].message.startswith("6 further files download data and compare no checksum")
    assert found[-1].severity is Severity.INFO


def test_versions() -> None:
    body = "    import tensorflow_datasets as tfds\n    train(1, tfds.load('{}'))\n"
    loose = {"README.md": README, "train.py": LOOP + MAIN + body.format("mnist")}
    (found,) = failing("data.versions", loose)
    assert "takes a data set of TensorFlow Datasets without a version" in found.message
    fixed = loose | {"train.py": LOOP + MAIN + body.format("mnist:3.0.1")}
    assert only_status("data.versions", fixed) is Status.PASS
    passed_in = loose | {"train.py": LOOP + MAIN + body.replace("'{}'", "args.dataset")}
    assert only_status("data.versions", passed_in) is Status.PASS


def split(call: str, before: str = "") -> dict[str, str]:
    head = "from sklearn.model_selection import train_test_split\nfrom torch.utils.data import random_split\n"
    return {
        "README.md": README,
        "train.py": head + LOOP + MAIN + f"    {before}\n    a, b = {call}\n    train(1, a)\n",
    }


def test_splits() -> None:
    (found,) = failing("data.split_seeded", split("train_test_split(x)"))
    assert found.severity is None
    assert found.message.startswith(
        "train.py:18 splits the data with train_test_split and no random_state, and nothing seeds"
    )
    (found,) = failing("data.split_seeded", split("random_split(x, [8, 2])", "torch.manual_seed(1)"))
    assert found.severity is Severity.INFO
    assert "no generator: the split changes with everything" in found.message
    assert found.fix is not None and "generator=torch.Generator()" in found.fix.text


def test_seeded_splits() -> None:
    for call in (
        "train_test_split(x, random_state=0)",
        "train_test_split(x, shuffle=False)",
        "random_split(x, [8, 2], generator=g)",
        "data.train_test_split(test_size=0.1, seed=42)",
    ):
        assert not failing("data.split_seeded", split(call)), call


def test_a_split_off_the_training_path_is_none() -> None:
    files = split("(x, y)")
    files["tools/peek.py"] = "from sklearn.model_selection import train_test_split\ntrain_test_split(x)\n"
    assert only_status("data.split_seeded", files) is Status.NOT_APPLICABLE
