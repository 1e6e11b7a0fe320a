"""Volumes that are linked to where they are expected."""

from pathlib import Path

import pytest

from fleetqueue.runtime.mount_links import link_mount, remove_links
from fleetqueue.runtime.processes import Mount

pytestmark = pytest.mark.rule("jobs C.4")


def test_a_free_path_is_linked_and_freed_again(tmp_path: Path) -> None:
    pod, free = tmp_path / "pod", tmp_path / "free" / "deep" / "data"
    mount = Mount(tmp_path / "volume", f"{free}/")
    assert link_mount(mount, pod)
    assert link_mount(mount, pod), "it is there already"
    assert free.readlink() == tmp_path / "volume"
    remove_links(pod)
    assert not (tmp_path / "free").exists(), "directories that were made for it go, too"
    remove_links(pod)


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    assert not link_mount(Mount(tmp_path / "volume", str(taken)), tmp_path / "pod")
    remove_links(tmp_path / "pod")
    assert taken.is_dir()


def test_the_link_of_another_pod_is_neither_used_nor_removed(tmp_path: Path) -> None:
    first, second = (Mount(tmp_path / name, str(tmp_path / "data")) for name in "ab")
    assert link_mount(first, tmp_path / "pod-a")
    assert not link_mount(second, tmp_path / "pod-b")
    remove_links(tmp_path / "pod-b")
    assert (tmp_path / "data").readlink() == first.source
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to("elsewhere")
    remove_links(tmp_path / "pod-a")
    assert (tmp_path / "data").is_symlink(), "somebody else has put it there since"


@pytest.mark.parametrize("target", ["/", "/etc/fleetqueue-none", "/usr/fleetqueue-none"])
def test_directories_of_the_system_are_left_alone(target: str, tmp_path: Path) -> None:
    assert not link_mount(Mount(tmp_path, target), tmp_path / "pod")
