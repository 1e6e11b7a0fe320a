"""AppWrappers on a whole server with the Job controller, pods moved by hand."""

from typing import Any

import pytest
from tests.support import app_wrappers, apps, operated
from tests.support.app_wrappers import job, service, thing

from fleetqueue.kube.errors import Forbidden, NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job as jobs
from fleetqueue.runtime.controllers.job_orphans import ORPHANS
from fleetqueue.runtime.kinds import APP_WRAPPER, JOB, POD, SERVICE
from fleetqueue.runtime.operators import app_wrapper
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [
    pytest.mark.rule("jobs B.9"),
    pytest.mark.rule("jobs B.10"),
    pytest.mark.rule("jobs D.8"),
]

PREFIX = "workload.codeflare.dev.appwrapper/"


async def start(fleet: Fleet) -> FleetCluster:
    return await operated.start(
        fleet,
        jobs.job_operator(),
        ORPHANS,
        app_wrapper.OPERATOR,
        groups=(app_wrappers.GROUP,),
        webhooks=(app_wrapper.WEBHOOK,),
    )


async def create(fleet: Fleet, cluster: FleetCluster, *templates: Object, **more: Any) -> Object:
    return await operated.create(fleet, cluster, app_wrappers.wrapper(*templates, **more))


async def read(cluster: FleetCluster) -> Object:
    return await operated.get(cluster, APP_WRAPPER, "wrap")


async def phase(cluster: FleetCluster) -> str:
    return str((await read(cluster))["status"]["phase"])


async def move(fleet: Fleet, cluster: FleetCluster, phase: str) -> None:
    for pod in await apps.pods(cluster.client):
        await apps.move(cluster.client, pod, phase, ready=phase == "Running", at=fleet.clock.now())
    await fleet.settle()


async def change(fleet: Fleet, cluster: FleetCluster, **spec: Any) -> None:
    await operated.change(fleet, cluster, APP_WRAPPER, "wrap", {"spec": spec})


async def test_components_are_deployed_run_and_succeed(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, service(), job(pods=2), suspend=True)
    assert await phase(cluster) == "Suspended"
    assert await operated.names(cluster, JOB) == []
    await change(fleet, cluster, suspend=False)
    assert await phase(cluster) == "Running"
    assert await operated.names(cluster, JOB) == ["work"]
    stored = await read(cluster)
    assert stored["metadata"]["finalizers"] == ["workload.codeflare.dev/finalizer"]
    assert "workload.codeflare.dev/user" in stored["metadata"]["labels"]
    found = await apps.pods(cluster.client)
    assert len(found) == 2
    assert found[0]["metadata"]["labels"]["workload.codeflare.dev/appwrapper"] == "wrap"
    await move(fleet, cluster, "Running")
    ready = operated.conditions(await read(cluster))["PodsReady"]
    assert ready == ("True", "SufficientPodsReady", "2 pods running; 0 pods succeeded")
    await move(fleet, cluster, "Succeeded")
    assert await phase(cluster) == "Succeeded"
    assert operated.conditions(await read(cluster))["QuotaReserved"][0] == "False"
    await cluster.client.delete(APP_WRAPPER, "wrap", "default")
    await fleet.passes(seconds=30)
    await operated.remove_ended_pods(fleet, cluster)
    await fleet.passes(seconds=30)
    with pytest.raises(NotFound):
        await read(cluster)
    assert await operated.names(cluster, JOB) == []
    assert "door" not in await operated.names(cluster, SERVICE)


async def test_suspension_and_resumption(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, job())
    await move(fleet, cluster, "Running")
    await change(fleet, cluster, suspend=True)
    for _ in range(3):
        await fleet.passes(seconds=6)
        await operated.remove_ended_pods(fleet, cluster)
    assert await phase(cluster) == "Suspended"
    assert (await operated.names(cluster, JOB), await operated.names(cluster, POD)) == ([], [])
    assert operated.conditions(await read(cluster))["QuotaReserved"][0] == "False"
    info = [{"nodeSelector": {"pool": "a"}}]
    component = {"template": job(), "podSetInfos": info}
    await change(fleet, cluster, suspend=False, components=[component])
    (pod,) = await apps.pods(cluster.client)
    assert pod["spec"]["nodeSelector"] == {"pool": "a"}


async def test_a_failing_job_is_tried_again_and_then_given_up(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, job(backoffLimit=0), annotations={f"{PREFIX}retryLimit": "1"})
    await move(fleet, cluster, "Failed")
    await fleet.passes(seconds=55)
    assert await phase(cluster) == "Running"
    assert operated.conditions(await read(cluster))["Unhealthy"][:2] == ("True", "FailedComponent")
    for _ in range(2):
        await fleet.passes(seconds=10)
        await operated.remove_ended_pods(fleet, cluster)
    assert await phase(cluster) == "Resetting"
    assert (await read(cluster))["status"]["resettingCount"] == 1
    await fleet.passes(seconds=90)
    await fleet.settle()
    assert await phase(cluster) == "Running"
    await move(fleet, cluster, "Failed")
    for _ in range(15):
        await fleet.passes(seconds=10)
        await operated.remove_ended_pods(fleet, cluster)
    assert await phase(cluster) == "Failed"
    told = operated.conditions(await read(cluster))
    assert told["Unhealthy"][:2] == ("True", "FailedComponent")
    assert told["ResourcesDeployed"][0] == "False"
    assert await operated.names(cluster, JOB) == []


async def test_a_component_that_cannot_be_made_fails_the_wrapper(fleet: Fleet) -> None:
    cluster = await start(fleet)
    bad = job()
    bad["spec"]["completionMode"] = "Sometimes"
    await create(fleet, cluster, bad)
    assert await phase(cluster) == "Failed"
    unhealthy = operated.conditions(await read(cluster))["Unhealthy"]
    assert unhealthy[1] == "CreateFailed"
    assert unhealthy[2].startswith("error creating components: ")


async def test_a_component_of_a_kind_that_nobody_serves(fleet: Fleet) -> None:
    cluster = await start(fleet)
    unknown = thing("acme.io/v1", "Unknown", "u")
    await create(fleet, cluster, job(), unknown)
    assert await phase(cluster) == "Failed"
    assert operated.conditions(await read(cluster))["Unhealthy"][1] == "CreateFailed"


@pytest.mark.rule("jobs B.11")
async def test_a_component_that_is_taken_away_is_noticed_and_made_again(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, service(), job())
    await move(fleet, cluster, "Running")
    await cluster.client.delete(SERVICE, "door", "default")
    await fleet.passes(seconds=6)
    assert operated.conditions(await read(cluster))["Unhealthy"][1] == "MissingComponent"
    await fleet.passes(seconds=50)
    assert await phase(cluster) == "Running"
    for _ in range(2):
        await fleet.passes(seconds=10)
        await operated.remove_ended_pods(fleet, cluster)
    assert await phase(cluster) == "Resetting"
    await fleet.passes(seconds=60)
    assert await phase(cluster) == "Running"
    assert "door" in await operated.names(cluster, SERVICE)
    assert (await read(cluster))["status"]["resettingCount"] == 1
    assert operated.conditions(await read(cluster))["Unhealthy"][0] == "False"


async def test_bad_wrappers_are_refused_and_foreign_ones_left_alone(fleet: Fleet) -> None:
    cluster = await start(fleet)
    with pytest.raises(Forbidden, match="components contains no podspecs"):
        await create(fleet, cluster, service())
    await create(fleet, cluster, job(), managedBy="kueue.x-k8s.io/multikueue")
    assert "status" not in await read(cluster)
    assert await operated.names(cluster, JOB) == []
