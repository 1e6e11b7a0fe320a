"""Keeps ordinary users off what the fleet itself lives by: its CRDs, its member clusters, and the
namespaces that are its own.
"""

from typing import Any

from fleetqueue.api.fleet import naming
from fleetqueue.fleet import kinds
from fleetqueue.fleet.webhooks import users
from fleetqueue.fleet.webhooks.declared import GUARD_SECONDS, Around, Declared, Rule
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.reviews import Review
from fleetqueue.kube.sources import Source

PATH = "/validate-fleetresourcehandler"
NETWORKING = "networking.fleet.azure.com"
GUARDED_GROUPS = frozenset(
    {
        NETWORKING,
        kinds.MEMBER_CLUSTER.group,
        kinds.WORK.group,
        "multicluster.x-k8s.io",
    }
)
FLEET_ANNOTATION = "fleet.azure.com"
FLEET_LABEL = "kubernetes-fleet.io/"
KUBE_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
OWN_KINDS = frozenset(
    {
        "InternalMemberCluster",
        "Work",
        "EndpointSliceExport",
        "EndpointSliceImport",
        "InternalServiceExport",
        "InternalServiceImport",
    }
)
"""What an agent of a member writes in the namespace of that member."""
WRITES = ("CREATE", "UPDATE")
ALL = (*WRITES, "DELETE")
REMOVED_ALL = (
    "no user is allowed to remove all fleet pre-fixed annotations from a fleet member cluster"
)
ADDED = "no user is allowed to add a fleet pre-fixed annotation to an upstream member cluster"
LABELS_LOCKED = "users are not allowed to modify labels through hub cluster directly"


def guard_rail() -> list[Declared]:
    return [
        _declared(
            "fleet.customresourcedefinition.guardrail.validating",
            (Rule("apiextensions.k8s.io", ("customresourcedefinitions",), ALL, "v1", "Cluster"),),
            refuse_crd,
        ),
        _declared(
            "fleet.membercluster.guardrail.validating",
            (
                Rule(
                    kinds.MEMBER_CLUSTER.group,
                    ("memberclusters", "memberclusters/status"),
                    ALL,
                    kinds.MEMBER_CLUSTER.version,
                    "Cluster",
                ),
            ),
            refuse_member_cluster,
        ),
        _declared(
            "fleet.fleetmembernamespacedresources.guardrail.validating",
            NAMESPACED_RULES,
            refuse_namespaced,
            {"matchLabels": {"kubernetes-fleet.io/is-fleet-resource": "true"}},
            _is_of_member,
        ),
        _declared(
            "fleet.fleetsystemnamespacedresources.guardrail.validating",
            NAMESPACED_RULES,
            refuse_namespaced,
            _named(kinds.SYSTEM_NAMESPACE),
            lambda name, source: name == kinds.SYSTEM_NAMESPACE,
        ),
        _declared(
            "fleet.kubenamespacedresources.guardrail.validating",
            NAMESPACED_RULES,
            refuse_namespaced,
            _named(*KUBE_NAMESPACES),
            lambda name, source: name in KUBE_NAMESPACES,
        ),
        _declared(
            "fleet.namespace.guardrail.validating",
            (Rule("", ("namespaces",), ALL, "v1", "Cluster"),),
            refuse_namespace,
        ),
    ]


def refuse_crd(review: Review, around: Around) -> str:
    _, _, group = review.name.partition(".")
    if group not in GUARDED_GROUPS or users.is_admin(review, around.settings):
        return ""
    return users.not_allowed(review)


def refuse_namespace(review: Review, around: Around) -> str:
    if not naming.is_reserved_namespace(review.name):
        return ""
    return "" if users.is_privileged(review, around.settings) else users.not_allowed(review)


def refuse_member_cluster(review: Review, around: Around) -> str:
    new, old = review.object or {}, review.old_object or {}
    is_privileged = users.is_privileged(review, around.settings)
    refusal = users.not_allowed(review, kinds.MEMBER_CLUSTER.version)
    if review.subresource == "status":
        return "" if is_privileged else refusal
    if review.operation != "UPDATE":
        guarded = bool(_fleet_annotations(new or old))
        return refusal if guarded and not is_privileged else ""
    if not _fleet_annotations(old):
        return ADDED if _fleet_annotations(new) else ""
    if not _fleet_annotations(new):
        return REMOVED_ALL
    if _guarded_part(new) != _guarded_part(old) and not is_privileged:
        return refusal
    locked = around.settings.deny_modify_member_cluster_labels
    if locked and _locked_labels(new) != _locked_labels(old) and not _is_master(review):
        return LABELS_LOCKED
    return ""


