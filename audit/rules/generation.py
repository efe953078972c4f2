"""How outputs are drawn, and by what (category gen)."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.rules.declared import View, declaring, missing, named
from audit.rules.execution import is_greedy
from audit.rules.model import APIS
from audit.rules.rule import Outcome, not_applicable, passed

_PARAMETERS = ("generation.temperature", "generation.top_p", "generation.max_tokens")
_SERVERS = frozenset({"vllm", "sglang"})


def params(view: View) -> Iterable[Outcome]:
    """Greedy decoding has no share to cut, so top_p is asked for where something is drawn."""
    asked = [path for path in _PARAMETERS if not (path.endswith("top_p") and is_greedy(view))]
    if view.text("generation.do_sample") == "False":
        asked.remove("generation.temperature")
    silent = missing(view, *asked)
    if silent:
        yield view.lacks(f"{named(silent)} of generation", *silent, every=True, key="generation")
    else:
        yield passed(f"{view.name} says how outputs are drawn.")


def seed(view: View) -> Iterable[Outcome]:
    if view.says("generation.seed", "experiment.seed"):
        yield passed(f"{view.name} says with which seed outputs are drawn.")
    elif is_greedy(view):
        yield not_applicable("Generation is greedy: nothing is drawn.")
    elif not (view.number("generation.temperature") or view.text("generation.do_sample") == "True"):
        yield not_applicable("It is not declared that outputs are drawn at random.")
    else:
        yield view.lacks("with which seed outputs are drawn", "generation.seed")


def behind_an_api(view: View) -> bool:
    """Whether the primary model is asked over the network."""
    return view.text("models.primary.provider") in APIS


def backend(view: View) -> Iterable[Outcome]:
    if view.says("inference.backend"):
        yield passed(f"{view.name} says what runs the model.")
    elif behind_an_api(view):
        yield passed("The model runs where its provider runs it.")
    else:
        yield view.lacks("what runs the model", "inference.backend")


def backend_config(view: View) -> Iterable[Outcome]:
    """What changes the numbers of a server that batches: each can stand with the model, too."""
    name = view.text("inference.backend").lower()
    if name not in _SERVERS:
        yield not_applicable("The model is not declared to run on vllm or sglang.")
        return
    ways = {
        "inference.dtype": ("inference.dtype", "models.primary.dtype"),
        "inference.tensor_parallel": ("inference.tensor_parallel",),
        "inference.quantization": ("inference.quantization", "models.primary.quantization"),
        "inference.gpu_memory_utilization": ("inference.gpu_memory_utilization",),
    }
    silent = [path for path, paths in ways.items() if not view.says(*paths)]
    if silent:
        yield view.lacks(f"{named(silent)} of {name}", *silent, every=True, key="backend")
    else:
        yield passed(f"{view.name} says how {name} is set up.")


def stop(view: View) -> Iterable[Outcome]:
    if view.says("generation.stop"):
        yield passed(f"{view.name} says where outputs stop.")
    else:
        yield view.lacks(
            "which texts end an output",
            "generation.stop",
            fix="Add `generation.stop`; `[]` where only the model's own end counts.",
        )


_KINDS = ("inference",)

RULES = (
    declaring(
        "gen.params_declared",
        Severity.WARNING,
        "The manifest says how outputs are drawn",
        "Temperature, top_p and the longest output decide what a model says. Left out they are a library's or a provider's defaults, which differ "
        "from each other and change.",
        "Add `temperature`, `top_p` and `max_tokens` to `generation`.",
        "generation: {temperature: 0.7, top_p: 0.95, max_tokens: 512}\n",
        "generation: {temperature: 0.7}\n",
        params,
        *_KINDS,
    ),
    declaring(
        "gen.seed_declared",
        Severity.WARNING,
        "The manifest says with which seed outputs are drawn",
        "Where tokens are drawn at random, another seed gives another output, and a score over few examples moves by points.",
        "Add `generation.seed`, or set the temperature to 0.",
        "generation: {temperature: 0.7, seed: 1}\n",
        "generation: {temperature: 0.7}\n",
        seed,
        *_KINDS,
    ),
    declaring(
        "gen.backend_declared",
        Severity.WARNING,
        "The manifest says what runs the model",
        "transformers, vLLM and llama.cpp compute the same weights with other kernels, other batches and other defaults. Their outputs differ.",
        "Add `inference.backend`, and `backend_version`.",
        "inference: {backend: vllm, backend_version: 0.6.3}\n",
        "generation: {temperature: 0}\n",
        backend,
        *_KINDS,
    ),
    declaring(
        "gen.backend_config_declared",
        Severity.WARNING,
        "The manifest says how the serving engine is set up",
        "Dtype, quantization and tensor parallelism change the arithmetic; the share of memory changes how requests are batched, and with it the sums.",
        "Add `dtype`, `tensor_parallel`, `quantization` and `gpu_memory_utilization` to `inference`.",
        "inference: {backend: vllm, dtype: bfloat16, tensor_parallel: 2, quantization: none, gpu_memory_utilization: 0.9}\n",
        "inference: {backend: vllm}\n",
        backend_config,
        *_KINDS,
    ),
    declaring(
        "gen.stop_declared",
        Severity.INFO,
        "The manifest says which texts end an output",
        "Where an output is cut decides what is parsed out of it. A stop text that is missing lets a base model go on to the next question.",
        "Add `generation.stop`; `[]` where only the model's own end counts.",
        'generation: {stop: ["\\n\\n", "Question:"]}\n',
        "generation: {temperature: 0}\n",
        stop,
        *_KINDS,
    ),
)
