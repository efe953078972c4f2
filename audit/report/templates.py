"""The one loader of templates, and the two environments in which nothing goes out unsanitized.

A plain value that a template prints is sanitized for the surface by the environment itself; only what the
sanitizer's own functions made (`Markup`) passes as it is. Templates run in a sandbox: they are ours, but what
they are given is not.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

import audit
from audit.safety import sanitize


def _folder() -> Path:
    """The package's own `templates` in an installation, the repository's in a checkout."""
    package = Path(audit.__file__).parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def _environment(quote: Callable[[str], str], *, autoescape: bool) -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader(_folder()),
        undefined=jinja2.StrictUndefined,
        autoescape=autoescape,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(quote(str(value))),  # noqa: S704
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _marked(quote: Callable[..., str]) -> Callable[..., Markup]:
    """The sanitizer's function as a filter whose result is not quoted once more."""
    return lambda *args, **options: Markup(quote(*args, **options))  # noqa: S704


@functools.cache
def _html() -> ImmutableSandboxedEnvironment:
    environment = _environment(sanitize.html, autoescape=True)
    environment.filters["block"] = _marked(functools.partial(sanitize.html, multiline=True))
    environment.filters["prose"] = _marked(sanitize.html_prose)
    return environment


@functools.cache
def _markdown() -> ImmutableSandboxedEnvironment:
    environment = _environment(sanitize.markdown, autoescape=False)
    environment.filters["code"] = _marked(sanitize.markdown_code)
    environment.filters["prose"] = _marked(sanitize.markdown_prose)
    environment.filters["link"] = _marked(sanitize.markdown_link)
    return environment


def render_html(name: str, context: dict[str, Any]) -> str:
    """The HTML template `name` with every value of `context` escaped."""
    return _finished(_html().get_template(name).render(context))


def render_markdown(name: str, context: dict[str, Any]) -> str:
    """The Markdown template `name` with every value of `context` as plain text."""
    return _finished(_markdown().get_template(name).render(context))


def _finished(text: str) -> str:
    """A second, independent line of defence over the whole text, where a filter may have joined parts behind
    our back.
    """
    return sanitize.log_text(sanitize.printable(text, multiline=True))
