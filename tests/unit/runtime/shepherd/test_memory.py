"""What processes use of the memory, on a tree of plain files that stands for /proc."""

import os
from pathlib import Path

import pytest

from fleetqueue.runtime.shepherd import memory

pytestmark = pytest.mark.rule("jobs C.3")
PAGE = os.sysconf("SC_PAGE_SIZE")


def process(root: Path, pid: int, pages: int, share: int | None = None) -> None:
    folder = root / str(pid)
    folder.mkdir()
    (folder / "statm").write_text(f"99999 {pages} 3 1 0 5 0\n")
    if share is not None:
        text = f"55d0-7ffd ---p 0 00:00 0 [rollup]\nRss: 99 kB\nPss:  {share * PAGE // 1024} kB\n"
        (folder / "smaps_rollup").write_text(text)


# fmt: off
CASES = {
    "below":                       ([(100, None)],              False),
    "exactly":                     ([(200, None)],              False),
    "over":                        ([(201, 201)],               True),
    "over together":               ([(150, 150), (60, 60)],     True),
    "what they share counts once": ([(150, 100), (150, 50)],    False),
    "where shares are not told":   ([(150, None), (60, None)],  True),
    "one that is gone":            ([(0, None)],                False),
}
# fmt: on


@pytest.mark.parametrize(("used", "is_over"), CASES.values(), ids=CASES.keys())
def test_a_limit_of_two_hundred_pages(
    used: list[tuple[int, int | None]], is_over: bool, tmp_path: Path
) -> None:
    for pid, (pages, share) in enumerate(used, 1):
        process(tmp_path, pid, pages, share)
    pids = [*range(1, len(used) + 1), 999, 1]
    assert memory.is_over(pids, 200 * PAGE, str(tmp_path)) == is_over


def test_a_real_process_uses_something() -> None:
    assert memory.proportional_bytes(os.getpid()) > 0
    assert memory.resident_bytes(os.getpid()) >= memory.proportional_bytes(os.getpid()) // 2
