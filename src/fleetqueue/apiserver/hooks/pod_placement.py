"""What pods and nodes get for scheduling: tolerations, a runtime's demands, a first taint."""

from typing import Any

from fleetqueue.apiserver.builtin.checks import same
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.refusals import refuse

Object = dict[str, Any]

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS = 300
RUNTIMES = "runtimeclasses.node.k8s.io"
MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
UNFOUNDED = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class DefaultTolerationSeconds(Hook):
    """A pod stays five minutes on a node that is in trouble, unless it says otherwise."""

    resources = (("", "pods"),)

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "pods" or operation.group or operation.subresource:
            return
        if operation.obj is None:
            return
        spec = operation.obj["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [key for key in (NOT_READY, UNREACHABLE) if not _tolerates(tolerations, key)]
        if missing:
            spec["tolerations"] = [*tolerations, *(_toleration(key) for key in missing)]


class TaintNodes(Hook):
    """A new node takes no pods until somebody has seen it ready."""

    resources = (("", "nodes"),)

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "nodes" or not operation.concerns("", "nodes", "CREATE"):
            return
        assert operation.obj is not None
        spec = operation.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any((t.get("key"), t.get("effect")) == (NOT_READY, "NoSchedule") for t in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]


class RuntimeClasses(Hook):
    """A pod takes the overhead, node selector and tolerations of its runtime class."""

    resources = (("", "pods"),)

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "pods" or not operation.concerns("", "pods", "CREATE"):
            return
        runtime = self._runtime(operation)
        if runtime is None:
            return
        assert operation.obj is not None
        spec = operation.obj["spec"]
        overhead = (runtime.get("overhead") or {}).get("podFixed")
        if overhead:
            if spec.get("overhead") and not same(overhead, spec["overhead"], "overhead"):
                raise refuse(operation, MISMATCH)
            spec["overhead"] = dict(overhead)
        _follow_scheduling(operation, spec, runtime.get("scheduling") or {})

    def validate(self, operation: Operation) -> None:
        if operation.resource != "pods" or not operation.concerns("", "pods", "CREATE"):
            return
        assert operation.obj is not None
        spec = operation.obj["spec"]
        if "overhead" not in spec and spec.get("runtimeClassName") is None:
            return
        runtime = self._runtime(operation) or {}
        wanted = (runtime.get("overhead") or {}).get("podFixed")
        if wanted and not same(wanted, spec.get("overhead") or {}, "overhead"):
            raise refuse(operation, MISMATCH)
        if not wanted and spec.get("overhead"):
            raise refuse(operation, UNFOUNDED)

    def _runtime(self, operation: Operation) -> Object | None:
        assert operation.obj is not None
        name = operation.obj["spec"].get("runtimeClassName")
        if name is None:
            return None
        latest = self._core.store.latest(RUNTIMES, name)
        if latest is None:
            raise refuse(operation, f'pod rejected: RuntimeClass "{name}" not found')
        return self._core.store.decoded(latest)


def _tolerates(tolerations: list[Object], key: str) -> bool:
    return any(
        toleration.get("key") in (key, None, "")
        and toleration.get("effect") in ("NoExecute", None, "")
        for toleration in tolerations
    )


def _toleration(key: str) -> Object:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": TOLERATION_SECONDS,
    }


def _follow_scheduling(operation: Operation, spec: Object, scheduling: Object) -> None:
    own = spec.get("nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if own.get(key, value) != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
            raise refuse(operation, why)
        own = {**own, key: value}
    if own:
        spec["nodeSelector"] = own
    tolerations = spec.get("tolerations") or []
    fresh = [t for t in scheduling.get("tolerations") or () if t not in tolerations]
    if fresh:
        spec["tolerations"] = [*tolerations, *fresh]
