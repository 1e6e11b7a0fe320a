"""What somebody is told to type next."""

from pathlib import Path

import pytest

from fleetqueue.cli.fleets import next_steps
from fleetqueue.local_fleet.directory import Directory, Member, Record

pytestmark = pytest.mark.rule("kueue 11.5")


@pytest.mark.parametrize(
    ("port", "expected"), [(0, []), (8090, ["  open http://127.0.0.1:8090/ in a browser"])]
)
def test_the_dashboard_is_named_where_there_is_one(port: int, expected: list[str]) -> None:
    record = Record([Member("manager", 1)], dashboard_port=port)
    lines = next_steps(Directory(Path("/nowhere")), record)
    assert [line for line in lines if "browser" in line] == expected
