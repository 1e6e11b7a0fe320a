"""What a RayCluster says of itself: counts, resources, endpoints, head, state and conditions."""

from collections.abc import Iterable
from datetime import datetime

from fleetqueue.api.quantity import Quantity
from fleetqueue.api.times import format_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions, pod_facts
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.ray_start import is_gpu

READY, SUSPENDED_STATE = "ready", "suspended"
HEAD_READY, PROVISIONED = "HeadPodReady", "RayClusterProvisioned"
SUSPENDING, SUSPENDED, FAILURE = "RayClusterSuspending", "RayClusterSuspended", "ReplicaFailure"
EMPTY: Object = {
    "desiredCPU": "0",
    "desiredMemory": "0",
    "desiredGPU": "0",
    "desiredTPU": "0",
    "head": {},
}
"""How a status that nobody has written yet is shown where another one contains it."""

_INT32_MAX = 2**31 - 1
_PROVISIONING = "RayClusterPodsProvisioning"


def describe(
    cluster: Object,
    pods: list[Object],
    service: Object,
    now: datetime,
    *,
    failure: tuple[str, str] | None = None,
    is_settled: bool = True,
) -> Object:
    """The whole status. A cluster is settled where all that was to do with its pods is done."""
    old = cluster.get("status") or {}
    status = {**_counts(cluster, pods), **_resources(cluster)}
    status["endpoints"] = {**(old.get("endpoints") or {}), **_endpoints(service)}
    status["head"] = _head(pods, service)
    status["observedGeneration"] = cluster["metadata"].get("generation")
    status["state"] = old.get("state")
    wanted = names.desired_workers(cluster) + 1
    if failure is None and is_settled and len(pods) == wanted and all_running(pods):
        status["state"] = READY
    if cluster["spec"].get("suspend") and not pods:
        status["state"] = SUSPENDED_STATE
    status["conditions"] = _conditions(cluster, pods, now, failure, is_settled)
    status["stateTransitionTimes"] = dict(old.get("stateTransitionTimes") or {})
    status["lastUpdateTime"] = old.get("lastUpdateTime")
    status = _without_nothing(status)
    if _tells_the_same(old, status):
        return dict(old)
    if status.get("state") != old.get("state"):
        times = {**(old.get("stateTransitionTimes") or {}), status["state"]: format_time(now)}
        status["stateTransitionTimes"] = times
    return {**status, "lastUpdateTime": format_time(now)}


def all_running(pods: list[Object]) -> bool:
    """Whether there are any, and all of them run and none says that it is not ready."""
    return bool(pods) and all(
        pod_facts.phase(pod) == "Running"
        and (pod_facts.condition(pod, "Ready") or {}).get("status", "True") == "True"
        for pod in pods
    )


def is_true(cluster: Object, type: str) -> bool:
    found = conditions.find((cluster.get("status") or {}).get("conditions"), type)
    return found is not None and found.get("status") == "True"


def suspension(cluster: Object) -> str:
    """Which of the two conditions of suspension holds; "" where none does."""
    return next((type for type in (SUSPENDING, SUSPENDED) if is_true(cluster, type)), "")


def differs(old: Object, new: Object) -> bool:
    """Whether there is more news than the time of the last look."""
    return not _tells_the_same(old, new)


def _tells_the_same(old: Object, new: Object) -> bool:
    ignored = ("lastUpdateTime", "observedGeneration")
    left = {key: value for key, value in old.items() if key not in ignored}
    right = {key: value for key, value in new.items() if key not in ignored}
    return left == right


def _counts(cluster: Object, pods: list[Object]) -> Object:
    workers = names.of_type(pods, names.WORKER)
    running = [pod for pod in workers if pod_facts.phase(pod) == "Running"]
    groups = [each for each in names.worker_groups(cluster) if not each.get("suspend")]
    bounds = [(names.bounds_of(group), names.hosts_of(group)) for group in groups]
    return {
        "readyWorkerReplicas": sum(map(pod_facts.is_ready, running)),
        "availableWorkerReplicas": len(running),
        "desiredWorkerReplicas": names.desired_workers(cluster),
        "minWorkerReplicas": sum(low * hosts for (low, _), hosts in bounds),
        "maxWorkerReplicas": min(sum(high * hosts for (_, high), hosts in bounds), _INT32_MAX),
    }


