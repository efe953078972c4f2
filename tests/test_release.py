"""The release commit: action.yml names the image that was built, by digest, and nothing else changes."""

from pathlib import Path

import pytest
import yaml

from tools.release import released

ACTION = (Path(__file__).parent.parent / "action.yml").read_text("utf-8")
IMAGE = f"docker://ghcr.io/owner/ml-audit@sha256:{'0a' * 32}"


def test_the_image_takes_the_place_of_the_dockerfile():
    before, after = yaml.safe_load(ACTION), yaml.safe_load(released(ACTION, IMAGE))
    assert before["runs"].pop("image") == "Dockerfile"
    assert after["runs"].pop("image") == IMAGE
    assert before == after


@pytest.mark.parametrize(
    "image",
    [
        "docker://ghcr.io/owner/ml-audit:1.2.3",
        f"ghcr.io/owner/ml-audit@sha256:{'0a' * 32}",
        IMAGE + "0",
        IMAGE + "\nx",
        "",
    ],
)
def test_only_an_image_by_digest_is_released(image):
    with pytest.raises(ValueError, match="not an image by digest"):
        released(ACTION, image)


def test_a_released_action_is_not_released_again():
    with pytest.raises(ValueError, match="exactly once"):
        released(released(ACTION, IMAGE), IMAGE)
