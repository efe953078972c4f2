"""Limits that GitHub keeps and its OpenAPI description lacks. Each returns what is wrong with a body, "" or nothing if all
is well.

Sources: GitHub's REST documentation ("Create a check run", "Create a review for a pull request", "Best practices for using
the REST API"), and answers that users of other tools were given.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

MAX_COMMENT = 65_536
"""Characters of a comment, a review, a review comment."""
MAX_MESSAGE = 64 * 1024
"""Bytes of an annotation's message, and of its raw details."""
MAX_TITLE = 255
CREATIONS_A_MINUTE = 80
CREATIONS_AN_HOUR = 500
POINTS_A_MINUTE = 900
"""A read costs one, a write five."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_OLD_VERSIONS = frozenset({"2022-11-28"})
_API_VERSIONS = _OLD_VERSIONS | {"2026-03-10"}


def text_errors(value: Any, place: str = "body") -> Iterator[str]:
    """Half surrogate pairs and NUL anywhere in a document: GitHub answers 400 or stores something else."""
    if isinstance(value, str):
        if _SURROGATE.search(value):
            yield f"{place}: half of a surrogate pair"
        if "\0" in value:
            yield f"{place}: a NUL character"
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from text_errors(part, f"{place}/{key}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from text_errors(part, f"{place}/{number}")


def comment_errors(body: Any) -> Iterator[str]:
    """The text of a comment or review."""
    if not isinstance(body, str):
        return
    if not body.strip():
        yield "Body can't be blank"
    if len(body) > MAX_COMMENT:
        yield f"Body is too long (maximum is {MAX_COMMENT} characters), it has {len(body)}"


def check_errors(body: Mapping[str, Any], *, create: bool) -> Iterator[str]:
    """A check run's name, times and annotations."""
    if create and not str(body.get("name") or "").strip():
        yield "name: can't be blank"
    if create and not re.fullmatch(r"[0-9a-f]{40}", str(body.get("head_sha"))):
        yield "head_sha: not a whole commit id"
    if (body.get("completed_at") or body.get("status") == "completed") and not body.get("conclusion"):
        yield "conclusion: required where a check run is completed"
    output = body.get("output")
    if not isinstance(output, Mapping):
        return
    if not create and "title" not in output:
        yield "output/title: required"
    annotations = output.get("annotations")
    for number, one in enumerate(annotations if isinstance(annotations, list) else ()):
        if isinstance(one, Mapping):
            for error in annotation_errors(one):
                yield f"output/annotations/{number}: {error}"


def annotation_errors(one: Mapping[str, Any]) -> Iterator[str]:
    """One annotation of a check run."""
    path = one.get("path")
    if not isinstance(path, str) or not path:
        yield f"path {path!r} names no file (the whole batch is refused)"
    start, end = one.get("start_line"), one.get("end_line")
    if isinstance(start, int) and isinstance(end, int):
        if start < 1:
            yield f"start_line {start}: lines count from 1"
        if end < start:
            yield f"end_line {end} is before start_line {start}"
        columns = {"start_column", "end_column"} & {key for key, value in one.items() if value is not None}
        if columns and start != end:
            yield f"{', '.join(sorted(columns))}: only where start_line equals end_line"
    for key in ("start_column", "end_column"):
        column = one.get(key)
        if isinstance(column, int) and column < 1:
            yield f"{key} {column}: columns count from 1"
    for key, most in (("message", MAX_MESSAGE), ("raw_details", MAX_MESSAGE)):
        text = one.get(key)
        if isinstance(text, str) and len(text.encode("utf-8", "surrogatepass")) > most:
            yield f"{key}: longer than 64 KB"
    if not str(one.get("message") or "").strip():
        yield "message: can't be blank"
    if isinstance(one.get("title"), str) and len(one["title"]) > MAX_TITLE:
        yield f"title: longer than {MAX_TITLE} characters"
    for key in ("path", "message", "title", "raw_details"):
        text = one.get(key)
        if isinstance(text, str) and any(character > "\uffff" for character in text):
            yield f"{key}: a character beyond U+FFFF"


def header_errors(
    method: str, headers: Mapping[str, str], has_body: bool, *, enterprise: bool
) -> Iterator[str]:
    """`headers`: names in lower case; `enterprise`: a server that does not know the newest version of the API."""
    if not headers.get("user-agent"):
        yield "User-Agent: missing (GitHub refuses the request)"
    authorization = headers.get("authorization")
    if authorization is not None and not re.fullmatch(r"(?i:bearer|token) [\x21-\x7e]+", authorization):
        yield "Authorization: neither 'Bearer TOKEN' nor 'token TOKEN'"
    accept = headers.get("accept")
    if accept is not None and not re.search(r"application/(?:json|vnd\.github[\w.+-]*)|\*/\*", accept):
        yield f"Accept: {accept!r} is nothing that the API has"
    version = headers.get("x-github-api-version")
    if version is not None and version not in (_OLD_VERSIONS if enterprise else _API_VERSIONS):
        yield f"X-GitHub-Api-Version: {version!r} does not exist"
    if has_body and method != "GET" and not headers.get("content-type", "").startswith("application/json"):
        yield f"Content-Type: {headers.get('content-type')!r} beside a JSON body"
    if any("\n" in value or "\r" in value for value in headers.values()):
        yield "a header holds a line break"
