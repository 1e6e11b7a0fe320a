"""An image table from a file: what it maps, and what is wrong with one."""

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.runtime.image_files import read_images
from fleetqueue.runtime.preparation import NotReady

FILE = """
images:
- match: mine/*
  path: [/usr/bin]
  env: {A: b}
default: reject
"""


@pytest.mark.rule("jobs C.8")
def test_the_rules_of_a_file_come_first() -> None:
    table = read_images(FILE)
    assert table.find("mine/trainer:1").env["A"] == "b"
    with pytest.raises(NotReady, match='no local environment is mapped to image "other"'):
        table.find("other")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a", "images.yaml must have the fields default, environments, images"),
        ("image: []", 'images.yaml has the unknown field "image": it may have default,'),
        ("images: [{path: [/x]}]", "images.yaml: .*needs a"),
        ("default: pull", 'images.yaml: .*must be "host" or "reject", not "pull"'),
        ("a: [", "images.yaml is no YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        read_images(text, "images.yaml")
