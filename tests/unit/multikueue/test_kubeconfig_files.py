"""Which files are read, what is said of the others, and when a change is noticed."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.dispatching import kubeconfig

from fleetqueue.jobs.settings import JobSettings
from fleetqueue.multikueue import kubeconfig_files
from fleetqueue.multikueue.credentials import Found, Trouble
from fleetqueue.multikueue.kubeconfig_files import FollowedFiles
from fleetqueue.multikueue.settings import DispatchGates, DispatchSettings

PREFIX = "/etc/multikueue/kubeconfigs"
OUTSIDE = "kubeconfig path is not under the allowed prefix: "


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    made = tmp_path / "kubeconfigs"
    made.mkdir()
    return made


def settings(directory: Path | str = PREFIX, *, is_checked: bool = True) -> DispatchSettings:
    gates = DispatchGates(path_validation=is_checked)
    return replace(
        DispatchSettings(JobSettings()), kubeconfig_directory=str(directory), gates=gates
    )


def said(path: str | Path, directory: Path | str = PREFIX, *, is_checked: bool = True) -> str:
    found = kubeconfig_files.load(str(path), settings(directory, is_checked=is_checked))
    assert isinstance(found, Trouble)
    assert (found.reason, found.waits) == ("BadKubeConfig", False)
    return found.message


# fmt: off
REFUSED = {
    "nothing":          ("", "kubeconfig path must not be empty"),
    "relative":         ("kubeconfigs/a", f"{OUTSIDE}path must be absolute"),
    "above":            ("../a", f'{OUTSIDE}path contains ".."'),
    "elsewhere":        ("/etc/passwd", f'{OUTSIDE}"/etc/passwd" is not under "{PREFIX}"'),
    "a way out":        (f"{PREFIX}/../../etc/passwd",
                         f'{OUTSIDE}"/etc/etc/passwd" is not under "{PREFIX}"'),
    "a longer name":    (f"{PREFIX}-more/a", f'{OUTSIDE}"{PREFIX}-more/a" is not under "{PREFIX}"'),
    "no such directory": (f"{PREFIX}/a", f'{OUTSIDE}"{PREFIX}/a" is not under "{PREFIX}"'),
}
# fmt: on


@pytest.mark.rule("CRED-4")
@pytest.mark.rule("MKC-7")
@pytest.mark.rule("I9")
@pytest.mark.parametrize(("path", "text"), REFUSED.values(), ids=REFUSED)
def test_paths_that_are_not_read(path: str, text: str) -> None:
    assert said(path) == text


@pytest.mark.rule("CRED-4")
def test_a_file_must_be_inside_of_the_directory_when_all_links_are_resolved(
    allowed: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "secret"
    outside.write_text(kubeconfig("worker1"))
    (allowed / "link").symlink_to(outside)
    (allowed / "inner").symlink_to(allowed / "real")
    (allowed / "real").write_text(kubeconfig("worker1"))

    assert said(allowed / "link", allowed) == f'{OUTSIDE}"{outside}" is not under "{allowed}"'
    assert isinstance(kubeconfig_files.load(f"{allowed}/inner", settings(allowed)), Found)
    assert isinstance(kubeconfig_files.load(f"{allowed}/./real", settings(allowed)), Found)
    assert isinstance(kubeconfig_files.load(f"/{allowed}/real", settings(allowed)), Found)


@pytest.mark.rule("CRED-4")
def test_a_missing_file_is_told_apart_from_a_forbidden_one(allowed: Path, tmp_path: Path) -> None:
    path = allowed / "missing"
    told = f"cannot resolve kubeconfig path symlinks: lstat {path}: no such file or directory"
    assert said(path, allowed) == told
    path = tmp_path / "missing"
    assert said(path, is_checked=False) == f"open {path}: no such file or directory"


@pytest.mark.rule("CRED-4")
def test_without_the_gate_any_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "anywhere"
    path.write_text(kubeconfig("worker1"))
    found = kubeconfig_files.load(str(path), settings(is_checked=False))
    assert isinstance(found, Found)
    assert found.access.server == "https://worker1:6443"


class Followed:
    """Files that are followed, and whom they woke."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.files = FollowedFiles(self._changed)
        self.running = asyncio.ensure_future(self.files.run())

    def _changed(self, clusters: Iterable[str]) -> None:
        self.woken += clusters

    async def news(self) -> list[str]:
        await asyncio.sleep(2)
        told, self.woken = self.woken, []
        return told


@pytest.fixture
async def followed() -> Any:
    made = Followed()
    yield made
    made.running.cancel()


@pytest.mark.rule("CRED-3")
async def test_files_are_followed_as_they_come_change_and_go(
    followed: Followed, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    followed.files.follow("one", str(path))
    followed.files.follow("two", str(path))
    assert await followed.news() == []

    path.write_text("first")
    assert await followed.news() == ["one", "two"]
    path.write_text("and more")
    assert await followed.news() == ["one", "two"]
    other = tmp_path / "new"
    other.write_text("and MORE")
    other.rename(path)
    assert await followed.news() == ["one", "two"]
    path.unlink()
    assert await followed.news() == ["one", "two"]
    assert await followed.news() == []


@pytest.mark.rule("CRED-3")
async def test_a_cluster_that_moved_to_a_secret_does_not_follow_its_file(
    followed: Followed, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    followed.files.follow("one", str(path))
    followed.files.follow("two", str(path))
    followed.files.forget("one")
    path.write_text("first")
    assert await followed.news() == ["two"]
    followed.files.forget("two")
    assert followed.files.paths == set()
    path.write_text("second")
    assert await followed.news() == []


@pytest.mark.rule("CRED-3")
async def test_a_cluster_that_names_another_file_lets_the_first_go(
    followed: Followed, tmp_path: Path
) -> None:
    followed.files.follow("one", str(tmp_path / "a"))
    followed.files.follow("one", str(tmp_path / "b"))
    assert followed.files.paths == {str(tmp_path / "b")}


@pytest.mark.rule("IMP-19")
async def test_a_volume_that_turns_its_links_is_noticed(followed: Followed, tmp_path: Path) -> None:
    """As a mounted Secret: `config` leads through `..data` to a directory of that moment."""
    for moment in ("1", "2"):
        (tmp_path / moment).mkdir()
        (tmp_path / moment / "config").write_text("same length " + moment)
    (tmp_path / "..data").symlink_to("1")
    (tmp_path / "config").symlink_to("..data/config")
    followed.files.follow("one", str(tmp_path / "config"))
    assert await followed.news() == []

    (tmp_path / "..next").symlink_to("2")
    (tmp_path / "..next").rename(tmp_path / "..data")
    assert await followed.news() == ["one"]


@pytest.mark.rule("multikueue 0.2")
async def test_writes_that_follow_each_other_are_told_together(
    followed: Followed, tmp_path: Path
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    followed.files.follow("one", str(first))
    followed.files.follow("two", str(second))
    await asyncio.sleep(kubeconfig_files.LOOK_SECONDS * 0.9)
    first.write_text("x")
    await asyncio.sleep(kubeconfig_files.LOOK_SECONDS * 0.2)
    second.write_text("y")
    assert followed.woken == []
    assert await followed.news() == ["one", "two"]
