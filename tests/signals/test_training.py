"""Signals of training: seeds, flags, workers, distribution, precision, accumulation, checkpoints, resume, trackers, settings."""

import pytest

from audit.documents.signals import Checkpoint
from audit.signals import checkpoints, data, nondeterminism, performance, seeds, surface, training
from audit.signals.frameworks import frameworks
from audit.signals.training_path import TrainingPath
from tests.signals.building import build

LOOP = """
import torch
from torch.utils.data import DataLoader
{head}
def train(args):
    {setup}
    loader = DataLoader(ds{loader})
    for x in loader:
        loss = model(x)
        loss.backward()
        {step}
if __name__ == "__main__":
    train(parse())
"""


def script(
    head: str = "", setup: str = "pass", loader: str = "", step: str = "optimizer.step()", **files: str
):
    """A repository with one training script, into which the given lines are put."""
    text = LOOP.format(
        head=head, setup=setup.replace("\n", "\n    "), loader=loader, step=step.replace("\n", "\n        ")
    )
    repository = build({"train.py": text, **{name.replace("__", "/"): body for name, body in files.items()}})
    return repository, TrainingPath(repository)


class TestSeeds:
    @pytest.mark.parametrize(
        ("line", "found"),
        [
            ("torch.manual_seed(1337 + rank)", ("torch",)),
            ("torch.cuda.manual_seed_all(args.seed)", ("cuda",)),
            ("import random; random.seed(args.seed)", ("python",)),
            ("import numpy as np; np.random.seed(0)", ("numpy",)),
            ("import numpy as np; rng = np.random.default_rng(7)", ("numpy",)),
            ("import tensorflow as tf; tf.random.set_seed(1)", ("tensorflow",)),
            ("import jax; key = jax.random.PRNGKey(0)", ("jax",)),
            ("from transformers import set_seed; set_seed(3)", ("python", "numpy", "torch")),
            ("import pytorch_lightning as pl; pl.seed_everything(3)", ("python", "numpy", "torch")),
            ("env.reset(seed=args.seed)", ("env",)),
            # Not seeds:
            ("import random; random.seed()", ()),
            ("import random; random.seed(None)", ()),
            ("import time; torch.manual_seed(int(time.time()))", ()),
            ("g.manual_seed(1)", ()),
            ("seed = args.seed", ()),
            ("import random; random.seed(1); random.seed()", ("python",)),
        ],
    )
    def test_what_counts(self, line, found):
        assert seeds.seed_control(*script(setup=line)).value == found

    def test_undone_further_down(self):
        assert seeds.seed_control(*script(setup="import random\nrandom.seed(1)\nrandom.seed()")).value == ()

    def test_a_helper_that_nobody_calls(self):
        repository, path = script(head="import random\ndef fix(): random.seed(1)")
        assert seeds.seed_control(repository, path).value == ()

    def test_a_helper_that_is_called(self):
        found = seeds.seed_control(
            *script(head="import random\ndef fix(n): random.seed(n)", setup="fix(args.seed)")
        )
        assert found.value == ("python",) and found.evidence[0].line == 5

    def test_the_trainer_seeds_by_itself(self):
        repository = build({"train.py": "from transformers import Trainer\nTrainer(model).train()\n"})
        assert seeds.seed_control(repository, TrainingPath(repository)).value == ("python", "numpy", "torch")


