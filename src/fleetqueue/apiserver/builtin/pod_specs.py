"""The rules for a whole pod specification, alone or in the template of a workload."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import pod_network, pod_resources, pod_windows
from fleetqueue.apiserver.builtin.checks import (
    INT32_MAX,
    Errors,
    between,
    required_one_of,
    wrongs,
)
from fleetqueue.apiserver.builtin.pod_affinity import REQUIRED, validate_affinity, validate_spread
from fleetqueue.apiserver.builtin.pod_annotations import (
    MIRROR,
    validate_pod_annotations,
    validate_profiles_agree,
)
from fleetqueue.apiserver.builtin.pod_containers import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
    visit,
)
from fleetqueue.apiserver.builtin.pod_scheduling import validate_gates, validate_tolerations
from fleetqueue.apiserver.builtin.pod_security import is_foreign_sysctl, validate_pod_security
from fleetqueue.apiserver.builtin.pod_volumes import validate_volumes
from fleetqueue.apiserver.builtin.resource_names import is_divisible_by_page, is_huge_pages
from fleetqueue.apiserver.builtin.selectors import (
    has_odd_values,
    validate_annotations,
    validate_labels,
)

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Leniency:
    """What the stored object already violates, so that it can still be updated."""

    any_page_multiple: bool = False
    any_selector_value: bool = False
    any_sysctl: bool = False
    any_label_change: bool = False

    @classmethod
    def towards(cls, old_spec: Object | None) -> "Leniency":
        if old_spec is None:
            return STRICT
        context = old_spec.get("securityContext") or {}
        return cls(
            any_page_multiple=_has_odd_pages(old_spec),
            any_selector_value=_has_odd_selector(old_spec.get("affinity") or {}),
            any_sysctl=any(
                is_foreign_sysctl(sysctl.get("name", ""), old_spec)
                for sysctl in context.get("sysctls") or ()
            ),
            any_label_change=context.get("seLinuxChangePolicy") is not None,
        )


STRICT = Leniency()


def validate_pod_spec(
    spec: Object, path: str, *, meta: Object | None = None, leniency: Leniency = STRICT
) -> Errors:
    """`meta` is the pod's own metadata, and None inside a template."""
    errors: Errors = []
    if spec.get("terminationGracePeriodSeconds") is None:
        errors.append(fields.required(f"{path}.terminationGracePeriodSeconds"))
    pod_name = (meta or {}).get("name", "")
    volumes, found = validate_volumes(
        spec.get("volumes") or [], pod_name, f"{path}.volumes", is_pod=meta is not None
    )
    errors += found
    errors += _validate_resource_claims(spec, meta or {}, f"{path}.resourceClaims")
    claims = frozenset(c["name"] for c in spec.get("resourceClaims") or () if c.get("name"))
    pod = PodContext(spec, volumes, claims, leniency.any_page_multiple)
    errors += validate_containers(pod, f"{path}.containers")
    errors += validate_init_containers(pod, f"{path}.initContainers")
    errors += validate_ephemeral_containers(pod, f"{path}.ephemeralContainers")
    errors += pod_resources.validate_pod_level(spec, claims, f"{path}.resources")
    errors += pod_network.validate_host_ports(spec, path, is_pod=meta is not None)
    errors += _validate_policies(spec, path)
    errors += validate_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    errors += validate_pod_security(
        spec, f"{path}.securityContext", leniency.any_sysctl, leniency.any_label_change
    )
    errors += validate_affinity(
        spec.get("affinity"), f"{path}.affinity", any_value=leniency.any_selector_value
    )
    errors += pod_network.validate_dns(spec, f"{path}.dnsConfig")
    errors += _validate_readiness_gates(spec, f"{path}.readinessGates")
    errors += validate_gates(spec.get("schedulingGates") or [], f"{path}.schedulingGates")
    spread = spec.get("topologySpreadConstraints") or []
    errors += validate_spread(spread, f"{path}.topologySpreadConstraints")
    errors += pod_windows.validate_host_processes(spec, path)
    errors += _validate_host_users(spec, path)
    errors += _validate_references(spec, path)
    return errors + pod_windows.validate_system(spec, path)


