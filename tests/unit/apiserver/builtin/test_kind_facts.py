"""What clients notice of a kind beside its fields: generations, deletions, bare updates."""

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.builtin import strategies

WITH_GENERATION = {
    "ControllerRevision",
    "CronJob",
    "CustomResourceDefinition",
    "DaemonSet",
    "Deployment",
    "DeviceClass",
    "EndpointSlice",
    "FlowSchema",
    "Ingress",
    "IngressClass",
    "Job",
    "MutatingWebhookConfiguration",
    "NetworkPolicy",
    "Pod",
    "PodDisruptionBudget",
    "PodTemplate",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ReplicaSet",
    "ReplicationController",
    "ResourceSlice",
    "StatefulSet",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}
RETURNS_DELETED = {
    "CSIDriver",
    "CSINode",
    "DeviceClass",
    "Namespace",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ResourceSlice",
    "Service",
    "ServiceAccount",
    "StorageClass",
    "VolumeAttachment",
    "VolumeAttributesClass",
}
ALWAYS_CONDITIONAL = {
    "APIService",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "CustomResourceDefinition",
    "Lease",
    "MutatingWebhookConfiguration",
    "PodDisruptionBudget",
    "RuntimeClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
}
WORKLOADS = {"Pod", "PodTemplate"}


def stored_kinds() -> set[tuple[str, str]]:
    return {
        (group.name, resource.kind)
        for group in kubernetes.resources()
        for version in group.versions
        for resource in version.resources
        if "create" in resource.verbs and "delete" in resource.verbs
    }


def test_every_kind_that_is_stored_has_a_strategy() -> None:
    assert stored_kinds() <= strategies().keys()


def test_generations_are_kept_where_kubernetes_keeps_them() -> None:
    kept = {kind for (_, kind), strategy in strategies().items() if strategy.has_generation}
    assert kept - {"ControllerRevision"} == WITH_GENERATION - {"ControllerRevision"}


def test_some_deletions_answer_with_the_object() -> None:
    found = {kind for (_, kind), strategy in strategies().items() if strategy.returns_deleted}
    assert found - WORKLOADS == RETURNS_DELETED


def test_some_kinds_are_never_updated_unconditionally() -> None:
    found = {
        kind
        for (_, kind), strategy in strategies().items()
        if not strategy.allow_unconditional_update
    }
    assert found == ALWAYS_CONDITIONAL
