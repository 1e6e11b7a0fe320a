"""Where a worker's credentials come from: Secrets, files and profiles, right and wrong ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import dispatching
from tests.support.dispatching import SYSTEM, Dispatching, kubeconfig

from fleetqueue import kueue
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import CRDS
from fleetqueue.kueue import KueueOptions
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.connections import Connections, install_connections
from fleetqueue.multikueue.session import Connect
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.testing import Fleet, named, namespace

CONNECTED = ("True", "Active", "Connected")
ACTIVE = ("True", "Active", "The admission check is active")
ONE = ("worker1",)
PROFILES = """
multiKueue:
  clusterProfile:
    accessProviders:
    - name: cloud
      execConfig:
        command: /bin/plugin
        apiVersion: client.authentication.k8s.io/v1
        interactiveMode: Never
"""


async def start(fleet: Fleet, **options: Any) -> Dispatching:
    return await dispatching.start(fleet, workers=ONE, **options)


async def check(world: Dispatching) -> tuple[str, str, str] | None:
    return await world.check_activity("testing")


async def prepare(world: Dispatching) -> None:
    """A check and a configuration that name the worker."""
    await world.manager.create(
        dispatching.admission_check("testing", "testing-config"),
        dispatching.config("worker1", name="testing-config"),
    )


def refused(message: str, reason: str = "BadKubeConfig") -> tuple[str, str, str]:
    return "False", reason, f"load client config failed: {message}"


# Secrets


@pytest.mark.rule("I6")
@pytest.mark.rule("CRED-1")
@pytest.mark.rule("CONN-7")
@pytest.mark.rule("SETUP-1")
@pytest.mark.rule("AC-2")
async def test_everything_is_made_one_by_one_and_falls_into_place(fleet: Fleet) -> None:
    world = await start(fleet)
    load = "Cannot load the AdmissionChecks parameters: "
    await world.manager.create(dispatching.admission_check("testing", "testing-config"))
    text = f'{load}MultiKueueConfig.kueue.x-k8s.io "testing-config" not found'
    assert await check(world) == ("False", "BadConfig", text)

    await world.manager.create(dispatching.config("worker1", name="testing-config"))
    missing = ("False", "NoUsableClusters", "Missing clusters: [worker1]")
    assert await check(world) == missing

    await world.manager.create(dispatching.cluster("worker1", location="testing-secret"))
    assert await world.activity("worker1") == refused('Secret "testing-secret" not found')
    inactive = ("False", "NoUsableClusters", "Inactive clusters: [worker1]")
    assert await check(world) == inactive

    secret = dispatching.kubeconfig_secret("worker1")
    secret["metadata"]["name"] = "testing-secret"
    await world.manager.client.create(secret)
    await world.settle()
    assert await world.activity("worker1") == CONNECTED
    assert await check(world) == ACTIVE
    [condition] = (await world.manager.get(kinds.CLUSTER, "worker1"))["status"]["conditions"]
    assert condition["observedGeneration"] == 1

    with pytest.raises(Invalid, match="must be unique"):
        await world.manager.create(dispatching.config("a", "a", name="twice"))


@pytest.mark.rule("MKC-6")
async def test_a_change_that_changes_nothing_of_what_is_said_is_not_told(fleet: Fleet) -> None:
    world = await start(fleet)
    await prepare(world)
    await world.join()
    other = dispatching.kubeconfig_secret("worker1")
    other["metadata"]["name"] = "other"
    await world.manager.client.create(other)

    async def told(location: str) -> tuple[int, int]:
        source = {"kubeConfig": {"location": location, "locationType": "Secret"}}
        patch = {"spec": {"clusterSource": source}}
        await world.manager.patch(kinds.CLUSTER, "worker1", patch)
        await world.passes(seconds=30)
        found = await world.manager.get(kinds.CLUSTER, "worker1")
        [active] = found["status"]["conditions"]
        return found["metadata"]["generation"], active["observedGeneration"]

    assert await world.activity("worker1") == CONNECTED
    assert await told("other") == (2, 1)
    assert await world.activity("worker1") == CONNECTED
    assert await told("nosuch") == (3, 3)


@pytest.mark.rule("CRED-1")
async def test_a_secret_elsewhere_does_not_count(fleet: Fleet) -> None:
    world = await start(fleet)
    secret = dispatching.kubeconfig_secret("worker1")
    await world.manager.client.create(namespace("elsewhere"))
    secret["metadata"]["namespace"] = "elsewhere"
    await world.manager.client.create(secret)
    await world.manager.create(dispatching.cluster("worker1"))
    assert await world.activity("worker1") == refused('Secret "worker1-secret" not found')


@pytest.mark.rule("CONN-7")
@pytest.mark.rule("CRED-1")
@pytest.mark.rule("SEC-3")
async def test_a_secret_that_is_deleted_ends_the_connection_until_it_is_back(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.join()
    await world.manager.client.delete(kinds.SECRET, "worker1-secret", SYSTEM)
    await world.settle()
    assert await world.activity("worker1") == refused('Secret "worker1-secret" not found')
    found = world.connections.get("worker1")
    assert found is not None
    assert not found.is_connected
    since = found.lost_since

    await world.passes(minutes=1)
    assert found.lost_since == since
    await world.manager.client.create(dispatching.kubeconfig_secret("worker1"))
    await world.settle()
    assert await world.activity("worker1") == CONNECTED


@pytest.mark.rule("I8")
@pytest.mark.rule("SEC-3")
async def test_a_kubeconfig_that_points_to_files_is_refused_until_it_is_put_right(
    fleet: Fleet,
) -> None:
    world = await start(fleet)
    await prepare(world)
    await world.join()
    bad = kubeconfig("worker1").replace(
        "certificate-authority-data: YW4gYXV0aG9yaXR5", "certificate-authority: /ca.crt"
    )
    data = dispatching.kubeconfig_secret("worker1", bad)["data"]
    await world.manager.client.patch(kinds.SECRET, "worker1-secret", {"data": data}, SYSTEM)
    await world.settle()
    text = (
        "certificate-authority file paths are not allowed, "
        "use certificate-authority-data for cluster default-cluster"
    )
    assert await world.activity("worker1") == refused(text, "InsecureKubeConfig")
    assert await check(world) == ("False", "NoUsableClusters", "Inactive clusters: [worker1]")
    found = world.connections.get("worker1")
    assert found is not None
    assert not found.is_connected

    await world.write_secret("worker1")
    assert await world.activity("worker1") == CONNECTED
    assert await check(world) == ACTIVE


@pytest.mark.rule("MKC-5")
async def test_a_trouble_that_follows_failed_attempts_tells_of_them(fleet: Fleet) -> None:
    world = await start(fleet)
    world.cut("worker1")
    await world.join()
    await world.manager.client.delete(kinds.SECRET, "worker1-secret", SYSTEM)
    await world.settle()
    told = await world.activity("worker1")
    assert told is not None
    text = 'load client config failed: Secret "worker1-secret" not found; connection attempts: 1, '
    assert told[:2] == ("False", "BadKubeConfig")
    assert told[2].startswith(f"{text}next connection attempt: ")

    # It says the same when it is back: what was tried before is what keeps the worker away.
    await world.manager.client.create(dispatching.kubeconfig_secret("worker1"))
    await world.settle()
    told = await world.activity("worker1")
    assert told is not None
    assert told[1] == "ClientConnectionFailed"


@pytest.mark.rule("MKC-3")
@pytest.mark.rule("CRED-3")
async def test_a_cluster_may_change_where_its_credentials_are(fleet: Fleet, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(kubeconfig("worker1"))
    world = await start(fleet, settings={"kubeconfig_directory": str(tmp_path)})
    by_path = dispatching.cluster("worker1", location=str(path), type="Path")
    await world.manager.create(by_path)
    assert await world.activity("worker1") == CONNECTED
    await world.manager.client.create(dispatching.kubeconfig_secret("worker1"))
    spec = dispatching.cluster("worker1")["spec"]
    await world.manager.patch(kinds.CLUSTER, "worker1", {"spec": spec})
    [condition] = (await world.manager.get(kinds.CLUSTER, "worker1"))["status"]["conditions"]
    assert condition["message"] == "Connected"

    path.unlink()
    await world.passes(minutes=1)
    assert await world.activity("worker1") == CONNECTED


# Files


@pytest.mark.rule("I7")
@pytest.mark.rule("CRED-3")
@pytest.mark.rule("CRED-5")
async def test_a_file_anywhere_is_read_without_the_gate(fleet: Fleet, tmp_path: Path) -> None:
    path = tmp_path / "config"
    gates = {"MultiKueueKubeConfigPathValidation": False}
    world = await start(fleet, gates=gates)
    await prepare(world)
    await world.manager.create(dispatching.cluster("worker1", location=str(path), type="Path"))
    text = f"open {path}: no such file or directory"
    assert await world.activity("worker1") == refused(text)

    path.write_text(kubeconfig("worker1"))
    await world.passes(seconds=1)
    assert await world.activity("worker1") == CONNECTED
    assert await check(world) == ACTIVE
    [event] = set(await world.manager.events("worker1"))
    assert event == (
        "Warning",
        "DeprecatedPathUsage",
        "Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate is "
        "deprecated and will be removed in a future release. Enable the "
        "MultiKueueKubeConfigPathValidation feature gate and place kubeconfig files under "
        "/etc/multikueue/kubeconfigs/.",
    )

    path.write_text(kubeconfig("worker1", server=dispatching.NOBODY))
    await world.passes(seconds=1)
    told = await world.activity("worker1")
    assert told is not None
    assert told[:2] == ("False", "ClientConnectionFailed")
    path.write_text(kubeconfig("worker1"))
    await world.passes(seconds=1)
    assert await world.activity("worker1") == CONNECTED


@pytest.mark.rule("I9")
@pytest.mark.rule("CRED-4")
async def test_with_the_gate_only_files_of_one_directory_are_read(
    fleet: Fleet, tmp_path: Path
) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "config").write_text(kubeconfig("worker1"))
    world = await start(fleet, settings={"kubeconfig_directory": str(inside)})
    outside = "kubeconfig path is not under the allowed prefix"
    told = {
        "/elsewhere": f'{outside}: "/elsewhere" is not under "{inside}"',
        "relative": f"{outside}: path must be absolute",
        f"{inside}/../x": f'{outside}: "{tmp_path}/x" is not under "{inside}"',
    }
    await world.manager.create(dispatching.cluster("worker1", location="/none", type="Path"))
    for location, text in told.items():
        source = {"kubeConfig": {"location": location, "locationType": "Path"}}
        patch = {"spec": {"clusterSource": source}}
        await world.manager.patch(kinds.CLUSTER, "worker1", patch)
        assert await world.activity("worker1") == refused(text)

    source = {"kubeConfig": {"location": f"{inside}/config", "locationType": "Path"}}
    await world.manager.patch(kinds.CLUSTER, "worker1", {"spec": {"clusterSource": source}})
    assert await world.activity("worker1") == CONNECTED
    assert await world.manager.events("worker1") == []


# Profiles


def _with_profiles(
    manager: Manager, options: KueueOptions, settings: DispatchSettings, connect: Connect
) -> Connections:
    kueue.install(manager, options)
    return install_connections(manager, settings, {}, connect, is_served=lambda kind: True)


async def _with_crd(fleet: Fleet, **options: Any) -> Dispatching:
    """The controller starts after the CRD was installed."""
    world = await start(fleet, gates={"MultiKueueClusterProfile": True}, **options)
    await world.manager.client.create(dispatching.profile_crd())
    await world.settle()
    world.install = _with_profiles
    assert world.manager.restart is not None
    await world.manager.restart()
    await world.settle()
    await prepare(world)
    return world


def profile(space: str = SYSTEM, **status: Any) -> dict[str, Any]:
    return named(
        "ClusterProfile", "multicluster.x-k8s.io/v1alpha1", "profile", space, status=status,
        spec={"clusterManager": {"name": "somebody"}, "displayName": "profile"},
    )  # fmt: skip


@pytest.mark.rule("I11")
@pytest.mark.rule("CRED-10")
@pytest.mark.rule("MKC-4")
async def test_a_profile_is_not_enough_without_a_provider(fleet: Fleet) -> None:
    world = await _with_crd(fleet)
    await world.manager.create(dispatching.profile_cluster("worker1", "profile"))
    missing = 'ClusterProfile.multicluster.x-k8s.io "profile" not found'
    assert await world.activity("worker1") == refused(missing, "BadClusterProfile")

    await world.manager.client.create(profile("default"))
    await world.settle()
    assert await world.activity("worker1") == refused(missing, "BadClusterProfile")
    await world.manager.client.create(profile())
    await world.settle()
    text = "no access provider configured"
    assert await world.activity("worker1") == refused(text, "BadClusterProfile")


@pytest.mark.rule("CRED-7")
@pytest.mark.rule("CRED-8")
@pytest.mark.rule("CRED-10")
async def test_a_profile_leads_to_a_worker(fleet: Fleet) -> None:
    world = await _with_crd(fleet, config=PROFILES)
    world.links["worker1"].token = ""
    await world.manager.create(dispatching.profile_cluster("worker1", "profile"))
    await world.manager.client.create(profile())
    await world.settle()
    text = 'no matching cluster accessor found for cluster profile "profile"'
    assert await world.activity("worker1") == refused(text, "BadClusterProfile")

    access = {"name": "cloud", "cluster": {"server": dispatching.server_of("worker1")}}
    patch = {"status": {"accessProviders": [access]}}
    kind = kinds.CLUSTER_PROFILE
    client = world.manager.client
    await client.patch(kind, "profile", patch, SYSTEM, subresource="status")
    await world.settle()
    assert await world.activity("worker1") == CONNECTED
    assert await check(world) == ACTIVE

    await client.delete(kind, "profile", SYSTEM)
    await world.settle()
    told = await world.activity("worker1")
    assert told is not None
    assert told[1] == "BadClusterProfile"


@pytest.mark.rule("I12")
async def test_profiles_are_refused_without_their_gate(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.manager.create(dispatching.profile_cluster("worker1", "profile"))
    reason = "MultiKueueClusterProfileFeatureDisabled"
    text = "MultiKueueClusterProfile feature gate is disabled"
    assert await world.activity("worker1") == refused(text, reason)


@pytest.mark.rule("CRED-6")
async def test_without_the_crd_the_rest_works(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    world = await start(fleet, gates={"MultiKueueClusterProfile": True})
    text = "Skipping MultiKueue ClusterProfile setup as the ClusterProfile CRD is not installed"
    assert text in caplog.text
    await world.join()
    assert await world.activity("worker1") == CONNECTED


# What the kinds say


@pytest.mark.rule("MKC-1")
@pytest.mark.rule("MKC-2")
async def test_the_older_version_of_a_cluster_is_served_too(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.join()
    found = await world.manager.get(replace(kinds.CLUSTER, version="v1beta1"), "worker1")
    assert found["spec"]["kubeConfig"] == {"location": "worker1-secret", "locationType": "Secret"}

    crd = await world.manager.get(CRDS, "multikueueclusters.kueue.x-k8s.io")
    versions = {each["name"]: each for each in crd["spec"]["versions"]}
    columns = versions["v1beta2"]["additionalPrinterColumns"]
    assert [each["name"] for each in columns] == ["Connected", "Age"]
    assert versions["v1beta1"]["deprecated"]
    text = "This version is deprecated. Use v1beta2 instead."
    assert versions["v1beta1"]["deprecationWarning"] == text