class TestFlagsAndWorkers:
    @pytest.mark.parametrize(
        ("line", "flags"),
        [
            ("torch.backends.cudnn.deterministic = True", ("cudnn.deterministic",)),
            ("torch.backends.cudnn.deterministic = args.deterministic", ("cudnn.deterministic",)),
            ("torch.backends.cudnn.benchmark = False", ("cudnn.benchmark=False",)),
            ("torch.use_deterministic_algorithms(True)", ("use_deterministic_algorithms",)),
            ("import os; os.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'", ("CUBLAS_WORKSPACE_CONFIG",)),
            ("torch.backends.cudnn.benchmark = True", ()),
            ("torch.backends.cudnn.deterministic = False", ()),
            ("torch.backends.cuda.matmul.allow_tf32 = True", ()),
            ("loader = make(deterministic=True)", ()),
        ],
    )
    def test_flags(self, line, flags):
        assert seeds.determinism_flags(*script(setup=line)).value == flags

    def test_a_flag_in_a_launch_script(self):
        found = seeds.determinism_flags(
            *script(**{"run.sh": "export TF_DETERMINISTIC_OPS=1\npython train.py\n"})
        )
        assert (found.value, found.evidence[0].path) == (("TF_DETERMINISTIC_OPS",), "run.sh")

    @pytest.mark.parametrize(
        ("loader", "seeded"),
        [
            ("", False),
            (", worker_init_fn=seed_worker", True),
            (", generator=g", True),
            (", worker_init_fn=None", False),
        ],
    )
    def test_workers(self, loader, seeded):
        assert seeds.dataloader_worker_seeding(*script(loader=loader)).value is seeded

    def test_no_loader_at_all(self):
        repository = build(
            {"train.py": "import torch\nfor i in range(3):\n    loss.backward()\n    optimizer.step()\n"}
        )
        assert seeds.dataloader_worker_seeding(repository, TrainingPath(repository)).value is None

    def test_a_permutation_s_generator_is_no_loader_s(self):
        assert seeds.dataloader_worker_seeding(*script(setup="torch.randperm(3, generator=g)")).value is False


class TestHow:
    @pytest.mark.parametrize(
        ("line", "found"),
        [
            ("model = torch.nn.parallel.DistributedDataParallel(model)", ("ddp",)),
            ("model = torch.nn.DataParallel(model)", ("dp",)),
            ("import deepspeed; model, *_ = deepspeed.initialize(model=model)", ("deepspeed",)),
            ("from accelerate import Accelerator; a = Accelerator()", ("accelerate",)),
            ("torch.distributed.init_process_group('nccl')", ()),
            ("device = torch.accelerator.current_accelerator()", ()),
        ],
    )
    def test_distributed(self, line, found):
        assert training.distributed(*script(setup=line)).value == found

    def test_all_reduce_is_a_call_of_the_repository_itself(self):
        assert training.all_reduce(*script(setup="torch.distributed.all_reduce(t)")).value
        assert not training.all_reduce(
            *script(setup="m = torch.nn.parallel.DistributedDataParallel(m)")
        ).value

    @pytest.mark.parametrize(
        ("line", "mixed"),
        [
            ("with torch.autocast('cuda'): pass", True),
            ("scaler = torch.cuda.amp.GradScaler()", True),
            ("from accelerate import Accelerator; a = Accelerator(mixed_precision='bf16')", True),
            ("from accelerate import Accelerator; a = Accelerator(mixed_precision='no')", False),
            ("torch.set_float32_matmul_precision('high')", False),
        ],
    )
    def test_mixed_precision(self, line, mixed):
        assert training.mixed_precision(*script(setup=line)).value is mixed

    @pytest.mark.parametrize(
        ("step", "accumulates"),
        [
            ("optimizer.step()", False),
            ("if i % args.accum_iter == 0:\n    optimizer.step()", True),
            ("loss = loss / args.gradient_accumulation_steps\noptimizer.step()", True),
            ("evaluator.accumulate()\noptimizer.step()", False),
        ],
    )
    def test_accumulation(self, step, accumulates):
        assert training.gradient_accumulation(*script(step=step)).value is accumulates


class TestCheckpoints:
    @pytest.mark.parametrize(
        ("line", "parts"),
        [
            ("torch.save(model.state_dict(), 'm.pt')", Checkpoint(model=True)),
            (
                "torch.save({'net': net.state_dict(), 'epoch': e}, 'c.pt')",
                Checkpoint(model=True, progress=True),
            ),
            (
                "state = {'model': m.state_dict(), 'optimizer': o.state_dict(), 'step': i}\ntorch.save(state, 'c')",
                Checkpoint(model=True, optimizer=True, progress=True),
            ),
            (
                "s = {'student': m.state_dict()}\ns['rng'] = torch.get_rng_state()\ntorch.save(s, 'c')",
                Checkpoint(model=True, rng_state=True),
            ),
            ("model.save_pretrained('out')", Checkpoint(model=True)),
            ("accelerator.save_state('out')", Checkpoint(True, True, True, True)),
            ("import json; json.dump({'epoch': 3, 'model': 'x'}, f)", Checkpoint()),
            ("img.save('x.png')", Checkpoint()),
        ],
    )
    def test_parts(self, line, parts):
        assert checkpoints.checkpoint(*script(setup=line)).value == parts

    def test_nothing_trains(self):
        repository = build({"lib.py": "def f(): pass\n"})
        assert checkpoints.checkpoint(repository, TrainingPath(repository)).value is None

    @pytest.mark.parametrize(
        ("line", "resumes"),
        [
            ("optimizer.load_state_dict(c['optimizer'])", True),
            ("c = torch.load('c')\nstart = c['epoch']", True),
            ("utils.restart_from_checkpoint('c', optimizer=optimizer)", True),
            ("model.load_state_dict(torch.load('m'))", False),
        ],
    )
    def test_resume(self, line, resumes):
        assert checkpoints.resume(*script(setup=line)).value is resumes


