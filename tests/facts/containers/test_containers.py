import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.containers import extract, extract_compose, split_image
from audit.facts.model import BaseImage, ContainerFacts, Flag

DIGEST = "sha256:" + "ab" * 32


def facts(text: str) -> ContainerFacts:
    body = extract(text).body
    assert isinstance(body, ContainerFacts)
    return body


DOCKERFILE = f"""\
# syntax=docker/dockerfile:1
ARG BASE=nvidia/cuda
ARG TAG="12.2"
FROM --platform=$TARGET ${{BASE}}:${{TAG:-9}} AS build
ENV A=1 \\
    B="x y"
ENV OLD style value
RUN --mount=type=cache,target=/root \\
    # a comment inside
    pip install torch==2.1 && \\

    python -m pkg.train --lr $A
RUN <<EOF
pip install rich
python after.py
EOF
COPY --from=build /a /b
FROM build
FROM python@{DIGEST}
RUN ["pip", "install", "numpy==1.0"]
CMD ["python", "serve.py", "--port", "80"]
ENTRYPOINT torchrun t.py
"""


def test_dockerfile() -> None:
    found = facts(DOCKERFILE)
    assert found.images == (
        BaseImage("nvidia/cuda", "12.2", "", 4),
        BaseImage("build", "", "", 18, True),
        BaseImage("python", "", DIGEST, 19),
    )
    assert found.env == (("A", "1", 5), ("B", "x y", 6), ("OLD", "style value", 7))
    assert [(r.name, r.exact, r.line, r.source) for r in found.requirements] == [
        ("torch", True, 10, "docker"),
        ("rich", False, 14, "docker"),
        ("numpy", True, 20, "docker"),
    ]
    targets = [(c.target, c.line) for c in found.commands if c.target]
    assert targets == [("pkg.train", 12), ("after.py", 15), ("serve.py", 21), ("t.py", 22)]
    assert next(c for c in found.commands if c.target == "pkg.train").flags == (Flag("--lr", "1", 12),)


@pytest.mark.parametrize(
    ("reference", "image", "tag", "digest"),
    [
        ("python", "python", "", ""),
        ("host:5000/a/b", "host:5000/a/b", "", ""),
        ("host:5000/a/b:1", "host:5000/a/b", "1", ""),
        (f"a:1@{DIGEST}", "a", "1", DIGEST),
    ],
)
def test_image_references(reference: str, image: str, tag: str, digest: str) -> None:
    assert split_image(reference, 3) == BaseImage(image, tag, digest, 3)


def test_what_is_no_container_has_no_body() -> None:
    assert extract("hello\n").body is None
    assert extract("RUN x\n").partial == "no FROM: not a Dockerfile"


def test_dev_container_with_comments() -> None:
    found = facts(
        '// head\n{\n\t"image": "a/b:1", // c\n  /* d\n */ "containerEnv": {"X": "http://y"},\n  "postCreateCommand": "pip install torch==1.0",\n}\n'
    )
    assert found.images == (BaseImage("a/b", "1", "", 3),)
    assert found.env == (("X", "http://y", 5),)
    assert [(r.name, r.line) for r in found.requirements] == [("torch", 6)]


def test_singularity() -> None:
    found = facts(
        'Bootstrap: docker\nFrom: nvidia/cuda:12.2\n\n%environment\n  export A=1\n%post\n  pip install torch==1.0\n%runscript\n  exec python run.py "$@"\n'
    )
    assert found.images == (BaseImage("nvidia/cuda", "12.2", "", 2),)
    assert found.env == (("A", "1", 5),)
    assert [(r.name, r.line) for r in found.requirements] == [("torch", 7)]
    assert [(c.target, c.line) for c in found.commands if c.target] == [("run.py", 9)]


def test_compose() -> None:
    body = extract_compose(
        "services:\n  a:\n    image: x/y:${TAG:-2}\n    environment:\n      - K=v\n    command: [python, -m, pkg.serve, --port, '80']\n"
        "  b:\n    build: .\n    environment: {L: w}\n    command: python train.py\n      --lr 1\n"
    ).body
    assert isinstance(body, ContainerFacts)
    assert body.images == (BaseImage("x/y", "2", "", 3),)
    assert body.env == (("K", "v", 5), ("L", "w", 9))
    assert [(c.target, c.line, c.flags) for c in body.commands] == [
        ("pkg.serve", 6, (Flag("--port", "80", 6),)),
        ("train.py", 10, (Flag("--lr", "1", 11),)),
    ]


def test_an_image_that_is_built_here_is_no_base() -> None:
    body = extract_compose("services:\n  a:\n    build: .\n    image: own:dev\n  b:\n    image: x/y:1\n").body
    assert isinstance(body, ContainerFacts)
    assert [(image.image, image.stage) for image in body.images] == [("own", True), ("x/y", False)]


@settings(deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(
            st.sampled_from([*DOCKERFILE.split("\n"), "{", "}", "%post", "Bootstrap: docker", "<<E", "\\"]),
            max_size=20,
        ).map("\n".join),
    )
)
def test_never_raises(text: str) -> None:
    extract(text)
    extract_compose(text)
