"""AppWrappers and their components for tests."""

import copy
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.support import operators

from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Plan, title
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import app_wrapper
from fleetqueue.runtime.operators.app_wrapper_components import make_component
from fleetqueue.runtime.operators.app_wrapper_pod_sets import pod_sets_of
from fleetqueue.runtime.operators.app_wrapper_settings import Settings

GROUP = "workload.codeflare.dev"
CONTAINERS = [{"name": "main", "image": "busybox"}]


def job(name: str = "work", pods: int = 1, **spec: Any) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
    whole = {"parallelism": pods, "completions": pods, "template": template, **spec}
    return thing("batch/v1", "Job", name, spec=whole)


def pod(name: str = "alone") -> Object:
    return thing("v1", "Pod", name, spec={"restartPolicy": "Never", "containers": CONTAINERS})


def service(name: str = "door") -> Object:
    return thing("v1", "Service", name, spec={"ports": [{"port": 80}]})


def thing(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest}


def wrapper(*templates: Object, **more: Any) -> Object:
    """As it is stored; `components`, `annotations`, `finalizers` and `status` may be given too."""
    metadata: Object = {"name": "wrap", "namespace": "default", "uid": "uid-1"}
    for part in ("annotations", "finalizers", "labels"):
        if part in more:
            metadata[part] = more.pop(part)
    status = more.pop("status", None)
    given = more.pop("components", [{"template": each} for each in templates or (job(),)])
    made: Object = {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "AppWrapper",
        "metadata": metadata,
        "spec": copy.deepcopy({"components": given, **more}),
    }
    if status is not None:
        made["status"] = status
    return made


def in_phase(parent: Object, phase: str, *deployed: str, **conditions: str) -> Object:
    """The wrapper in a phase, its components deployed or not, with conditions as said:
    `Unhealthy="True 60"` is one that became true 60 seconds ago.
    """
    told = []
    for index, component in enumerate(parent["spec"]["components"]):
        state = deployed[index] if index < len(deployed) else "True"
        entry = {
            "name": component["template"]["metadata"].get("name", ""),
            "kind": component["template"]["kind"],
            "apiVersion": component["template"]["apiVersion"],
            "podSets": pod_sets_of(component),
        }
        if state:
            entry["conditions"] = [_condition("ResourcesDeployed", state)]
        told.append(entry)
    base = {"QuotaReserved": "True", "ResourcesDeployed": "True", **conditions}
    status = {
        "phase": phase,
        "conditions": [_condition(type, text) for type, text in base.items()],
        "componentStatus": told,
    }
    return {**parent, "status": status}


def _condition(type: str, text: str) -> Object:
    status, _, ago = text.partition(" ")
    at = format_time(operators.NOW - timedelta(seconds=int(ago or 0)))
    return {
        "type": type,
        "status": status,
        "reason": "Before",
        "message": "",
        "lastTransitionTime": at,
    }


def component(parent: Object, index: int = 0, **status: Any) -> Object:
    """An object of the wrapper, as it is in the cluster."""
    template = parent["spec"]["components"][index]
    made = make_component(parent, index, pod_sets_of(template))
    made["metadata"]["uid"] = f"uid-component-{index}"
    return {**made, "status": status}


def pods(*phases: str) -> list[Object]:
    """A state is a phase, and an exit code where it ended: `Failed 3`."""
    made = []
    for number, state in enumerate(phases):
        phase, _, code = state.partition(" ")
        one = thing("v1", "Pod", f"pod-{number}", spec={"containers": CONTAINERS})
        one["metadata"] |= {
            "namespace": "default",
            "uid": f"uid-pod-{number}",
            "labels": {"workload.codeflare.dev/appwrapper": "wrap"},
        }
        one["status"] = {"phase": phase}
        if code:
            ended = {"terminated": {"exitCode": int(code)}}
            one["status"]["containerStatuses"] = [{"name": "main", "state": ended}]
        made.append(one)
    return made


def see(
    parent: Object, *components: Object, pods: list[Object] | None = None, after: float = 0.0
) -> Plan:
    look = looked(parent, *components, pods=pods, after=after)
    return app_wrapper.decide(Settings(), look)


def looked(
    parent: Object, *components: Object, pods: list[Object] | None = None, after: float = 0.0
) -> Any:
    look = operators.look(parent, *(pods or ()), after=after)
    return replace(look, observed={title(each): each for each in components})
