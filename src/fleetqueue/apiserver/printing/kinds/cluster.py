"""Tables of what a cluster is made of: nodes, namespaces, quotas, classes, leases, components."""

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, UNKNOWN, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

ROLE_PREFIX = "node-role.kubernetes.io/"
ROLE_LABEL = "kubernetes.io/role"
_DATA = ("data", "binaryData")


def _node_status(obj: Object) -> str:
    conditions = {one["type"]: one.get("status") for one in dig(obj, "status", "conditions") or ()}
    if "Ready" not in conditions:
        status = "Unknown"
    else:
        status = "Ready" if conditions["Ready"] == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if dig(obj, "spec", "unschedulable") else status


def _roles(obj: Object) -> str:
    found = set()
    for label, value in (dig(obj, "metadata", "labels") or {}).items():
        if label.startswith(ROLE_PREFIX):
            found.add(label.removeprefix(ROLE_PREFIX))
        elif label == ROLE_LABEL:
            found.add(value)
    return ",".join(sorted(found - {""})) or NONE


def _address(kind: str) -> Column:
    def cell(obj: Object) -> str:
        for address in dig(obj, "status", "addresses") or ():
            if address.get("type") == kind:
                return str(address.get("address") or "")
        return NONE

    return Column(kind.replace("IP", "-IP"), only(cell), priority=1)


def _info(name: str, key: str) -> Column:
    return Column(name, cells.text_at("status", "nodeInfo", key, default=UNKNOWN), priority=1)


def _quota(is_limit: bool) -> Column:
    def cell(obj: Object) -> str:
        hard, used = dig(obj, "status", "hard") or {}, dig(obj, "status", "used") or {}
        named = sorted(name for name in hard if name.startswith("limits.") == is_limit)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in named)

    return Column("Limit" if is_limit else "Request", only(cell))


def _healthy(obj: Object) -> Object:
    for condition in obj.get("conditions") or ():
        if condition.get("type") == "Healthy":
            return dict(condition)
    return {}


def _health(obj: Object) -> str:
    condition = _healthy(obj)
    if not condition:
        return "Unknown"
    return "Healthy" if condition.get("status") == "True" else "Unhealthy"


LAYOUTS = {
    ("", "Node"): Layout(
        (
            NAME,
            Column("Status", only(_node_status)),
            Column("Roles", only(_roles)),
            AGE,
            Column("Version", at("status", "nodeInfo", "kubeletVersion")),
            _address("InternalIP"),
            _address("ExternalIP"),
            _info("OS-Image", "osImage"),
            _info("Kernel-Version", "kernelVersion"),
            _info("Container-Runtime", "containerRuntimeVersion"),
        )
    ),
    ("", "Namespace"): Layout((NAME, Column("Status", at("status", "phase")), AGE)),
    ("", "ConfigMap"): Layout(
        (
            NAME,
            Column("Data", only(lambda obj: sum(len(obj.get(key) or ()) for key in _DATA))),
            AGE,
        )
    ),
    ("", "Secret"): Layout(
        (NAME, Column("Type", at("type")), Column("Data", cells.count_at("data")), AGE)
    ),
    ("", "ServiceAccount"): Layout((NAME, Column("Secrets", cells.count_at("secrets")), AGE)),
    ("", "ResourceQuota"): Layout((NAME, _quota(False), _quota(True), AGE)),
    ("", "ComponentStatus"): Layout(
        (
            NAME,
            Column("Status", only(_health)),
            Column("Message", only(lambda obj: _healthy(obj).get("message") or "")),
            Column("Error", only(lambda obj: _healthy(obj).get("error") or "")),
        )
    ),
    ("scheduling.k8s.io", "PriorityClass"): Layout(
        (
            NAME,
            Column("Value", at("value", default=0), "integer"),
            Column("Global-Default", at("globalDefault", default=False), "boolean"),
            AGE,
            Column("PreemptionPolicy", at("preemptionPolicy")),
        )
    ),
    ("node.k8s.io", "RuntimeClass"): Layout((NAME, Column("Handler", at("handler")), AGE)),
    ("coordination.k8s.io", "Lease"): Layout(
        (NAME, Column("Holder", at("spec", "holderIdentity")), AGE)
    ),
    ("coordination.k8s.io", "LeaseCandidate"): Layout(
        (
            NAME,
            Column("LeaseName", at("spec", "leaseName")),
            Column("BinaryVersion", at("spec", "binaryVersion")),
            Column("EmulationVersion", at("spec", "emulationVersion")),
            AGE,
        )
    ),
}
