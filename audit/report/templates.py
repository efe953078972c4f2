"""The one loader of templates, and the two environments in which nothing goes out unsanitized.

A plain value that a template prints is sanitized for the surface by the environment itself; only what the sanitizer's own functions
made passes as it is. Templates run in a sandbox: they are ours, but what they are given is not. A repository's own templates (overrides)
run in `audit.report.overrides`, in a process of their own.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2.runtime import BlockReference, Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

import audit
from audit.safety import sanitize


class Quoted:
    """Markdown that the sanitizer made. Deliberately no string: whatever is joined to it, cut from it or replaced in it becomes plain text
    again, and is quoted when it is printed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


class _Inherited(BlockReference):
    """`super()` in a template: the block of the parent, whose values are quoted already."""

    def __call__(self) -> Quoted:  # type: ignore[override]
        return Quoted(str(super().__call__()))


class _Context(Context):
    """Jinja's, with a `super()` that is not quoted once more."""

    def super(self, name: str, current: Callable[..., Any]) -> Any:
        found = super().super(name, current)
        if isinstance(found, BlockReference):
            return _Inherited(found.name, found._context, found._stack, found._depth)
        return found


def folder() -> Path:
    """The package's own `templates` in an installation, the repository's in a checkout."""
    package = Path(audit.__file__).parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def _environment(finalize: Callable[[Any], str], *, autoescape: bool) -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader(folder()),
        undefined=jinja2.StrictUndefined,
        autoescape=autoescape,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _html_value(value: Any) -> str:
    return value if isinstance(value, Markup) else Markup(sanitize.html(str(value)))  # noqa: S704


def _html_marked(quote: Callable[..., str]) -> Callable[..., Markup]:
    """The sanitizer's function as a filter whose result is not quoted once more."""
    return lambda *args, **options: Markup(quote(*args, **options))  # noqa: S704


@functools.cache
def _html() -> ImmutableSandboxedEnvironment:
    environment = _environment(_html_value, autoescape=True)
    environment.filters["block"] = _html_marked(functools.partial(sanitize.html, multiline=True))
    environment.filters["prose"] = _html_marked(sanitize.html_prose)
    return environment


def _markdown_value(value: Any) -> str:
    return str(value) if type(value) is Quoted else sanitize.markdown(str(value))


def attribute_value(value: Any) -> str:
    """As any value, and also safe within a quoted attribute, where a template of somebody else may put it."""
    if type(value) is Quoted:
        return str(value)
    return _markdown_value(value).replace('"', "&#34;").replace("'", "&#39;")


def _marked(quote: Callable[..., str]) -> Callable[..., Quoted]:
    return lambda value, *args, **options: Quoted(quote(str(value), *args, **options))


MARKDOWN_FILTERS: Mapping[str, Callable[..., str]] = {
    "code": sanitize.markdown_code,
    "prose": sanitize.markdown_prose,
    "link": sanitize.markdown_link,
    "code_link": sanitize.markdown_code_link,
    "fence": sanitize.markdown_block,
}
"""The functions of the sanitizer that Markdown templates may call."""


def markdown_environment(
    finalize: Callable[[Any], str] = _markdown_value,
) -> ImmutableSandboxedEnvironment:
    """A new environment for Markdown templates; `finalize` quotes every value that is printed."""
    environment = _environment(finalize, autoescape=False)
    environment.context_class = _Context
    environment.filters.update({name: _marked(quote) for name, quote in MARKDOWN_FILTERS.items()})
    return environment


_markdown = functools.cache(markdown_environment)


def render_html(name: str, context: dict[str, Any]) -> str:
    """The HTML template `name` with every value of `context` escaped."""
    return finished(_html().get_template(name).render(context))


def render_markdown(name: str, context: dict[str, Any]) -> str:
    """The Markdown template `name` with every value of `context` as plain text."""
    return finished(_markdown().get_template(name).render(context))


def finished(text: str) -> str:
    """A second, independent line of defence over the whole text, where a filter may have joined parts behind
    our back.
    """
    return sanitize.log_text(sanitize.printable(text, multiline=True))
