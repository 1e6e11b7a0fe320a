"""The meaning of a Workload's spec: what two API servers may write differently, in one form.

Quantities go by their value; what is empty, or what any server fills in, counts as not said.
"""

from typing import Any

from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.kube.resources import Object

QUANTITIES = frozenset({"requests", "limits", "overhead"})
"""Maps whose values are quantities."""
QUANTITY = frozenset({"divisor", "sizeLimit"})
MAPS = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})
"""Maps whose keys are people's own."""

DEFAULTS: dict[str, Any] = {
    "active": True,
    "protocol": "TCP",
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
    "scheme": "HTTP",
    "defaultMode": 420,
    "apiVersion": "v1",
    "volumeMode": "Filesystem",
    "nodeAffinityPolicy": "Honor",
    "nodeTaintsPolicy": "Ignore",
    "preemptionPolicy": "PreemptLowerPriority",
    "shareProcessNamespace": False,
    "hostNetwork": False,
    "hostPID": False,
    "hostIPC": False,
    "readOnly": False,
}
"""What schemas, defaulting and conversion put where nothing is said."""
_POD_SET: dict[str, Any] = {"name": "main", "count": 1}
_NOTHING: tuple[Any, ...] = (None, "", {}, [])


def meaning(spec: Object) -> Object:
    """What the spec of a Workload says; equal for specs that mean the same."""
    said = {name: value for name, value in spec.items() if name != "podSets"}
    pod_sets = [{**_POD_SET, **each} for each in spec.get("podSets") or ()]
    made = _meaning(said)
    return {**made, "podSets": [_pod_set(each) for each in pod_sets]}


def _pod_set(pod_set: Object) -> Object:
    """A count of zero is not nothing."""
    return {**_meaning(pod_set), "name": pod_set["name"], "count": pod_set["count"]}


def _meaning(value: Any) -> Any:
    if isinstance(value, list):
        return [_meaning(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {name: _member(name, each) for name, each in value.items()}
    return {
        name: each
        for name, each in made.items()
        if not _is_nothing(each) and not _is_default(name, each)
    }


def _member(name: str, value: Any) -> Any:
    if name in QUANTITY:
        return _amount(value)
    if name in QUANTITIES and isinstance(value, dict):
        return {key: _amount(each) for key, each in value.items()}
    return value if name in MAPS else _meaning(value)


def _is_nothing(value: Any) -> bool:
    return any(value is nothing or value == nothing for nothing in _NOTHING)


def _is_default(name: str, value: Any) -> bool:
    default = DEFAULTS.get(name)
    return default is not None and value == default


def _amount(value: Any) -> Any:
    try:
        return Quantity.of(value)
    except QuantityError:
        return value
