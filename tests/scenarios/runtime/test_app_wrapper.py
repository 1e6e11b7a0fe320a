"""AppWrappers on a whole server with the Job controller, pods moved by hand."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.support import app_wrappers, apps, operated
from tests.support.app_wrappers import job, service, thing

from fleetqueue.apiserver.access.users import User
from fleetqueue.kube.errors import Forbidden, NotFound
from fleetqueue.kube.resources import CRDS, Object, Resource
from fleetqueue.kube.webhook_rules import Webhook
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
RBAC = "rbac.authorization.k8s.io"


def definition(kind: str) -> Object:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    return {
        **thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.acme.io"),
        "spec": {
            "group": "acme.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def start(fleet: Fleet, webhooks: Iterable[Webhook] = (app_wrapper.WEBHOOK,)) -> FleetCluster:
    return await operated.start(
        fleet,
        jobs.job_operator(),
        ORPHANS,
        app_wrapper.OPERATOR,
        groups=(app_wrappers.GROUP,),
        webhooks=webhooks,
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


async def test_a_component_of_a_kind_that_nobody_serves_any_more(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(definition("Thing"))
    await fleet.settle()
    unknown = thing("acme.io/v1", "Thing", "u")
    await create(fleet, cluster, job(), unknown, suspend=True)
    await cluster.client.delete(CRDS, "things.acme.io")
    await fleet.settle()
    await change(fleet, cluster, suspend=False)
    assert await phase(cluster) == "Failed"
    assert operated.conditions(await read(cluster))["Unhealthy"][1] == "CreateFailed"


async def test_a_component_of_a_kind_that_nobody_serves_is_refused(fleet: Fleet) -> None:
    cluster = await start(fleet)
    with pytest.raises(Forbidden, match=r'serves no kind "Thing" in version "acme\.io/v1"'):
        await create(fleet, cluster, job(), thing("acme.io/v1", "Thing", "u"))
    await cluster.client.create(definition("Thing"))
    await fleet.settle()
    with pytest.raises(Forbidden, match=r'serves no kind "Thing" in version "acme\.io/v2"'):
        await create(fleet, cluster, job(), thing("acme.io/v2", "Thing", "u"))
    await create(fleet, cluster, job(), thing("acme.io/v1", "Thing", "u"))
    assert await phase(cluster) == "Running"
    assert await operated.names(cluster, Resource("acme.io", "v1", "things", "Thing")) == ["u"]


OWNER = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def granted(kind: str, name: str, role: str) -> Object:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    subject = {"apiGroup": RBAC, "kind": "User", "name": "dev"}
    binding = thing(f"{RBAC}/v1", kind, name)
    if kind == "RoleBinding":
        binding["metadata"]["namespace"] = "default"
    return {**binding, "roleRef": reference, "subjects": [subject]}


@pytest.mark.parametrize("kind", ["ClusterRoleBinding", "RoleBinding"])
async def test_nobody_gets_more_rights_by_a_wrapper(fleet: Fleet, kind: str) -> None:
    cluster = await start(fleet)
    await cluster.client.create({**thing(f"{RBAC}/v1", "ClusterRole", "owner"), "rules": OWNER})
    await cluster.client.create(granted("RoleBinding", "owner", "owner"))
    dev = cluster.connect("dev", user=User("dev", groups=("system:authenticated",)))
    wanted = granted(kind, "gotcha", "cluster-admin")
    grasping, modest = app_wrappers.wrapper(job(), wanted), app_wrappers.wrapper(job(), service())
    for parent in (grasping, modest):
        del parent["metadata"]["uid"]
    with pytest.raises(Forbidden, match=r"spec\.components\[1\]\.template: Forbidden: AppWrappers"):
        await dev.create(grasping)
    await dev.create(modest)
    await fleet.settle()
    assert await phase(cluster) == "Running"


@pytest.mark.parametrize("kind", ["ClusterRole", "Namespace"])
async def test_a_wrapper_from_before_makes_nothing_outside_its_namespace(
    fleet: Fleet, kind: str
) -> None:
    cluster = await start(fleet, webhooks=())
    version = "v1" if kind == "Namespace" else f"{RBAC}/v1"
    await create(fleet, cluster, job(), thing(version, kind, "gotcha"))
    assert await phase(cluster) == "Failed"
    assert operated.conditions(await read(cluster))["Unhealthy"][1] == "CreateFailed"
    served = await cluster.client.discovery.resource(version, kind)
    with pytest.raises(NotFound):
        await cluster.client.get(served, "gotcha")


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
