"""The CEL rules on whole Workloads, which both versions share in part."""

from fleetqueue.api.markers import Rule


def when(*conditions: str, then: str, message: str) -> Rule:
    """A rule that asks `then` only where all conditions hold."""
    return Rule(f"!({' && '.join(conditions)}) || ({then})", message)


def holds(side: str, condition: str) -> str:
    """Says that the workload, or its old self, has this condition with status True."""
    return (
        f"has({side}.status) && has({side}.status.conditions) &&"
        f" {side}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
    )


def both_have(field: str) -> str:
    return f"has(oldSelf.{field}) && has(self.{field})"


def same(field: str) -> str:
    return f"oldSelf.{field} == self.{field}"


RESERVED_BEFORE = holds("oldSelf", "QuotaReserved")
RESERVED_NOW = holds("self", "QuotaReserved")

ASSIGNMENTS_MATCH = when(
    RESERVED_NOW,
    "has(self.status.admission)",
    then="size(self.spec.podSets) == size(self.status.admission.podSetAssignments)",
    message="podSetAssignments must have the same number of podSets as the spec",
)

QUEUE_NAME = when(
    RESERVED_BEFORE,
    RESERVED_NOW,
    then="has(oldSelf.spec.queueName) == has(self.spec.queueName) &&"
    " (!has(oldSelf.spec.queueName) || oldSelf.spec.queueName == self.spec.queueName)",
    message="queueName is immutable while workload quota reserved",
)

_LIMIT = "spec.maximumExecutionTimeSeconds"
EXECUTION_TIME = when(
    holds("oldSelf", "Admitted"),
    holds("self", "Admitted"),
    then=f"(has(oldSelf.{_LIMIT}) ? oldSelf.{_LIMIT} : 0) =="
    f" (has(self.{_LIMIT}) ? self.{_LIMIT} : 0)",
    message="maximumExecutionTimeSeconds is immutable while workload quota reserved",
)

MIN_COUNT = Rule(
    "!has(self.minCount) || self.minCount <= self.count",
    "minCount should be positive and less or equal to count",
)

_REFERENCE = "spec.priorityClassRef"

PRIORITY_REFERENCE = (
    when(
        RESERVED_BEFORE,
        then=f"has(oldSelf.{_REFERENCE}) == has(self.{_REFERENCE})",
        message="priorityClassRef is immutable while workload quota reserved",
    ),
    when(
        RESERVED_BEFORE,
        both_have(_REFERENCE),
        then=same(f"{_REFERENCE}.group"),
        message="priorityClassRef.group is immutable while workload quota reserved",
    ),
    when(
        RESERVED_BEFORE,
        both_have(_REFERENCE),
        then=same(f"{_REFERENCE}.kind"),
        message="priorityClassRef.kind is immutable while workload quota reserved",
    ),
    when(
        RESERVED_BEFORE,
        both_have(_REFERENCE),
        f"self.{_REFERENCE}.group == 'scheduling.k8s.io'",
        f"self.{_REFERENCE}.kind == 'PriorityClass'",
        then=same(f"{_REFERENCE}.name"),
        message="priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass"
        " while workload quota reserved",
    ),
)

PRIORITY_SOURCE = (
    when(
        RESERVED_BEFORE,
        both_have("spec.priorityClassSource"),
        then=same("spec.priorityClassSource"),
        message="priorityClassSource is immutable while workload quota reserved",
    ),
    when(
        RESERVED_BEFORE,
        both_have("spec.priorityClassSource"),
        "self.spec.priorityClassSource != 'kueue.x-k8s.io/workloadpriorityclass'",
        both_have("spec.priorityClassName"),
        then=same("spec.priorityClassName"),
        message="priorityClassName is immutable while workload quota reserved and"
        " priorityClassSource is not equal to kueue.x-k8s.io/workloadpriorityclass",
    ),
)