def _resources(cluster: Object) -> Object:
    """What all pods together ask for."""
    total = _pod_resources(names.head_group(cluster))
    for group in names.worker_groups(cluster):
        if group.get("suspend"):
            continue
        pods = int(group.get("replicas") or 0) * names.hosts_of(group)
        for name, amount in _pod_resources(group).items():
            total[name] = total.get(name, Quantity()) + amount * pods
    gpus = sum((amount for name, amount in total.items() if is_gpu(name)), Quantity())
    return {
        "desiredCPU": str(total.get("cpu", Quantity())),
        "desiredMemory": str(total.get("memory", Quantity())),
        "desiredGPU": str(gpus),
        "desiredTPU": str(total.get("google.com/tpu", Quantity())),
    }


def _pod_resources(group: Object) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for container in names.containers(group):
        resources = container.get("resources") or {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, amount in asked.items():
            total[name] = total.get(name, Quantity()) + Quantity.of(amount)
    return total


def _endpoints(service: Object) -> dict[str, str]:
    found = {}
    for port in service["spec"].get("ports") or ():
        number = port.get("nodePort") or port.get("targetPort") or port.get("port")
        if port.get("name") and number:
            found[port["name"]] = str(number)
    return found


def _head(pods: list[Object], service: Object) -> Object:
    head = next(iter(names.of_type(pods, names.HEAD)), None)
    info: Object = {"serviceName": service["metadata"]["name"]}
    address = service["spec"].get("clusterIP")
    if head is not None:
        info |= {"podIP": head["status"].get("podIP"), "podName": head["metadata"]["name"]}
    info["serviceIP"] = info.get("podIP") if address in (None, "", "None") else address
    return _without_nothing(info)


def _conditions(
    cluster: Object,
    pods: list[Object],
    now: datetime,
    failure: tuple[str, str] | None,
    is_settled: bool,
) -> list[Object]:
    listed = _Conditions((cluster.get("status") or {}).get("conditions") or (), now)
    if failure is not None:
        listed.set(FAILURE, True, *failure)
    elif is_settled:
        listed.remove(FAILURE)
    listed.set(HEAD_READY, *_head_readiness(pods))
    now_suspended = suspension(cluster)
    if not is_true(cluster, PROVISIONED) and now_suspended != SUSPENDED:
        if all_running(pods):
            text = "All Ray Pods are ready for the first time"
            listed.set(PROVISIONED, True, "AllPodRunningAndReadyFirstTime", text)
        else:
            text = "RayCluster Pods are being provisioned for first time"
            listed.set(PROVISIONED, False, _PROVISIONING, text)
    asked = bool(cluster["spec"].get("suspend"))
    if now_suspended == SUSPENDING:
        if not pods:
            listed.set(PROVISIONED, False, _PROVISIONING, "RayCluster has been suspended")
            listed.set(SUSPENDING, False, SUSPENDING)
            listed.set(SUSPENDED, True, SUSPENDED)
    elif now_suspended == SUSPENDED:
        if not asked:
            listed.set(SUSPENDED, False, SUSPENDED)
    else:
        listed.set(SUSPENDED, False, SUSPENDED)
        listed.set(SUSPENDING, asked, SUSPENDING)
    return listed.all


def _head_readiness(pods: Iterable[Object]) -> tuple[bool | str, str, str]:
    head = next(iter(names.of_type(pods, names.HEAD)), None)
    if head is None:
        return False, "HeadPodNotFound", "Head Pod not found"
    found = pod_facts.condition(head, "Ready")
    if found is None:
        return False, "Unknown", ""
    reason, message = str(found.get("reason") or ""), str(found.get("message") or "")
    if found["status"] == "True":
        reason = reason or "HeadPodRunningAndReady"
    if reason == "ContainersNotReady":
        reason, message = _first_problem(head, reason, message)
    return str(found["status"]), reason or "Unknown", message


def _first_problem(pod: Object, reason: str, message: str) -> tuple[str, str]:
    """The same, told better where a container says why it does not run."""
    for status in pod["status"].get("containerStatuses") or ():
        state = status.get("state") or {}
        told = state.get("waiting") or state.get("terminated")
        if told:
            more = f"{status['name']}: {told.get('message') or ''}"
            text = f"{message}; {more}" if message else more
            return str(told.get("reason") or reason), text
    return reason, message


class _Conditions:
    def __init__(self, listed: Iterable[Object], now: datetime) -> None:
        self.all = list(listed)
        self._now = format_time(now)

    def set(self, type: str, status: bool | str, reason: str, message: str = "") -> None:
        new = {
            "type": type,
            "status": str(status),
            "reason": reason,
            "message": message,
            "lastTransitionTime": self._now,
        }
        self.all = conditions.settled(self.all, new)

    def remove(self, type: str) -> None:
        self.all = conditions.without(self.all, type)


def _without_nothing(status: Object) -> Object:
    return {key: value for key, value in status.items() if value not in (None, "", 0, [], {})}
