"""The plan of a container's view: which directories are rebuilt, and where binds go."""

from pathlib import Path

import pytest

from fleetqueue.runtime.shepherd.view import Bind, Layout, lay_out


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A small host: /etc/hosts, /run, and /var/run that leads there."""
    for directory in ("etc/ssl", "run/lock", "var"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "etc" / "hosts").write_text("")
    (tmp_path / "var" / "run").symlink_to("/run")
    (tmp_path / "here").symlink_to("etc/ssl")
    return str(tmp_path)


def laid_out(root: str, *targets: str) -> Layout:
    return lay_out([Bind(f"/volumes/{n}", target) for n, target in enumerate(targets)], root)


# fmt: off
CASES = {  #                          target                 rebuilt            bound at
    "a place that is there":         ("/etc/hosts",         ["/"],             "/etc/hosts"),
    "a new place at the top":        ("/data",              ["/"],             "/data"),
    "a new place deep down":         ("/data/a/b",          ["/"],             "/data/a/b"),
    "a new place in a directory":    ("/etc/mpi",           ["/", "/etc"],     "/etc/mpi"),
    "behind an absolute link":       ("/var/run/secrets/x", ["/", "/run"],     "/run/secrets/x"),
    "behind a relative link":        ("/here/certs",        ["/", "/etc/ssl"], "/etc/ssl/certs"),
    "written with dots":             ("/etc/../data/./x/",  ["/"],             "/data/x"),
}
# fmt: on


@pytest.mark.rule("jobs C.4")
@pytest.mark.parametrize(("target", "rebuilt", "place"), CASES.values(), ids=CASES.keys())
def test_where_a_volume_goes(root: str, target: str, rebuilt: list[str], place: str) -> None:
    layout = laid_out(root, target)
    assert layout.rebuilt == rebuilt
    assert [bind.target for bind in layout.binds] == [place]


@pytest.mark.rule("jobs C.4")
def test_outer_places_come_first(root: str) -> None:
    layout = laid_out(root, "/data/in/deep", "/data", "/data/in")
    assert [bind.target for bind in layout.binds] == ["/data", "/data/in", "/data/in/deep"]
    assert layout.rebuilt == ["/"], "what lies in a volume is made there"


def test_links_inside_a_volume_are_the_volumes_own(root: str, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "link").symlink_to("real")
    binds = [Bind(str(volume), "/data"), Bind("/x", "/data/link/y")]
    assert lay_out(binds, root).binds[1].target == "/data/real/y"


def test_links_that_go_round_are_refused(root: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="too many symbolic links"):
        laid_out(root, "/loop/x")
