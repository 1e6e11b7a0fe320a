"""What a foreign cluster needs before our controllers can run on it: CRDs, a namespace, webhooks,
roles for people.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from fleetqueue.api.crd import declared_crds
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.kube.webhook_serving import Reach, registrations

Object = dict[str, Any]
NAME = "kueue"
SERVICE = "kueue-webhook-service"
CONVERTED = ("workloads", "clusterqueues", "localqueues", "cohorts", "multikueueclusters")
OWN = ("clusterqueues", "localqueues", "cohorts", "resourceflavors", "topologies", "workloads")
"""Kinds that people get roles for."""
ADMIN = "rbac.kueue.x-k8s.io/batch-admin"
USER = "rbac.kueue.x-k8s.io/batch-user"
_EDIT = ["create", "delete", "get", "list", "patch", "update", "watch"]
_VIEW = ["get", "list", "watch"]


def objects(
    namespace: str, declared: Sequence[Webhook], reach: Reach, jobs: Sequence[Resource]
) -> Iterator[Object]:
    """All of it, in the order in which it has to be made."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    yield from crds(reach)
    yield from roles(jobs)
    key = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    selector = {"matchExpressions": [{**key, "values": ["kube-system", namespace]}]}
    yield from registrations(NAME, declared, reach, selector)


def crds(reach: Reach) -> Iterator[Object]:
    """Those of Kueue; conversion between their versions is asked of us."""
    for crd in declared_crds(GROUP):
        conversion = crd["spec"].get("conversion")
        if conversion is not None and conversion.get("strategy") == "Webhook":
            webhook = {**conversion["webhook"], "clientConfig": reach.at("/convert")}
            spec = {**crd["spec"], "conversion": {**conversion, "webhook": webhook}}
            yield {**crd, "spec": spec}
        else:
            yield crd


def roles(jobs: Sequence[Resource]) -> Iterator[Object]:
    """Pieces for every kind, and the two roles that put them together."""
    yield _aggregated("batch-admin-role", ADMIN)
    yield _aggregated("batch-user-role", USER)
    for plural in (
        "clusterqueues",
        "localqueues",
        "cohorts",
        "resourceflavors",
        "topologies",
        "workloads",
    ):
        for_users = plural in ("localqueues", "workloads")
        name = _singular(plural)
        yield _role(f"{name}-editor-role", GROUP, plural, _EDIT, [ADMIN])
        to = ["view", "edit", "admin"] if for_users else ["admin"]
        labels = [ADMIN, *([USER] if for_users else [])]
        yield _role(f"{name}-viewer-role", GROUP, plural, _VIEW, labels, to)
    for kind in jobs:
        name = kind.kind.lower()
        yield _role(f"{name}-editor-role", kind.group, kind.plural, _EDIT, [ADMIN, USER])
        to = ["view", "edit", "admin"]
        yield _role(f"{name}-viewer-role", kind.group, kind.plural, _VIEW, [ADMIN, USER], to)
    yield from _pending_roles()
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    yield _cluster_role("metrics-reader", {}, rules)


def _pending_roles() -> Iterator[Object]:
    group = "visibility.kueue.x-k8s.io"
    for short, plural, labels in (
        ("cq", "clusterqueues", [ADMIN]),
        ("lq", "localqueues", [ADMIN, USER]),
    ):
        name = f"pending-workloads-{short}-viewer-role"
        to = ["view", "edit", "admin"]
        yield _role(name, group, f"{plural}/pendingworkloads", ["get"], labels, to)


def _role(
    name: str,
    group: str,
    plural: str,
    verbs: list[str],
    labels: list[str],
    aggregates_to: Sequence[str] = (),
) -> Object:
    marks = dict.fromkeys(labels, "true")
    builtin = "rbac.authorization.k8s.io/aggregate-to-"
    marks |= {f"{builtin}{role}": "true" for role in aggregates_to}
    rules: list[Object] = [{"apiGroups": [group], "resources": [plural], "verbs": verbs}]
    if "/" not in plural:
        rules.append({"apiGroups": [group], "resources": [f"{plural}/status"], "verbs": ["get"]})
    return _cluster_role(name, marks, rules)


def _aggregated(name: str, label: str) -> Object:
    made = _cluster_role(name, {}, [])
    selector = {"matchLabels": {label: "true"}}
    return {**made, "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _cluster_role(name: str, labels: Object, rules: list[Object]) -> Object:
    metadata: Object = {"name": f"{NAME}-{name}"}
    if labels:
        metadata["labels"] = labels
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": rules,
    }


def _singular(plural: str) -> str:
    return "topology" if plural == "topologies" else plural.removesuffix("s")
