"""Claims and volumes on a whole server: bound at once, protected, and gone with their claim."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.kube.errors import Invalid, NotFound
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.addresses import AddressPool
from fleetqueue.runtime.controllers import claims
from fleetqueue.runtime.controllers.volume_directories import FINALIZER, VolumeDirectories
from fleetqueue.runtime.gpus import GpuAllocator
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.kinds import CLAIM, VOLUME
from fleetqueue.runtime.process_preparation import ProcessPreparation, Surrounding
from fleetqueue.runtime.volumes import FailedMount
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs C.4")


async def start(fleet: Fleet, *, with_class: bool = True) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    for operator in claims.operators("/data/pvc"):
        fleet.run(controller_of(operator), on=cluster)
    if with_class:
        await cluster.client.create(claims.STANDARD)
    await fleet.settle()
    return cluster


def claim(name: str = "data", **spec: Any) -> Object:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**asked, **spec},
    }


def volume(name: str, size: str, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": f"/disks/{name}"},
            **spec,
        },
    }


async def read(cluster: FleetCluster, name: str = "data") -> Object:
    return dict(await cluster.client.get(CLAIM, name, "default"))


async def test_a_claim_of_the_default_class_is_bound_at_once(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(claim())
    await fleet.settle()
    found = await read(cluster)
    assert found["spec"]["storageClassName"] == "standard"
    assert found["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
    }
    made = await cluster.client.get(VOLUME, found["spec"]["volumeName"])
    assert made["metadata"]["name"] == f"pvc-{found['metadata']['uid']}"
    assert made["spec"]["hostPath"]["path"] == "/data/pvc/default/data"
    assert made["status"]["phase"] == "Bound"
    await fleet.passes(seconds=1)
    assert await apps.events(cluster.client) == [
        (
            "ProvisioningSucceeded",
            f"Successfully provisioned volume {made['metadata']['name']}",
        )
    ]
    before = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == before


async def test_a_volume_goes_with_its_claim(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(claim())
    await fleet.settle()
    await cluster.client.delete(CLAIM, "data", "default")
    await fleet.settle()
    with pytest.raises(NotFound):
        await read(cluster)
    assert not (await cluster.client.list(VOLUME)).items


async def test_a_claim_waits_for_the_pod_that_uses_it(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(claim())
    used = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    spec = {"nodeName": "a", "containers": [{"name": "c", "image": "i"}], "volumes": [used]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user", "namespace": "default"},
        "spec": spec,
    }
    await cluster.client.create(pod)
    await cluster.client.delete(CLAIM, "data", "default")
    await fleet.settle()
    assert (await read(cluster))["metadata"]["deletionTimestamp"]
    await apps.remove(cluster.client, pod)
    await fleet.settle()
    with pytest.raises(NotFound):
        await read(cluster)


async def test_a_claim_takes_the_smallest_volume_that_suits(fleet: Fleet) -> None:
    cluster = await start(fleet)
    for name, size in (("large", "10Gi"), ("small", "100Mi"), ("fits", "2Gi")):
        await cluster.client.create(volume(name, size))
    await cluster.client.create(volume("other", "1Gi", storageClassName="fast"))
    await cluster.client.create(claim(storageClassName=""))
    await fleet.settle()
    found = await read(cluster)
    assert found["spec"]["volumeName"] == "fits"
    assert found["status"]["capacity"] == {"storage": "2Gi"}
    taken = await cluster.client.get(VOLUME, "fits")
    assert taken["spec"]["claimRef"]["name"] == "data"
    assert taken["status"]["phase"] == "Bound"
    await cluster.client.delete(CLAIM, "data", "default")
    await fleet.settle()
    released = await cluster.client.get(VOLUME, "fits")
    assert released["status"]["phase"] == "Released"


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"storageClassName": ""},
            "FailedBinding",
            "no persistent volumes available for this claim and no storage class is set",
        ),
        (
            {"storageClassName": "fast"},
            "ProvisioningFailed",
            'storageclass.storage.k8s.io "fast" not found',
        ),
        (
            {"storageClassName": "", "volumeName": "tiny"},
            "VolumeMismatch",
            'Cannot bind to requested volume "tiny": requested PV is too small',
        ),
    ],
)
async def test_a_claim_that_cannot_be_served_says_why(
    fleet: Fleet, spec: Object, reason: str, message: str
) -> None:
    cluster = await start(fleet)
    if "volumeName" in spec:
        await cluster.client.create(volume("tiny", "1Mi"))
    await cluster.client.create(claim(**spec))
    await fleet.settle()
    assert (await read(cluster))["status"] == {"phase": "Pending"}
    await fleet.passes(seconds=1)
    assert (reason, message) in await apps.events(cluster.client)


async def test_a_claim_made_before_there_was_a_class_gets_it_later(fleet: Fleet) -> None:
    cluster = await start(fleet, with_class=False)
    await cluster.client.create(claim())
    await fleet.settle()
    assert (await read(cluster))["status"] == {"phase": "Pending"}
    await cluster.client.create(claims.STANDARD)
    await fleet.settle()
    assert (await read(cluster))["status"]["phase"] == "Bound"


async def test_a_claim_whose_volume_is_gone_is_lost(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(volume("disk", "1Gi"))
    await cluster.client.create(claim(storageClassName="", volumeName="disk"))
    await fleet.settle()
    patch = {"metadata": {"finalizers": None}}
    await cluster.client.delete(VOLUME, "disk")
    await cluster.client.patch(VOLUME, "disk", patch)
    await fleet.settle()
    assert (await read(cluster))["status"]["phase"] == "Lost"
    await fleet.passes(seconds=1)
    told = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    assert ("ClaimLost", told) in await apps.events(cluster.client)


async def test_the_directory_goes_before_the_volume(fleet: Fleet, tmp_path: Path) -> None:
    async def remove(path: Path) -> None:
        shutil.rmtree(path)

    cluster = await fleet.add_cluster("one")
    root = tmp_path / "pvc"
    for operator in claims.operators(str(root), has_directories=True):
        fleet.run(controller_of(operator), on=cluster)
    fleet.run(lambda reach: VolumeDirectories(reach, root, remove), on=cluster)
    await cluster.client.create(claims.STANDARD)
    await cluster.client.create(claim())
    await fleet.settle()
    directory = root / "default" / "data"
    directory.mkdir(parents=True)
    (directory / "file").write_text("old")
    await cluster.client.delete(CLAIM, "data", "default")
    await fleet.settle()
    assert not directory.exists()
    assert not (await cluster.client.list(VOLUME)).items


async def test_no_directory_outside_of_ours_is_touched(fleet: Fleet, tmp_path: Path) -> None:
    async def remove(path: Path) -> None:
        raise AssertionError(path)

    cluster = await fleet.add_cluster("one")
    fleet.run(lambda reach: VolumeDirectories(reach, tmp_path / "pvc", remove), on=cluster)
    for at, path in enumerate(("/", str(tmp_path), str(tmp_path / "pvc"), f"{tmp_path}/pvc/..")):
        made = volume(f"v{at}", "1Gi", hostPath={"path": path})
        made["metadata"]["finalizers"] = [FINALIZER]
        try:
            await cluster.client.create(made)
        except Invalid:
            continue
        await cluster.client.delete(VOLUME, f"v{at}")
        patch = {"metadata": {"finalizers": [FINALIZER]}}
        await cluster.client.patch(VOLUME, f"v{at}", patch)
    await fleet.settle()
    assert not (await cluster.client.list(VOLUME)).items


def pod_of(claim_name: str) -> Object:
    data = {"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}
    return {
        "metadata": {"name": claim_name, "namespace": "default", "uid": f"uid-{claim_name}"},
        "spec": {"containers": [{"name": "main"}], "volumes": [data], "nodeName": "node-1"},
    }


def prepare_on(fleet: Fleet, cluster: FleetCluster, directory: Path) -> ProcessPreparation:
    made: list[ProcessPreparation] = []

    def install(manager: Manager) -> None:
        around = Surrounding(
            directory / "runtime",
            ImageTable(),
            AddressPool("127.9.0.0/24"),
            host_address="127.0.0.1",
            api_host="127.0.0.1",
            api_port=6443,
            gpus=GpuAllocator([]),
        )
        made.append(ProcessPreparation(manager.cluster, fleet.clock, around))

    fleet.run_all(install, on=cluster)
    return made[0]


async def test_a_claim_that_only_names_the_volume_of_another_gets_nothing(
    fleet: Fleet, tmp_path: Path
) -> None:
    cluster = await start(fleet)
    preparation = prepare_on(fleet, cluster, tmp_path)
    disk = volume("disk", "1Gi", hostPath={"path": str(tmp_path / "disk")}, storageClassName="x")
    await cluster.client.create(disk)
    await cluster.client.create(claim("owner", volumeName="disk", storageClassName="x"))
    await fleet.settle()
    await cluster.client.create(claim("thief", volumeName="disk", storageClassName="x"))
    await fleet.settle()
    with pytest.raises(FailedMount, match='persistentvolumeclaim "thief" is not bound'):
        await preparation.sandbox(pod_of("thief"))
    assert not (tmp_path / "disk").exists()
    await preparation.sandbox(pod_of("owner"))
    assert (tmp_path / "disk").exists()
