"""The scale subresource: replica counts of any scalable kind, shown and changed as a Scale."""

from collections.abc import Callable
from functools import cache
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.api import selectors
from fleetqueue.apiserver import bodies, problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import private
from fleetqueue.apiserver.merge import scale as shared
from fleetqueue.apiserver.registry import Scale
from fleetqueue.apiserver.schema import decoding
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.base import jsonpath, paths

Object = dict[str, Any]
Change = Callable[[Object], Object]

BUILTIN = Scale(".spec.replicas", ".status.replicas", ".status.selector")
SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def read_scale(call: Call, obj: Object) -> Object:
    """The Scale of an object; a custom one without spec.replicas has none."""
    where = call.version.scale or BUILTIN
    replicas = _at(obj, where.spec_replicas)
    if replicas is None and call.resource.is_custom and call.route.verb == "get":
        raise problems.internal(f'the spec replicas field "{where.spec_replicas}" does not exist')
    metadata = {k: v for k, v in obj["metadata"].items() if k in SHOWN_METADATA}
    status: Object = {"replicas": _at(obj, where.status_replicas) or 0}
    selector = _selector(call, obj, where)
    if selector:
        status["selector"] = selector
    spec = {"replicas": replicas} if replicas else {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def scaled(call: Call, old: Object, change: Change) -> Object:
    """The parent object after `change` was made to its Scale."""
    before = read_scale(call, old)
    paths_of = _replica_paths(call)
    managers = old["metadata"].get("managedFields") or []
    before["metadata"]["managedFields"] = shared.to_scale(managers, paths_of)
    scale = change(before)
    spec, metadata = scale.get("spec") or {}, scale.get("metadata") or {}
    replicas = spec.get("replicas", 0)
    _check(call, scale, replicas)
    where = call.version.scale or BUILTIN
    obj = private(old)
    paths.set_in_place(obj, where.spec_replicas.lstrip("."), replicas)
    kept = shared.to_parent(
        metadata.get("managedFields") or [], managers, call.api_version, paths_of
    )
    if kept:
        obj["metadata"]["managedFields"] = kept
    obj["metadata"].pop("resourceVersion", None)
    if metadata.get("resourceVersion"):
        obj["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    return obj


def with_replicas(call: Call, obj: Object, scale: Object) -> Object:
    where = call.version.scale or BUILTIN
    changed = private(obj)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    paths.set_in_place(changed, where.spec_replicas.lstrip("."), replicas)
    return changed


@cache
def node() -> Node:
    return decoding.node_of("io.k8s.api.autoscaling.v1.Scale")


def _replica_paths(call: Call) -> shared.ReplicaPaths:
    """Where each version keeps its replicas."""
    return {
        call.resource.api_version(version.name): _field_path(version.scale)
        for version in call.resource.versions.values()
    }


def _field_path(scale: Scale | None) -> tuple[str, ...]:
    where = scale or BUILTIN
    return tuple(f"f:{part}" for part in where.spec_replicas.strip(".").split("."))


def _check(call: Call, scale: Object, replicas: Any) -> None:
    name = (scale.get("metadata") or {}).get("name")
    if name != call.route.name:
        raise bodies.wrong_name(call, name)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise problems.bad_request(
            'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal '
            "string into Go struct field ScaleSpec.spec.replicas of type int32"
        )
    if replicas < 0 and call.resource.is_custom:
        where = (call.version.scale or BUILTIN).spec_replicas
        error = fields.wrong(where, replicas, "should be a non-negative integer")
        raise problems.invalid(call.resource.group, call.version.kind, call.route.name, [error])
    if replicas < 0:
        error = fields.wrong("spec.replicas", replicas, "must be greater than or equal to 0")
        raise problems.invalid("autoscaling", "Scale", call.route.name, [error])


def _at(obj: Object, path: str) -> Any:
    return jsonpath.parse(path).first(obj)


def _selector(call: Call, obj: Object, where: Scale) -> str:
    if call.resource.is_custom:
        return str(_at(obj, where.selector) or "") if where.selector else ""
    selector = (obj.get("spec") or {}).get("selector")
    if not selector:
        return ""
    if call.resource.kind == "ReplicationController":
        return ",".join(f"{name}={value}" for name, value in sorted(selector.items()))
    return str(selectors.labels_from_object(selector))
