"""Completion indexes: how they are written, read, joined and counted."""

import pytest

from fleetqueue.runtime.controllers.job_indexes import Indexes

WRITTEN = {
    "none": ([], ""),
    "one": ([3], "3"),
    "two neighbours": ([6, 7], "6,7"),
    "three neighbours": ([2, 3, 4], "2-4"),
    "the mixture": ([7, 0, 4, 3, 2, 6], "0,2-4,6,7"),
    "twice the same": ([1, 1, 2], "1,2"),
}


@pytest.mark.rule("jobs B.1")
@pytest.mark.parametrize(("indexes", "text"), WRITTEN.values(), ids=WRITTEN.keys())
def test_indexes_are_written_as_a_status_does(indexes: list[int], text: str) -> None:
    made = Indexes(indexes)
    assert str(made) == text
    assert Indexes.parse(text, 100) == made
    assert len(made) == len(set(indexes))


READ = {
    "what is beyond the completions is cut": ("0,2-8", 5, "0,2-4"),
    "or left out": ("1,7-9", 5, "1"),
    "neighbours are joined": ("0,1,2", 5, "0-2"),
    "nonsense is passed over": ("0,x,3-y,2", 5, "0,2"),
    "nothing": (None, 5, ""),
}


@pytest.mark.parametrize(("text", "completions", "result"), READ.values(), ids=READ.keys())
def test_indexes_are_read_within_bounds(text: str | None, completions: int, result: str) -> None:
    assert str(Indexes.parse(text, completions)) == result


def test_sets_are_joined_and_looked_into() -> None:
    both = Indexes([0, 1, 5]) | Indexes([2, 9])
    assert str(both) == "0-2,5,9"
    assert [index for index in range(11) if index in both] == [0, 1, 2, 5, 9]
    assert list(both.missing(8)) == [3, 4, 6, 7]
    assert list(both.missing(10)) == [3, 4, 6, 7, 8]
    assert list(Indexes().missing(2)) == [0, 1]


def test_what_is_common_is_counted() -> None:
    assert Indexes([1, 2, 3, 8]).common(Indexes([0, 2, 3, 4, 8, 9])) == 3
    assert Indexes([1, 3]).common(Indexes([2, 4])) == 0
    assert Indexes(range(10)).common(Indexes([0, 5, 9])) == 3
