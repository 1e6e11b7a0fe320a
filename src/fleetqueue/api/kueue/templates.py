"""Pod sets as a Go program writes them: with the empty parts that Go never leaves out, and in the
order of Go's fields, because refusals print them that way."""

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

_POD_SET = "name template count minCount topologyRequest"
_POD = (
    "volumes initContainers containers ephemeralContainers restartPolicy"
    " terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector"
    " serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID"
    " hostIPC shareProcessNamespace securityContext imagePullSecrets hostname subdomain affinity"
    " schedulerName tolerations hostAliases priorityClassName priority dnsConfig readinessGates"
    " runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints"
    " setHostnameAsFQDN os hostUsers schedulingGates resourceClaims resources hostnameOverride"
)
_CONTAINER = (
    "name image command args workingDir ports envFrom env resources resizePolicy restartPolicy"
    " restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe startupProbe"
    " lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext"
    " stdin stdinOnce tty"
)


def fill_templates(spec: Json) -> None:
    """Gives every template its metadata and every container its resources, if only empty ones."""
    for pod_set in spec.get("podSets") or []:
        template = _part(pod_set, "template")
        _part(template, "metadata")
        pod = _part(template, "spec")
        for container in containers(pod):
            _part(container, "resources")


def containers(pod: Json) -> Iterable[Json]:
    return [container for name in CONTAINER_LISTS for container in pod.get(name) or []]


def in_go_order(pod_set: Json) -> Json:
    """The pod set with its fields in Go's order; maps and what has no table here by name."""
    ordered = _ordered(pod_set, _POD_SET)
    template = ordered.get("template")
    if template and "spec" in template:
        pod = _ordered(template["spec"], _POD)
        for name in CONTAINER_LISTS:
            if name in pod:
                pod[name] = [_ordered(container, _CONTAINER) for container in pod[name]]
        ordered["template"] = template | {"spec": pod}
    return ordered


def _part(obj: Json, name: str) -> Json:
    part: Json = obj.get(name) or {}
    obj[name] = part
    return part


def _ordered(value: Json, order: str) -> Json:
    by_name: Json = _sorted(value)
    known = [name for name in order.split() if name in by_name]
    return {name: by_name[name] for name in known} | by_name


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    return value
