"""When a foreign API server has to ask us about a Workload, as CEL that it evaluates itself: what
we would let pass unchanged anyway costs it no call.

Most writes of a Workload are of its status, and most of those cannot be refused: the rules look at
the reservation, at reclaimable pods, at checks and at the cluster name, which change rarely.
"""

NAME_LENGTH_MAX = 63


def _old_has(field: str) -> str:
    return f"(has(oldObject.status) && has(oldObject.status.{field}))"


def _is_same(field: str) -> str:
    same = f"{_old_has(field)} && object.status.{field} == oldObject.status.{field}"
    return f"(has(object.status.{field}) ? {same} : !{_old_has(field)})"


def _has_quota(which: str) -> str:
    reserved = 'c.type == "QuotaReserved" && c.status == "True"'
    conditions = f"{which}.status.conditions"
    return f"(has({which}.status) && has({conditions}) && {conditions}.exists(c, {reserved}))"


def _updates_no_pods(which: str) -> str:
    checks = f"{which}.status.admissionChecks"
    none = f"{checks}.all(c, !has(c.podSetUpdates) || size(c.podSetUpdates) == 0)"
    return f"(!has({which}.status) || !has({checks}) || {none})"


_USED = "a.resourceUsage[r]"
_DIVIDES = (
    f"type({_USED}) == string && isQuantity({_USED}) && quantity({_USED}).isInteger()"
    f" && quantity({_USED}).asInteger() % a.count == 0"
)
_HAS_POD_SET = 'object.spec.podSets.exists(p, (has(p.name) ? p.name : "main") == a.name)'
_IS_SIMPLE = (
    "(!has(a.count) || a.count <= 1 || !has(a.resourceUsage)"
    f" || a.resourceUsage.all(r, {_DIVIDES}))"
)
_ASSIGNMENTS = "object.status.admission.podSetAssignments"
_GOOD_RESERVATION = (
    f"(!has({_ASSIGNMENTS}) || {_ASSIGNMENTS}.all(a, {_HAS_POD_SET} && {_IS_SIMPLE}))"
)
_SAME_RESERVATION = (
    f"(object.status.admission == oldObject.status.admission && {_has_quota('oldObject')})"
)
_RESERVATION = (
    f"(has(object.status.admission) ? ({_old_has('admission')} ? {_SAME_RESERVATION}"
    f" : {_GOOD_RESERVATION}) : !{_has_quota('object')})"
)
_CONDITIONS = (
    "(!has(object.status.conditions)"
    f" || object.status.conditions.all(c, size(c.type) <= {NAME_LENGTH_MAX}))"
)
_CHECKS = (
    f"({_is_same('admissionChecks')}"
    f" || ({_updates_no_pods('object')} && {_updates_no_pods('oldObject')}))"
)
_CLUSTER_NAME = f"(!has(object.status.clusterName) || {_is_same('clusterName')})"
_CANNOT_BE_REFUSED = " && ".join(
    (
        "has(object.status)",
        _RESERVATION,
        _CONDITIONS,
        _is_same("reclaimablePods"),
        _CHECKS,
        _CLUSTER_NAME,
    )
)
_IS_STATUS = 'has(request.subResource) && request.subResource == "status"'

VALIDATED_WHEN = {"may-be-refused": f"!({_IS_STATUS} && {_CANNOT_BE_REFUSED})"}
"""By name; all must hold for the validating webhook to be asked."""
_POD_SETS = "object.spec.podSets"
DEFAULTED_WHEN = {
    "may-be-defaulted": f"has(object.spec) && has({_POD_SETS})"
    f" && {_POD_SETS}.exists(p, has(p.minCount))"
}
"""The same for the mutating one."""
