"""What a hub refuses in placements, member clusters, evictions and budgets, and in workloads that
would run on the hub itself.
"""

from fleetqueue.api import names
from fleetqueue.api.field_errors import aggregate
from fleetqueue.api.fleet import naming, text, validation
from fleetqueue.fleet import kinds
from fleetqueue.fleet.webhooks.declared import Around
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.reviews import Review

SERVICE_EXPORT = Resource(
    "networking.fleet.azure.com", "v1alpha1", "internalserviceexports", "InternalServiceExport"
)


def refuse_placement(review: Review, around: Around) -> str:
    if review.object is None:
        return ""
    return validation.denial(review.object, review.old_object, around.is_cluster_scoped) or ""


def refuse_member_cluster(review: Review, around: Around) -> str:
    if review.operation == "DELETE":
        return _refuse_leaving(review.old_object or {}, around)
    taints = ((review.object or {}).get("spec") or {}).get("taints") or []
    errors = []
    seen: set[str] = set()
    for taint in taints:
        shown = text.taint(taint)
        for message in names.qualified_name(str(taint.get("key") or "")):
            errors.append(f"invalid taint key {shown}: {message}")
        for message in names.label_value(str(taint.get("value") or "")):
            errors.append(f"invalid taint value {shown}: {message}")
        if shown in seen:
            errors.append(f"taint {shown} already exists, taints must be unique")
        seen.add(shown)
    return aggregate(errors) if errors else ""


def refuse_eviction(review: Review, around: Around) -> str:
    wanted = str(((review.object or {}).get("spec") or {}).get("placementName") or "")
    placement = around.source.get(kinds.CLUSTER_SCOPE.placement, "", wanted)
    if placement is None:
        return ""
    if placement["metadata"].get("deletionTimestamp"):
        return f"cluster resource placement {wanted} is being deleted"
    if _placement_type(placement) == "PickFixed":
        return "cluster resource placement policy type PickFixed is not supported"
    return ""


def refuse_budget(review: Review, around: Around) -> str:
    """Of a placement that picks all clusters nobody knows how many there should be."""
    placement = around.source.get(kinds.CLUSTER_SCOPE.placement, "", review.name)
    if placement is None or _placement_type(placement) != "PickAll":
        return ""
    lead = "cluster resource placement policy type PickAll is not supported with"
    spec = (review.object or {}).get("spec") or {}
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is not None:
        return f"{lead} any specified max unavailable {most}"
    if isinstance(least, str):
        return f"{lead} min available as a percentage {least}"
    return ""


def refuse_pod(review: Review, around: Around) -> str:
    return _refuse_here(review, "Pod {} creation is disallowed in the fleet hub cluster")


def refuse_replica_set(review: Review, around: Around) -> str:
    return _refuse_here(review, "ReplicaSet {} creation is disallowed in the fleet hub cluster.")


def refuse_disruption_budget(review: Review, around: Around) -> str:
    return _refuse_here(
        review,
        "PDBs {} cannot be directly created in the hub cluster due to potential side effects; to"
        " place a PDB to member clusters, consider wrapping it in a resource envelope.",
    )


def _refuse_here(review: Review, words: str) -> str:
    if naming.is_reserved_namespace(review.namespace):
        return ""
    metadata = (review.object or {}).get("metadata") or {}
    name = review.name or str(metadata.get("name") or "")
    return words.format(text.object_name(review.namespace, name))


def _refuse_leaving(cluster: Object, around: Around) -> str:
    """A cluster whose services others use stays until its exports are gone."""
    options = (cluster.get("spec") or {}).get("deleteOptions") or {}
    is_strict = options.get("validationMode", "Strict") != "Skip"
    if not around.settings.networking_agents_enabled or not is_strict:
        return ""
    namespace = naming.member_namespace(cluster["metadata"]["name"])
    for export in around.source.all(SERVICE_EXPORT, namespace):
        if not export["metadata"].get("deletionTimestamp"):
            name = export["metadata"]["name"]
            return (
                f"Please delete serviceExport {name} in the member cluster before leaving,"
                " request is denied"
            )
    return ""


def _placement_type(placement: Object) -> str:
    policy = (placement.get("spec") or {}).get("policy") or {}
    return str(policy.get("placementType") or "PickAll")
