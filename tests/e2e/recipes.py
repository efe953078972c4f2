"""The workflows of the documentation, by their name."""

import re

import yaml

from tests.e2e.runner import ROOT

PAGES = (ROOT / "README.md", ROOT / "docs" / "action.md")


def recipes() -> dict[str, str]:
    """Name to text, verbatim."""
    found = {}
    for page in PAGES:
        for text in re.findall(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
            if re.search(r"^jobs:$", text, re.M):
                found[yaml.safe_load(text)["name"]] = text
    return found
