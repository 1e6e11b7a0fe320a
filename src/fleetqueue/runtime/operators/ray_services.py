"""The Services in front of Ray: that of a head, of what it serves, and of workers of many hosts."""

import copy
from collections.abc import Mapping

from fleetqueue.kube.plan import Create, Look, Note, Patch, Plan, Step, child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import SERVICE
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.strangers import STRANGER_SECONDS, complain, is_stranger

HEADLESS_KEY = "ray.io/headless-worker-svc"
ENABLE_SERVE_KEY = "ray.io/enable-serve-service"


def services_of(cluster: Object) -> list[Object]:
    """Those that a RayCluster keeps."""
    made = [head_service(cluster)]
    if any(names.hosts_of(group) > 1 for group in names.worker_groups(cluster)):
        made.append(_headless_service(cluster))
    if names.annotations_of(cluster).get(ENABLE_SERVE_KEY) == "true" and _serve_ports(cluster):
        made.append(_cluster_serve_service(cluster))
    return made


def head_service(cluster: Object) -> Object:
    """That of a cluster: the user's own with what it lacks, or a headless one."""
    labels = names.node_labels(cluster, names.HEAD)
    group = names.head_group(cluster)
    ports = [
        {"name": name, "port": port, "appProtocol": "tcp"}
        for name, port in sorted(head_ports(cluster).items())
    ]
    annotations = cluster["spec"].get("headServiceAnnotations") or {}
    if group.get("headService"):
        given = copy.deepcopy(group["headService"])
        spec = dict(given.get("spec") or {})
        spec["ports"] = [*(spec.get("ports") or ()), *ports]
        return _service_of_user(
            cluster, given, spec, labels, names.head_service(cluster), annotations, labels
        )
    metadata: Object = {"name": names.head_service(cluster), "labels": labels}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return child(SERVICE, cluster, metadata, spec=_head_spec(cluster, labels, ports))


def named_head_service(owner: Object, cluster: Object) -> Object:
    """That of a RayJob or RayService: a lasting name for the head of whichever cluster it has."""
    name = owner["metadata"]["name"]
    metadata = {
        "name": f"{name}-head-svc",
        "labels": {
            names.FROM_NAME_KEY: name,
            names.FROM_KIND_KEY: owner["kind"],
            names.NODE_TYPE_KEY: names.HEAD,
            names.IDENTIFIER_KEY: names.label(f"{name}-head"),
        },
    }
    spec = head_service(cluster)["spec"]
    return child(SERVICE, owner, metadata, spec=spec)


def serve_service(service: Object, cluster: Object) -> Object | None:
    """Where a RayService is reached; None where no port of the head is for that."""
    name = service["metadata"]["name"]
    labels = _serve_labels(name, "RayService")
    selector = {names.CLUSTER_KEY: cluster["metadata"]["name"], names.SERVE_KEY: "true"}
    ports = _serve_ports(cluster)
    given = copy.deepcopy(service["spec"].get("serveService"))
    if given:
        spec = dict(given.get("spec") or {})
        by_name = {port.get("name"): port for port in spec.get("ports") or ()}
        if ports:
            spec["ports"] = [by_name.get(port["name"], port) for port in ports]
        return _service_of_user(service, given, spec, labels, f"{name}-serve-svc", {}, selector)
    if not ports:
        return None
    whole: Object = {"selector": selector, "ports": ports}
    kind = names.head_group(cluster).get("serviceType")
    if kind:
        whole["type"] = kind
    return child(SERVICE, service, {"name": f"{name}-serve-svc", "labels": labels}, spec=whole)


def serve_name(service: Object) -> str:
    """Of the Service where a RayService is reached."""
    given = (service["spec"].get("serveService") or {}).get("metadata") or {}
    return str(given.get("name") or f"{service['metadata']['name']}-serve-svc")


def keep(look: Look, *wanted: Object) -> Plan:
    """Makes Services, or turns them to the cluster that is in charge now; none of them as long as
    one is somebody else's, and then it says when to look again.
    """
    found = [look.find(SERVICE, each["metadata"]["name"]) for each in wanted]
    strangers = [each for each in found if each is not None and is_stranger(look, each)]
    if strangers:
        return Plan([complain(look, each) for each in strangers], after=STRANGER_SECONDS)
    pairs = zip(found, wanted, strict=True)
    return Plan([step for have, service in pairs for step in _turn(have, service)])


def head_ports(cluster: Object) -> dict[str, int]:
    """By name: those of the Ray container, or Ray's own."""
    container = names.containers(names.head_group(cluster))[0]
    ports = {
        str(port.get("name") or f"{port['containerPort']}-port"): int(port["containerPort"])
        for port in container.get("ports") or ()
    }
    return {"metrics": names.METRICS_PORT, **(ports or names.DEFAULT_PORTS)}


def _turn(have: Object | None, wanted: Object) -> list[Step]:
    if have is None:
        return [Create(wanted)]
    before, after = have["spec"].get("selector") or {}, wanted["spec"]["selector"]
    if before.get(names.CLUSTER_KEY) == after[names.CLUSTER_KEY]:
        return []
    spec = {"selector": after, "ports": wanted["spec"].get("ports")}
    text = f"Updated the service {names.full_name(have)}"
    return [Patch(have, {"spec": spec}), Note("UpdatedService", text)]


def _head_spec(cluster: Object, selector: Object, ports: list[Object]) -> Object:
    spec: Object = {"selector": selector, "ports": ports}
    kind = names.head_group(cluster).get("serviceType")
    if kind:
        spec["type"] = kind
    if kind in (None, "", "ClusterIP"):
        # Whoever asks for the head gets it, also while its health is in doubt.
        spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
    return spec


def _service_of_user(
    owner: Object,
    given: Object,
    spec: Object,
    labels: Mapping[str, str],
    name: str,
    annotations: Mapping[str, str],
    selector: Mapping[str, str],
) -> Object:
    metadata = dict(given.get("metadata") or {})
    metadata.pop("namespace", None)
    metadata["name"] = metadata.get("name") or name
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    whole = {**(metadata.get("annotations") or {}), **annotations}
    if whole:
        metadata["annotations"] = whole
    return child(SERVICE, owner, metadata, spec={**spec, "selector": dict(selector)})


def _headless_service(cluster: Object) -> Object:
    name = cluster["metadata"]["name"]
    spec = {
        "clusterIP": "None",
        "type": "ClusterIP",
        "selector": {names.CLUSTER_KEY: name, names.NODE_TYPE_KEY: names.WORKER},
        "publishNotReadyAddresses": True,
    }
    metadata = {"name": f"{name}-headless", "labels": {HEADLESS_KEY: name}}
    return child(SERVICE, cluster, metadata, spec=spec)


def _cluster_serve_service(cluster: Object) -> Object:
    name = cluster["metadata"]["name"]
    spec: Object = {"selector": {names.CLUSTER_KEY: name}, "ports": _serve_ports(cluster)}
    kind = names.head_group(cluster).get("serviceType")
    if kind:
        spec["type"] = kind
    metadata = {"name": f"{name}-serve-svc", "labels": _serve_labels(name, "RayCluster")}
    return child(SERVICE, cluster, metadata, spec=spec)


def _serve_labels(name: str, kind: str) -> dict[str, str]:
    return {
        names.FROM_NAME_KEY: name,
        names.FROM_KIND_KEY: kind,
        names.SERVE_KEY: f"{name}-serve",
    }


def _serve_ports(cluster: Object) -> list[Object]:
    return [
        {"name": name, "port": port}
        for name, port in sorted(head_ports(cluster).items())
        if name == "serve" or name.startswith("serve-")
    ]
