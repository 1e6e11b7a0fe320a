"""What `fleetqueue logs` prints, and says where there is nothing to print."""

from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest

from fleetqueue.base import codec
from fleetqueue.cli.commands.logs import FOLLOW_SECONDS_MAX, print_logs
from fleetqueue.cli.reaching import There
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import BadRequest
from fleetqueue.kube.transport import Answer, Call, Payload, Stream

Object = dict[str, Any]
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
CREATING = {"waiting": {"reason": "ContainerCreating"}}
START_ERROR = {"terminated": {"reason": "StartError", "message": "no such file", "exitCode": 128}}
REFUSED = {"kind": "Status", "status": "Failure", "reason": "BadRequest", "message": "waits"}


class Worker:
    """With one pod."""

    def __init__(self, said: bytes, state: Object, *events: Object, refuses: bool = False) -> None:
        self.pod = {
            "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"containerStatuses": [{"name": "main", "state": state}]},
        }
        self._said, self._events, self._refuses = said, events, refuses
        self.streamed: list[Call] = []

    @property
    def there(self) -> There:
        return There(Client(self, random=Random(1)), self.pod, "worker-1")

    async def request(self, call: Call) -> Answer:
        found = {"items": list(self._events)} if "events" in call.path else self.pod
        return Answer(200, Payload(codec.encode(found)))

    async def stream(self, call: Call) -> Stream:
        self.streamed.append(call)
        if self._refuses:
            return Stream(400, {}, body=codec.encode({**REFUSED, "code": 400}))
        return Stream(200, {}, chunks=self._chunks())

    async def _chunks(self) -> AsyncIterator[bytes]:
        if self._said:
            yield self._said

    async def close(self) -> None:
        """There is nothing to close."""


def event(message: str, at: str) -> Object:
    return {"metadata": {}, "reason": "Failed", "message": message, "lastTimestamp": at}


Output = pytest.CaptureFixture[str]


async def test_what_it_says_is_printed(capsys: Output) -> None:
    await print_logs([Worker(b"hello\n", RUNNING).there], "", {})
    assert tuple(capsys.readouterr()) == ("hello\n", "")


async def test_one_that_runs_and_says_nothing_is_left_alone(capsys: Output) -> None:
    await print_logs([Worker(b"", RUNNING).there], "", {})
    assert tuple(capsys.readouterr()) == ("", "")


@pytest.mark.parametrize("refuses", [True, False])
async def test_one_that_never_ran_is_told_of(refuses: bool, capsys: Output) -> None:
    worker = Worker(b"", START_ERROR, refuses=refuses)
    with pytest.raises(SystemExit) as end:
        await print_logs([worker.there], "", {})
    assert end.value.code == 1
    why = "pod/p/main has not started: StartError: no such file\n"
    assert tuple(capsys.readouterr()) == ("", why)


async def test_the_newest_warning_says_what_its_status_does_not(capsys: Output) -> None:
    events = [
        event("there is no volume", "2026-01-01T00:00:02Z"),
        event("there is no node", "2026-01-01T00:00:01Z"),
    ]
    with pytest.raises(SystemExit):
        await print_logs([Worker(b"", CREATING, *events, refuses=True).there], "", {})
    assert "has not started: Failed: there is no volume\n" in capsys.readouterr().err


async def test_some_that_never_ran_do_not_fail_those_that_did(capsys: Output) -> None:
    both = [Worker(b"hello\n", RUNNING).there, Worker(b"", START_ERROR).there]
    await print_logs(both, "", {})
    said = capsys.readouterr()
    assert said.out == "[pod/p/main] hello\n"
    assert "has not started" in said.err


async def test_what_a_server_refuses_for_another_reason_is_told_as_it_is() -> None:
    with pytest.raises(BadRequest, match="waits"):
        await print_logs([Worker(b"", RUNNING, refuses=True).there], "", {"previous": "true"})


async def test_one_that_is_followed_may_be_silent_for_long() -> None:
    worker = Worker(b"hello\n", RUNNING)
    await print_logs([worker.there], "", {"follow": "true"})
    await print_logs([worker.there], "", {})
    assert [each.timeout_seconds for each in worker.streamed] == [FOLLOW_SECONDS_MAX, None]
