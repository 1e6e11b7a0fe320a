"""Control groups, on a tree of plain files that stands for the kernel's."""

from pathlib import Path

import pytest

from fleetqueue.runtime.shepherd import cgroups

pytestmark = pytest.mark.rule("jobs C.3")
MEBIBYTE = 1024 * 1024


def group(path: Path, controllers: str = "cpuset cpu io memory pids", processes: str = "") -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "cgroup.controllers").write_text(f"{controllers}\n")
    (path / "cgroup.subtree_control").write_text("\n")
    (path / "cgroup.procs").write_text(processes)
    return path


def test_controllers_are_handed_down_to_the_groups_of_containers(tmp_path: Path) -> None:
    above = group(tmp_path)
    own = group(above / "fleetqueue-1")
    found = cgroups.find("fleetqueue-1", str(above))
    assert found is not None
    assert found.directory == str(own)
    assert found.controllers == {"memory", "cpu", "pids"}
    assert (above / "cgroup.subtree_control").read_text() == "+pids"
    assert (own / "cgroup.subtree_control").read_text() == "+pids"


def test_what_is_handed_down_already_is_left_alone(tmp_path: Path) -> None:
    above, own = group(tmp_path), group(tmp_path / "f", "memory")
    (own / "cgroup.subtree_control").write_text("memory\n")
    found = cgroups.find("f", str(above))
    assert found is not None
    assert found.controllers == {"memory"}
    assert (own / "cgroup.subtree_control").read_text() == "memory\n"


def test_a_group_without_controllers_still_holds_processes_together(tmp_path: Path) -> None:
    above = group(tmp_path, "hugetlb")
    group(tmp_path / "f", "")
    found = cgroups.find("f", str(above))
    assert found is not None
    assert found.controllers == set()


def test_nothing_is_found_where_there_are_no_groups(tmp_path: Path) -> None:
    assert cgroups.find("f", str(tmp_path / "none")) is None


# fmt: off
LIMITS = {
    "both":       (64 * MEBIBYTE, 500,  {"memory.max": str(64 * MEBIBYTE), "memory.swap.max": "0",
                                         "memory.oom.group": "1", "cpu.max": "50000 100000"}),
    "memory":     (MEBIBYTE, None,      {"memory.max": str(MEBIBYTE), "memory.swap.max": "0",
                                         "memory.oom.group": "1"}),
    "processors": (None, 2500,          {"cpu.max": "250000 100000"}),
    "very few":   (None, 1,             {"cpu.max": "1000 100000"}),
    "none":       (None, None,          {}),
}
# fmt: on


@pytest.mark.parametrize(("memory", "cpu", "files"), LIMITS.values(), ids=LIMITS.keys())
def test_limits_are_written(
    memory: int | None, cpu: int | None, files: dict[str, str], tmp_path: Path
) -> None:
    groups = cgroups.Groups(str(tmp_path), frozenset({"memory", "cpu"}))
    made = Path(groups.create("a/b", memory, cpu))
    assert made == tmp_path / "a_b"
    assert {file.name: file.read_text() for file in made.iterdir()} == files


def test_limits_that_the_groups_cannot_keep_are_not_written(tmp_path: Path) -> None:
    made = Path(cgroups.Groups(str(tmp_path), frozenset()).create("a", MEBIBYTE, 500))
    assert list(made.iterdir()) == []


@pytest.mark.parametrize(
    ("events", "is_out"),
    [
        ("low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n", True),
        ("low 0\nmax 12\noom 0\noom_kill 0\n", False),
        ("nonsense", False),
    ],
)
def test_the_end_of_memory_is_seen(events: str, is_out: bool, tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text(events)
    assert cgroups.ran_out_of_memory(str(tmp_path)) == is_out
    assert not cgroups.ran_out_of_memory(str(tmp_path / "none"))
