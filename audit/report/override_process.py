"""The process that draws one template of a repository: a JSON object in, a JSON object out.

In: `source`, `values`, `most` (characters of text), `seconds` (of processor time). Out: `text`, or `error` in one sentence.
"""

import json
import sys
from pathlib import Path
from typing import Any

_MEMORY = 512 * 2**20
_LONGEST_ERROR = 300


def main() -> None:
    """Reads standard input, draws, writes standard output."""
    asked = json.loads(sys.stdin.buffer.read())
    _limit(asked["seconds"])
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.stdout.write(json.dumps(_answer(asked)))


def _limit(seconds: float) -> None:
    """Bounds memory and processor time, where the system can do that."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock alone
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))


def _answer(asked: dict[str, Any]) -> dict[str, str]:
    from jinja2 import TemplateError, TemplateNotFound, nodes

    from audit.report.templates import attribute_value, markdown_environment

    environment = markdown_environment(attribute_value)
    try:
        if environment.parse(asked["source"]).find(nodes.FilterBlock):
            return {
                "error": "It holds a {% filter %} block, which would work on text that is quoted already."
            }
        template = environment.from_string(asked["source"])
        pieces, size = [], 0
        for piece in template.generate(asked["values"]):
            size += len(piece)
            if size > asked["most"]:
                return {"error": f"It draws more than {asked['most']} characters."}
            pieces.append(piece)
        return {"text": "".join(pieces)}
    except MemoryError:
        return {"error": "It takes more memory than a template may."}
    except TemplateNotFound as error:
        return {"error": _sentence(f"there is no template {error.name}", None)}
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        return {"error": _sentence(str(error.message or type(error).__name__), line)}
    except Exception as error:  # what a template can raise is whatever its expressions raise
        return {"error": _sentence(f"{type(error).__name__}: {error}", None)}


def _sentence(message: str, line: int | None) -> str:
    where = f" in line {line}" if line else ""
    return f"It is not valid{where}: {' '.join(message.split())[:_LONGEST_ERROR].rstrip('.')}."


if __name__ == "__main__":
    main()
