"""Hub calls, code from the hub, model and dataset ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.documents.signals import HubCalls
from audit.signals.hub import dataset_ids, hub_calls, model_ids, trust_remote_code
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath
from tests.signals.building import build

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def calls(files: dict[str, str]) -> HubCalls:
    repository = build(files)
    return hub_calls(repository, TrainingPath(repository)).value


def models(repository: Repository) -> set[str]:
    return {row.id for row in model_ids(repository, TrainingPath(repository)).value}


def datasets(repository: Repository) -> set[str]:
    return {row.id for row in dataset_ids(repository, TrainingPath(repository)).value}


class TestCalls:
    def test_counts_loads_and_tells_commits_from_variables(self) -> None:
        code = f"""
        from transformers import AutoModel, AutoTokenizer
        from datasets import load_dataset
        from huggingface_hub import hf_hub_download, snapshot_download

        def load(args):
            AutoModel.from_pretrained("org/net", revision="{COMMIT}")
            AutoTokenizer.from_pretrained(args.model, revision=args.revision)
            load_dataset("org/rows", revision="main")
            hf_hub_download("org/net", "weights.bin")
            snapshot_download(repo_id=args.repo)
        """
        assert calls({"a.py": code}) == HubCalls(total=5, pinned=1, passthrough=1)

    def test_revision_in_an_unpacked_dictionary_is_passed_through(self) -> None:
        code = """
        from transformers import AutoModel
        def load(args):
            kwargs = dict(revision=args.revision)
            return AutoModel.from_pretrained(args.model, **kwargs)
        """
        assert calls({"a.py": code}) == HubCalls(total=1, passthrough=1)

    @pytest.mark.parametrize(
        "line",
        [
            'load_dataset("json", data_files="rows.json")',
            'load_dataset("./rows")',
            'AutoModel.from_pretrained("./out")',
            "AutoModel.from_pretrained(args.output_dir)",
            "AutoModel.from_pretrained(name, local_files_only=True)",
            "model.save_pretrained(name)",
            "Own.from_pretrained(name)",
        ],
    )
    def test_what_stays_local_is_none(self, line: str) -> None:
        head = "from datasets import load_dataset\nfrom transformers import AutoModel\n"
        own = "class Own:\n    @classmethod\n    def from_pretrained(cls, name):\n        return cls()\n"
        assert calls({"a.py": head + own + f"def f(args, name, model):\n    {line}\n"}).total == 0

    def test_a_method_that_is_inherited_from_outside_reaches_the_hub(self) -> None:
        code = """
        from transformers import BertModel
        class Encoder(BertModel):
            def forward(self, x):
                return x
        Encoder.from_pretrained("org/net")
        """
        assert calls({"a.py": code}).total == 1

    def test_own_function_of_that_name_is_none(self) -> None:
        code = "from helpers import load_dataset\nload_dataset('org/rows')\n"
        assert calls({"a.py": code, "helpers.py": "def load_dataset(name):\n    return name\n"}).total == 0

    def test_tests_and_notebooks_are_apart(self) -> None:
        load = "from transformers import AutoModel\nAutoModel.from_pretrained('org/net')\n"
        assert calls({"tests/test_a.py": load}).total == 0


class TestTrust:
    @pytest.mark.parametrize(
        ("path", "text"),
        [
            (
                "a.py",
                "from transformers import AutoModel\nAutoModel.from_pretrained(n, trust_remote_code=True)\n",
            ),
            ("a.py", "class Arguments:\n    trust_remote_code: bool = True\n"),
            ("a.py", "kwargs = {'trust_remote_code': True}\n"),
            ("conf.yaml", "model:\n  trust_remote_code: true\n"),
            ("run.sh", "python train.py --trust_remote_code True\n"),
            ("run.sh", "python train.py --trust-remote-code\n"),
        ],
    )
    def test_on(self, path: str, text: str) -> None:
        repository = build({path: text})
        signal = trust_remote_code(repository, TrainingPath(repository))
        assert signal.value is True
        assert signal.evidence[0].path == path

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            (
                "a.py",
                "from transformers import AutoModel\nAutoModel.from_pretrained(n, trust_remote_code=args.trust)\n",
            ),
            ("a.py", "class Arguments:\n    trust_remote_code: bool = False\n"),
            ("a.py", "# trust_remote_code=True\n"),
            ("tests/test_a.py", "f(trust_remote_code=True)\n"),
            ("conf.yaml", "trust_remote_code: false\n"),
        ],
    )
    def test_off(self, path: str, text: str) -> None:
        repository = build({path: text})
        assert trust_remote_code(repository, TrainingPath(repository)).value is False


class TestIds:
    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("a.py", 'from transformers import AutoModel\nAutoModel.from_pretrained("org/net")\n'),
            ("a.py", 'parser.add_argument("--model_name", default="org/net")\n'),
            (
                "a.py",
                'from dataclasses import dataclass, field\nclass A:\n    model: str = field(default="org/net")\n',
            ),
            ("a.py", 'def run(model_name="org/net"):\n    pass\n'),
            ("a.py", 'MODEL = "org/net"\n'),
            (
                "a.py",
                'NAME = "org/net"\nfrom transformers import AutoModel\nAutoModel.from_pretrained(NAME)\n',
            ),
            ("a.py", 'MODELS = {"small": "org/net"}\n'),
            ("conf.yaml", "model_name_or_path: org/net\n"),
            ("conf.yaml", "model:\n  path: org/net\n"),
            ("conf.json", '{"tokenizer": "org/net"}\n'),
            ("run.sh", "python train.py --model_name_or_path org/net --lr 1\n"),
            ("run.sh", "MODEL=org/net\npython train.py\n"),
            ("run.sh", "lm_eval --model hf --model_args pretrained=org/net,dtype=float16\n"),
            ("run.sh", "vllm serve org/net --port 8000\n"),
        ],
    )
    def test_model(self, path: str, text: str) -> None:
        repository = build({path: text})
        assert models(repository) == {"org/net"}
        assert datasets(repository) == set()

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("a.py", 'from datasets import load_dataset\nload_dataset("org/rows", split="train")\n'),
            (
                "a.py",
                'from huggingface_hub import hf_hub_download\nhf_hub_download("org/rows", "a", repo_type="dataset")\n',
            ),
            ("a.py", 'dataset_name = "org/rows"\n'),
            ("conf.yaml", "dataset_mixer:\n  org/rows: 0.5\n"),
            ("conf.yaml", "datasets:\n  - id: org/rows\n    split: train\n"),
            ("run.sh", "python train.py --dataset_mixer_list org/rows 1.0\n"),
            ("run.sh", "hf download org/rows --repo-type dataset --local-dir data\n"),
        ],
    )
    def test_dataset(self, path: str, text: str) -> None:
        repository = build({path: text})
        assert datasets(repository) == {"org/rows"}
        assert models(repository) == set()

    def test_every_word_of_a_mixture_on_a_command_line(self) -> None:
        repository = build(
            {"run.sh": "python t.py --dataset_mixer_list org/rows 1.0 org/more 512 --model org/net\n"}
        )
        assert datasets(repository) == {"org/rows", "org/more"}
        assert models(repository) == {"org/net"}

    def test_an_id_without_an_organisation_needs_a_loading_call_or_a_key(self) -> None:
        code = """
        from transformers import AutoModel
        from datasets import load_dataset
        AutoModel.from_pretrained("bert-base-uncased")
        load_dataset("squad")
        other("gpt2")
        """
        repository = build({"a.py": code, "c.yaml": "base_model: gpt2\nstyle: roberta-base\n"})
        assert models(repository) == {"bert-base-uncased", "gpt2"}
        assert datasets(repository) == {"squad"}

    @pytest.mark.parametrize(
        "text",
        [
            'model_type = "application/json"\n',
            'model_zone = "Europe/Berlin"\n',
            'model_path = "checkpoints/best"\n',
            'model_file = "org/net.bin"\n',
            'PRICES = {"org/net-7b": 0.1}\n',
            'import torch\ntorch.hub.load("pytorch/vision", "resnet18")\n',
            'model.push_to_hub("org/net-7b")\n',
            'hub_model_id = "org/net-7b"\n',
            'output_model = "org/net-7b"\n',
            'if name == "org/net-7b":\n    pass\n',
            'model = "own/folder"\n',
            'model = "train/loss"\n',
            'clip_model = "ViT-B/32"\n',
            'model_prefix = "org/net-"\n',
            'dataset = "N/A"\n',
        ],
    )
    def test_what_only_looks_like_one(self, text: str) -> None:
        repository = build({"a.py": text, "own/folder/b.py": "x = 1\n"})
        assert models(repository) | datasets(repository) == set()

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("data/objects.yaml", "names:\n  0: Handbag/Satchel\n  1: Hut/Tent\n"),
            ("data/objects.yaml", "classes:\n- Handbag/Satchel\n- Hut/Tent\n"),
            ("run.sh", 'export DATA_DIR="rows_dataset/test"\n'),
            ("data/raw.py", 'dataset_name = "local/jsonfile"\n'),
        ],
    )
    def test_labels_and_folders_are_no_ids(self, path: str, text: str) -> None:
        repository = build({path: text, "a.py": "x = 1\n"})
        assert models(repository) | datasets(repository) == set()

    def test_an_upload_target_under_a_plain_name(self) -> None:
        code = """
        class Arguments:
            repo_id: str = "org/rows"
        dataset.push_to_hub(args.repo_id)
        """
        assert datasets(build({"data/make.py": code})) == set()

    def test_a_list_of_records_is_data(self) -> None:
        assert models(build({"results.json": '[{"model": "org/net"}, {"model": "org/net2"}]'})) == set()

    def test_names_of_another_catalogue_are_no_ids(self) -> None:
        tfds = {
            "examples/wmt/input.py": "import tensorflow_datasets as tfds\n\ndef read(config):\n    return tfds.builder(config.dataset_name)\n",
            "examples/wmt/configs/default.py": "class Config:\n    dataset_name = 'wmt17_translate/de-en'\n",
        }
        assert datasets(build(tfds)) == set()
        hub = {"train.py": "from datasets import load_dataset\n\nrows = load_dataset('org/rows')\n"}
        assert datasets(build({**tfds, **hub})) == {"org/rows"}

    def test_splits_of_a_task_and_parallel_texts_are_no_ids(self) -> None:
        files = {
            "train.py": "def main(task):\n    task.load_dataset('valid')\n",
            "prepare.sh": 'CORPORA="un/undoc.2000.fr-en training/europarl-v7.fr-en"\n',
        }
        assert datasets(build(files)) == set()

    def test_a_folder_beside_the_script_is_no_organisation(self) -> None:
        code = (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--model', default='{}/net-7b')\n"
        )
        files = {"part/train.py": code.format("words"), "part/words/net-7b": "x"}
        assert models(build(files)) == set()
        assert models(build({**files, "part/train.py": code.format("org")})) == {"org/net-7b"}

    def test_pinned_by_a_commit(self) -> None:
        code = (
            f'from transformers import AutoModel\nAutoModel.from_pretrained("org/net", revision="{COMMIT}")\n'
        )
        repository = build(
            {"a.py": code, "c.yaml": f"model_name_or_path: org/other\nmodel_revision: {COMMIT}\n"}
        )
        rows = model_ids(repository, TrainingPath(repository)).value
        assert [(row.id, row.path, row.line, row.pinned) for row in rows] == [
            ("org/net", "a.py", 2, True),
            ("org/other", "c.yaml", 1, True),
        ]

    @given(st.text(max_size=300), st.sampled_from(["a.py", "a.yaml", "a.json", "a.sh"]))
    def test_never_raises(self, text: str, path: str) -> None:
        repository = build({path: text.encode("utf-8", "surrogatepass")})
        models(repository), datasets(repository)
