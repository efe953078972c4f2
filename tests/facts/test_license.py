"""Licences by their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identify.vendor.licenses import LICENSES

from audit.facts.license import MAX_CHARS, extract, spdx_of
from audit.facts.model import LicenseFacts

TEXTS = dict(LICENSES)
MIT = TEXTS["MIT"].replace("[year]", "2024").replace("[fullname]", "A Group of People, Some University")


@pytest.mark.parametrize("spdx", sorted(TEXTS))
def test_every_template_is_itself(spdx: str) -> None:
    assert spdx_of(TEXTS[spdx]) == spdx


def _unwrapped(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


@pytest.mark.parametrize(
    "changed",
    [
        MIT.replace("\n", "\r\n"),
        MIT.upper(),
        _unwrapped(MIT),
        " ".join(MIT.split()),
        "# License\n\n" + "".join(f"> {line}\n" for line in MIT.splitlines()),
        "<pre>" + MIT.replace('"', "&quot;").replace("\n", "<br/>\n") + "</pre>",
        MIT.replace("MIT License", "The MIT License (MIT)"),
        MIT.replace("Permission is", "Portions: Copyright (c) 2020 B\nCopyright (c) 2021 C\n\nPermission is"),
        MIT.replace("permission notice shall", "permission notice (including the next paragraph) shall"),
    ],
)
def test_a_changed_look_is_the_same_licence(changed: str) -> None:
    assert spdx_of(changed) == "MIT"


def test_what_comes_near() -> None:
    assert spdx_of(TEXTS["Apache-2.0"].split("APPENDIX")[0]) == "Apache-2.0"
    assert spdx_of(TEXTS["Apache-2.0"].split("\n", 4)[4]) == "Apache-2.0"
    assert (
        spdx_of(TEXTS["BSD-3-Clause"].replace("the copyright holder nor", "Some Lab nor")) == "BSD-3-Clause"
    )
    assert spdx_of(TEXTS["GPL-3.0"].split("How to Apply")[0]) == "GPL-3.0"


def test_several_licences_in_one_file() -> None:
    both = f"Dual licensed, at your option.\n\n{MIT}\n\n---\n\n{TEXTS['Apache-2.0']}"
    assert spdx_of(both) == "Apache-2.0 OR MIT"
    stacked = f"{MIT}\n\nsrc/net.py is taken from elsewhere:\n\n{TEXTS['BSD-3-Clause']}"
    assert spdx_of(stacked) == "MIT"


def _creative_commons(title: str) -> str:
    body = "By exercising the Licensed Rights you accept the terms of this Public License. " * 60
    head = f"{title}\n\n=====\n\nCreative Commons Corporation is no law firm."
    return f"{head}\n\n{body}\nCreative Commons may be contacted."


@pytest.mark.parametrize(
    ("title", "spdx"),
    [
        ("Attribution 4.0 International", "CC-BY-4.0"),
        ("Attribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("Attribution-NonCommercial-ShareAlike 4.0 International", "CC-BY-NC-SA-4.0"),
        ("Creative Commons Attribution-NonCommercial-NoDerivs 3.0 Unported", "CC-BY-NC-ND-3.0"),
    ],
)
def test_creative_commons(title: str, spdx: str) -> None:
    assert spdx_of(_creative_commons(title)) == spdx


@pytest.mark.parametrize(
    ("text", "spdx"),
    [
        (
            'Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file',
            "Apache-2.0",
        ),
        ("SPDX-License-Identifier: Apache-2.0 OR MIT\n\nSee LICENSES.", "Apache-2.0 OR MIT"),
        ("This project is licensed under the MIT License - see the site.", "MIT"),
        (
            "This work is licensed under a Creative Commons Attribution 4.0 International License.",
            "CC-BY-4.0",
        ),
    ],
)
def test_notices(text: str, spdx: str) -> None:
    assert spdx_of(text) == spdx


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All rights reserved.",
        "LLAMA 2 COMMUNITY LICENSE AGREEMENT\nYou are granted a non-exclusive licence",
        "BigScience OpenRAIL-M\nAttachment A: use restrictions. You agree not to use the Model",
        f'{MIT}\n\n"Commons Clause" License Condition v1.0\nProvided without the right to sell.',
        f"Modified MIT License\n{MIT}\nOur only modification: more than 100 million monthly active users",
        f"{MIT}\nThe model weights are for non-commercial use.",
        " ".join(MIT.split()[:90]),
        "The code is like the MIT licence but not quite.",
    ],
)
def test_nothing_is_invented(text: str) -> None:
    assert spdx_of(text) == ""


def test_long_texts_are_cut_and_said() -> None:
    extracted = extract(MIT + " x" * MAX_CHARS)
    assert extracted.body == LicenseFacts(spdx="MIT")
    assert "left out" in extracted.partial


@given(st.text(alphabet=st.sampled_from("permission is hereby granted <>[]()&;\n")) | st.text())
def test_never_raises(text: str) -> None:
    assert isinstance(spdx_of(text), str)


LONG = [
    "permission is hereby granted free of charge " * 20_000,
    "<" * 500_000,
    "](" * 300_000,
    "attribution " * 50_000,
    "SPDX-License-Identifier: " + "aa OR " * 50_000,
    "gnu general public license " * 30_000,
]


@pytest.mark.parametrize("text", LONG)
def test_long_lines_are_bounded(text: str) -> None:
    assert isinstance(spdx_of(text), str)
