"""The objects in an AppWrapper as they are created: marked as its own, with what admission adds."""

from collections.abc import Mapping

from fleetqueue.base import codec
from fleetqueue.kube.plan import owner_reference
from fleetqueue.kube.resources import Object, split_api_version
from fleetqueue.runtime.operators.app_wrapper_pod_sets import pod_template_at

LABEL = "workload.codeflare.dev/appwrapper"
GRANTS_NOTHING = "AppWrappers cannot create objects that grant access"
_ACCESS = "rbac.authorization.k8s.io"


class Conflicting(ValueError):
    """What admission adds contradicts what the component says itself."""


class Withheld(ValueError):
    """Nobody gets such an object through a wrapper."""


def grants_access(template: Object) -> bool:
    """Roles and bindings: an API server lets people grant only what they have themselves, and
    would take us for the one who grants.
    """
    return split_api_version(str(template.get("apiVersion") or ""))[0] == _ACCESS


def make_component(wrapper: Object, index: int, pod_sets: list[Object]) -> Object:
    """It says in which namespace it is, so that it is made there or not at all."""
    component = wrapper["spec"]["components"][index]
    if grants_access(component["template"]):
        raise Withheld(GRANTS_NOTHING)
    made: Object = codec.copy(component["template"])
    metadata = made.setdefault("metadata", {})
    ours = {LABEL: wrapper["metadata"]["name"]}
    metadata["labels"] = {**ours, **(metadata.get("labels") or {})}
    metadata["namespace"] = wrapper["metadata"]["namespace"]
    metadata["ownerReferences"] = [owner_reference(wrapper)]
    infos = component.get("podSetInfos") or []
    for number, pod_set in enumerate(pod_sets):
        info = infos[number] if number < len(infos) else {}
        _inject(pod_template_at(made, pod_set["path"]), info, ours)
    return made


def stub_of(wrapper: Object, index: int) -> Object | None:
    """Kind and name of a component; None while no name is known."""
    template = wrapper["spec"]["components"][index]["template"]
    told = (wrapper.get("status") or {}).get("componentStatus") or []
    known = told[index] if index < len(told) else {}
    name = known.get("name") or (template.get("metadata") or {}).get("name")
    if not name or not template.get("apiVersion") or not template.get("kind"):
        return None
    return {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "metadata": {"name": name},
    }


def _inject(template: Object, info: Object, ours: dict[str, str]) -> None:
    metadata = template.get("metadata") or {}
    template["metadata"] = metadata
    spec = template["spec"]
    if info.get("annotations"):
        old = metadata.get("annotations") or {}
        metadata["annotations"] = _joined("annotations", old, info["annotations"])
    labels = {**ours, **(info.get("labels") or {})}
    metadata["labels"] = _joined("labels", metadata.get("labels") or {}, labels)
    if info.get("nodeSelector"):
        old = spec.get("nodeSelector") or {}
        spec["nodeSelector"] = _joined("nodeSelector", old, info["nodeSelector"])
    if info.get("tolerations"):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *info["tolerations"]]
    if info.get("schedulingGates"):
        gates = list(spec.get("schedulingGates") or ())
        known = {gate.get("name") for gate in gates}
        new = [gate for gate in info["schedulingGates"] if gate.get("name") not in known]
        spec["schedulingGates"] = gates + new


def _joined(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    for key in sorted(old.keys() & new.keys()):
        if old[key] != new[key]:
            why = f"conflict for key={key}, value1={old[key]}, value2={new[key]}"
            raise Conflicting(f"conflict updating {what}: {why}")
    return {**old, **new}
