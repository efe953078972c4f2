from audit.documents.finding import Severity, Status
from tests.rules.computed import LOOP, failing, only_status

COMMIT = "0123456789abcdef0123456789abcdef01234567"
README = "# P\n\n```bash\npython train.py --model acme/bert-tiny\n```\n"
RESULTS = "\n## Results\n\n| model | accuracy |\n|---|---|\n| ours | 93.1 |\n"
MAIN = "\nif __name__ == '__main__':\n"


def training(call: str, readme: str = README) -> dict[str, str]:
    head = "from transformers import AutoModel\nfrom datasets import load_dataset\nimport torch\n"
    return {"README.md": readme, "train.py": head + LOOP + MAIN + f"    train({call}, 2)\n"}


def test_a_model_is_only_a_warning_where_numbers_are_published() -> None:
    call = "AutoModel.from_pretrained('acme/bert-tiny')"
    (found,) = failing("hub.model_revision", training(call))
    assert found.severity is Severity.INFO
    assert found.message == "1 model of the hub (acme/bert-tiny) is named without a commit."
    (found,) = failing("hub.model_revision", training(call, README + RESULTS))
    assert found.severity is None
    assert found.message == (
        "README.md:4 takes the model acme/bert-tiny at whatever revision its repository has that day, and README.md publishes results."
    )


def test_what_one_command_takes_is_one_finding() -> None:
    readme = README.replace("bert-tiny\n", "bert-tiny --teacher acme/bert-large\n") + RESULTS
    call = "AutoModel.from_pretrained('acme/bert-tiny'), AutoModel.from_pretrained('acme/bert-large')"
    (found,) = failing("hub.model_revision", training(f"({call})", readme))
    assert "README.md:4 takes the models " in found.message
    assert "at whatever revision their repositories have that day" in found.message


def test_a_pinned_model() -> None:
    call = f"AutoModel.from_pretrained('acme/bert-tiny', revision='{COMMIT}')"
    assert only_status("hub.model_revision", training(call, README + RESULTS)) is Status.PASS


def test_datasets_likewise() -> None:
    call = "load_dataset('acme/reviews')"
    (found,) = failing("hub.dataset_revision", training(call, README + RESULTS))
    assert found.message.startswith("train.py:18 takes the data set acme/reviews at whatever revision")
    assert only_status("hub.dataset_revision", training("None")) is Status.NOT_APPLICABLE


def test_a_catalogue_of_models_is_one_finding() -> None:
    files = training("None", README.replace(" --model acme/bert-tiny", "") + RESULTS)
    files["conf/models.yaml"] = "".join(
        f"m{n}:\n  model_name_or_path: acme/model-{n}b\n" for n in range(2, 40)
    )
    (found,) = failing("hub.model_revision", files)
    assert found.severity is Severity.INFO
    assert found.message.startswith("38 models of the hub (")


def test_names_of_classes_are_no_ids() -> None:
    files = training("None", README.replace(" --model acme/bert-tiny", ""))
    files["data/objects.yaml"] = (
        "path: ../datasets/objects\nnames:\n  0: Cabinet/shelf\n  1: Handbag/Satchel\n"
    )
    assert only_status("hub.dataset_revision", files) is Status.NOT_APPLICABLE


def test_trust_remote_code() -> None:
    call = "AutoModel.from_pretrained(name, trust_remote_code=True)"
    (found,) = failing("hub.trust_remote_code", training(call))
    assert found.severity is None
    assert found.message.startswith("trust_remote_code is on in train.py:18 and no commit is pinned")
    asked = "AutoModel.from_pretrained(name, trust_remote_code=args.trust_remote_code)"
    assert only_status("hub.trust_remote_code", training(asked)) is Status.PASS
    fixed = f"AutoModel.from_pretrained(name, trust_remote_code=True, revision='{COMMIT}')"
    assert only_status("hub.trust_remote_code", training(fixed)) is Status.PASS


def test_examples_that_trust_are_one_lesser_finding() -> None:
    files = training("AutoModel.from_pretrained(name)")
    for n in range(9):
        files[f"examples/m{n}.yaml"] = "trust_remote_code: true\n"
    (found,) = failing("hub.trust_remote_code", files)
    assert found.severity is Severity.INFO
    assert "9 places" in found.message


def test_code_of_other_repositories() -> None:
    body = "import torch\ntorch.hub.load({}, 'net')\n"
    (found,) = failing("hub.code", {"run.py": body.format("'acme/vision'")})
    assert (
        found.message
        == "run.py:2 fetches and runs code of acme/vision from the default branch, which can move."
    )
    (found,) = failing("hub.code", {"run.py": body.format("'acme/vision:v0.10'")})
    assert found.severity is Severity.INFO
    assert only_status("hub.code", {"run.py": body.format("'acme/vision:0123abc'")}) is Status.PASS
    assert (
        only_status("hub.code", {"run.py": body.format("'.', source='local'").replace(", 'net'", "")})
        is Status.NOT_APPLICABLE
    )
    (found,) = failing(
        "hub.code",
        {"run.py": "from huggingface_hub import hf_hub_download\nhf_hub_download('acme/x', 'metric.py')\n"},
    )
    assert "acme/x" in found.message


EVALUATION = """
from openai import OpenAI

client = OpenAI()


def evaluate(text, {name}="{model}"):
    return client.chat.completions.create(model={name}, messages=[text])


if __name__ == "__main__":
    print(evaluate("x"))
"""


def test_aliases_that_judge() -> None:
    files = {
        "README.md": "```bash\npython evaluate.py\n```\n" + RESULTS,
        "evaluate.py": EVALUATION.format(name="judge_model", model="gpt-4"),
    }
    (found,) = failing("hub.api_models", files)
    assert found.severity is Severity.WARNING
    assert (
        found.message
        == "gpt-4 scores outputs under a name that the provider points to newer models, and README.md publishes results."
    )
    dated = files | {"evaluate.py": EVALUATION.format(name="judge_model", model="gpt-4o-2024-08-06")}
    assert only_status("hub.api_models", dated) is Status.PASS


def test_ids_that_nobody_asks() -> None:
    assert only_status("hub.api_models", {"names.py": "MODEL = 'gpt-4'\n"}) is Status.NOT_APPLICABLE
