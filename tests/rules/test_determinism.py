from audit.documents.finding import Severity, Status
from tests.rules.computed import LOOP, failing, only_status

README = "# P\n\n```bash\npython train.py\n```\n"


def script(body: str, head: str = "") -> dict[str, str]:
    """A repository whose README runs train.py: imports, a loop, and a main part with this body."""
    main = "\n".join("    " + line for line in body.strip().splitlines())
    return {"README.md": README, "train.py": f"{head}\n{LOOP}\n\nif __name__ == '__main__':\n{main}\n"}


# Seeds ------------------------------------------------------------------------------------------------------------


def test_torch_unseeded() -> None:
    (found,) = failing("determinism.seed_torch", script("train(make(), data())"))
    assert found.message == (
        "train.py draws from PyTorch's generator (a DataLoader that shuffles at train.py:9) and never seeds it."
    )
    assert found.severity is None
    assert (found.evidence[0].path, found.evidence[0].line) == ("train.py", 9)


def test_torch_seeded() -> None:
    assert (
        only_status("determinism.seed_torch", script("torch.manual_seed(1)\ntrain(make(), data())"))
        is Status.PASS
    )


def test_a_helper_that_is_called_seeds() -> None:
    files = script("seed_all(3)\ntrain(make(), data())", "from helpers import seed_all")
    files["helpers.py"] = "import torch\n\ndef seed_all(n):\n    torch.manual_seed(n)\n"
    assert only_status("determinism.seed_torch", files) is Status.PASS


def test_a_seed_in_another_script_does_not_count_and_is_named() -> None:
    files = script("train(make(), data())")
    files["sample.py"] = "import torch\n\nif __name__ == '__main__':\n    torch.manual_seed(1)\n"
    (found,) = failing("determinism.seed_torch", files)
    assert found.message.endswith("never seeds it; sample.py:4 seeds it, but is not on the way.")


def test_a_seed_flag_that_the_script_does_not_read_is_named() -> None:
    body = "parser = argparse.ArgumentParser()\nparser.add_argument('--seed', type=int)\nargs = parser.parse_args()\ntrain(make(), data())"
    (found,) = failing("determinism.seed_torch", script(body, "import argparse"))
    assert "train.py:18 defines --seed and does not read it." in found.message


def test_no_training_no_seeds() -> None:
    files = {
        "README.md": "# L\n",
        "lib/__init__.py": "import torch\n\ndef f(x):\n    return torch.rand(3) + x\n",
    }
    for generator in ("torch", "numpy", "python", "tensorflow", "env"):
        assert only_status(f"determinism.seed_{generator}", files) is Status.NOT_APPLICABLE


def test_an_evaluation_repository_is_not_asked() -> None:
    files = {
        "README.md": "```bash\npython evaluate.py\n```\n",
        "evaluate.py": "import random\nprint(random.random())\n",
    }
    assert only_status("determinism.seed_python", files) is Status.NOT_APPLICABLE


def test_numpy_and_python_only_where_they_are_drawn_from() -> None:
    plain = script("torch.manual_seed(1)\ntrain(make(), data())")
    assert only_status("determinism.seed_numpy", plain) is Status.NOT_APPLICABLE
    drawn = script(
        "torch.manual_seed(1)\norder = np.random.permutation(9)\ntrain(make(), order)", "import numpy as np"
    )
    (found,) = failing("determinism.seed_numpy", drawn)
    assert "(numpy.random.permutation at train.py:18)" in found.message
    shuffled = script("import random\nrandom.shuffle(x)\ntrain(make(), x)")
    assert len(failing("determinism.seed_python", shuffled)) == 1


def test_what_loader_workers_draw_follows_from_the_seed_of_pytorch() -> None:
    files = script("torch.manual_seed(1)\ntrain(make(), Data())", "from dataset import Data")
    files["train.py"] = files["train.py"].replace("shuffle=True", "shuffle=True, num_workers=4")
    files["dataset.py"] = """
        import random

        class Data:
            def __getitem__(self, i):
                return random.random()
        """
    assert only_status("determinism.seed_python", files) is Status.NOT_APPLICABLE


def test_the_trainer_seeds() -> None:
    files = {
        "README.md": README,
        "train.py": "import random\nfrom transformers import Trainer\nrandom.shuffle(x)\nTrainer(model=m).train()\n",
    }
    assert only_status("determinism.seed_torch", files) is Status.PASS
    assert only_status("determinism.seed_python", files) is Status.PASS


