"""The files of the page: all of them ours, none that could run what a cluster says."""

import re

import pytest

from fleetqueue.dashboard import assets

pytestmark = pytest.mark.rule("kueue 11.5")
FILES = assets.load()
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(")


def test_the_page_names_files_that_are_there() -> None:
    page = FILES["index.html"].body.decode()
    named = re.findall(r'"/static/([^"]+)"', page)
    assert named
    assert set(named) <= set(FILES)
    for name, asset in FILES.items():
        for imported in re.findall(r'from "\./([^"]+)"', asset.body.decode()):
            assert imported in FILES, f"{name} imports {imported}"


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_turns_text_into_markup_or_comes_from_elsewhere(name: str) -> None:
    text = FILES[name].body.decode()
    assert not MARKUP.search(text)
    assert not re.search(r"\son[a-z]+=\"|<style|javascript:", text)
    links = set(re.findall(r"https?://[^\s\"'`)]+", text))
    assert links <= {"http://www.w3.org/2000/svg"}


def test_the_policy_of_the_page_lets_nothing_else_run() -> None:
    policy = assets.SAFETY["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "*" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self';")
