"""A machine without namespaces, or one that is told to do without: pods find their volumes, their
peers and their tokens all the same, and users are told what differs.
"""

import io
import logging
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.images import ImageTable
from processes.clusters import AUTHORITY, Bench, Gate, cluster
from processes.conftest import exists

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.rule("jobs C.4"),
    pytest.mark.rule("jobs C.6"),
]

CONFIG = "/etc/fleetqueue-test/config"
"""Below a directory of the system: nothing is ever put there."""
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
READ = f"""
import os, pathlib, socket
folder = pathlib.Path("{CONFIG}")
print(sorted(each.name for each in folder.iterdir() if not each.name.startswith(".")))
print(open(folder / "key").read().strip(), os.path.exists("{CONFIG}/key"), os.path.exists("/none"))
print(open("{ACCOUNT}/ca.crt").read(), len(open("{ACCOUNT}/token").read()) > 100)
print(socket.gethostname(), socket.gethostbyname(socket.gethostname()) == os.environ["POD_IP"])
with open("/dev/termination-log", "w") as file:
    file.write("last words")
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bare(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    root = str(tmp_path_factory.mktemp("root"))
    images = ImageTable.load({"images": [{"match": "rooted", "root": root}]})
    directory = tmp_path_factory.mktemp("bare")
    warned = Warned()
    logger = logging.getLogger("fleetqueue.runtime.process_preparation")
    logger.addHandler(warned)
    async with cluster(directory, namespaces=False, images=images) as made:
        await made.add("ConfigMap", "config", data={"key": "value\n"})
        made.warned = warned.texts
        yield made
    logger.removeHandler(warned)


class Warned(logging.Handler):
    """What a log was told."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.getMessage()} ({vars(record)['why']})")


def config_at(path: str) -> dict[str, Any]:
    """What gives a pod the ConfigMap as a volume."""
    return {
        "container": {
            "volumeMounts": [{"name": "config", "mountPath": path}],
            "env": [
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "FILE", "value": f"{path}/key"},
            ],
        },
        "volumes": [{"name": "config", "configMap": {"name": "config"}}],
    }


async def test_the_node_says_how_names_are_found(bare: Bench) -> None:
    node = await bare.node()
    assert node["metadata"]["annotations"]["fleetqueue.io/name-resolution"] == "substitution"


async def test_the_log_says_so_once(bare: Bench) -> None:
    for name in ("a", "b"):
        await bare.run(name, "true")
        await bare.ends(name)
    (text,) = bare.warned
    assert text == (
        "no namespaces: paths and names are replaced where containers are told them (turned off)"
    )


async def test_scripts_find_volumes_by_their_paths(bare: Bench) -> None:
    script = (
        f'cat {CONFIG}/key; cat "$FILE"; ls $FLEETQUEUE_MOUNT_CONFIG; echo x >/dev/termination-log'
    )
    await bare.run("script", "sh", "-c", script, **config_at(CONFIG))
    assert await bare.said("script") == ["value", "value", "key"]
    assert (await bare.ends("script"))["message"] == "x\n"
    words = await bare.told("NoNamespaces", "script")
    assert words.startswith(f'volume "config" cannot be mounted at {CONFIG} without namespaces')
    assert not exists("/etc/fleetqueue-test")


async def test_python_programs_find_what_is_built_in(bare: Bench) -> None:
    await bare.run("program", "python3", "-c", READ, **config_at(CONFIG))
    assert await bare.said("program") == [
        "['key']",
        "value True False",
        f"{AUTHORITY.decode()} True",
        "program True",
    ]
    assert (await bare.ends("program"))["message"] == "last words"


async def test_a_free_path_is_linked_as_long_as_the_pod_is_there(
    bare: Bench, tmp_path: Path
) -> None:
    free = tmp_path / "free" / "place"
    await bare.run("linked", "sleep", "1000", **config_at(str(free)))
    await bare.worker("linked")
    assert (free / "key").read_text() == "value\n"
    await bare.delete("linked")
    assert not (tmp_path / "free").exists()


@pytest.mark.rule("jobs C.9")
async def test_exec_and_cp_see_the_same(bare: Bench) -> None:
    file = "/var/fleetqueue-test/file"
    container = {
        "volumeMounts": [{"name": "v", "mountPath": "/var/fleetqueue-test"}],
        "readinessProbe": {"exec": {"command": ["cat", file]}, "periodSeconds": 1},
    }
    volumes = [{"name": "v", "emptyDir": {}}]
    script = f"echo one > {file}; exec sleep 1000"
    await bare.run("copied", "sh", "-c", script, container=container, volumes=volumes)
    assert await bare.execute("copied", "cat", file) == (0, b"one\n")
    code, packed = await bare.execute("copied", "tar", "cf", "-", file)
    assert code == 0
    with tarfile.open(fileobj=io.BytesIO(packed[packed.index(file[1:].encode()) :])) as archive:
        assert archive.getnames() == [file[1:]]
    code, said = await bare.execute("copied", "sh", "-c", "hostname; hostname -i; echo $HOSTNAME")
    worker = await bare.worker("copied")
    assert (code, said.decode().split()) == (0, ["copied", worker.sandbox.address, "copied"])


async def test_peers_are_found_before_they_are_there(bare: Bench) -> None:
    """The first pod is told the address that the second will have."""
    selector = {"app": "peers"}
    await bare.add("Service", "peers", spec={"clusterIP": "None", "selector": selector})
    labels = {"metadata": {"labels": selector}, "subdomain": "peers"}
    env = [{"name": "MASTER_ADDR", "value": "second.peers"}]
    await bare.run(
        "first", "sh", "-c", "echo $MASTER_ADDR second.peers; getent hosts first.peers",
        container={"env": env}, hostname="first", **labels,
    )  # fmt: skip
    await bare.run("second", "sh", "-c", "hostname -i; hostname -f", hostname="second", **labels)
    address, whole = await bare.said("second")
    told, own = await bare.said("first")
    assert told == f"{address} {address}"
    assert own.split()[0].startswith("127.")
    assert whole == "second.peers.default.svc.cluster.local"


SERVE = f"""
import os, socket
server = socket.create_server(("", 18080))
{Gate.WAIT}
print(server.getsockname()[0])
"""


async def test_servers_in_python_listen_on_their_own_addresses(bare: Bench, tmp_path: Path) -> None:
    """Two pods with the same port, on all addresses as they believe."""
    probe = {"readinessProbe": {"tcpSocket": {"port": 18080}, "periodSeconds": 1}}
    gates = {name: Gate(tmp_path / name) for name in ("one", "two")}
    for name, gate in gates.items():
        container = {**probe, "env": [gate.variable]}
        await bare.run(name, "python3", "-c", SERVE, container=container)
    addresses = {name: (await bare.worker(name)).sandbox.address for name in gates}
    for name, gate in gates.items():
        gate.open()
        assert await bare.said(name) == [addresses[name]]
        gate.close()


@pytest.mark.rule("jobs C.8")
async def test_what_cannot_work_gets_a_reason(bare: Bench) -> None:
    await bare.run("rooted", "sh", container={"image": "rooted"})

    def waits(pod: Object) -> bool:
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        return any("CreateContainerError" in str(each["state"]) for each in statuses)

    pod = await bare.until(waits, name="rooted")
    waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["message"] == (
        'image "rooted" has a file system of its own, which needs namespaces: turned off'
    )