def test_a_way_that_cannot_be_followed_is_said() -> None:
    files = script("go = table['seed_all']\ngo(1)\ntrain(make(), data())\nprint(seeding.seed_all)")
    files["tools/seeding.py"] = "import torch\n\ndef seed_all(n):\n    torch.manual_seed(n)\n"
    assert only_status("determinism.seed_torch", files) is Status.NOT_CHECKED


def test_tensorflow() -> None:
    keras = (
        "import tensorflow as tf\nfrom tensorflow import keras\nmodel = keras.Sequential()\nmodel.fit(x, y)\n"
    )
    assert len(failing("determinism.seed_tensorflow", {"README.md": README, "train.py": keras})) == 1
    seeded = keras.replace("model =", "tf.random.set_seed(1)\nmodel =")
    assert (
        only_status("determinism.seed_tensorflow", {"README.md": README, "train.py": seeded}) is Status.PASS
    )


def test_a_jax_script_that_only_writes_event_files_with_torch() -> None:
    def files(torch: str) -> dict[str, str]:
        body = (
            "for step in range(9):\n        grads = jax.grad(loss)(state)\n        obs = envs.step(state)\n"
            "        updates, s = opt.update(grads, s)\n        state = optax.apply_updates(state, updates)\n"
        )
        head = f"import jax\nimport optax\nimport gymnasium\n{torch}\n"
        main = f"if __name__ == '__main__':\n    envs = gymnasium.make('x')\n    {body}"
        return {"README.md": README, "train.py": head + main}

    assert len(failing("determinism.seed_torch", files("import torch"))) == 1
    writer = "from torch.utils.tensorboard import SummaryWriter"
    assert failing("determinism.seed_torch", files(writer)) == []


def test_environments() -> None:
    body = "import gymnasium as gym\nenv = gym.make('CartPole-v1')\nenv.reset({})\ntrain(make(), env)"
    assert len(failing("determinism.seed_env", script(body.format("")))) == 1
    assert only_status("determinism.seed_env", script(body.format("seed=1"))) is Status.PASS


def test_some_of_many_scripts() -> None:
    files = {"README.md": "```bash\n" + "".join(f"python {n}/train.py\n" for n in "abc") + "```\n"}
    for name in "abc":
        files[f"{name}/train.py"] = (
            LOOP
            + "\nif __name__ == '__main__':\n"
            + ("" if name == "b" else "    torch.manual_seed(0)\n")
            + "    train(1, 2)\n"
        )
    (found,) = failing("determinism.seed_torch", files)
    assert found.severity is Severity.INFO
    assert found.message.startswith("b/train.py draws")


# Processes, sources, defaults --------------------------------------------------------------------------------------


def test_spawned_processes() -> None:
    head = "import torch.multiprocessing as mp\n\ndef worker(rank):\n    {}\n    train(1, 2)\n"
    body = "torch.manual_seed(0)\nmp.spawn(worker, nprocs=2)"
    (found,) = failing("determinism.seeds_in_processes", script(body, "import torch\n" + head.format("pass")))
    assert "torch is seeded in the parent only" in found.message
    assert (
        only_status(
            "determinism.seeds_in_processes",
            script(body, "import torch\n" + head.format("torch.manual_seed(rank)")),
        )
        is Status.PASS
    )
    assert only_status("determinism.seeds_in_processes", script("train(1, 2)")) is Status.NOT_APPLICABLE


def test_seeds_from_the_clock() -> None:
    clock = script("import time\ntorch.manual_seed(int(time.time()))\ntrain(1, 2)")
    (found,) = failing("determinism.seed_source", clock)
    assert found.message == "train.py:18 takes its seed from the clock or the process."
    undone = script("import random\nrandom.seed(1)\nrandom.seed()\ntrain(1, 2)")
    (found,) = failing("determinism.seed_source", undone)
    assert (
        found.message
        == "train.py:19 seeds the generator anew from the operating system, whatever was set before."
    )
    asked = script("import time\nif seed is None:\n    torch.manual_seed(int(time.time()))\ntrain(1, 2)")
    assert only_status("determinism.seed_source", asked) is Status.PASS


def test_default_of_the_seed() -> None:
    body = """parser = argparse.ArgumentParser()
parser.add_argument('--seed', type=int, default={})
args = parser.parse_args()
if args.seed is not None:
    torch.manual_seed(args.seed)
train(1, 2)"""
    (found,) = failing("determinism.seed_default", script(body.format("None"), "import argparse"))
    assert found.message == (
        "The seed's default in train.py:18 is None: a run without the flag has no fixed seed, and no documented command sets it."
    )
    assert only_status("determinism.seed_default", script(body.format("0"), "import argparse")) is Status.PASS
    given = script(body.format("None"), "import argparse") | {
        "README.md": README.replace("train.py", "train.py --seed 1")
    }
    (found,) = failing("determinism.seed_default", given)
    assert found.severity is Severity.INFO


