"""Logs of containers: whose they are, how long they are followed, and what is said instead."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.request import Request
from fleetqueue.embedded import log_answers
from fleetqueue.embedded.log_answers import FollowedLog, choose_attempt, options_of
from fleetqueue.embedded.places import Places
from fleetqueue.runtime.logs import LogOptions
from fleetqueue.runtime.pod_status import ContainerFacts, Running, State, Terminated, Waiting
from fleetqueue.runtime.preparation import process_id

pytestmark = [pytest.mark.rule("jobs C.9"), pytest.mark.rule("jobs E.5")]

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "default", "uid": "u"},
    "spec": {"containers": [{"name": "c"}], "nodeName": "here"},
}
RUNNING = ContainerFacts(Running(NOW))


def ended(attempt: int) -> Terminated:
    return Terminated(1, id=process_id("u", "c", attempt))


def facts(state: State, restarts: int = 0, last: int | None = None, id: str = "") -> ContainerFacts:
    before = None if last is None else ended(last)
    return ContainerFacts(state, restarts=restarts, last=before, id=id)


# fmt: off
ATTEMPTS = {  #                      facts                                      now, previous
    "the first one runs":           (RUNNING,                                   0,    None),
    "a later one runs":             (facts(Running(NOW), 2, last=1),            2,    1),
    "it ended":                     (facts(ended(0)),                           0,    None),
    "it waits to start again":      (facts(Waiting("CrashLoop"), 1, last=1),    1,    1),
    "it is about to start again":   (facts(ended(0), 1),                        0,    None),
    "it ended and ended before":    (facts(ended(3), 3, last=2),                3,    2),
    "only its present id is known": (facts(Terminated(0), 1, id="x"),           1,    None),
}
# fmt: on


@pytest.mark.parametrize(("known", "now", "previous"), ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_the_attempt_that_is_meant(known: ContainerFacts, now: int, previous: int | None) -> None:
    assert choose_attempt(POD, "c", known, previous=False) == now
    if previous is not None:
        assert choose_attempt(POD, "c", known, previous=True) == previous
        return
    with pytest.raises(ApiError) as refused:
        choose_attempt(POD, "c", known, previous=True)
    assert refused.value.code == 400
    assert str(refused.value) == 'previous terminated container "c" in pod "p" not found'


# fmt: off
WAITING = {
    "ContainerCreating": "ContainerCreating",
    "PodInitializing":   "PodInitializing",
    "ErrImagePull":      "image can't be pulled",
    "ImagePullBackOff":  "trying and failing to pull image",
}
# fmt: on
NOT_YET = {
    **{reason: (facts(Waiting(reason)), f"waiting to start: {w}") for reason, w in WAITING.items()},
    "it never ran": (facts(Terminated(137)), "terminated"),
    "nobody knows of it": (None, "not available"),
}


@pytest.mark.parametrize(("known", "words"), NOT_YET.values(), ids=NOT_YET.keys())
def test_a_container_without_a_log_says_why(known: ContainerFacts | None, words: str) -> None:
    with pytest.raises(ApiError) as refused:
        choose_attempt(POD, "c", known, previous=False)
    assert refused.value.code == 400
    assert str(refused.value) == f'container "c" in pod "p" is {words}'


@dataclass
class Machine:
    """One pod with one container."""

    directory: Path
    worker: Any = field(
        default_factory=lambda: SimpleNamespace(name="c", shown=RUNNING, is_live=True)
    )
    is_here: bool = True
    stored: dict[str, Any] | None = None
    simulates: bool = False

    def places(self) -> Places:
        return Places(
            find=lambda pod: SimpleNamespace(workers=[self.worker]) if self.is_here else None,  # type: ignore[arg-type,return-value]
            directory=lambda pod: self.directory,
            latest=lambda pod: self.stored,
            slices=lambda service: [],
            is_simulated=lambda pod: self.simulates,
            clock=SimpleNamespace(now=lambda: NOW),  # type: ignore[arg-type]
        )

    def write(self, text: str, attempt: int = 0) -> None:
        path = self.directory / "logs" / "c" / f"{attempt}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"2026-01-01T00:00:00.000000000Z stdout F {text}\n")

    def follow(self, attempt: int = 0, *, ends: bool = False, **options: Any) -> "Reader":
        log = FollowedLog(POD, "c", attempt, self.places(), ends=ends)
        return Reader(log.chunks(LogOptions(**options)))

    def end(self) -> None:
        self.worker.shown = replace(self.worker.shown, state=ended(self.worker.shown.restarts))
        self.worker.is_live = False


class Reader:
    """Reads along, and keeps what came."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self.text = ""
        self._grown = asyncio.Event()
        self.task = asyncio.create_task(self._read(chunks))

    async def _read(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            self.text += chunk.decode()
            self._grown.set()

    async def has(self, text: str) -> None:
        async with asyncio.timeout(10):
            while self.text != text:
                await self._grown.wait()
                self._grown.clear()
        assert not self.task.done()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setattr(log_answers, "POLL_SECONDS", 0.001)
    return Machine(tmp_path)


async def test_a_log_that_is_not_followed_ends_with_what_there_is(machine: Machine) -> None:
    machine.write("one")
    reader = machine.follow(ends=True)
    await reader.task
    assert reader.text == "one\n"


async def test_a_followed_log_ends_with_its_container(machine: Machine) -> None:
    machine.write("one")
    reader = machine.follow()
    await reader.has("one\n")
    machine.write("two")
    await reader.has("one\ntwo\n")
    machine.write("last")
    machine.end()
    await reader.task
    assert reader.text == "one\ntwo\nlast\n"


async def test_a_followed_log_goes_on_with_the_next_attempt(machine: Machine) -> None:
    machine.write("one")
    machine.write("two")
    reader = machine.follow(tail_lines=1)
    await reader.has("two\n")
    machine.worker.shown = ContainerFacts(Waiting("CrashLoopBackOff"), last=ended(0))
    machine.write("of the second", 1)
    machine.write("attempt", 1)
    machine.worker.shown = ContainerFacts(Running(NOW), restarts=1, last=ended(0))
    await reader.has("two\nof the second\nattempt\n")
    machine.end()
    await reader.task


async def test_a_followed_log_ends_when_its_pod_is_no_longer_here(machine: Machine) -> None:
    reader = machine.follow()
    machine.is_here = False
    await reader.task


async def test_a_followed_log_ends_when_its_bytes_are_used_up(machine: Machine) -> None:
    machine.write("one")
    reader = machine.follow(limit_bytes=2)
    await reader.task
    assert reader.text == "on"


async def test_the_log_of_a_pod_that_ended_stays_readable(machine: Machine) -> None:
    machine.is_here = False
    machine.write("kept")
    reader = machine.follow()
    await reader.task
    assert reader.text == "kept\n"


def simulated(**status: Any) -> dict[str, Any]:
    annotations = {"fleetqueue.io/sim-log": "one\ntwo\nthree"}
    states = [{"name": "c", "state": status.pop("state", {"running": {"startedAt": START}})}]
    return {
        **POD,
        "metadata": {**POD["metadata"], "annotations": annotations},
        "status": {"containerStatuses": states, **status},
    }


START = "2026-01-01T00:00:00Z"


async def test_a_simulated_container_says_what_its_pod_has_it_say(machine: Machine) -> None:
    machine.is_here, machine.simulates = False, True
    options = LogOptions(tail_lines=2, timestamps=True)
    text = log_answers._simulated(simulated(), "c", options, machine.places(), follow=False)
    assert [chunk async for chunk in text] == [
        b"2026-01-01T00:00:00.000000000Z two\n2026-01-01T00:00:00.000000000Z three\n"
    ]


async def test_a_simulated_log_is_followed_until_the_pod_ends(machine: Machine) -> None:
    machine.is_here, machine.simulates = False, True
    machine.stored = simulated(phase="Running")
    text = log_answers._simulated(simulated(), "c", LogOptions(), machine.places(), follow=True)
    reader = Reader(text)
    await reader.has("one\ntwo\nthree\n")
    machine.stored = simulated(phase="Succeeded")
    await reader.task


def test_options_are_read_from_the_query(machine: Machine) -> None:
    query = {
        "sinceSeconds": ["60"], "tailLines": ["5"], "limitBytes": ["7"], "timestamps": ["True"],
    }  # fmt: skip
    options = options_of(Request("GET", "/", query), machine.places().clock)
    assert options == LogOptions(NOW - timedelta(seconds=60), 5, 7, timestamps=True)
    options = options_of(Request("GET", "/", {"sinceTime": [START]}), machine.places().clock)
    assert options == LogOptions(since=NOW)
