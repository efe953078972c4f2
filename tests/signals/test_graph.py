"""The call graph: what running a script reaches."""

import pytest

from audit.signals.graph import CallGraph
from audit.signals.modules import ModuleIndex
from audit.signals.training_path import TrainingPath
from tests.signals.building import build


def reached(files: dict[str, str], start: str = "main.py") -> set[str]:
    """Names of the functions and classes that running `start` reaches, as "file:name"."""
    graph = CallGraph(build(files).code)
    nodes = graph.reach(
        [(start, i) for i, s in enumerate(graph.python[start].scopes) if s.kind in ("module", "main")]
    )
    return {f"{path}:{graph.python[path].scopes[i].name}" for path, i in nodes if i}


class TestModules:
    INDEX = ModuleIndex(
        [
            "pkg/__init__.py",
            "pkg/sub/__init__.py",
            "pkg/sub/deep.py",
            "src/lib/core.py",
            "tools/run.py",
            "tools/help.py",
        ]
    )

    @pytest.mark.parametrize(
        ("name", "origin", "found"),
        [
            ("pkg.sub.deep.run", "main.py", ("pkg/sub/deep.py", "run")),
            ("pkg.sub", "tools/run.py", ("pkg/sub/__init__.py", "")),
            ("help.me", "tools/run.py", ("tools/help.py", "me")),
            ("lib.core.x", "tools/run.py", ("src/lib/core.py", "x")),
            (".deep.f", "pkg/sub/__init__.py", ("pkg/sub/deep.py", "f")),
            ("..sub.deep.f", "pkg/sub/deep.py", ("pkg/sub/deep.py", "f")),
            (".missing", "pkg/sub/deep.py", ("pkg/sub/__init__.py", "missing")),
            ("numpy.random", "main.py", (None, "numpy.random")),
            ("....x", "pkg/sub/deep.py", (None, "....x")),
        ],
    )
    def test_resolve(self, name, origin, found):
        assert self.INDEX.resolve(name, origin) == found


class TestReach:
    def test_through_imports_reexports_and_stars(self):
        files = {
            "main.py": "from lib import go\nfrom stars import *\nif __name__ == '__main__':\n    go()\n    twinkle()\n",
            "lib/__init__.py": "from .inner import go\n",
            "lib/inner.py": "def go():\n    helper()\ndef helper(): pass\ndef unused(): pass\n",
            "stars.py": "def twinkle(): pass\n",
        }
        assert reached(files) == {
            "main.py:__main__",
            "lib/inner.py:go",
            "lib/inner.py:helper",
            "stars.py:twinkle",
        }

    def test_methods_of_live_classes_only(self):
        files = {
            "main.py": "from m import A, B\ndef run(x):\n    x.step_all()\nrun(A())\n",
            "m.py": "class A:\n    def step_all(self): self._inner()\n    def _inner(self): pass\n    def never(self): pass\n"
            "class B:\n    def step_all(self): pass\n",
        }
        found = reached(files)
        assert {"m.py:A", "m.py:step_all", "m.py:_inner"} <= found
        assert "m.py:never" not in found and "m.py:B" not in found

    def test_a_framework_calls_back(self):
        files = {
            "main.py": "import torch\nclass Net(torch.nn.Module):\n    def anything(self): deep()\ndef deep(): pass\nNet()\n"
        }
        assert "main.py:deep" in reached(files)

    def test_inherited_methods_and_overrides(self):
        files = {
            "main.py": "from b import Child\nc = Child()\nc.train_all()\n",
            "b.py": "class Base:\n    def train_all(self): self.hook_one()\n    def hook_one(self): pass\n"
            "class Child(Base):\n    def hook_one(self): special()\ndef special(): pass\n",
        }
        assert "b.py:special" in reached(files)

    @pytest.mark.parametrize(
        "line",
        ["getattr(choices, name)()", "f = getattr(choices, cfg.kind)"],
    )
    def test_a_lookup_by_name_may_mean_everything(self, line):
        files = {"main.py": f"import choices\n{line}\n", "choices.py": "def one(): pass\nclass Two: pass\n"}
        assert {"choices.py:one", "choices.py:Two"} <= reached(files)

    def test_runners_of_absl_call_main(self):
        files = {
            "main.py": "from absl import app\ndef main(_): pass\nif __name__ == '__main__':\n    app.run()\n"
        }
        assert "main.py:main" in reached(files)

    def test_cycles_end(self):
        chain = "".join(f"class C{i}(C{(i + 1) % 300}):\n    def m{i}(self): pass\n" for i in range(300))
        files = {
            "main.py": "from a import f\nf()\n" + chain + "C0()\n",
            "a.py": "from main import g\ndef f(): g()\n",
        }
        assert "a.py:f" in reached(files)


TRAIN = """
    import torch
    from model import Net
    def train(net, optimizer):
        for x in range(3):
            loss = net(x)
            loss.backward()
            optimizer.step()
    if __name__ == "__main__":
        torch.manual_seed(1)
        train(Net(), torch.optim.SGD([], 0.1))
"""
NET = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): return x\nif __name__ == '__main__':\n    torch.manual_seed(0)\n"


