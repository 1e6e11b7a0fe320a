"""What is measured: the same requests for both servers, each told once."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.apiserver.load_generator import Measured, drive
from benchmarks.apiserver.objects import admitted, config_map, workload, workload_crd
from support.server import Server

CLIENTS = (1, 16, 64)
LISTED = 10_000
HELD = 20_000
WATCHERS = 100
MERGE = "application/merge-patch+json"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONFIG_MAPS = "/api/v1/namespaces/{ns}/configmaps"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    measured: Measured
    is_write: bool


def prepare(server: Server) -> None:
    """The Workload CRD and a namespace per number of clients."""
    with server.client() as client:
        assert client.send("POST", CRDS, workload_crd()).status == 201
        for name in [*(f"bench-{count}" for count in CLIENTS), "many", "fan"]:
            body = {"metadata": {"name": name}}
            assert client.send("POST", "/api/v1/namespaces", body).status == 201
    _await_workloads(server)


def _await_workloads(server: Server) -> None:
    from support.server import wait_until

    path = WORKLOADS.format(ns="many")
    with server.client() as client:
        wait_until("the Workload kind", lambda: client.send("GET", path).status == 200)


def operations(binary: Path, server: Server, clients: int, scale: float) -> Iterator[Row]:
    """Writes and reads of single objects, by this many clients."""
    namespace = f"bench-{clients}"
    count = int({1: 300, 16: 2400, 64: 3200}[clients] * scale)
    maps, loads = CONFIG_MAPS.format(ns=namespace), WORKLOADS.format(ns=namespace)

    def run(name: str, is_write: bool, requests: int = count, **options: object) -> Row:
        measured = drive(binary, server, clients=clients, requests=requests, **options)
        return Row(name, measured, is_write)

    yield run("create ConfigMap", True, method="POST", path=maps, body=config_map("c-%d"))
    yield run(
        "merge patch ConfigMap", True,
        method="PATCH", path=f"{maps}/c-%d", body='{"data":{"settings":"%d"}}', type=MERGE,
    )  # fmt: skip
    yield run("get ConfigMap", False, method="GET", path=f"{maps}/c-%d")
    yield run("delete ConfigMap", True, method="DELETE", path=f"{maps}/c-%d")
    fewer = max(count // 4, 50)
    yield run(
        "create Workload", True, requests=fewer, method="POST", path=loads, body=workload("w-%d")
    )
    yield run(
        "update status of Workload", True, requests=fewer,
        method="PATCH", path=f"{loads}/w-%d/status", body=admitted(), type=MERGE,
    )  # fmt: skip


def fill(binary: Path, server: Server, first: int, count: int) -> None:
    path = CONFIG_MAPS.format(ns="many")
    drive(
        binary, server, clients=32, requests=count, first=first,
        method="POST", path=path, body=config_map("m-%d"),
    )  # fmt: skip


def lists(binary: Path, server: Server, clients: int) -> Row:
    path = CONFIG_MAPS.format(ns="many")
    requests = {1: 6, 16: 32, 64: 64}[clients]
    return Row(
        f"list of {LISTED:,}",
        drive(binary, server, clients=clients, requests=requests, method="GET", path=path),
        is_write=False,
    )


def fan_out(binary: Path, server: Server, scale: float) -> Row:
    path = CONFIG_MAPS.format(ns="fan")
    measured = drive(
        binary, server, watchers=WATCHERS, clients=4, requests=int(400 * scale),
        path=f"{path}?watch=true", create=path, body=config_map("fan-%d"),
    )  # fmt: skip
    return Row(f"watch, {WATCHERS} watchers", measured, is_write=False)
