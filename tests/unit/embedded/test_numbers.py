"""Clusters of one machine never share addresses, and keep theirs."""

from pathlib import Path

import pytest

from fleetqueue.embedded import numbers
from fleetqueue.errors import UserError


def test_each_cluster_has_a_number_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    first, second = numbers.take(tmp_path / "a"), numbers.take(tmp_path / "b")
    assert first.value != second.value
    with pytest.raises(UserError, match="runs already, or another one of this machine"):
        numbers.take(tmp_path / "a")
    first.release()
    again = numbers.take(tmp_path / "a")
    assert again.value == first.value
    again.release()
    second.release()


def test_the_number_goes_by_the_directory_so_that_it_is_free_when_the_cluster_returns(
    tmp_path: Path,
) -> None:
    first = numbers.take(tmp_path / "a")
    first.release()
    (tmp_path / "a" / "number").unlink()

    again = numbers.take(tmp_path / "a")

    assert again.value == first.value
    again.release()
