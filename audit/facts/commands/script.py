"""Shell scripts, those for SLURM, PBS, LSF and Grid Engine included."""

import re

from audit.facts.commands.shell import read_script
from audit.facts.extracted import Extracted
from audit.facts.model import Flag, ScriptFacts

MAX_DIRECTIVES = 200

_DIRECTIVE = re.compile(r"^#(SBATCH|PBS|BSUB|COBALT|\$)[ \t]+(-[^\r\n]{0,1000})", re.MULTILINE)
_SYSTEMS = {"SBATCH": "slurm", "PBS": "pbs", "BSUB": "lsf", "COBALT": "cobalt", "$": "sge"}
_OPTION = re.compile(r"(--[\w-]+|-\w)(?:[= \t]*)([^\s#][^#]*?)?\s*(?:#.*)?")


def extract(text: str) -> Extracted:
    """The facts of a shell script: `format` "shell", or the scheduler whose directives it carries."""
    script = read_script(text)
    found = _directives(text)
    return Extracted(
        ScriptFacts(
            format=found[0][0] if found else "shell",
            commands=script.commands,
            variables=script.variables,
            directives=tuple(flag for _, flag in found),
            requirements=script.requirements,
        ),
        script.partial,
    )


def _directives(text: str) -> list[tuple[str, Flag]]:
    """(scheduler, option) of each directive line; the first kind of directive is the script's scheduler."""
    found: list[tuple[str, Flag]] = []
    line, position = 1, 0
    for match in _DIRECTIVE.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        option = _OPTION.fullmatch(match[2].strip())
        if option is not None:
            value = (option[2] or "").strip().strip("'\"")
            found.append((_SYSTEMS[match[1]], Flag(name=option[1], value=value, line=line)))
        if len(found) >= MAX_DIRECTIVES:
            break
    return found
