"""What a RayCluster needs besides pods: made, or its own already, and never somebody else's."""

from typing import Any

import pytest
from tests.support import operators, ray

from fleetqueue.kube.plan import Plan, owner_reference
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_cluster

pytestmark = [pytest.mark.rule("jobs B.7")]

RBAC = "rbac.authorization.k8s.io/v1"
AUTOSCALED: Object = {"enableInTreeAutoscaling": True}
WITH_TOKEN: Object = {"authOptions": {"mode": "token"}, "rayVersion": "2.52.0"}


def there(api_version: str, kind: str, name: str = "c", owner: Object | None = None) -> Object:
    metadata: Object = {"name": name, "namespace": "default", "uid": f"uid-of-{kind}"}
    if owner is not None:
        metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def decide(cluster: Object, *others: Object) -> Plan:
    return ray_cluster.decide(operators.look(cluster, *others))


def made(plan: Plan, kinds: set[str]) -> list[str]:
    return [obj["kind"] for obj in operators.created(plan) if obj["kind"] in kinds]


RIGHTS = {"ServiceAccount", "Role", "RoleBinding"}


@pytest.mark.parametrize(
    ("api_version", "kind", "rest"),
    [(RBAC, "Role", ["ServiceAccount"]), ("v1", "ServiceAccount", ["Role"])],
)
@pytest.mark.parametrize("owner", [None, ray.ray_cluster_of(name="other")])
def test_a_role_or_account_of_somebody_else_is_not_bound(
    api_version: str, kind: str, rest: list[str], owner: Object | None
) -> None:
    plan = decide(ray.ray_cluster_of(**AUTOSCALED), there(api_version, kind, owner=owner))
    assert made(plan, RIGHTS) == rest
    told = (
        f'Resource "c" of Kind "{kind}" already exists and is not managed by RayCluster default/c:'
        " it is left as it is. Delete it, or use another name"
    )
    assert ("Warning", "ErrResourceExists", told) in operators.events(plan)
    assert plan.after == 10.0


def test_what_the_cluster_has_already_is_bound() -> None:
    cluster = ray.ray_cluster_of(**AUTOSCALED)
    own = [there(RBAC, "Role", owner=cluster), there("v1", "ServiceAccount", owner=cluster)]
    plan = decide(cluster, *own)
    assert (made(plan, RIGHTS), operators.events(plan)) == (["RoleBinding"], [])


def test_an_account_that_the_user_names_gets_the_rights_of_the_clusters_own_role() -> None:
    template: Any = ray.template()
    template["spec"]["serviceAccountName"] = "mine"
    head = {"rayStartParams": {}, "template": template}
    cluster = ray.ray_cluster_of(**AUTOSCALED, headGroupSpec=head)
    account = there("v1", "ServiceAccount", "mine")
    plan = decide(cluster, account)
    assert (made(plan, RIGHTS), operators.events(plan)) == (["Role", "RoleBinding"], [])
    assert made(decide(cluster, account, there(RBAC, "Role")), RIGHTS) == []


def test_a_token_of_somebody_else_is_told() -> None:
    cluster = ray.ray_cluster_of(**WITH_TOKEN)
    own = decide(cluster, there("v1", "Secret", owner=cluster))
    assert (made(own, {"Secret"}), operators.events(own)) == ([], [])
    plan = decide(cluster, there("v1", "Secret"))
    assert made(plan, {"Secret"}) == []
    assert [reason for _, reason, _ in operators.events(plan)] == ["ErrResourceExists"]
