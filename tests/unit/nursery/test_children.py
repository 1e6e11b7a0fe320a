"""What the parent of clusters says of them."""

import socket

import pytest

from fleetqueue.nursery.children import Child


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (3, "worker1 ended with 3"),
        (-9, "worker1 was ended by SIGKILL"),
        (-40, "worker1 was ended by signal 40"),
    ],
)
def test_how_one_ended_is_told_whatever_the_signal(code: int, told: str) -> None:
    with socket.socket() as channel:
        child = Child("worker1", 1, None, channel, exit_code=code)
        assert child.told_end() == told
