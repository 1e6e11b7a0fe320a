"""What TPU programs in a LeaderWorkerSet's pods are told: the hosts of their slice, their place."""

from dataclasses import dataclass

from fleetqueue.api.quantity import Quantity
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_spec import annotation, label

TPU = "google.com/tpu"
LEADER_USES_KEY = f"{keys.PREFIX}leader-requests-tpus"
PORT = 8476


def uses_tpus(spec: Object) -> bool:
    return bool(_containers(spec))


def add_variables(pod: Object, size: int) -> None:
    """Into the containers that ask for TPUs, unless the user has told them already."""
    containers = _containers(pod["spec"])
    if not containers or {"TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID"} & set(_variables(containers[0])):
        return
    if annotation(pod, keys.SUBGROUP_SIZE_KEY):
        place, containers = _place_in_subgroup(pod), containers[:1]
    else:
        place = _place_in_group(pod, size)
    ports = [
        _variables(each).get("TPU_PROCESS_PORT") or str(PORT + number)
        for number, each in enumerate(containers)
    ]
    domain = pod["spec"].get("subdomain") or ""
    hosts = [f"{host}.{domain}" for host in place.hosts for _ in ports]
    addresses = [f"{host}.{domain}:{port}" for host in place.hosts for port in ports]
    for number, container in enumerate(containers):
        told = {
            "TPU_WORKER_HOSTNAMES": ",".join(hosts),
            "TPU_WORKER_ID": str(place.number * len(containers) + number),
            "TPU_NAME": place.leader,
            "TPU_PROCESS_ADDRESSES": ",".join(addresses),
        }
        if "TPU_PROCESS_PORT" not in _variables(container):
            told["TPU_PROCESS_PORT"] = ports[number]
        added = [{"name": name, "value": value} for name, value in told.items()]
        container["env"] = [*(container.get("env") or ()), *added]


@dataclass(frozen=True, slots=True)
class _Place:
    """A pod among those that share a slice."""

    leader: str
    number: int
    hosts: list[str]


def _place_in_group(pod: Object, size: int) -> _Place:
    leader, index, leader_uses = _of(pod)
    hosts = [f"{leader}-{number}" for number in range(1, size)]
    if leader_uses:
        return _Place(leader, index, [leader, *hosts])
    return _Place(leader, index - 1, hosts)


def _place_in_subgroup(pod: Object) -> _Place:
    leader, index, leader_uses = _of(pod)
    size = int(annotation(pod, keys.SUBGROUP_SIZE_KEY))
    if size == 1:
        return _Place(leader, 0, [str(pod["metadata"]["name"])])
    group = int(label(pod, keys.SUBGROUP_KEY) or 0)
    first, last = size * group + 1, size * (group + 1)
    if leader_uses:
        # The leader takes a place in the first subgroup, so the others move up.
        first, last = (first if group == 0 else first - 1), last - 1
    hosts = [f"{leader}-{number}" for number in range(first, last + 1)]
    if leader_uses and group == 0:
        hosts = [leader, *hosts]
    number = (index if leader_uses else index - 1) % size
    return _Place(leader, number, hosts)


def _of(pod: Object) -> tuple[str, int, bool]:
    """Its leader, its index in the group, and whether the leader uses TPUs as well."""
    name = str(pod["metadata"]["name"])
    if label(pod, keys.WORKER_KEY) == "0":
        return name, 0, True
    leader, _, ordinal = name.rpartition("-")
    return leader, int(ordinal), annotation(pod, LEADER_USES_KEY) == "true"


def _containers(spec: Object) -> list[Object]:
    listed = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    return [each for each in listed if _asks(each)]


def _asks(container: Object) -> bool:
    resources = container.get("resources") or {}
    amounts = ((resources.get(part) or {}).get(TPU) for part in ("limits", "requests"))
    return any(amount is not None and Quantity.of(amount) for amount in amounts)


def _variables(container: Object) -> dict[str, str]:
    return {each["name"]: each.get("value") or "" for each in container.get("env") or ()}
