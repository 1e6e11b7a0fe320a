"""The webhooks of Kueue's own kinds: what is filled in, and what is refused."""

from collections.abc import Mapping
from dataclasses import replace

from fleetqueue.admission import kinds, webhook_conditions
from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.kueue import validation
from fleetqueue.api.kueue.defaults import defaulted
from fleetqueue.api.kueue.validation import Rules
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.webhook_rules import Asked, Webhook


def webhooks(on: Mapping[str, bool]) -> list[Webhook]:
    """One for each kind that has any; `on` are the gates."""
    rules = read_rules(on)

    def default(asked: Asked) -> None:
        asked.obj.update(defaulted(asked.obj, on["PartialAdmission"]))

    def validate(asked: Asked) -> list[FieldError]:
        return validation.validate(asked.obj, asked.old, rules)

    def webhook(kind: Resource, *, has_status: bool = False) -> Webhook:
        name = f"v{kind.kind.lower()}.kb.io"
        return Webhook(
            kind, default=default, validate=validate, validates_status=has_status, name=name
        )

    return [
        replace(
            webhook(kinds.WORKLOAD, has_status=True),
            defaulted_when=webhook_conditions.DEFAULTED_WHEN,
            validated_when=webhook_conditions.VALIDATED_WHEN,
        ),
        webhook(kinds.CLUSTER_QUEUE),
        webhook(kinds.RESOURCE_FLAVOR),
        replace(webhook(kinds.COHORT), default=None),
    ]


def read_rules(on: Mapping[str, bool]) -> Rules:
    return Rules(
        workload_validate_resources_are_non_negative=on["WorkloadValidateResourcesAreNonNegative"],
        workload_validation_for_pod_set_metadata=on["WorkloadValidationForPodSetMetadata"],
        tas_validate_workload_slice_size=on["TASValidateWorkloadSliceSize"],
        elastic_jobs_via_workload_slices=on["ElasticJobsViaWorkloadSlices"],
        admission_gated_by=on["AdmissionGatedBy"],
        priority_boost=on["PriorityBoost"],
        concurrent_admission=on["ConcurrentAdmission"],
        reject_updates_to_cq_with_invalid_on_flavors=on["RejectUpdatesToCQWithInvalidOnFlavors"],
    )
