"""Fills in what a pod or a pod template leaves out, as kube-apiserver does before it stores one."""

from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.api.pods.images import default_pull_policy
from fleetqueue.apiserver.builtin import pod_resources

Object = dict[str, Any]

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
FILE_MODE = 0o644
_FORMER_ANNOTATIONS = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)


def default_pod(pod: Object) -> None:
    """Beyond what a template gets, a pod's requests follow its limits."""
    spec = pod.setdefault("spec", {})
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            _default_requests(container)
    pod_resources.default_pod_level(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    _drop_former_annotations(pod)
    default_pod_spec(spec)


def default_template(owner: Object, name: str = "template") -> None:
    """`owner[name]` is a pod template; it is never missing afterwards."""
    template = owner.setdefault(name, {})
    _drop_former_annotations(template)
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Object) -> None:
    _fill(spec, "dnsPolicy", "ClusterFirst")
    _fill(spec, "restartPolicy", "Always")
    _fill(spec, "schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for container in all_containers(spec):
        default_container(container)
    _round(spec, "overhead")
    _round_requirements(spec)


def all_containers(spec: Object) -> Iterator[Object]:
    for kind in CONTAINER_LISTS:
        yield from spec.get(kind) or ()


def default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    _fill(container, "terminationMessagePath", "/dev/termination-log")
    _fill(container, "terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        _fill(port, "protocol", "TCP")
    for variable in container.get("env") or ():
        _default_field_reference(variable.get("valueFrom") or {})
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(kind)) is not None:
            _default_probe(probe)
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _default_http(handler)
    _round_requirements(container)


def default_volume(volume: Object) -> None:
    if not any(value is not None for key, value in volume.items() if key != "name"):
        volume["emptyDir"] = {}
    default_source(volume)


def default_source(volume: Object) -> None:
    """What a kind of volume leaves out, be it a pod's or a PersistentVolume's."""
    for kind, complete in _VOLUMES.items():
        if (source := volume.get(kind)) is not None:
            complete(source)


def _default_requests(container: Object) -> None:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _default_host_ports(spec: Object) -> None:
    """On the host's network a container port is a host port."""
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _default_probe(probe: Object) -> None:
    for name, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        _fill(probe, name, value)
    _default_http(probe)
    if (grpc := probe.get("grpc")) is not None:
        grpc.setdefault("service", "")


def _default_http(handler: Object) -> None:
    if (request := handler.get("httpGet")) is not None:
        _fill(request, "path", "/")
        _fill(request, "scheme", "HTTP")


def _default_field_reference(source: Object) -> None:
    if (reference := source.get("fieldRef")) is not None:
        _fill(reference, "apiVersion", "v1")


def _default_mode(source: Object) -> None:
    source.setdefault("defaultMode", FILE_MODE)


def _default_downward(source: Object) -> None:
    _default_mode(source)
    for item in source.get("items") or ():
        _default_field_reference(item)


def _default_projected(source: Object) -> None:
    _default_mode(source)
    for projection in source.get("sources") or ():
        for item in (projection.get("downwardAPI") or {}).get("items") or ():
            _default_field_reference(item)
        if (token := projection.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", 3600)


def _default_ephemeral(source: Object) -> None:
    if (template := source.get("volumeClaimTemplate")) is not None:
        claim = template.setdefault("spec", {})
        claim.setdefault("volumeMode", "Filesystem")
        _round_requirements(claim)


def _default_azure_disk(source: Object) -> None:
    source.setdefault("cachingMode", "ReadWrite")
    source.setdefault("fsType", "ext4")
    source.setdefault("readOnly", False)
    source.setdefault("kind", "Shared")


def _filling(**values: str) -> Callable[[Object], None]:
    def complete(source: Object) -> None:
        for name, value in values.items():
            _fill(source, name, value)

    return complete


_VOLUMES: dict[str, Callable[[Object], None]] = {
    "hostPath": lambda source: source.setdefault("type", ""),
    "secret": _default_mode,
    "configMap": _default_mode,
    "downwardAPI": _default_downward,
    "projected": _default_projected,
    "ephemeral": _default_ephemeral,
    "iscsi": _filling(iscsiInterface="default"),
    "rbd": _filling(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "azureDisk": _default_azure_disk,
    "scaleIO": _filling(storageMode="ThinProvisioned", fsType="xfs"),
}


def _drop_former_annotations(holder: Object) -> None:
    annotations = (holder.get("metadata") or {}).get("annotations") or {}
    for key in _FORMER_ANNOTATIONS:
        annotations.pop(key, None)


def _round_requirements(holder: Object) -> None:
    resources = holder.get("resources") or {}
    _round(resources, "limits")
    _round(resources, "requests")


def _round(holder: Object, name: str) -> None:
    """Amounts finer than a thousandth are rounded up."""
    for key, value in (holder.get(name) or {}).items():
        holder[name][key] = pod_resources.rounded_up_to_milli(value)


def _fill(holder: Object, name: str, value: Any) -> None:
    """Sets a field whose zero value means "not set"."""
    if not holder.get(name):
        holder[name] = value
