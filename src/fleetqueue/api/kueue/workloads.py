"""Ways to read a Workload from plain JSON, where a refusal must print what was written."""

from typing import Any

from fleetqueue.api.kueue import labels

Json = dict[str, Any]


def annotations_of(obj: Json) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def pod_sets_of(obj: Json) -> list[Json]:
    return (obj.get("spec") or {}).get("podSets") or []


def pod_set_counts(obj: Json) -> dict[str, int]:
    """The pods of each set, by the set's name."""
    return {each.get("name", "main"): each.get("count", 1) for each in pod_sets_of(obj)}


def has_condition(obj: Json, condition: str) -> bool:
    """Whether the condition is there with the status True."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def has_quota(obj: Json) -> bool:
    return has_condition(obj, "QuotaReserved")


def is_elastic(obj: Json) -> bool:
    return annotations_of(obj).get(labels.ELASTIC_JOB) == "true"


def scaled_down(obj: Json) -> set[str]:
    """Pod sets of an elastic workload that ask for fewer pods than they were admitted with."""
    if not is_elastic(obj):
        return set()
    admission = (obj.get("status") or {}).get("admission") or {}
    assignments = admission.get("podSetAssignments") or []
    admitted = {each["name"]: each.get("count") or 0 for each in assignments}
    return {name for name, count in pod_set_counts(obj).items() if count < admitted.get(name, 0)}


def is_replacement(obj: Json) -> bool:
    """Whether the workload takes the place of an older slice of the same job."""
    return bool(annotations_of(obj).get(labels.WORKLOAD_SLICE_REPLACEMENT_FOR))


def is_parent(obj: Json) -> bool:
    """Whether variants are admitted in the workload's place."""
    marks = (obj.get("metadata") or {}).get("labels") or {}
    return bool(marks.get(labels.CONCURRENT_ADMISSION_PARENT) == "true")


def parent_of(obj: Json) -> Json | None:
    """For a variant, what it says of the workload that it belongs to."""
    for each in (obj.get("metadata") or {}).get("ownerReferences") or ():
        if each.get("controller") and each.get("kind") == "Workload":
            found: Json = each
            return found
    return None


def is_variant(obj: Json) -> bool:
    return parent_of(obj) is not None
