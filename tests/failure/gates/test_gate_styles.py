"""Gates as people write them: each style is found and computed again."""

# ruff: noqa: E501  (texts of files)

import json
from collections.abc import Callable

import pytest

from audit.failure.gates import GateOutcome

Run = Callable[..., list[GateOutcome]]


def rows(count: int, **columns: Callable[[int], float]) -> str:
    return "\n".join(
        json.dumps({"step": i, **{k: f(i) for k, f in columns.items()}}) for i in range(1, count + 1)
    )


METRICS = rows(
    40,
    val_acc=lambda i: 0.5 + i / 100,
    loss=lambda i: 2 / i,
    tokens_per_sec=lambda i: 100.0 if i <= 10 else 900.0 + i,
)
CSV = "step,val_acc,val_loss,lr\n" + "\n".join(
    f"{i},{0.5 + i / 100 if i % 10 == 0 else ''},{2 / i if i % 10 == 0 else ''},0.1" for i in range(1, 41)
)

STYLES = {
    "pandas maximum": (
        "import pandas as pd, argparse\np = argparse.ArgumentParser()\np.add_argument('--threshold', type=float, default=0.95)\na = p.parse_args([])\n"
        "df = pd.read_csv('results/metrics.csv')\nbest = df['val_acc'].max()\nif best < a.threshold:\n    raise SystemExit(f'accuracy {best:.3f} too low')\n",
        {"metrics.csv": CSV},
        (0.9, 0.95, False),
    ),
    "pandas last of a sparse column": (
        "import pandas as pd\ndf = pd.read_csv('logs/version_0/metrics.csv')\nlast = df.dropna(subset=['val_loss'])['val_loss'].iloc[-1]\nassert last < 0.04\n",
        {"metrics.csv": CSV},
        (0.05, 0.04, False),
    ),
    "pandas rows after the warm-up": (
        "import pandas as pd\ndf = pd.read_json('m.jsonl', lines=True)\ntps = df[df['step'] > 10]['tokens_per_sec'].median()\nassert tps >= 930\n",
        {"m.jsonl": METRICS},
        (925.5, 930.0, False),
    ),
    "a YAML table of limits in a loop": (
        "import json, sys, yaml\nlimits = yaml.safe_load(open('ci/limits.yaml'))\nlast = [json.loads(l) for l in open('m.jsonl')][-1]\nfailures = []\n"
        "for name, limit in limits['minimum'].items():\n    value = last[name]\n    if value < limit:\n        failures.append(f'{name}: {value} < {limit}')\n"
        "if failures:\n    sys.exit('; '.join(failures))\n",
        {"m.jsonl": METRICS},
        (0.9, 0.91, False),
    ),
    "nested results of an evaluation": (
        "import json\nimport numpy as np\nRTOL = 0.03\nEXPECTED = {'gsm8k': 0.70}\nresults = json.load(open('results.json'))\n"
        "for task, gt in EXPECTED.items():\n    measured = results['results'][task]['exact_match,strict-match']\n    assert np.isclose(gt, measured, rtol=RTOL), f'{task} {measured}'\n",
        {
            "results.json": json.dumps(
                {
                    "results": {"gsm8k": {"exact_match,strict-match": 0.61, "alias": "gsm8k"}},
                    "n-samples": {"gsm8k": 1319},
                }
            )
        },
        (0.61, 0.70, False),
    ),
    "an allowance of failing steps": (
        "import json\ngold = json.load(open('ci/gold.json'))\ngot = {r['step']: r['loss'] for r in map(json.loads, open('m.jsonl'))}\n"
        "bad = sum(abs(got[int(s)] - g) > 0.02 * abs(g) for s, g in gold.items())\nassert bad <= 1, f'{bad} steps differ'\n",
        {"m.jsonl": METRICS},
        (2.0, 1.0, False),
    ),
    "a file beside the script": (
        "import json, pathlib\nspec = json.loads((pathlib.Path(__file__).parent / 'spec.json').read_text())\nlosses = []\nwith open('out/m.jsonl') as f:\n    for line in f:\n"
        "        losses.append(json.loads(line)['loss'])\nassert losses[-1] <= spec['max_loss']\n",
        {"m.jsonl": METRICS},
        (0.05, 0.04, False),
    ),
    "a limit from the environment's default": (
        "import json, os\nfloor = float(os.environ.get('MIN_ACC', '0.92'))\nacc = json.loads(open('m.jsonl').read().splitlines()[-1])['val_acc']\nok = acc >= floor\nprint('PASS' if ok else 'FAIL')\nexit(not ok)\n",
        {"m.jsonl": METRICS},
        (0.9, 0.92, False),
    ),
    "a helper that compares": (
        "import json\n\ndef within(value, limit, slack=0.0):\n    return value <= limit * (1 + slack)\n\nrows = [json.loads(l) for l in open('m.jsonl')]\nif not within(rows[-1]['loss'], 0.04, slack=0.1):\n    raise RuntimeError('loss')\n",
        {"m.jsonl": METRICS},
        (0.05, 0.044, False),
    ),
    "a checker class": (
        "import json\n\nclass Checker:\n    limit = 0.04\n\n    def __init__(self, path):\n        with open(path) as f:\n            self.rows = [json.loads(l) for l in f]\n\n    def final(self):\n        return self.rows[-1]['loss']\n\n"
        "    def run(self):\n        assert self.final() < self.limit, 'too high'\n\nif __name__ == '__main__':\n    Checker('m.jsonl').run()\n",
        {"m.jsonl": METRICS},
        (0.05, 0.04, False),
    ),
    "an error function and a constant": (
        "import json, sys\n\ndef main():\n    rows = [json.loads(l) for l in open('m.jsonl')]\n    mean = sum(r['tokens_per_sec'] for r in rows[10:]) / len(rows[10:])\n    if mean < 0.95 * 1000.0:\n        print('throughput too low')\n        return 1\n    return 0\n\nsys.exit(main())\n",
        {"m.jsonl": METRICS},
        (925.5, 950.0, False),
    ),
    "the last evaluation of a trainer's state": (
        "import json\nstate = json.load(open('out/trainer_state.json'))\nlast = next(h for h in reversed(state['log_history']) if 'eval_loss' in h)\nassert last['eval_loss'] < 1.0\n",
        {
            "trainer_state.json": json.dumps(
                {
                    "global_step": 20,
                    "max_steps": 20,
                    "log_history": [
                        {"step": 10, "loss": 2.0},
                        {"step": 10, "eval_loss": 1.5},
                        {"step": 20, "loss": 1.4},
                        {"step": 20, "eval_loss": 1.2},
                    ],
                }
            )
        },
        (1.2, 1.0, False),
    ),
    "a relative drop": (
        "import json\nfrom statistics import median\nbase = json.load(open('ci/gold.json'))['base']\nt = median(json.loads(l)['tokens_per_sec'] for l in open('m.jsonl'))\ndrop = 1 - t / base\nif drop > 0.05:\n    raise SystemExit(f'{drop:.1%} slower')\n",
        {"m.jsonl": METRICS},
        (1 - 920.5 / 1000, 0.05, False),
    ),
}
STORED = {
    "ci/limits.yaml": "minimum:\n  val_acc: 0.91\n",
    "ci/spec.json": '{"max_loss": 0.04}',
    "ci/gold.json": json.dumps({"10": 0.2, "20": 0.09, "40": 0.04, "30": 2 / 30}),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_style(gates: Run, style: str) -> None:
    text, metrics, (actual, limit, passed) = STYLES[style]
    stored = STORED | ({"ci/gold.json": '{"base": 1000.0}'} if "base" in text else {})
    found = [g for g in gates({"ci/run_gate.py": text, **stored}, metrics) if g.path == "ci/run_gate.py"]
    assert len(found) == 1, [(g.name, g.rule, g.actual, g.why) for g in found]
    assert found[0].actual == pytest.approx(actual)
    assert found[0].limit == pytest.approx(limit)
    assert found[0].passed is passed


MORE = {
    "numpy over a list of losses": (
        "import json\nimport numpy as np\nlosses = np.array([json.loads(l)['loss'] for l in open('m.jsonl')])\nassert losses[-5:].mean() < 0.04\n",
        {"m.jsonl": METRICS},
        (sum(2 / i for i in range(36, 41)) / 5, 0.04, False),
    ),
    "a tracker's history": (
        "from mlflow.tracking import MlflowClient\nclient = MlflowClient()\nhistory = client.get_metric_history('abc', 'val_acc')\nbest = max(m.value for m in history)\nassert best > 0.95\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
    "a run's metrics of a tracker": (
        "import mlflow\nrun = mlflow.get_run('abc')\nacc = run.data.metrics['val_acc']\nassert acc > 0.95\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
    "a run's summary of a tracker": (
        "import wandb\nrun = wandb.Api().run('a/b/c')\nassert run.summary['val_acc'] > 0.95, 'low'\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
    "click options": (
        "import json\nimport click\n\n@click.command()\n@click.option('--min-acc', type=float, default=0.95)\ndef main(min_acc):\n    last = [json.loads(l) for l in open('m.jsonl')][-1]\n    if last['val_acc'] < min_acc:\n        raise click.ClickException('accuracy too low')\n\nif __name__ == '__main__':\n    main()\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
    "a list of checks with labels": (
        "import json, sys\nlast = [json.loads(l) for l in open('m.jsonl')][-1]\nchecks = {'accuracy': last['val_acc'] >= 0.95}\nfor name, good in checks.items():\n    print(name, 'PASS' if good else 'FAIL')\nsys.exit(0 if all(checks.values()) else 1)\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
    "math.isclose": (
        "import json, math\nlast = [json.loads(l) for l in open('m.jsonl')][-1]\nassert math.isclose(last['val_acc'], 0.95, rel_tol=0.01)\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
    "subTest in unittest": (
        "import json, unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        last = [json.loads(l) for l in open('m.jsonl')][-1]\n        with self.subTest('acc'):\n            self.assertGreater(last['val_acc'], 0.95)\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
    "a chained comparison": (
        "import json\nlast = [json.loads(l) for l in open('m.jsonl')][-1]\nassert last['val_acc'] >= 0.95 and last['loss'] == last['loss']\n",
        {"m.jsonl": METRICS},
        (0.9, 0.95, False),
    ),
}


@pytest.mark.parametrize("style", MORE)
def test_more_styles(gates: Run, style: str) -> None:
    text, metrics, (actual, limit, passed) = MORE[style]
    name = "tests/test_gate.py" if "unittest" in text else "ci/run_gate.py"
    found = [g for g in gates({name: text}, metrics) if g.path == name and g.limit != g.actual]
    assert len(found) == 1, [(g.name, g.rule, g.actual, g.why) for g in found]
    assert found[0].actual == pytest.approx(actual)
    assert found[0].limit == pytest.approx(limit)
    assert found[0].passed is passed
