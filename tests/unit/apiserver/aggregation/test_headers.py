"""What is passed on of the headers of a request."""

import pytest

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.aggregation import headers

ANN = [("X-Remote-User", "ann")]


@pytest.mark.parametrize("name", ["x-remote-user", "x_remote_user", "x-remote_group", "te", "host"])
def test_nobody_says_himself_who_he_is(name: str) -> None:
    assert headers.sent({name: "root"}, User("ann")) == ANN


def test_what_is_of_the_connection_is_not_passed_on() -> None:
    given = {"connection": "keep-alive, X-Hop", "x-hop": "1", "accept": "a/b"}
    assert headers.sent(given, User("ann")) == [("accept", "a/b"), *ANN]


def test_a_header_that_came_twice_goes_on_twice() -> None:
    assert headers.sent({"a": "1\n2"}, User("ann")) == [("a", "1"), ("a", "2"), *ANN]
