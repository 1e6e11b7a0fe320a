"""When a foreign API server has to ask us about a Workload, as CEL that it evaluates itself: what
we would let pass unchanged anyway costs it no call.

Most writes of a Workload are of its status, and most of those cannot be refused: the rules look at
the reservation, at reclaimable pods, at checks and at the cluster name, which change rarely. Nor
can a write of its metadata be refused that leaves the annotations alone, as of owners and
finalizers; nor a new one that asks for nothing unusual.
"""

from fleetqueue.api.kueue import labels

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
_WAS_NOMINATED = (
    f"({_old_has('nominatedClusterNames')}"
    " && object.status.clusterName in oldObject.status.nominatedClusterNames)"
)
_CLUSTER_NAME = (
    f"(!has(object.status.clusterName) || {_is_same('clusterName')} || {_WAS_NOMINATED})"
)
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

_IS_UPDATE = (
    'request.operation == "UPDATE" && (!has(request.subResource) || request.subResource == "")'
)


def _stays(part: str) -> str:
    same = f"has(oldObject.{part}) && object.{part} == oldObject.{part}"
    return f"(has(object.{part}) ? {same} : !has(oldObject.{part}))"


_SAYS_THE_SAME = " && ".join(map(_stays, ("metadata.annotations", "spec", "status")))


def _all_good(resources: str) -> str:
    """What containers ask for is there under good names, and not negative."""
    amount = "m[r]"
    is_good = (
        f"(type({amount}) == int ? {amount} >= 0 : type({amount}) == string"
        f' && isQuantity({amount}) && !quantity({amount}).isLessThan(quantity("0")))'
    )
    parts = (f"(has({resources}.{each}) ? [{resources}.{each}] : [])" for each in _AMOUNTS)
    return f'({" + ".join(parts)}).all(m, m.all(r, r != "pods" && {is_good}))'


_AMOUNTS = ("requests", "limits")
_PART = "[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?"
_WORD = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_LABEL = f"^({_PART}([.]{_PART}){{0,5}}/)?{_WORD}$"
"""Most that may be the name of a label."""
_PLAIN_METADATA = (
    "(!has(p.template.metadata) || (!has(p.template.metadata.annotations)"
    " && (!has(p.template.metadata.labels) || p.template.metadata.labels.all(k,"
    f' k.matches("{_LABEL}") && p.template.metadata.labels[k].matches("^({_WORD})?$")))))'
)
_CONTAINERS = " && ".join(
    f"(!has(p.template.spec.{each}) || p.template.spec.{each}.all(c,"
    f" !has(c.resources) || {_all_good('c.resources')}))"
    for each in ("containers", "initContainers")
)
_PLAIN_POD_SET = (
    "!has(p.minCount) && !has(p.topologyRequest) && has(p.template) && has(p.template.spec)"
    f" && !has(p.template.spec.resources) && {_PLAIN_METADATA} && {_CONTAINERS}"
)
_PLAIN_ANNOTATIONS = (
    "(!has(object.metadata.annotations) || !object.metadata.annotations.exists(k,"
    f' k in ["{labels.ADMISSION_GATED_BY}", "{labels.PRIORITY_BOOST}"]))'
)
_IS_PLAIN = (
    'request.operation == "CREATE" && (!has(request.subResource) || request.subResource == "")'
    f" && !has(object.status) && {_PLAIN_ANNOTATIONS} && has(object.spec)"
    f" && (!has(object.spec.podSets) || object.spec.podSets.all(p, {_PLAIN_POD_SET}))"
)

VALIDATED_WHEN = {
    "may-be-refused": f"!({_IS_STATUS} && {_CANNOT_BE_REFUSED})",
    "changes-what-is-read": f"!({_IS_UPDATE} && {_SAYS_THE_SAME})",
    "is-unusual": f"!({_IS_PLAIN})",
}
"""By name; all must hold for the validating webhook to be asked."""
_POD_SETS = "object.spec.podSets"
DEFAULTED_WHEN = {
    "may-be-defaulted": f"has(object.spec) && has({_POD_SETS})"
    f" && {_POD_SETS}.exists(p, has(p.minCount))"
}
"""The same for the mutating one."""
