"""Rules for the status of a pod, which kubelets and schedulers write."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, immutable, wrongs
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.objectmeta import validate_builtin_meta_update
from fleetqueue.apiserver.builtin.pod_annotations import validate_annotation_changes
from fleetqueue.apiserver.builtin.pod_resources import is_sidecar

Object = Mapping[str, Any]

_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_NOT_NEGATIVE = "must be a non-negative integer"


def prepare_pod_status(pod: dict[str, Any], old: Object) -> None:
    pod["metadata"].pop("ownerReferences", None)
    if owners := old["metadata"].get("ownerReferences"):
        pod["metadata"]["ownerReferences"] = owners
    status = pod.setdefault("status", {})
    before = old.get("status") or {}
    if not status.get("qosClass") and before.get("qosClass"):
        status["qosClass"] = before["qosClass"]
    _keep_generations(status, before)
    status.pop("extendedResourceClaimStatus", None)
    for kind in _LISTS:
        for container in status.get(kind) or ():
            container.pop("allocatedResourcesStatus", None)


def validate_pod_status(pod: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(pod["metadata"], old["metadata"])
    new_annotations, old_annotations = (
        holder["metadata"].get("annotations") or {} for holder in (pod, old)
    )
    errors += validate_annotation_changes(new_annotations, old_annotations, "metadata.annotations")
    status, before = pod.get("status") or {}, old.get("status") or {}
    errors += _validate_conditions(status.get("conditions") or [], "status.conditions")
    nominated = status.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName"):
        errors += wrongs("status.nominatedNodeName", nominated, names.dns1123_subdomain(nominated))
    if (generation := status.get("observedGeneration") or 0) < 0:
        errors.append(fields.wrong("status.observedGeneration", generation, _NOT_NEGATIVE))
    qualities = (status.get("qosClass", ""), before.get("qosClass", ""))
    errors += immutable(*qualities, "status.qosClass")
    errors += _validate_transitions(status, before, old.get("spec") or {})
    errors += _validate_claim_statuses(status, pod.get("spec") or {})
    errors += _validate_addresses(status, before)
    for kind in _LISTS:
        errors += _validate_users(status.get(kind) or [], f"status.{kind}")
    return errors


def agree_on_addresses(status: dict[str, Any]) -> None:
    """The single address and the list say the same; the single one wins."""
    single, listed = status.get("podIP"), status.get("podIPs")
    if single and (not listed or listed[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif listed and not single:
        status["podIP"] = listed[0].get("ip", "")


def _keep_generations(status: dict[str, Any], before: Object) -> None:
    """Writers that know nothing of generations do not erase them."""
    if not status.get("observedGeneration") and before.get("observedGeneration"):
        status["observedGeneration"] = before["observedGeneration"]
    known: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        known.setdefault(condition.get("type", ""), []).append(
            condition.get("observedGeneration") or 0
        )
    for condition in status.get("conditions") or ():
        generations = known.get(condition.get("type", "")) or [0]
        generation = generations.pop(0)
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def _validate_conditions(conditions: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    for index, condition in enumerate(conditions):
        below, kind = f"{path}[{index}]", condition.get("type", "")
        if (generation := condition.get("observedGeneration") or 0) < 0:
            errors.append(fields.wrong(f"{below}.observedGeneration", generation, _NOT_NEGATIVE))
        if kind not in ("PodScheduled", "Ready", "Initialized"):
            errors += wrongs(f"{below}.Type", kind, names.qualified_name(kind))
    return errors


def _validate_transitions(status: Object, before: Object, spec: Object) -> Errors:
    """A container that ended stays ended, unless its pod restarts such containers."""
    errors: Errors = []
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if is_sidecar(c)}
    for kind in _LISTS:
        policy = "Never" if kind == "ephemeralContainerStatuses" else spec.get("restartPolicy")
        if policy == "Always":
            continue
        states = {c.get("name"): c.get("state") or {} for c in status.get(kind) or ()}
        for index, container in enumerate(before.get(kind) or ()):
            ended = (container.get("state") or {}).get("terminated")
            name = container.get("name")
            if ended is None or (kind == "initContainerStatuses" and name in sidecars):
                continue
            if policy == "OnFailure" and ended.get("exitCode"):
                continue
            if name in states and states[name].get("terminated") is None:
                why = "may not be transitioned to non-terminated state"
                errors.append(fields.forbidden(f"status.{kind}[{index}].state", why))
    return errors


def _validate_claim_statuses(status: Object, spec: Object) -> Errors:
    errors: Errors = []
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        path, name = f"status.resourceClaimStatuses[{index}].name", claim.get("name", "")
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(fields.wrong(path, name, why))
        if name in seen:
            errors.append(fields.duplicate(path, name))
        seen.add(name)
        if (reference := claim.get("resourceClaimName")) is not None:
            errors += wrongs(path, reference, names.dns1123_subdomain(reference))
    return errors


def _validate_addresses(status: Object, before: Object) -> Errors:
    errors = _validate_list(status, before, "podIPs", "PodIP")
    hosts = status.get("hostIPs") or []
    if hosts and status.get("hostIP", "") != hosts[0].get("ip"):
        why = "must be equal to `hostIP`"
        errors.append(fields.wrong("status.hostIPs[0].ip", hosts[0].get("ip", ""), why))
    return errors + _validate_list(status, before, "hostIPs", "HostIP")


def _validate_list(status: Object, before: Object, kind: str, inner: str) -> Errors:
    listed = status.get(kind) or []
    known = {entry.get("ip") for entry in before.get(kind) or ()}
    errors: Errors = []
    for index, entry in enumerate(listed):
        address = entry.get("ip", "")
        if address not in known:
            errors += wrongs(f"status.{kind}[{index}]", address, names.ip_address(address))
    unreadable = [i for i, e in enumerate(listed) if names.parse_ip(e.get("ip", "")) is None]
    if len(listed) > 1 and unreadable:
        which = unreadable[0]
        problem = f"invalid IP[{which}]: {listed[which].get('ip', '')}"
        why = f"failed to check for dual stack with error:{problem}"
        errors.append(fields.FieldError("InternalError", f"status.{kind}", "", why))
    families = {":" in entry.get("ip", "") for entry in listed}
    if len(listed) > 2 or (len(listed) == 2 and len(families) < 2):
        why = "may specify no more than one IP for each IP family"
        shown = [show_internal(inner, entry) for entry in listed]
        errors.append(fields.wrong(f"status.{kind}", shown, why))
    return errors


def _validate_users(statuses: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    for index, container in enumerate(statuses):
        user = (container.get("user") or {}).get("linux")
        if user is None:
            continue
        below = f"{path}[{index}].user.linux"
        for name in ("uid", "gid"):
            value = user.get(name) or 0
            errors += wrongs(f"{below}.{name}", value, names.user_id(value))
        for number, group in enumerate(user.get("supplementalGroups") or ()):
            errors += wrongs(f"{below}.supplementalGroups[{number}]", group, names.group_id(group))
    return errors
