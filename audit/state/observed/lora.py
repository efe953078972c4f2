"""Whether low-rank adaptation is on in a run: its options have defaults in many scripts that train without it."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from audit.documents.place import Place
from audit.state.observed.calls import Group
from audit.state.observed.launches import Launch
from audit.state.observed.model import Rank
from audit.state.observed.options import Said
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene

_SWITCHES = ("use_peft", "use_lora", "lora_enable", "enable_lora", "use_qlora", "peft", "lora")
_CHOICES = ("adapter", "finetuning_type", "peft_type", "peft_method", "tuner_type", "train_type")
_CALL = re.compile(r"(?:peft(?:\.\w+)*\.)?(?:LoraConfig|get_peft_model)")
_NAMED = re.compile(r"(?i)(?:^|[/_\-])q?lora(?=[/_.\-]|$)")


def settled(groups: Iterable[Group], scene: Scene, resolver: Resolver, launch: Launch) -> Iterator[Group]:
    """The groups, those about LoRA only where it is on; unsure where nobody says. Where it is on and nothing else names the method, it is the
    method."""
    kept = list(groups)
    answer, place = _is_on(scene, resolver, launch)
    quantized = False
    for group in kept:
        if group.setting.startswith("training.lora."):
            if answer is not False:
                yield group if answer else msgspec.structs.replace(group, sure=False)
        else:
            quantized = quantized or (
                group.setting == "models.primary.quantization"
                and "4bit" in str([s.value for s in group.said])
            )
            yield group
    if answer and place and not any(group.setting == "training.method" for group in kept):
        name = "qlora" if quantized else "lora"
        yield Group("training.method", (Said(name, place, "LoRA is on", Rank.CODE),))


def _is_on(scene: Scene, resolver: Resolver, launch: Launch) -> tuple[bool | None, Place | None]:
    for name in _SWITCHES:
        said = resolver.settings.about(name)
        if said and said[0].known and isinstance(said[0].value, bool):
            return said[0].value, said[0].place
    for name in _CHOICES:
        said = resolver.settings.about(name)
        if said and said[0].known and isinstance(said[0].value, str):
            return "lora" in said[0].value.lower(), said[0].place
    answer: tuple[bool | None, Place | None] = (False, None)
    for file, call in scene.calls:
        if _CALL.fullmatch(call.name):
            holds = resolver.holds(call.test, file, call.scope)
            if holds:
                return True, Place(file, call.line)
            if holds is None:
                answer = (None, None)
    if any(map(_NAMED.search, (scene.entry.path, launch.origin, *launch.files))):
        return True, launch.place
    return answer