class TestSurface:
    @pytest.mark.parametrize(
        ("line", "found"),
        [
            ("import wandb; wandb.init()", ("wandb",)),
            ("from torch.utils.tensorboard import SummaryWriter; w = SummaryWriter()", ("tensorboard",)),
            ("import mlflow; mlflow.start_run()", ("mlflow",)),
            ("p = torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler('x'))", ()),
        ],
    )
    def test_trackers(self, line, found):
        assert surface.experiment_tracking(*script(setup=line)).value == found

    def test_settings(self):
        assert surface.config_driven(
            *script(setup="import argparse; p = argparse.ArgumentParser()")
        ).value == ("argparse",)
        assert surface.config_driven(*script(setup="import tyro; a = tyro.cli(Args)")).value == ("tyro",)

    def test_a_converter_s_settings_do_not_count(self):
        repository, path = script(
            **{"convert.py": "import argparse\nargparse.ArgumentParser().parse_args()\n"}
        )
        assert surface.config_driven(repository, path).value == ()

    def test_frameworks_are_import_names_of_own_code(self):
        repository, path = script(
            head="import datasets", **{"tests__test_x.py": "import jax\n", "util.py": "import os, numpy\n"}
        )
        assert frameworks(repository, path).value == ("datasets", "numpy", "torch")

    def test_an_own_folder_is_no_library(self):
        library = build({"train.py": "import datasets\n"})
        assert frameworks(library, TrainingPath(library)).value == ("datasets",)
        own = build({"train.py": "import datasets\n", "datasets/__init__.py": ""})
        assert frameworks(own, TrainingPath(own)).value == ()


class TestData:
    @pytest.mark.parametrize(
        ("line", "pinned"),
        [
            ("from datasets import load_dataset; d = load_dataset('a/b')", "no"),
            ("from datasets import load_dataset; d = load_dataset('a/b', revision='main')", "no"),
            (f"from datasets import load_dataset; d = load_dataset('a/b', revision='{'0' * 40}')", "yes"),
            ("from datasets import load_dataset; d = load_dataset('json', data_files='x.json')", None),
            ("import torchvision; d = torchvision.datasets.CIFAR10('.')", "yes"),
            ("import tensorflow_datasets as tfds; d = tfds.load('mnist:3.0.1')", "yes"),
            ("import tensorflow_datasets as tfds; d = tfds.load('mnist')", "no"),
        ],
    )
    def test_pinned(self, line, pinned):
        assert data.dataset_pinned(*script(setup=line)).value == pinned


class TestHabits:
    @pytest.mark.parametrize(
        ("line", "note"),
        [
            ("for x in set(names): use(x)", "iterates over a set"),
            ("import os; files = os.listdir(d)", "the file system's"),
            ("torch.backends.cudnn.benchmark = True", "by timing"),
            ("import random; random.shuffle(x)", "does not seed"),
            ("import os; files = sorted(os.listdir(d))", ""),
            ("import os; files = os.listdir(d)\nfiles.sort()", ""),
            ("n = len(set(names))", ""),
            ("import pathlib\nif list(pathlib.Path(d).glob('c-*')): resume()", ""),
        ],
    )
    def test_nondeterminism(self, line, note):
        repository, path = script(setup=line)
        found = nondeterminism.nondeterminism(repository, path, ("torch",), None, False).value
        assert (note in found[0].note) if note else found == ()

    def test_a_sync_at_every_step(self):
        repository, path = script(step="optimizer.step()\ntotal += loss.item()")
        notes = [place.note for place in performance.performance_hints(repository, path, True).value]
        assert any("waits for the device" in note for note in notes)
