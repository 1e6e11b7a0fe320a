"""What the server itself writes into a pod: its first status, and fields it derives or drops.

The fields that are dropped belong to features that Kubernetes 1.34 has switched off by default.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.apiserver.builtin.pod_affinity import PREFERRED, REQUIRED
from fleetqueue.apiserver.builtin.pod_annotations import APP_ARMOR, app_armor_field
from fleetqueue.apiserver.builtin.pod_containers import visit
from fleetqueue.apiserver.builtin.pod_resources import is_sidecar, quality_of_service
from fleetqueue.apiserver.builtin.pod_security import validate_app_armor

Object = dict[str, Any]

GATED = "Scheduling is blocked due to non-empty scheduling gates"


def prepare_pod(pod: Object) -> None:
    spec = pod["spec"]
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    drop_disabled(spec)
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [_gated_condition(pod)]
    _merge_label_keys(spec, (pod.get("metadata") or {}).get("labels") or {})
    _copy_app_armor(pod)


def prepare_pod_update(pod: Object, old: Mapping[str, Any]) -> None:
    drop_disabled(pod["spec"], old.get("spec"))


def drop_disabled(spec: Object, old: Mapping[str, Any] | None = None) -> None:
    """A field that the stored object has already stays."""
    if old is None or old.get("hostnameOverride") is None:
        spec.pop("hostnameOverride", None)
    if not _has_image_volume(old):
        _drop_image_volumes(spec)
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            source.pop("clusterTrustBundle", None)
            source.pop("podCertificate", None)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            _drop_from_container(container, keeps_policy=kind == "initContainers")


def _drop_from_container(container: Object, keeps_policy: bool) -> None:
    container.pop("restartPolicyRules", None)
    if not (keeps_policy and is_sidecar(container)):
        container.pop("restartPolicy", None)
    for variable in container.get("env") or ():
        (variable.get("valueFrom") or {}).pop("fileKeyRef", None)
    lifecycle = container.get("lifecycle")
    if lifecycle is not None and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]


def _has_image_volume(spec: Mapping[str, Any] | None) -> bool:
    return any(v.get("image") is not None for v in (spec or {}).get("volumes") or ())


def _drop_image_volumes(spec: Object) -> None:
    images = {v.get("name") for v in spec.get("volumes") or () if v.get("image") is not None}
    if not images:
        return
    _keep(spec, "volumes", [v for v in spec["volumes"] if v.get("image") is None])
    for container, _ in visit(spec, ""):
        mounts = container.get("volumeMounts") or []
        assert isinstance(container, dict)
        _keep(container, "volumeMounts", [m for m in mounts if m.get("name") not in images])


def _keep(holder: Object, name: str, items: list[Any]) -> None:
    if items:
        holder[name] = items
    else:
        holder.pop(name, None)


def _gated_condition(pod: Object) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": (pod.get("metadata") or {}).get("creationTimestamp"),
        "reason": "SchedulingGated",
        "message": GATED,
    }


def _merge_label_keys(spec: Object, labels: Mapping[str, str]) -> None:
    """The keys a selector should take from the pod become expressions on the pod's own values."""
    for term in _pod_terms(spec.get("affinity") or {}):
        _add_expressions(term, "matchLabelKeys", "In", labels)
        _add_expressions(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _add_expressions(constraint, "matchLabelKeys", "In", labels)


def _pod_terms(affinity: Object) -> Iterator[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        content = affinity.get(kind) or {}
        for weighted in content.get(PREFERRED) or ():
            yield weighted.get("podAffinityTerm") or {}
        yield from content.get(REQUIRED) or ()


def _add_expressions(holder: Object, kind: str, operator: str, labels: Mapping[str, str]) -> None:
    selector = holder.get("labelSelector")
    keys = [key for key in holder.get(kind) or () if key in labels]
    if selector is None or not keys:
        return
    expressions = selector.setdefault("matchExpressions", [])
    expressions += [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys]


def _copy_app_armor(pod: Object) -> None:
    """The annotations of old become the fields of today."""
    spec, annotations = pod["spec"], (pod.get("metadata") or {}).get("annotations") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return
    default = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container, _ in visit(spec, ""):
        annotation = annotations.get(f"{APP_ARMOR}{container.get('name', '')}")
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        if annotation is None or own is not None:
            continue
        profile = app_armor_field(annotation)
        if profile and not validate_app_armor(profile, "") and profile != default:
            assert isinstance(container, dict)
            container.setdefault("securityContext", {})["appArmorProfile"] = profile
