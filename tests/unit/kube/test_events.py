"""Events: counted when they repeat, combined when they resemble, dropped when they flood."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from fleetqueue.base.virtual_time import idle
from fleetqueue.kube.client import Client
from fleetqueue.kube.event_correlation import (
    BURST,
    COMBINED_PREFIX,
    Correlator,
    Occurrence,
)
from fleetqueue.kube.events import WAITING_MAX, EventRecorder, event_name, reference
from fleetqueue.kube.remembered import Remembered

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
}
EVENTS = "/api/v1/namespaces/ns/events"


@pytest.fixture
async def recorder(memory_client: Client, clock: Any) -> Any:
    recorder = EventRecorder(memory_client, "tests", clock=clock, random=Random(1))
    recorder.start()
    yield recorder
    await recorder.stop()


def events(memory: Any) -> list[dict[str, Any]]:
    return [obj for path, obj in memory.objects.items() if "/events/" in path]


async def test_an_event_says_what_happened_to_whom(recorder: EventRecorder, memory: Any) -> None:
    recorder.warning(POD, "Failed", "it broke")
    await idle()

    (event,) = events(memory)
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "namespace": "ns",
        "uid": "u",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Failed", "it broke")
    assert event["source"] == {"component": "tests"}
    assert event["reportingComponent"] == "tests"
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-01-01T00:00:00Z"
    assert event["count"] == 1


async def test_the_same_again_is_counted(recorder: EventRecorder, memory: Any) -> None:
    for _ in range(3):
        recorder.normal(POD, "Pulled", "image is there")
        await asyncio.sleep(10)

    (event,) = events(memory)
    assert event["count"] == 3
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "2026-01-01T00:00:20Z"
    assert [call.method for call in memory.writes] == ["POST", "PATCH", "PATCH"]


async def test_an_event_that_the_server_forgot_is_made_again(
    recorder: EventRecorder, memory: Any
) -> None:
    recorder.normal(POD, "Pulled", "x")
    await idle()
    for path in [path for path in memory.objects if "/events/" in path]:
        memory.remove(path)
    await asyncio.sleep(1)

    recorder.normal(POD, "Pulled", "x")
    await idle()

    assert [event["count"] for event in events(memory)] == [2]


async def test_recording_never_waits_and_what_does_not_fit_is_dropped(
    memory_client: Client, clock: Any
) -> None:
    recorder = EventRecorder(memory_client, "tests", clock=clock, random=Random(1))

    for number in range(WAITING_MAX + 5):
        recorder.normal(POD, "Busy", str(number))

    assert recorder.dropped == 5


async def test_a_server_that_fails_is_tried_again(
    recorder: EventRecorder, memory: Any, refuse: Any
) -> None:
    memory.failures.extend([refuse(500, "InternalError"), refuse(503, "ServiceUnavailable")])

    recorder.normal(POD, "Pulled", "x")
    await asyncio.sleep(30)

    assert len(events(memory)) == 1


async def test_a_refused_event_is_dropped_at_once(
    recorder: EventRecorder, memory: Any, refuse: Any
) -> None:
    memory.failures.append(refuse(403, "Forbidden", "the namespace is being terminated"))

    recorder.normal(POD, "Pulled", "x")
    recorder.normal(POD, "Started", "y")
    await idle()

    assert recorder.dropped == 1
    assert [event["reason"] for event in events(memory)] == ["Started"]


async def test_stopping_sends_what_waits(memory_client: Client, memory: Any, clock: Any) -> None:
    recorder = EventRecorder(memory_client, "tests", clock=clock, random=Random(1))
    recorder.start()
    recorder.normal(POD, "Stopped", "bye")

    await recorder.stop()

    assert len(events(memory)) == 1


def test_an_object_without_a_namespace_has_its_events_in_the_default_one() -> None:
    assert "namespace" not in reference({"kind": "Node", "metadata": {"name": "n"}})


def test_names_are_unique_by_time() -> None:
    later = NOW + timedelta(microseconds=1)

    assert int(event_name("p", NOW).removeprefix("p."), 16) == NOW.timestamp() * 10**9
    assert event_name("p", NOW) != event_name("p", later)


def occurrence(message: str = "m", *, seconds: float = 0, name: str = "p") -> Occurrence:
    at = NOW + timedelta(seconds=seconds)
    return Occurrence((("name", name),), "Normal", "Reason", message, "tests", at)


def test_the_tenth_different_message_of_a_reason_is_combined() -> None:
    correlator = Correlator()

    messages = []
    for number in range(12):
        write = correlator.correlate(occurrence(f"message {number:02}"))
        assert write is not None
        messages.append(write.occurrence.message)

    assert messages[8] == "message 08"
    assert messages[9] == f"{COMBINED_PREFIX}message 09"
    assert messages[11] == f"{COMBINED_PREFIX}message 11"


def test_combined_events_are_one_event_that_is_counted() -> None:
    correlator = Correlator()
    counts = [correlator.correlate(occurrence(f"m {number}")) for number in range(13)]

    assert [write.count for write in counts if write][9:] == [1, 2, 3, 4]


def test_messages_far_apart_in_time_are_not_combined() -> None:
    correlator = Correlator()

    for number in range(20):
        write = correlator.correlate(occurrence(f"m {number}", seconds=700 * number))
        assert write is not None
        assert not write.occurrence.message.startswith(COMBINED_PREFIX)


def test_a_flood_about_one_object_is_cut_off_and_refills_slowly() -> None:
    correlator = Correlator()
    sent = [correlator.correlate(occurrence()) for _ in range(BURST + 10)]

    assert [write is not None for write in sent] == [True] * BURST + [False] * 10
    assert correlator.correlate(occurrence(name="another")) is not None
    assert correlator.correlate(occurrence(seconds=299)) is None
    assert correlator.correlate(occurrence(seconds=301)) is not None


def test_only_so_much_is_remembered() -> None:
    remembered: Remembered[int] = Remembered(2)
    for number in range(3):
        remembered.put(number, number)
        remembered.get(0)

    assert len(remembered) == 2
    assert [remembered.get(number) for number in range(3)] == [0, None, 2]
