"""PodDisruptionBudgets on a whole server, and evictions that they allow."""

from typing import Any

import pytest

from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.plan import owner_reference
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import deployment, disruption_budget, replica_set
from fleetqueue.runtime.kinds import DISRUPTION_BUDGET, POD
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs B.2")


async def start(fleet: Fleet) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    operators = (replica_set.OPERATOR, deployment.OPERATOR, *disruption_budget.OPERATORS)
    for operator in operators:
        fleet.run(controller_of(operator), on=cluster)
    return cluster


def budget(**spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


async def read(cluster: FleetCluster) -> Object:
    found = await cluster.client.get(DISRUPTION_BUDGET, "few", "default")
    return dict(found["status"])


@pytest.mark.parametrize(
    ("spec", "expected", "desired", "allowed"),
    [
        ({"minAvailable": 3}, 4, 3, 1),
        ({"minAvailable": "50%"}, 4, 2, 2),
        ({"maxUnavailable": 1}, 4, 3, 1),
        ({"maxUnavailable": "30%"}, 4, 2, 2),
        ({"maxUnavailable": 0}, 4, 4, 0),
        ({"minAvailable": 9}, 4, 9, 0),
    ],
)
async def test_what_may_be_evicted_is_what_can_be_spared(
    fleet: Fleet, spec: Object, expected: int, desired: int, allowed: int
) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("Deployment", replicas=4))
    await cluster.client.create(budget(**spec))
    await fleet.settle()
    await apps.run_all(cluster.client, fleet.clock.now())
    await fleet.settle()
    status = await read(cluster)
    (condition,) = status.pop("conditions")
    assert status == {
        "currentHealthy": 4,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": 1,
    }
    reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    assert (condition["status"], condition["reason"]) == reason
    before = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == before


async def test_pods_of_a_kind_without_a_scale_cannot_be_counted(fleet: Fleet) -> None:
    cluster = await start(fleet)
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = await cluster.client.create(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "work", "namespace": "default"},
            "spec": {"template": template},
        }
    )
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "labels": {"app": "web"},
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    await cluster.client.create(pod)
    await cluster.client.create(budget(maxUnavailable=1))
    await fleet.settle()
    status = await read(cluster)
    (condition,) = status["conditions"]
    assert (condition["reason"], condition["message"]) == (
        "SyncFailed",
        "jobs.batch does not implement the scale subresource",
    )
    assert status["disruptionsAllowed"] == 0


async def test_a_disruption_that_never_came_is_taken_back(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("ReplicaSet", replicas=1))
    await fleet.settle()
    (pod,) = await apps.pods(cluster.client)
    name = pod["metadata"]["name"]
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "make room",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = {"status": {"conditions": [target]}}
    await cluster.client.patch(POD, name, patch, "default", subresource="status")
    await fleet.passes(seconds=90)
    (pod,) = await apps.pods(cluster.client)
    assert pod["status"]["conditions"][0]["status"] == "True"
    await fleet.passes(seconds=60)
    (pod,) = await apps.pods(cluster.client)
    (condition,) = pod["status"]["conditions"]
    assert (condition["status"], condition.get("reason")) == ("False", None)
