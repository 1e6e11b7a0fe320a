"""What a pod hears of a request that is handed on to it."""

from fleetqueue.embedded.proxying import handed_on


def test_what_was_for_the_server_alone_is_not_handed_on() -> None:
    headers = {
        "accept": "text/html",
        "authorization": "Bearer secret",
        "impersonate-user": "ann",
        "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.c2VjcmV0, v4",
    }
    assert handed_on(headers) == [("accept", "text/html")]


def test_a_header_that_came_twice_goes_on_twice() -> None:
    assert handed_on({"cookie": "a=1\nb=2"}) == [("cookie", "a=1"), ("cookie", "b=2")]
