"""The cluster roles for people who use queues: pieces for every kind, and the two that put them
together.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fleetqueue.api.kueue import explanation, visibility
from fleetqueue.api.kueue.group import GROUP

Json = dict[str, Any]
PREFIX = "kueue"
ADMIN = "rbac.kueue.x-k8s.io/batch-admin"
USER = "rbac.kueue.x-k8s.io/batch-user"
EVERYBODY = ("view", "edit", "admin")
_EDIT = ["create", "delete", "get", "list", "patch", "update", "watch"]
_VIEW = ["get", "list", "watch"]
_FOR_USERS = {
    "clusterqueues": False,
    "localqueues": True,
    "cohorts": False,
    "resourceflavors": False,
    "topologies": False,
    "workloads": True,
}
"""Our own kinds, and whether those who submit jobs may see them."""


class JobKind(NamedTuple):
    """A kind of job that people submit."""

    group: str
    plural: str
    kind: str


def roles(jobs: Iterable[JobKind]) -> Iterator[Json]:
    yield _aggregated("batch-admin-role", ADMIN)
    yield _aggregated("batch-user-role", USER)
    for plural, is_for_users in _FOR_USERS.items():
        name = "topology" if plural == "topologies" else plural.removesuffix("s")
        yield _role(f"{name}-editor-role", GROUP, plural, _EDIT, [ADMIN])
        marks = [ADMIN, USER] if is_for_users else [ADMIN]
        to = EVERYBODY if is_for_users else ("admin",)
        yield _role(f"{name}-viewer-role", GROUP, plural, _VIEW, marks, to)
    for kind in jobs:
        name, marks = kind.kind.lower(), [ADMIN, USER]
        yield _role(f"{name}-editor-role", kind.group, kind.plural, _EDIT, marks)
        yield _role(f"{name}-viewer-role", kind.group, kind.plural, _VIEW, marks, EVERYBODY)
    yield from _readers()


def _readers() -> Iterator[Json]:
    """Of what is answered rather than stored."""
    for name, group, what, marks in (
        ("pending-workloads-cq", visibility.GROUP, "clusterqueues/pendingworkloads", [ADMIN]),
        ("pending-workloads-lq", visibility.GROUP, "localqueues/pendingworkloads", [ADMIN, USER]),
        ("workload-explanation", explanation.GROUP, "workloads/explanation", [ADMIN, USER]),
    ):
        yield _role(f"{name}-viewer-role", group, what, ["get"], marks, EVERYBODY)
    yield cluster_role("metrics-reader", {}, [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])


def _role(
    name: str,
    group: str,
    plural: str,
    verbs: list[str],
    labels: list[str],
    aggregates_to: Sequence[str] = (),
) -> Json:
    marks = dict.fromkeys(labels, "true")
    builtin = "rbac.authorization.k8s.io/aggregate-to-"
    marks |= {f"{builtin}{role}": "true" for role in aggregates_to}
    rules: list[Json] = [{"apiGroups": [group], "resources": [plural], "verbs": verbs}]
    if "/" not in plural:
        rules.append({"apiGroups": [group], "resources": [f"{plural}/status"], "verbs": ["get"]})
    return cluster_role(name, marks, rules)


def _aggregated(name: str, label: str) -> Json:
    selector = {"matchLabels": {label: "true"}}
    rule = {"clusterRoleSelectors": [selector]}
    return {**cluster_role(name, {}, []), "aggregationRule": rule}


def cluster_role(name: str, labels: Json, rules: list[Json]) -> Json:
    metadata: Json = {"name": f"{PREFIX}-{name}"}
    if labels:
        metadata["labels"] = labels
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": rules,
    }