def refuse_namespaced(review: Review, around: Around) -> str:
    if review.kind == "Event" or users.is_privileged(review, around.settings):
        return ""
    if review.kind in OWN_KINDS and _is_agent_of(review, around.source):
        return ""
    return users.not_allowed(review)


def _is_agent_of(review: Review, source: Source) -> bool:
    """Whether the user is the agent of the member whose namespace this is; where that cannot be
    said, nobody is kept off.
    """
    prefix = naming.member_namespace("")
    if not review.namespace.startswith(prefix):
        return False
    member = source.get(kinds.MEMBER_CLUSTER, "", review.namespace.removeprefix(prefix))
    if member is None:
        return True
    identity = str(((member.get("spec") or {}).get("identity") or {}).get("name") or "")
    account = f"system:serviceaccount:{kinds.SYSTEM_NAMESPACE}:{identity}"
    return users.name_of(review) in (identity, account)


def _is_master(review: Review) -> bool:
    return "system:masters" in users.groups_of(review)


def _fleet_annotations(cluster: Object) -> dict[str, Any]:
    found = (cluster.get("metadata") or {}).get("annotations") or {}
    return {key: value for key, value in found.items() if key.startswith(FLEET_ANNOTATION)}


def _guarded_part(cluster: Object) -> Any:
    spec = {key: value for key, value in (cluster.get("spec") or {}).items() if key != "taints"}
    return _fleet_annotations(cluster), spec, cluster.get("status")


def _locked_labels(cluster: Object) -> dict[str, Any]:
    found = (cluster.get("metadata") or {}).get("labels") or {}
    return {key: value for key, value in found.items() if not key.startswith(FLEET_LABEL)}


def _is_of_member(name: str, source: Source) -> bool:
    found = source.get(NAMESPACE, "", name) if name else None
    labels = (found or {}).get("metadata", {}).get("labels") or {}
    return bool(labels.get("kubernetes-fleet.io/is-fleet-resource") == "true")


def _named(*names: str) -> Object:
    key = "kubernetes.io/metadata.name"
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(names)}]}


def _declared(
    name: str,
    rules: tuple[Rule, ...],
    refuse: Any,
    namespaces: Object | None = None,
    in_namespace: Any = None,
) -> Declared:
    return Declared(
        name, PATH, rules, refuse=refuse, policy="Ignore", seconds=GUARD_SECONDS,
        namespaces=namespaces or {}, in_namespace=in_namespace,
    )  # fmt: skip


def _written(group: str, *resources: str) -> Rule:
    with_status = [name for each in resources for name in (each, f"{each}/status")]
    return Rule(group, tuple(with_status), WRITES, "*", "Namespaced")


NAMESPACED_RULES = (
    Rule("*", ("*/*",), ("DELETE",), "*", "Namespaced"),
    _written(
        "", "bindings", "configmaps", "endpoints", "limitranges", "persistentvolumeclaims",
        "podtemplates", "pods", "replicationcontrollers", "resourcequotas", "secrets",
        "serviceaccounts", "services",
    ),
    Rule("", ("serviceaccounts/token",), ("CREATE",), "*", "Namespaced"),
    _written(
        "apps", "controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"
    ),
    _written("authorization.k8s.io", "localsubjectaccessreviews"),
    _written("autoscaling", "horizontalpodautoscalers"),
    _written("batch", "jobs", "cronjobs"),
    _written("discovery.k8s.io", "endpointslices"),
    _written("networking.k8s.io", "ingresses", "networkpolicies"),
    _written("policy", "poddisruptionbudgets"),
    _written("rbac.authorization.k8s.io", "roles", "rolebindings"),
    _written("storage.k8s.io", "csistoragecapacities"),
    _written(kinds.INTERNAL_MEMBER_CLUSTER.group, "internalmemberclusters"),
    _written(kinds.WORK.group, "works"),
    _written(
        NETWORKING, "endpointsliceexports", "endpointsliceimports", "internalserviceexports",
        "internalserviceimports",
    ),
)  # fmt: skip
"""What is guarded in the namespaces of the fleet."""
