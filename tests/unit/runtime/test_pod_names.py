"""The hosts files of all pods of a machine: who shares one, and what a change costs."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.kube.resources import Resource
from fleetqueue.runtime.kinds import ENDPOINT_SLICE, POD, SERVICE
from fleetqueue.runtime.pod_names import PodNames

pytestmark = pytest.mark.rule("jobs C.6")
Object = dict[str, Any]


class World:
    """A cluster as the names see it, and how often they write."""

    def __init__(self, directory: Path) -> None:
        self.objects: dict[Resource, dict[str, Object]] = {POD: {}, SERVICE: {}, ENDPOINT_SLICE: {}}
        self.writes = 0
        self.names = PodNames(directory / "names", self._existing, self._write)
        self._tell = {
            POD: self.names.pod_changed,
            SERVICE: self.names.service_changed,
            ENDPOINT_SLICE: self.names.slice_changed,
        }

    def _existing(self, kind: Resource) -> list[Object]:
        return list(self.objects[kind].values())

    def _write(self, descriptor: int, data: bytes, place: int) -> int:
        self.writes += 1
        return os.pwrite(descriptor, data, place)

    async def change(self, kind: Resource, name: str, new: Object | None) -> None:
        old = self.objects[kind].pop(name, None)
        if new is not None:
            self.objects[kind][name] = new
        self._tell[kind](old, new)
        await asyncio.sleep(0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def pod(name: str, address: str = "", namespace: str = "ns", **spec: Any) -> Object:
    labels = {"app": name.partition("-")[0]}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels}
    status = {"podIP": address} if address else {}
    return {"metadata": metadata, "spec": {"containers": [], **spec}, "status": status}


def service(name: str, namespace: str = "ns", **spec: Any) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "spec": {"clusterIP": "None", "selector": {"app": name}, **spec}}


def addresses(path: Path, name: str) -> list[str]:
    found = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    return [words[0] for words in found if name in words[1:]]


async def test_pods_that_see_the_same_share_a_file(world: World) -> None:
    first = world.names.open(pod("a-0"), "127.1.0.1")
    assert world.names.open(pod("a-1"), "127.1.0.2") == first
    assert world.names.open(pod("b", namespace="other"), "127.1.0.3") != first
    aliased = pod("c", hostAliases=[{"ip": "1.2.3.4", "hostnames": ["x"]}])
    assert world.names.open(aliased, "127.1.0.4") != first
    searching = pod("d", dnsConfig={"searches": ["a.ns.svc.cluster.local"]})
    assert world.names.open(searching, "127.1.0.5") != first
    assert addresses(first, "a-0") == ["127.1.0.1"]
    assert addresses(first, "a-1") == ["127.1.0.2"]


async def test_one_changed_pod_among_many_is_one_line_in_each_file(world: World) -> None:
    await world.change(SERVICE, "a", service("a"))
    for number in range(120):
        name, address = f"a-{number}", f"127.1.0.{number}"
        await world.change(POD, name, pod(name, address, hostname=name, subdomain="a"))
        path = world.names.open(world.objects[POD][name], address)
    world.writes = 0
    running = world.objects[POD]["a-7"]
    for phase in ("Pending", "Running"):
        running = {**running, "status": {"podIP": "127.1.0.7", "phase": phase}}
        await world.change(POD, "a-7", running)
    assert world.writes == 0, "its names are what they were"
    metadata = {**running["metadata"], "labels": {}}
    await world.change(POD, "a-7", {**running, "metadata": metadata})
    assert world.writes == 1, "its line is taken away"
    assert addresses(path, "a-7.a") == []
    assert len(addresses(path, "a")) == 119
    await world.change(POD, "a-7", running)
    assert world.writes == 2, "and put back"
    assert addresses(path, "a-7.a") == ["127.1.0.7"]
    await world.change(POD, "a-7", {**running, "status": {"phase": "Failed"}})
    assert world.writes == 4, "its line, and that by which it knew itself"
    assert addresses(path, "a-7.a.ns.svc.cluster.local") == addresses(path, "a-7") == []


async def test_a_pod_that_is_not_ready_is_found_by_itself_alone(world: World) -> None:
    probed = [{"name": "c", "readinessProbe": {"exec": {}}}]
    await world.change(SERVICE, "a", service("a"))
    await world.change(POD, "a-0", pod("a-0", hostname="a-0", subdomain="a", containers=probed))
    shared = world.names.open(pod("b"), "127.1.0.2")
    own = world.names.open(world.objects[POD]["a-0"], "127.1.0.1")
    whole = "a-0.a.ns.svc.cluster.local"
    assert (addresses(own, whole), addresses(shared, whole)) == (["127.1.0.1"], [])
    ready = {"podIP": "127.1.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    await world.change(POD, "a-0", {**world.objects[POD]["a-0"], "status": ready})
    assert addresses(shared, whole) == ["127.1.0.1"]


async def test_changes_that_come_together_are_one_write(world: World) -> None:
    path = world.names.open(pod("z"), "127.1.0.1")
    world.writes = 0
    world.names.service_changed(None, service("a"))
    for number in range(50):
        world.names.pod_changed(None, pod(f"a-{number}", f"127.1.1.{number}"))
    await asyncio.sleep(0)
    assert world.writes == 1
    assert len(addresses(path, "a.ns.svc")) == 50


async def test_nothing_is_written_or_kept_for_a_cluster_without_pods_here(world: World) -> None:
    await world.change(SERVICE, "a", service("a"))
    await world.change(POD, "a-0", pod("a-0", "127.1.0.1"))
    assert world.writes == 0
    path = world.names.open(pod("b"), "127.1.0.2")
    assert addresses(path, "a") == ["127.1.0.1"], "what was there before is known"
    world.names.close(pod("b"))
    assert not path.exists()
    world.writes = 0
    await world.change(POD, "a-1", pod("a-1", "127.1.0.3"))
    assert world.writes == 0


async def test_a_pod_is_named_before_its_status_shows_the_address(world: World) -> None:
    await world.change(SERVICE, "a", service("a"))
    await world.change(POD, "a-0", pod("a-0", hostname="a-0", subdomain="a"))
    path = world.names.open(world.objects[POD]["a-0"], "127.1.0.9")
    assert addresses(path, "a-0.a") == addresses(path, "a-0") == ["127.1.0.9"]
    world.names.open(pod("b"), "127.1.0.2")
    world.names.close(world.objects[POD]["a-0"])
    await world.change(POD, "a-0", None)
    assert addresses(path, "a-0.a") == addresses(path, "a-0") == []


async def test_a_host_name_that_means_another_for_others_is_told_to_the_pod_alone(
    world: World,
) -> None:
    await world.change(SERVICE, "redis", service("redis", clusterIP="127.1.255.5"))
    shared = world.names.open(pod("client"), "127.1.0.1")
    own = world.names.open(pod("redis"), "127.1.0.2")
    assert own != shared
    assert addresses(shared, "redis") == ["127.1.255.5"]
    assert addresses(own, "redis")[0] == "127.1.0.2"
    twin = pod("twin", hostname="client")
    assert world.names.open(twin, "127.1.0.3") not in (shared, own)
    await world.change(SERVICE, "t-master-0", service("t-master-0", selector={"app": "t"}))
    assert world.names.open(pod("t-master-0"), "127.1.0.4") == shared


async def test_services_come_and_go(world: World) -> None:
    await world.change(POD, "a-0", pod("a-0", "127.1.0.1"))
    path = world.names.open(pod("b", namespace="other"), "127.1.0.2")
    await world.change(SERVICE, "a", service("a"))
    assert addresses(path, "a.ns") == ["127.1.0.1"]
    assert addresses(path, "a") == []
    await world.change(SERVICE, "a", service("a", selector={"app": "none"}))
    assert addresses(path, "a.ns") == []
    await world.change(SERVICE, "a", service("a", selector=None))
    endpoints = [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}]
    labels = {"kubernetes.io/service-name": "a"}
    piece = {
        "metadata": {"name": "a-x", "namespace": "ns", "labels": labels},
        "addressType": "IPv4",
        "endpoints": endpoints,
    }
    await world.change(ENDPOINT_SLICE, "a-x", piece)
    assert addresses(path, "a.ns") == ["10.0.0.1", "10.0.0.2"]
    await world.change(ENDPOINT_SLICE, "a-x", {**piece, "endpoints": endpoints[1:]})
    assert addresses(path, "a.ns") == ["10.0.0.2"]
    await world.change(ENDPOINT_SLICE, "a-x", None)
    assert addresses(path, "a.ns") == []


async def test_a_pod_that_is_replaced_takes_its_names_with_it(world: World) -> None:
    await world.change(SERVICE, "a", service("a"))
    path = world.names.open(pod("b"), "127.1.0.2")
    await world.change(POD, "a-0", pod("a-0", "127.1.0.1"))
    other = pod("a-0", "127.1.0.7")
    other["metadata"]["uid"] = "uid-again"
    await world.change(POD, "a-0", other)
    assert addresses(path, "a") == ["127.1.0.7"]
