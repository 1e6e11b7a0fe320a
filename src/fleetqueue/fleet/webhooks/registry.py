"""All webhooks of a hub, as its settings want them, and the configurations by which a foreign API
server asks for them.
"""

from collections.abc import Iterable, Iterator

from fleetqueue.api.fleet.defaults import defaulted
from fleetqueue.fleet import kinds
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import guard_rail, hub_objects, members_jobs, overrides
from fleetqueue.fleet.webhooks.declared import Declared, Refuse, Rule
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_serving import Reach

MUTATING = "fleet-mutating-webhook-configuration"
VALIDATING = "fleet-validating-webhook-configuration"
GUARD_RAIL = "fleet-guard-rail-webhook-configuration"
LABELS = {"admissions.enforcer/disabled": "true"}
WRITES = ("CREATE", "UPDATE")
POD = Resource("", "v1", "pods", "Pod")
JOB = Resource("batch", "v1", "jobs", "Job")
REPLICA_SET = Resource("apps", "v1", "replicasets", "ReplicaSet")
DISRUPTION_BUDGET = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")


def declared(settings: HubSettings) -> list[Declared]:
    if not settings.enable_webhook:
        return []
    found = [*mutating(settings), *validating(settings)]
    return [*found, *guard_rail.guard_rail()] if settings.enable_guard_rail else found


def mutating(settings: HubSettings) -> Iterator[Declared]:
    kind = kinds.CLUSTER_SCOPE.placement
    yield Declared(
        "fleet.clusterresourceplacementv1beta1.mutating",
        path_of("mutate", kind),
        (_rule(kind, WRITES),),
        default=defaulted,
        policy="Ignore",
    )
    if settings.leaves_jobs_to_members:
        yield Declared(
            "fleet.job.mutating",
            path_of("mutate", JOB),
            (_rule(JOB, ("CREATE",)),),
            default=members_jobs.left_to_members,
            namespaces=members_jobs.OUTSIDE_THE_SYSTEM,
        )


def validating(settings: HubSettings) -> Iterator[Declared]:
    if not settings.enable_workload:
        yield _validating("pod", POD, hub_objects.refuse_pod, ("CREATE",))
        yield _validating("replicaset", REPLICA_SET, hub_objects.refuse_replica_set, ("CREATE",))
    if not settings.enable_pdbs:
        refuse = hub_objects.refuse_disruption_budget
        yield _validating("poddisruptionbudget", DISRUPTION_BUDGET, refuse, ("CREATE",))
    yield _validating(
        "clusterresourceplacementv1beta1",
        kinds.CLUSTER_SCOPE.placement,
        hub_objects.refuse_placement,
    )
    yield _validating(
        "membercluster",
        kinds.MEMBER_CLUSTER,
        hub_objects.refuse_member_cluster,
        (*WRITES, "DELETE"),
    )
    yield _validating(
        "clusterresourceoverride", kinds.CLUSTER_OVERRIDE, overrides.refuse_cluster_override
    )
    yield _validating("resourceoverride", kinds.OVERRIDE, overrides.refuse_override)
    yield _validating(
        "clusterresourceplacementeviction",
        kinds.EVICTION,
        hub_objects.refuse_eviction,
        ("CREATE",),
    )
    yield _validating(
        "clusterresourceplacementdisruptionbudget",
        kinds.DISRUPTION_BUDGET,
        hub_objects.refuse_budget,
    )


def configurations(
    settings: HubSettings, reach: Reach, owner: Object | None = None
) -> Iterator[Object]:
    """`owner`: the namespace of the hub's agent, which the validating ones go with."""
    if not settings.enable_webhook:
        return
    yield _configuration("Mutating", MUTATING, mutating(settings), reach, None)
    yield _configuration("Validating", VALIDATING, validating(settings), reach, owner)
    if settings.enable_guard_rail:
        yield _configuration("Validating", GUARD_RAIL, guard_rail.guard_rail(), reach, owner)


def path_of(verb: str, kind: Resource) -> str:
    return f"/{verb}-{kind.group.replace('.', '-')}-{kind.version}-{kind.kind.lower()}"


def _validating(
    name: str, kind: Resource, refuse: Refuse, operations: tuple[str, ...] = WRITES
) -> Declared:
    path = path_of("validate", kind)
    return Declared(f"fleet.{name}.validating", path, (_rule(kind, operations),), refuse=refuse)


def _rule(kind: Resource, operations: tuple[str, ...]) -> Rule:
    scope = "Namespaced" if kind.namespaced else "Cluster"
    return Rule(kind.group, (kind.plural,), operations, kind.version, scope)


def _configuration(
    kind: str, name: str, webhooks: Iterable[Declared], reach: Reach, owner: Object | None
) -> Object:
    metadata: Object = {"name": name, "labels": dict(LABELS)}
    if owner is not None:
        metadata["ownerReferences"] = [_reference(owner)]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": metadata,
        "webhooks": [_webhook(each, reach) for each in webhooks],
    }


def _webhook(each: Declared, reach: Reach) -> Object:
    made: Object = {
        "name": each.name,
        "clientConfig": reach.at(each.path),
        "rules": [rule.document() for rule in each.rules],
        "admissionReviewVersions": ["v1"],
        "failurePolicy": each.policy,
        "sideEffects": "None",
        "timeoutSeconds": each.seconds,
    }
    if each.namespaces:
        made["namespaceSelector"] = dict(each.namespaces)
    return made


def _reference(namespace: Object) -> Object:
    metadata = namespace["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": False,
    }