def validate_template(
    template: Object, path: str, old: Object | None = None, leniency: Leniency | None = None
) -> Errors:
    """A pod template; `old` is the one it replaces, on an update."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = meta.get("annotations") or {}
    leniency = leniency or Leniency.towards(None if old is None else old.get("spec") or {})
    errors = validate_labels(meta.get("labels"), f"{path}.labels")
    errors += validate_annotations(annotations, f"{path}.annotations")
    errors += validate_pod_annotations(annotations, spec, f"{path}.annotations")
    errors += validate_pod_spec(spec, f"{path}.spec", leniency=leniency)
    errors += validate_profiles_agree(annotations, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(fields.forbidden(f"{path}.spec.ephemeralContainers", why))
    return errors


def _validate_policies(spec: Object, path: str) -> Errors:
    restarts = ("Always", "OnFailure", "Never")
    errors = required_one_of(spec.get("restartPolicy"), restarts, f"{path}.restartPolicy")
    policies = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    return errors + required_one_of(spec.get("dnsPolicy"), policies, f"{path}.dnsPolicy")


def _validate_references(spec: Object, path: str) -> Errors:
    """Names of other objects, and the plain values that come after them."""
    errors = _validate_subdomain(spec, "serviceAccountName", path)
    errors += _validate_subdomain(spec, "nodeName", path)
    deadline = spec.get("activeDeadlineSeconds")
    errors += between(deadline, 1, INT32_MAX, f"{path}.activeDeadlineSeconds")
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            errors += wrongs(f"{path}.{name}", value, names.dns1123_label(value))
    errors += validate_tolerations(spec.get("tolerations") or [], f"{path}.tolerations")
    errors += pod_network.validate_host_aliases(spec, f"{path}.hostAliases")
    errors += _validate_subdomain(spec, "priorityClassName", path)
    if (runtime := spec.get("runtimeClassName")) is not None:
        errors += wrongs(f"{path}.runtimeClassName", runtime, names.dns1123_subdomain(runtime))
    if (policy := spec.get("preemptionPolicy")) is not None:
        allowed = ("PreemptLowerPriority", "Never")
        errors += required_one_of(policy, allowed, f"{path}.preemptionPolicy")
    if (overhead := spec.get("overhead")) is not None:
        # Checked as limits are, and reported below them.
        errors += pod_resources.validate_requirements({"limits": overhead}, f"{path}.overhead", ())
    return errors


def _validate_subdomain(spec: Object, name: str, path: str) -> Errors:
    value = spec.get(name)
    return wrongs(f"{path}.{name}", value, names.dns1123_subdomain(value)) if value else []


def _validate_resource_claims(spec: Object, meta: Object, path: str) -> Errors:
    claims = spec.get("resourceClaims") or []
    if claims and MIRROR in (meta.get("annotations") or {}):
        why = "static pods do not support resource claims"
        return [fields.forbidden("[]", why) for _ in claims]
    errors: Errors = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        errors += _validate_resource_claim(claim, seen, f"{path}[{index}]")
    return errors


def _validate_resource_claim(claim: Object, seen: set[str], path: str) -> Errors:
    name = claim.get("name", "")
    errors: Errors = []
    if not name:
        errors.append(fields.required(f"{path}.name"))
    elif name in seen:
        errors.append(fields.duplicate(f"{path}.name", name))
    else:
        errors += wrongs(f"{path}.name", name, names.dns1123_label(name))
        seen.add(name)
    sources = ("resourceClaimName", "resourceClaimTemplateName")
    given = [kind for kind in sources if claim.get(kind) is not None]
    shown = {"Name": name} | {kind[0].upper() + kind[1:]: claim.get(kind) for kind in sources}
    if len(given) == 2:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.append(fields.wrong(path, shown, why))
    elif not given:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.append(fields.wrong(path, shown, why))
    for kind in given:
        errors += wrongs(f"{path}.{kind}", claim[kind], names.dns1123_subdomain(claim[kind]))
    return errors


def _validate_readiness_gates(spec: Object, path: str) -> Errors:
    errors: Errors = []
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType", "")
        errors += wrongs(f"{path}[{index}].conditionType", kind, names.qualified_name(kind))
    return errors


def _validate_host_users(spec: Object, path: str) -> Errors:
    if spec.get("hostUsers") is not False:
        return []
    why = "when `hostUsers` is false"
    errors = [
        fields.forbidden(f"{path}.{shown}", why)
        for name, shown in (
            ("hostNetwork", "hostNetwork"),
            ("hostPID", "HostPID"),
            ("hostIPC", "HostIPC"),
        )
        if spec.get(name)
    ]
    return errors + [
        fields.forbidden(f"{below}.volumeDevices", why)
        for container, below in visit(spec, path)
        if container.get("volumeDevices")
    ]


def _has_odd_pages(spec: Object) -> bool:
    return any(
        is_huge_pages(name) and not is_divisible_by_page(name, amount)
        for container, _ in visit(spec, "")
        for listed in (container.get("resources") or {}).values()
        if isinstance(listed, dict)
        for name, amount in pod_resources.read(listed).items()
    )


def _has_odd_selector(affinity: Object) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        content = affinity.get(kind) or {}
        terms = list(content.get(REQUIRED) or ())
        preferred = content.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [weighted.get("podAffinityTerm") or {} for weighted in preferred]
        for term in terms:
            if has_odd_values(term.get("labelSelector")):
                return True
            if has_odd_values(term.get("namespaceSelector")):
                return True
    return False
