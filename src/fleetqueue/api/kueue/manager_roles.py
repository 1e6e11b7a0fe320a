"""What the controllers themselves may do on a cluster: their account, its roles and bindings, no
more than they use.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fleetqueue.api.kueue.group import GROUP
from fleetqueue.api.kueue.roles import PREFIX, JobKind, cluster_role

Json = dict[str, Any]
ACCOUNT = f"{PREFIX}-controller-manager"
RBAC = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
_STATUS = ("get", "patch", "update")

_KUEUE: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("admissionchecks", ("patch",), True),
    ("clusterqueues", ("patch",), True),
    ("cohorts", (), True),
    ("localqueues", (), True),
    ("multikueueclusters", (), True),
    ("multikueueconfigs", (), False),
    ("provisioningrequestconfigs", (), False),
    ("resourceflavors", ("patch",), False),
    ("topologies", ("patch",), False),
    ("workloadpriorityclasses", (), False),
    ("workloads", ("create", "delete", "patch"), True),
)
"""Our own kinds: what is written of them beside their reading, and whether their status is."""
_AROUND: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("", ("limitranges", "namespaces", "nodes"), READ),
    ("", ("events",), ("create", "patch")),
    ("", ("pods",), (*READ, "delete", "patch")),
    ("", ("pods/finalizers",), ("update",)),
    ("", ("pods/status",), _STATUS),
    (GROUP, ("workloads/finalizers",), ("update",)),
    ("", ("podtemplates",), (*READ, "create", "patch")),
    ("apiextensions.k8s.io", ("customresourcedefinitions",), READ),
    ("apps", ("replicasets",), READ),
    ("autoscaling.x-k8s.io", ("provisioningrequests",), (*READ, "create", "delete")),
    ("multicluster.x-k8s.io", ("clusterprofiles",), READ),
    ("node.k8s.io", ("runtimeclasses",), READ),
    ("resource.k8s.io", ("deviceclasses", "resourceclaims", "resourceclaimtemplates",
                         "resourceslices"), READ),
    ("scheduling.k8s.io", ("priorityclasses",), READ),
)  # fmt: skip


def manager_roles(
    namespace: str,
    jobs: Iterable[JobKind],
    reads: Iterable[JobKind],
    registered: Iterable[tuple[str, str, Sequence[str]]],
    lease_namespace: str = "",
) -> Iterator[Json]:
    """`reads`: other kinds that are looked at; `registered`: group, resource and names of the
    objects that must name our certificate authority; `lease_namespace`: where the leader is
    elected, if not at home.
    """
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": ACCOUNT, "namespace": namespace},
    }
    rules = [*_own_rules(), *_job_rules(jobs, reads), *_registered_rules(registered)]
    yield cluster_role("manager-role", {}, rules)
    yield cluster_role("metrics-auth-role", {}, _review_rules())
    for name, role in (
        ("manager-rolebinding", "manager-role"),
        ("metrics-auth-rolebinding", "metrics-auth-role"),
        ("metrics-reader-rolebinding", "metrics-reader"),
    ):
        yield _cluster_binding(name, role, namespace)
    yield from _namespaced_roles(namespace, lease_namespace or namespace)
    reader = "extension-apiserver-authentication-reader"
    yield _binding("visibility-server-auth-reader", "kube-system", reader, namespace)


def _own_rules() -> Iterator[Json]:
    for plural, writes, has_status in _KUEUE:
        yield _rule(GROUP, [plural], [*READ, *writes])
        if has_status:
            yield _rule(GROUP, [f"{plural}/status"], _STATUS)
    for group, resources, verbs in _AROUND:
        yield _rule(group, resources, verbs)


def _job_rules(jobs: Iterable[JobKind], reads: Iterable[JobKind]) -> Iterator[Json]:
    for kind in jobs:
        if not kind.group:
            continue
        yield _rule(kind.group, [kind.plural], [*READ, "delete", "patch"])
        # An owner of workloads, whose deletion may wait for them.
        yield _rule(kind.group, [f"{kind.plural}/finalizers"], ["update"])
        yield _rule(kind.group, [f"{kind.plural}/status"], _STATUS)
    for kind in reads:
        yield _rule(kind.group, [kind.plural], READ)


def _registered_rules(registered: Iterable[tuple[str, str, Sequence[str]]]) -> Iterator[Json]:
    for group, resource, names in registered:
        yield {**_rule(group, [resource], ["get", "patch"]), "resourceNames": list(names)}


def _review_rules() -> list[Json]:
    return [
        _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ]


def _namespaced_roles(namespace: str, lease_namespace: str) -> Iterator[Json]:
    """What is only needed in one place: the lease, and Secrets."""
    leases = _rule("coordination.k8s.io", ["leases"], ["create", "get", "patch", "update"])
    secrets = _rule("", ["secrets"], [*READ, "create", "patch"])
    for name, at, rule in (
        ("leader-election", lease_namespace, leases),
        ("manager-secrets", namespace, secrets),
    ):
        yield {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": {"name": f"{PREFIX}-{name}-role", "namespace": at},
            "rules": [rule],
        }
        role = f"{PREFIX}-{name}-role"
        yield _binding(f"{name}-rolebinding", at, role, namespace)


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Json:
    return {"apiGroups": [group], "resources": list(resources), "verbs": sorted(verbs)}


def _cluster_binding(name: str, role: str, namespace: str) -> Json:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{PREFIX}-{name}"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"{PREFIX}-{role}"},
        "subjects": [_subject(namespace)],
    }


def _binding(name: str, at: str, role: str, namespace: str) -> Json:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{PREFIX}-{name}", "namespace": at},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": role},
        "subjects": [_subject(namespace)],
    }


def _subject(namespace: str) -> Json:
    return {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
