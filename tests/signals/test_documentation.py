"""README, licence and citation."""

import pytest

from audit.signals.documentation import citation, license_id, readme, spoken_license
from tests.signals.building import build

MIT = """\
MIT License

Copyright (c) 2023 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""
APACHE = "SPDX-License-Identifier: Apache-2.0\n"
CC = "SPDX-License-Identifier: CC-BY-NC-4.0\n"


def test_readme() -> None:
    found = readme(build({"README.rst": "Title\n=====\n", "src/README.md": "# x\n"}))
    assert found.value is True
    assert found.evidence[0].path == "README.rst"


@pytest.mark.parametrize("files", [{"train.py": "x = 1\n"}, {"src/README.md": "# x\n"}, {"README.md": ""}])
def test_no_readme(files: dict[str, str]) -> None:
    assert readme(build(files)).value is False


@pytest.mark.parametrize("name", ["LICENSE", "LICENCE", "LICENSE.md", "COPYING", "license.txt"])
def test_license_by_text(name: str) -> None:
    found = license_id(build({name: MIT}))
    assert found.value == "MIT"
    assert found.evidence[0].path == name


def test_license_of_data_and_copies_does_not_decide() -> None:
    files = {
        "LICENSE": APACHE,
        "DATA_LICENSE": CC,
        "MODEL_LICENSE": CC,
        "third_party/lib/LICENSE": MIT,
        "sub/LICENSE": MIT,
    }
    assert license_id(build(files)).value == "Apache-2.0"
    assert license_id(build({"third_party/lib/LICENSE": MIT, "pkg/LICENSE": MIT})).value is None
    assert license_id(build({"LICENSE-DATA": CC})).value is None


def test_two_licences_to_choose_from() -> None:
    assert license_id(build({"LICENSE-MIT": MIT, "LICENSE-APACHE": APACHE})).value == "Apache-2.0 OR MIT"


def test_unknown_text_is_no_licence_but_told() -> None:
    found = license_id(build({"LICENSE": "You may look at this on Tuesdays.\n"}))
    assert found.value is None
    assert found.evidence[0].note == "not the text of a known licence"


def test_license_of_the_manifest() -> None:
    manifest = '[project]\nname = "x"\nlicense = {text = "Apache License 2.0"}\ndependencies = []\n'
    found = license_id(build({"pyproject.toml": manifest}))
    assert found.value == "Apache-2.0"
    assert found.evidence[0].path == "pyproject.toml"


@pytest.mark.parametrize(
    ("text", "spdx"),
    [
        ("MIT", "MIT"),
        ("MIT License", "MIT"),
        ("Apache Software License", "Apache-2.0"),
        ("Apache-2.0", "Apache-2.0"),
        ("Apache 2.0 License", "Apache-2.0"),
        ("BSD-3-Clause", "BSD-3-Clause"),
        ("GNU Affero General Public License v3 or later (AGPLv3+)", "AGPL-3.0-or-later"),
        ("MIT OR Apache-2.0", "MIT OR Apache-2.0"),
        ("BSD License", None),
        ("Proprietary", None),
        ("see LICENSE", None),
        ("a-" * 100, None),
    ],
)
def test_spoken_licences(text: str, spdx: str | None) -> None:
    assert spoken_license(text) == spdx


def test_citation_is_a_file() -> None:
    assert citation(build({"CITATION.cff": "cff-version: 1.2.0\ntitle: x\n"})).value is True
    assert citation(build({"README.md": "```\n@article{x, title={y}}\n```\n"})).value is False
    assert citation(build({"third_party/lib/CITATION.cff": "title: x\n"})).value is False