# Kernels -----------------------------------------------------------------------------------------------------------


def test_flags() -> None:
    body = "scaler = torch.cuda.amp.GradScaler()\n{}train(1, 2)"
    (found,) = failing("determinism.flags", script(body.format("")))
    assert found.message == "Training runs PyTorch on a GPU and has no switch for deterministic kernels."
    assert (
        only_status("determinism.flags", script(body.format("torch.use_deterministic_algorithms(True)\n")))
        is Status.PASS
    )
    assert only_status("determinism.flags", script("train(1, 2)")) is Status.NOT_APPLICABLE


def test_choice_of_kernels() -> None:
    on, wish = "torch.backends.cudnn.benchmark = True\n", "torch.backends.cudnn.deterministic = True\n"
    (found,) = failing("determinism.kernel_choice", script(on + "train(1, 2)"))
    assert found.severity is None
    (found,) = failing("determinism.kernel_choice", script(wish + on + "train(1, 2)"))
    assert found.severity is Severity.WARNING
    assert "train.py:18 sets cudnn.benchmark = True while train.py:17 asks" in found.message
    branches = f"if args.deterministic:\n    {wish}else:\n    {on}train(1, 2)"
    assert only_status("determinism.kernel_choice", script(branches)) is Status.PASS
    assert only_status("determinism.kernel_choice", script("train(1, 2)")) is Status.PASS


# Data order -----------------------------------------------------------------------------------------------------------


def test_loader_workers() -> None:
    files = script("train(1, Data())", "from dataset import Data")
    files["train.py"] = files["train.py"].replace("shuffle=True", "shuffle=True, num_workers=4")
    files["dataset.py"] = (
        "import numpy as np\n\nclass Data:\n    def __getitem__(self, i):\n        return np.random.rand()\n"
    )
    (found,) = failing("determinism.loader_workers", files)
    assert found.severity is Severity.INFO
    (found,) = failing("determinism.loader_workers", files | {"requirements.txt": "torch==1.4.0\n"})
    assert found.severity is None
    assert (
        only_status("determinism.loader_workers", files | {"requirements.txt": "torch>=2.1\n"}) is Status.PASS
    )
    seeded = files | {
        "train.py": files["train.py"].replace("num_workers=4", "num_workers=4, worker_init_fn=f")
    }
    assert only_status("determinism.loader_workers", seeded) is Status.PASS
    assert only_status("determinism.loader_workers", script("train(1, 2)")) is Status.NOT_APPLICABLE


def test_order() -> None:
    files = script("train(1, load_data('x'))", "from dataset import load_data")
    lists = "import os\n\ndef load_data(root):\n    return [open(n) for n in {}]\n"
    (found,) = failing("determinism.order", files | {"dataset.py": lists.format("os.listdir(root)")})
    assert found.message == "dataset.py:4 takes files in the order that the file system gives."
    assert (
        only_status("determinism.order", files | {"dataset.py": lists.format("sorted(os.listdir(root))")})
        is Status.PASS
    )


def test_order_of_what_is_no_data() -> None:
    files = script("clean_up('x')\ntrain(1, load_data('x'))", "from dataset import clean_up, load_data")
    files["dataset.py"] = """
        import os

        def clean_up(output_dir):
            for name in os.listdir(output_dir):
                os.remove(name)

        def load_data(root):
            names = os.listdir(root)
            names = sorted(names)
            count = len(list(os.scandir(root)))
            return names[:count]
        """
    assert only_status("determinism.order", files) is Status.PASS


# Resuming ---------------------------------------------------------------------------------------------------------------


def test_resume() -> None:
    body = """state = torch.load('last.pt')
optimizer.load_state_dict(state['optimizer'])
train(1, 2)
torch.save({{'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 1{}}}, 'last.pt')"""
    assert len(failing("determinism.resume", script(body.format("")))) == 1
    assert (
        only_status("determinism.resume", script(body.format(", 'rng_state': torch.get_rng_state()")))
        is Status.PASS
    )
    assert only_status("determinism.resume", script("train(1, 2)")) is Status.NOT_APPLICABLE


def test_seeds_that_follow_the_epoch_need_no_state() -> None:
    body = """state = torch.load('last.pt')
optimizer.load_state_dict(state['optimizer'])
torch.manual_seed(seed + epoch)
train(1, 2)
torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 1}, 'last.pt')"""
    assert only_status("determinism.resume", script(body)) is Status.PASS
