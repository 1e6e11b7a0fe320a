"""The logs of a finished job are fetched before it is deleted on its worker, and nobody waits long
for them.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.embedded.reach import keeping
from fleetqueue.embedded.reach.keeping import Keeping, wanted_logs
from fleetqueue.embedded.reach.kept import Kept
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.transport import Call
from fleetqueue.multikueue.connection import Connection

Object = dict[str, Any]
JOBS = Resource("batch", "v1", "jobs", "Job")
JOB = {"metadata": {"name": "x", "namespace": "ns", "uid": "here"}}
MIRROR = {"metadata": {"name": "x", "namespace": "ns", "uid": "there"}}
STAMP = b"2026-01-01T00:00:00.000000000Z "


def status(name: str, state: str, last: str = "") -> Object:
    found: Object = {"name": name, "state": {state: {"x": 1}}}
    return {**found, "lastState": {last: {"x": 1}}} if last else found


def pod(name: str, *containers: Object, **more: Any) -> Object:
    named = [{"name": each["name"], "image": "i"} for each in containers]
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"u": "there"}},
        "spec": {"containers": named},
        "status": {"containerStatuses": list(containers), **more},
    }


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([status("a", "terminated")], [("a", False)]),
        ([status("a", "running")], [("a", False)]),
        ([status("a", "waiting")], []),
        ([status("a", "waiting", "terminated")], [("a", False), ("a", True)]),
        ([status("a", "terminated"), status("b", "terminated")], [("a", False), ("b", False)]),
    ],
)
def test_logs_are_wanted_of_what_has_run(
    statuses: list[Object], expected: list[tuple[str, bool]]
) -> None:
    found = list(wanted_logs([pod("p", *statuses)]))
    assert [(each.container, each.previous) for each in found] == expected


@pytest.mark.parametrize(("name", "container"), [("..", "a"), ("p", "/a"), ("p", "../../a")])
def test_no_log_is_wanted_of_what_no_server_would_call_so(name: str, container: str) -> None:
    odd, good = status(container, "terminated"), status("a", "terminated")
    found = list(wanted_logs([pod(name, odd), pod("q", good)]))
    assert [(each.pod["metadata"]["name"], each.container) for each in found] == [("q", "a")]


class FakeClient:
    """Says what it is asked for; what is to hang, hangs."""

    def __init__(self) -> None:
        self.hanging: set[str] = set()
        self.missing: set[str] = set()

    async def stream(self, call: Call) -> AsyncIterator[bytes]:
        query = dict(call.query)
        name = query["container"] + ("-previous" if "previous" in query else "")
        if name in self.missing:
            raise NotFound({"code": 404, "message": "gone"})
        yield STAMP + f"{call.path.split('/')[-2]} {name}\n".encode()
        if name in self.hanging:
            await asyncio.Event().wait()


class FakeDispatched:
    def __init__(self, pods: Sequence[Object]) -> None:
        self.pods = pods
        self.has_job = True
        self.hangs = False

    def job_of(self, worker: str, kind: Resource, mirror: Object) -> Object | None:
        return JOB

    def exists(self, kind: Resource, job: Object) -> bool:
        return self.has_job

    async def of_mirror(self, worker: Any, kind: Resource, mirror: Object) -> Sequence[Object]:
        if self.hangs:
            await asyncio.Event().wait()
        return self.pods


class Bench:
    def __init__(self, directory: Path, *pods: Object) -> None:
        self.kept = Kept(directory / "logs")
        self.client = FakeClient()
        found: Any = FakeDispatched(pods)
        self.dispatched: FakeDispatched = found
        self._keeping = Keeping(self.kept, found)

    async def keep(self) -> None:
        worker: Any = Connection.__new__(Connection)
        session: Any = type("Session", (), {"client": self.client})
        worker._name, worker._session, worker._lost_since = "worker", session, None
        await self._keeping.keep(worker, JOBS, [MIRROR])

    def text(self, name: str, container: str, *, previous: bool = False) -> bytes:
        found = self.kept.find(Key("ns", name))
        assert found is not None
        return self.kept.log(found, container, previous=previous).read_bytes()


async def test_every_log_is_kept_under_the_local_job(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("x-1", status("a", "terminated", "terminated")), pod("x-2"))
    await bench.keep()
    assert list(bench.kept.jobs()) == ["here"]
    assert bench.text("x-1", "a").endswith(b"F x-1 a\n")
    assert bench.text("x-1", "a", previous=True).endswith(b"F x-1 a-previous\n")
    shown = bench.kept.find(Key("ns", "x-1"))
    assert shown is not None
    assert shown["metadata"]["labels"] == {"u": "here"}


async def test_a_worker_writes_nothing_elsewhere(tmp_path: Path) -> None:
    precious = tmp_path / "precious.log"
    precious.write_text("precious")
    odd = pod("x-1", status(str(tmp_path / "precious"), "terminated"))
    bench = Bench(tmp_path, odd, pod("x-2", status("a", "terminated")))
    await bench.keep()
    assert precious.read_text() == "precious"
    assert bench.kept.find(Key("ns", "x-1")) is None
    assert bench.text("x-2", "a").endswith(b"F x-2 a\n")


async def test_of_a_worker_that_hangs_is_kept_what_came_until_then(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("x-1", status("a", "terminated"), status("b", "terminated")))
    bench.client.hanging = {"b"}
    began = asyncio.get_running_loop().time()
    await bench.keep()
    assert asyncio.get_running_loop().time() - began == pytest.approx(keeping.JOB_SECONDS_MAX)
    assert bench.text("x-1", "a")
    assert bench.text("x-1", "b").endswith(b"F x-1 b\n")


async def test_a_worker_that_does_not_tell_its_pods_delays_no_removal(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("x-1", status("a", "terminated")))
    bench.dispatched.hangs = True
    await bench.keep()
    assert not bench.kept.jobs()


async def test_a_log_that_is_gone_takes_none_of_the_others_along(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("x-1", status("a", "terminated"), status("b", "terminated")))
    bench.client.missing = {"a"}
    await bench.keep()
    assert bench.text("x-1", "b").endswith(b"F x-1 b\n")


async def test_the_logs_of_a_job_that_went_meanwhile_are_not_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("x-1", status("a", "terminated")))
    bench.dispatched.has_job = False
    await bench.keep()
    assert not bench.kept.jobs()
    assert not list((tmp_path / "logs").iterdir())


async def test_of_many_logs_only_so_many_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pods = [pod(f"x-{number:03}", status("a", "terminated")) for number in range(70)]
    bench = Bench(tmp_path, *pods)
    await bench.keep()
    stored = list((tmp_path / "logs" / "here").rglob("*.log"))
    assert len(stored) == keeping.LOGS_MAX
    assert "of 70 logs 64 are kept" in caplog.text


async def test_what_is_kept_already_is_not_fetched_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pod("x-1", status("a", "terminated")))
    await bench.keep()
    bench.dispatched.pods = []
    bench.dispatched.hangs = True
    began = asyncio.get_running_loop().time()
    await bench.keep()
    assert asyncio.get_running_loop().time() == began
    assert bench.text("x-1", "a")
