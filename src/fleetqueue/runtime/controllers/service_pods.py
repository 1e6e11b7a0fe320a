"""Which pods stand behind a Service, and at which ports."""

from collections.abc import Iterable

from fleetqueue.api import names
from fleetqueue.api.meta import Key
from fleetqueue.kube.plan import Look
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.amounts import rest_seconds
from fleetqueue.runtime.kinds import POD, SERVICE

HEADLESS_LABEL = "service.kubernetes.io/headless"


def is_headless(service: Object) -> bool:
    return service["spec"].get("clusterIP") in (None, "", "None")


def is_served(service: Object) -> bool:
    """Whether its endpoints are ours to keep: not where it selects nothing, or is but a name."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def selected(look: Look) -> list[Object]:
    """Pods with an address that have not ended."""
    found = look.selected(POD, {"matchLabels": look.parent["spec"]["selector"]})
    return [pod for pod in found if not pod_facts.is_terminal(pod) and addresses(pod)]


def addresses(pod: Object) -> list[str]:
    status = pod.get("status") or {}
    several = [each["ip"] for each in status.get("podIPs") or () if each.get("ip")]
    return several or [each for each in [status.get("podIP")] if each]


def address(pod: Object, family: str) -> str:
    """The first of a family (IPv4, IPv6); "" where there is none."""
    version = 6 if family == "IPv6" else 4
    for each in addresses(pod):
        parsed = names.parse_ip(each)
        if parsed is not None and parsed.version == version:
            return str(parsed)
    return ""


def target_port(pod: Object, port: Object) -> int | None:
    """The number behind a target port; None where the pod has no port of that name."""
    target = port.get("targetPort")
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = [
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    ]
    for container in [*spec["containers"], *sidecars]:
        for each in container.get("ports") or ():
            same_protocol = each.get("protocol", "TCP") == port.get("protocol", "TCP")
            if each.get("name") == target and same_protocol:
                return int(each["containerPort"])
    return None


def host_name(pod: Object, service: Object) -> str:
    """The name that the pod has within the Service, where it says it belongs there."""
    spec = pod["spec"]
    is_there = spec.get("subdomain") == service["metadata"]["name"]
    return str(spec.get("hostname") or "") if is_there else ""


def services_of(source: Source, pod: Object) -> Iterable[Key]:
    """The Services that a change of the pod concerns."""
    namespace = pod["metadata"]["namespace"]
    labels = pod["metadata"].get("labels") or {}
    return [
        Key(namespace, service["metadata"]["name"])
        for service in source.all(SERVICE, namespace)
        if is_served(service) and service["spec"]["selector"].items() <= labels.items()
    ]


def rest(look: Look) -> float:
    """Whole lists are written, so a Service of many pods takes in their changes together."""
    if not is_served(look.parent):
        return 0.0
    return rest_seconds(len(selected(look)), per_second=1000, free=50)


def matters(old: Object | None, new: Object | None) -> bool:
    """Whether the change of a pod shows in endpoints."""
    return old is None or new is None or _essence(old) != _essence(new)


def _essence(pod: Object) -> tuple[object, ...]:
    metadata = pod["metadata"]
    return (
        metadata.get("labels"),
        bool(metadata.get("deletionTimestamp")),
        pod["spec"].get("hostname"),
        pod["spec"].get("subdomain"),
        pod["spec"].get("nodeName"),
        addresses(pod),
        pod_facts.is_ready(pod),
        pod_facts.is_terminal(pod),
    )
