"""Logs, exec and the others through an API server with pods of paper, in virtual time."""

from pathlib import Path
from typing import Any

import pytest

from fleetqueue.apiserver.request import Request, Response
from fleetqueue.embedded.connections import Connections
from fleetqueue.embedded.places import places_in
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.pod_keeper import PodKeeper
from fleetqueue.runtime.pod_worker import Tools
from fleetqueue.runtime.surroundings import RestartBackoff
from fleetqueue.testing import Fleet, FleetCluster
from fleetqueue.testing.fleet import ADMIN
from fleetqueue.testing.processes import PaperPreparation, PaperProcesses

pytestmark = [pytest.mark.rule("jobs C.9"), pytest.mark.rule("jobs E.5")]
PODS = "/api/v1/namespaces/default/pods"


class World:
    """One server, and a node of paper behind it."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster, directory: Path) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self._directory = directory
        self.preparation = PaperPreparation(directory)
        fleet.run(self._make, on=cluster)

    def _make(self, cluster: Cluster) -> PodKeeper:
        clock = self.fleet.clock
        tools = Tools(cluster, PaperProcesses(clock), self.preparation, clock, RestartBackoff())
        keeper = PodKeeper(tools, lambda pod: pod["spec"].get("nodeName") == "paper")
        core = self.cluster.instance.core
        core.runtime = Connections(
            places_in(core, keeper.find, lambda pod: self._directory / pod["metadata"]["uid"])
        )
        return keeper

    async def create(self, *commands: str, annotations: Object | None = None, **spec: Any) -> None:
        containers = [
            {"name": f"c{number}", "image": "x", "command": command.split()}
            for number, command in enumerate(commands)
        ]
        metadata = {"name": "p", "namespace": "default", "annotations": annotations or {}}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeName": "paper", "containers": containers, **spec},
        }
        self.pod = await self.cluster.client.create(pod)
        await self.fleet.passes(seconds=0.5)

    def log(self, text: str, container: str = "c0", attempt: int = 0) -> None:
        folder = self._directory / self.pod["metadata"]["uid"] / "logs" / container
        folder.mkdir(parents=True, exist_ok=True)
        stamp = self.fleet.clock.now().strftime("%Y-%m-%dT%H:%M:%S.000000000Z")
        with (folder / f"{attempt}.log").open("a") as file:
            file.write(f"{stamp} stdout F {text}\n")

    async def ask(self, path: str, **query: str) -> Response:
        lists = {name: [value] for name, value in query.items()}
        request = Request("GET", f"{PODS}/{path}", lists, user=ADMIN)
        return await self.cluster.instance.handle(request)

    async def text(self, **query: str) -> str:
        response = await self.ask("p/log", **query)
        assert response.chunks is not None, response.object
        assert response.content_type == "text/plain"
        return b"".join([chunk async for chunk in response.chunks]).decode()

    async def refusal(self, path: str = "p/log", **query: str) -> tuple[int, str]:
        response = await self.ask(path, **query)
        return response.status, response.object["message"]


@pytest.fixture
async def world(fleet: Fleet, tmp_path: Path) -> World:
    return World(fleet, await fleet.add_cluster("one"), tmp_path)


async def test_the_log_of_a_running_container(world: World) -> None:
    await world.create("serve")
    world.log("hello")
    await world.fleet.passes(seconds=60)
    world.log("again")
    assert await world.text() == "hello\nagain\n"
    assert await world.text(tailLines="1") == "again\n"
    assert await world.text(sinceSeconds="30") == "again\n"
    assert await world.text(limitBytes="3") == "hel"
    assert await world.text(timestamps="True", tailLines="1") == (
        "2026-01-01T00:01:00.000000000Z again\n"
    )


async def test_a_pod_of_several_containers_asks_which(world: World) -> None:
    await world.create("serve", "serve")
    world.log("of the second", "c1")
    assert await world.text(container="c1") == "of the second\n"
    assert await world.refusal() == (
        400, "a container name must be specified for pod p, choose one of: [c0 c1]"
    )  # fmt: skip
    assert await world.refusal(container="no") == (400, "container no is not valid for pod p")


async def test_the_log_of_the_attempt_before(world: World) -> None:
    await world.create("run 5 fail 1")
    assert await world.refusal(previous="true") == (
        400, 'previous terminated container "c0" in pod "p" not found'
    )  # fmt: skip
    world.log("first")
    await world.fleet.passes(seconds=7)
    world.log("second", attempt=1)
    assert await world.text() == "second\n"
    assert await world.text(previous="true") == "first\n"
    assert await world.text(previous="true", follow="true") == "first\n"


async def test_a_log_is_followed_to_the_end_of_its_container(world: World) -> None:
    await world.create("run 20", restartPolicy="Never")
    world.log("hello")
    begun = world.fleet.clock.now()
    assert await world.text(follow="true") == "hello\n"
    assert 19 < (world.fleet.clock.now() - begun).total_seconds() < 22
    assert await world.text(follow="true") == "hello\n"


async def test_a_followed_log_goes_on_over_restarts(world: World) -> None:
    await world.create("run 3 fail 1", restartPolicy="OnFailure")
    response = await world.ask("p/log", follow="true")
    assert response.chunks is not None
    world.log("first")
    assert await anext(response.chunks) == b"first\n"
    world.log("second", attempt=1)
    assert await anext(response.chunks) == b"second\n"
    await response.chunks.aclose()  # type: ignore[attr-defined]


async def test_logs_stay_until_the_pod_is_deleted(world: World) -> None:
    await world.create("run 1", restartPolicy="Never")
    world.log("last words")
    await world.fleet.passes(seconds=600)
    assert await world.text() == "last words\n"
    await world.cluster.client.delete(Resource("", "v1", "pods", "Pod"), "p", "default")
    await world.fleet.passes(seconds=1)
    assert (await world.ask("p/log")).status == 404


async def test_a_container_that_waits_says_for_what(world: World) -> None:
    world.preparation.missing["c0 image"] = ("ErrImagePull", "nothing fits")
    await world.create("serve")
    waits = 'container "c0" in pod "p" is waiting to start: '
    assert await world.refusal() == (400, f"{waits}image can't be pulled")
    await world.fleet.passes(seconds=2)
    assert await world.refusal() == (400, f"{waits}trying and failing to pull image")


@pytest.mark.parametrize("kind", ["exec", "attach", "portforward"])
async def test_connections_must_ask_to_leave_http(world: World, kind: str) -> None:
    await world.create("serve")
    refused = await world.refusal(f"p/{kind}", command="ls", stdout="true", ports="80")
    assert refused == (400, "Upgrade request required")


@pytest.mark.rule("jobs C.11")
async def test_simulated_pods_say_what_they_are_told_and_let_nobody_in(world: World) -> None:
    notes = {"fleetqueue.io/simulate": "true", "fleetqueue.io/sim-log": "one\ntwo"}
    await world.create("serve", annotations=notes)
    assert await world.text() == "one\ntwo\n"
    assert await world.text(tailLines="1") == "two\n"
    assert await world.refusal("p/exec", command="ls", stdout="true") == (
        400, "pod p is simulated: it has no process to connect to"
    )  # fmt: skip


async def test_a_service_without_endpoints_cannot_be_reached(world: World) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"ports": [{"port": 80}]},
    }
    await world.cluster.client.create(service)
    path = "/api/v1/namespaces/default/services"
    for name, words in {
        "s": 'no endpoints available for service "s"',
        "s:80": 'no endpoints available for service "s:80"',
        "s:81": 'no service port 81 found for service "s"',
    }.items():
        request = Request("GET", f"{path}/{name}/proxy/", user=ADMIN)
        response = await world.cluster.instance.handle(request)
        assert (response.status, response.object["message"]) == (503, words)


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("ftp:p:80", (400, 'invalid pod request "ftp:p:80"')),
        ("a:b:c:d", (400, 'invalid pod request "a:b:c:d"')),
        ("other:80", (404, 'pods "other" not found')),
    ],
)
async def test_a_proxy_that_leads_nowhere(
    world: World, name: str, refused: tuple[int, str]
) -> None:
    await world.create("serve")
    assert await world.refusal(f"{name}/proxy/") == refused


async def test_a_proxy_without_a_path_is_sent_to_its_root(world: World) -> None:
    await world.create("serve")
    response = await world.ask("p:80/proxy")
    assert response.status == 301
    assert response.headers["Location"] == f"{PODS}/p:80/proxy/"
