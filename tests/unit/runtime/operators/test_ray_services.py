"""Services of RayJobs and RayServices: turned to the cluster in charge where they are their own."""

import pytest
from tests.support import operators, ray

from fleetqueue.kube.plan import Plan, owner_reference
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_job, ray_service
from fleetqueue.runtime.operators import ray_service_clusters as clusters
from fleetqueue.runtime.operators.ray_job_draft import Settings

pytestmark = [pytest.mark.rule("jobs B.7")]


def service_named(name: str, owner: Object | None = None) -> Object:
    metadata: Object = {"name": name, "namespace": "default", "uid": f"uid-of-{name}"}
    if owner is not None:
        metadata["ownerReferences"] = [owner_reference(owner)]
    spec = {"selector": {"app": "payments"}, "ports": [{"port": 443}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def with_ready_head(cluster: Object) -> Object:
    condition = {"type": "HeadPodReady", "status": "True", "reason": "x", "message": ""}
    metadata = {**cluster["metadata"], "uid": "uid-of-cluster"}
    return {
        **cluster,
        "metadata": metadata,
        "status": {"state": "ready", "conditions": [condition]},
    }


def see_service(parent: Object, *others: Object) -> Plan:
    cluster = with_ready_head(clusters.make(parent, "s-1"))
    parent = {**parent, "status": {"pendingServiceStatus": {"rayClusterName": "s-1"}}}
    settings = ray_service.Settings(has_ray=lambda image: False)
    return ray_service.decide(settings, operators.look(parent, cluster, *others))


def see_job(job: Object, *others: Object) -> Plan:
    cluster = with_ready_head(ray.ray_cluster_of(name="j-1"))
    status = {"jobDeploymentStatus": "Running", "jobId": "x", "rayClusterName": "j-1"}
    settings = Settings(has_ray=lambda image: True)
    look = operators.look({**job, "status": status}, cluster, *others)
    return ray_job.decide(settings, look)


def turned(plan: Plan) -> list[str]:
    return [name for name, patch in operators.patches(plan) if "selector" in patch.get("spec", {})]


def service_of(**spec: object) -> Object:
    port = {"name": "serve", "containerPort": 8000}
    head = {"rayStartParams": {}, "template": ray.template(ports=[port])}
    return ray.ray_service_of(rayClusterConfig=ray.cluster_spec(headGroupSpec=head), **spec)


PAYMENTS = {"metadata": {"name": "payments"}}


@pytest.mark.parametrize("owner", [None, ray.ray_service_of(name="other")])
@pytest.mark.parametrize("name", ["payments", "s-head-svc"])
def test_a_service_of_somebody_else_is_not_turned(name: str, owner: Object | None) -> None:
    plan = see_service(service_of(serveService=PAYMENTS), service_named(name, owner))
    assert turned(plan) == operators.created_names(plan, "Service") == []
    told = (
        f'Resource "{name}" of Kind "Service" already exists and is not managed by RayService'
        " default/s: it is left as it is. Delete it, or use another name"
    )
    assert ("Warning", "ErrResourceExists", told) in operators.events(plan)
    assert plan.after == 10.0
    status = operators.status(plan)
    assert status["pendingServiceStatus"]["rayClusterName"] == "s-1"
    assert not status.get("numServeEndpoints")


def test_services_of_its_own_are_turned() -> None:
    parent = service_of(serveService=PAYMENTS)
    names = ["s-head-svc", "payments"]
    plan = see_service(parent, *(service_named(name, parent) for name in names))
    assert turned(plan) == names
    assert operators.status(plan)["activeServiceStatus"]["rayClusterName"] == "s-1"


def test_a_job_turns_the_service_of_its_head_only_where_it_is_its_own() -> None:
    job = ray.ray_job_of()
    assert turned(see_job(job, service_named("j-head-svc", job))) == ["j-head-svc"]
    plan = see_job(job, service_named("j-head-svc"))
    assert turned(plan) == []
    assert [reason for _, reason, _ in operators.events(plan)] == ["ErrResourceExists"]
