"""Warnings for pods and templates: what is accepted, and likely not what its author meant."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver.builtin.checks import at
from fleetqueue.apiserver.builtin.claim_specs import warn_of_claim_spec, warn_of_fraction
from fleetqueue.apiserver.builtin.pod_affinity import PREFERRED, REQUIRED
from fleetqueue.apiserver.builtin.pod_annotations import (
    APP_ARMOR,
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    app_armor_field,
)
from fleetqueue.apiserver.builtin.pod_containers import visit
from fleetqueue.apiserver.builtin.pod_network import warn_of_address
from fleetqueue.apiserver.builtin.pod_path_overlaps import warn_of_overlaps
from fleetqueue.apiserver.builtin.pod_port_warnings import warn_of_ports

Object = Mapping[str, Any]
Warnings = Iterator[str]

DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_NO_POD = "a null labelSelector results in matching no pod"
_NO_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'


def warn_of_pod(pod: Object) -> list[str]:
    return list(_warn(pod, ""))


def warn_of_template(template: Object, path: str) -> list[str]:
    return list(_warn(template, path))


def warn_of_app_armor_annotations(pod: Object) -> list[str]:
    """Of a pod as it is stored, where its fields already repeat the annotations."""
    spec, annotations = pod.get("spec") or {}, _annotations(pod)
    default = (spec.get("securityContext") or {}).get("appArmorProfile")
    warnings = []
    for container, _ in visit(spec, "spec"):
        key = f"{APP_ARMOR}{container.get('name', '')}"
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        if key in annotations:
            profile = app_armor_field(annotations[key])
            if profile is None or (profile == own and profile != default):
                warnings.append(f"metadata.annotations[{key}]: {_NO_APP_ARMOR}")
    return warnings


def _warn(holder: Object, path: str) -> Warnings:
    spec, annotations = holder.get("spec") or {}, _annotations(holder)
    below, meta_path = at(path, "spec"), at(path, "metadata", "annotations")
    yield from _warn_of_node_labels(spec, below)
    yield from _warn_of_spread(spec, below)
    for key, message in _DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            yield f"{meta_path}[{key}]: {message}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from _warn_of_volume(volume, f"{below}.volumes[{index}]")
    yield from warn_of_overlaps(spec.get("volumes") or ())
    yield from _warn_of_repeats(spec.get("hostAliases") or (), "ip", f"{below}.hostAliases")
    secrets = spec.get("imagePullSecrets") or ()
    yield from _warn_of_repeats(secrets, "name", f"{below}.imagePullSecrets")
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{below}.imagePullSecrets[{index}].name: invalid empty name ""'
    for name in ("memory", "ephemeral-storage"):
        yield from warn_of_fraction(spec.get("overhead"), name, f"{below}.overhead")
    if SECCOMP_POD in annotations and not _profile(spec, "seccompProfile"):
        yield f"{meta_path}[{SECCOMP_POD}]: {_NO_SECCOMP}"
    for container, place in visit(spec, below):
        yield from _warn_of_profiles(container, spec, annotations, path)
        yield from _warn_of_container(container, place)
    yield from warn_of_ports(spec, below)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield (
            f"{below}.terminationGracePeriodSeconds: must be >= 0; "
            "negative values are invalid and will be treated as 1"
        )
    yield from _warn_of_pod_affinity(spec.get("affinity") or {}, f"{below}.affinity")
    yield from _warn_of_addresses(spec, below)


def _annotations(holder: Object) -> Mapping[str, str]:
    return (holder.get("metadata") or {}).get("annotations") or {}


def _profile(holder: Object, kind: str) -> Any:
    return (holder.get("securityContext") or {}).get(kind)


def _warn_of_node_labels(spec: Object, path: str) -> Warnings:
    for key in spec.get("nodeSelector") or ():
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_NODE_LABELS[key]}"
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    below = f"{path}.affinity.nodeAffinity"
    terms = (nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        place = f"{below}.{REQUIRED}.nodeSelectorTerms[{index}]"
        yield from warn_of_term(term, place, checks_values=False)
    for index, weighted in enumerate(nodes.get(PREFERRED) or ()):
        place = f"{below}.{PREFERRED}[{index}].preference"
        yield from warn_of_term(weighted.get("preference") or {}, place, checks_values=True)


def warn_of_term(term: Object, path: str, *, checks_values: bool) -> Warnings:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        below, key = f"{path}.matchExpressions[{index}]", expression.get("key", "")
        if key in DEPRECATED_NODE_LABELS:
            yield f"{below}.key: {key} is {DEPRECATED_NODE_LABELS[key]}"
        for number, value in enumerate(expression.get("values") or () if checks_values else ()):
            for message in names.label_value(value):
                yield f"{below}.values[{number}]: {value} is invalid, {message}"


def _warn_of_spread(spec: Object, path: str) -> Warnings:
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        below = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.get("topologyKey", "")
        if key in DEPRECATED_NODE_LABELS:
            yield f"{below}.topologyKey: {key} is {DEPRECATED_NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{below}.labelSelector: {_NO_POD}"


def _warn_of_volume(volume: Object, path: str) -> Warnings:
    for kind, message in _DEPRECATED_VOLUMES.items():
        if volume.get(kind) is not None:
            shown = "storageOS" if kind == "storageos" else kind
            yield f"{path}.{shown}: {message}"
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        below = f"{path}.ephemeral.volumeClaimTemplate.spec"
        yield from warn_of_claim_spec(template.get("spec") or {}, below)


def _warn_of_repeats(items: Sequence[Object], key: str, path: str) -> Warnings:
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(key, "")
        if value in seen:
            yield f'{path}[{index}].{key}: duplicate {key} "{value}"'
        seen.add(value)


def _warn_of_profiles(
    container: Object, spec: Object, annotations: Mapping[str, str], path: str
) -> Warnings:
    name, place = container.get("name", ""), at(path, "metadata", "annotations")
    key = f"{SECCOMP_CONTAINER}{name}"
    if key in annotations and not _profile(container, "seccompProfile"):
        yield f"{place}[{key}]: {_NO_SECCOMP}"
    key = f"{APP_ARMOR}{name}"
    if path and key in annotations and not _profile(container, "appArmorProfile"):
        of_pod = _profile(spec, "appArmorProfile")
        if of_pod is None or of_pod != app_armor_field(annotations[key]):
            yield f"{place}[{key}]: {_NO_APP_ARMOR}"


def _warn_of_container(container: Object, path: str) -> Warnings:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for kind in ("limits", "requests"):
            yield from warn_of_fraction(resources.get(kind), name, f"{path}.resources.{kind}")
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        extends = reference in value and value != reference and variable.get("valueFrom") is None
        if name in seen and not extends:
            yield (
                f'{path}.env[{index}]: hides previous definition of "{name}", '
                "which may be dropped when using apply"
            )
        seen.add(name)


def _warn_of_pod_affinity(affinity: Object, path: str) -> Warnings:
    for kind in ("podAffinity", "podAntiAffinity"):
        content = affinity.get(kind) or {}
        for index, term in enumerate(content.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{kind}.{REQUIRED}[{index}].labelSelector: {_NO_POD}"
        for index, weighted in enumerate(content.get(PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                below = f"{path}.{kind}.{PREFERRED}[{index}]"
                yield f"{below}.podAffinityTerm.labelSelector: {_NO_POD}"


def _warn_of_addresses(spec: Object, path: str) -> Warnings:
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    for index, server in enumerate(servers):
        yield from warn_of_address(server, f"{path}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from warn_of_address(alias.get("ip", ""), f"{path}.hostAliases[{index}].ip")