class TestTrainingPath:
    def test_entries_and_loop(self):
        path = TrainingPath(
            build({"train.py": TRAIN, "model.py": NET, "README.md": "```\npython train.py --lr 0.1\n```\n"})
        )
        assert [(e.path, e.documented) for e in path.training] == [("train.py", True)]
        assert path.primary_loop[0] == "raw_torch"
        assert path.primary_loop[1][0].line == 7

    def test_a_self_test_in_a_module_is_no_entry(self):
        path = TrainingPath(build({"train.py": TRAIN, "model.py": NET}))
        assert [e.path for e in path.entries] == ["train.py"]

    def test_tests_and_vendored_code_do_not_train(self):
        path = TrainingPath(
            build({"tests/test_train.py": TRAIN, "third_party/x/train.py": TRAIN, "model.py": "x = 1\n"})
        )
        assert path.training == () and path.primary_loop == ("none", ())

    def test_a_console_script(self):
        files = {
            "pyproject.toml": "[project]\nname='p'\nversion='1'\n[project.scripts]\np='p.cli:main'\n",
            "p/__init__.py": "",
            "p/cli.py": "from p.loop import fit\ndef main(): fit()\n",
            "p/loop.py": "import torch\ndef fit():\n    for _ in range(2):\n        loss.backward()\n        optimizer.step()\n",
        }
        assert [e.path for e in TrainingPath(build(files)).training] == ["p/cli.py"]

    def test_a_configured_class_is_reached_and_counted(self):
        files = {
            "train.py": "import hydra\nimport lightning as L\n@hydra.main()\ndef main(cfg):\n    trainer = hydra.utils.instantiate(cfg.trainer)\n"
            "    trainer.fit(hydra.utils.instantiate(cfg.model))\nif __name__ == '__main__':\n    main()\n",
            "conf/trainer.yaml": "_target_: lightning.pytorch.trainer.Trainer\nstrategy: ddp\nprecision: 16-mixed\n",
            "conf/model.yaml": "_target_: nets.Net\n",
            "nets.py": "import random\nclass Net:\n    def __init__(self): random.seed(3)\n",
        }
        path = TrainingPath(build(files))
        assert path.primary_loop[0] == "lightning"
        assert any(
            c.name == "lightning.pytorch.trainer.Trainer" and c.kwargs["strategy"] == "'ddp'"
            for _, c in path.calls
        )
        assert any(c.name == "random.seed" for _, c in path.calls)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("from transformers import Trainer\nTrainer(model).train()\n", "hf_trainer"),
        ("from trl import SFTTrainer\nclass Mine(SFTTrainer): pass\nMine(m).train()\n", "hf_trainer"),
        ("import pytorch_lightning as pl\npl.Trainer(max_epochs=3).fit(m)\n", "lightning"),
        ("from keras.models import Model\nm = Model()\nm.fit_generator(g)\n", "keras"),
        ("import tensorflow as tf\nm = tf.keras.Sequential([])\nm.fit(x)\n", "keras"),
        ("import jax\nfor _ in range(3):\n    g = jax.value_and_grad(loss)\n", "jax"),
        ("import tensorflow as tf\nwith tf.GradientTape() as t:\n    pass\n", "tf"),
        ("from stable_baselines3 import PPO\nmodel = PPO('M', env)\nmodel.learn(10)\n", "rl"),
        ("import gymnasium, torch\nfor _ in range(2):\n    loss.backward()\n    optimizer.step()\n", "rl"),
        ("from sklearn.linear_model import Ridge\nclf = Ridge()\nclf.fit(x, y)\n", "sklearn"),
        ("from sklearn.preprocessing import StandardScaler\ns = StandardScaler()\ns.fit(x)\n", "none"),
        ("import torch\nloss.backward()\nprint(x.grad)\n", "none"),
        ("import torch\nclass Trainer: pass\nTrainer()\n", "none"),
    ],
)
def test_kinds_of_loop(source, kind):
    assert TrainingPath(build({"train.py": source})).primary_loop[0] == kind


def test_a_library_trains_through_its_functions_and_has_no_loop_of_its_own():
    files = {
        "lib/__init__.py": "from lib.core import learn\n",
        "lib/core.py": "import random, torch\ndef learn(seed):\n    random.seed(seed)\n    loss.backward()\n    optimizer.step()\n",
        "tests/test_lib.py": "import lib\ndef test_it(): lib.learn(1)\n",
    }
    path = TrainingPath(build(files))
    assert path.is_library and path.trains and path.training == ()
    assert path.primary_loop == ("none", ())
    assert any(call.name == "random.seed" for _, call in path.calls)


def test_the_backward_of_an_own_function_is_no_loop():
    source = "import torch\nclass F(torch.autograd.Function):\n    def backward(ctx, g):\n        torch.autograd.backward(g)\noptimizer.step()\n"
    assert TrainingPath(build({"train.py": source})).primary_loop[0] == "none"
