"""Gives containers the default requests and limits of their namespace, and enforces its bounds."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver.builtin.pod_resources import Amounts, read, total
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.refusals import listed, refuse

Object = dict[str, Any]

ANNOTATION = "kubernetes.io/limit-ranger"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))


class LimitRanger(Hook):
    """Looks at pods and claims that are created, claims that change and pods that are resized."""

    resources = (("", "pods"), ("", "persistentvolumeclaims"))

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "pods" or not operation.concerns("", "pods", "CREATE"):
            return
        for limit_range in self._ranges(operation.namespace):
            assert operation.obj is not None
            _set_defaults(operation.obj, limit_range)

    def validate(self, operation: Operation) -> None:
        if operation.resource not in ("pods", "persistentvolumeclaims") or operation.group:
            return
        if operation.obj is None or "deletionTimestamp" in operation.obj["metadata"]:
            return
        find = _finder(operation)
        if find is None:
            return
        for limit_range in self._ranges(operation.namespace):
            if reasons := find(operation.obj, limit_range):
                raise refuse(operation, listed(reasons))

    def _ranges(self, namespace: str) -> Iterator[Object]:
        table = self._core.store.table("limitranges")
        if not table.live:
            return
        for key in table.select(f"{namespace}/"):
            yield self._core.store.decoded(table.live[key])


Find = Callable[[Object, Object], list[str]]


def _finder(operation: Operation) -> Find | None:
    if operation.resource == "pods":
        is_resize = operation.verb == "UPDATE" and operation.subresource == "resize"
        is_create = operation.verb == "CREATE" and not operation.subresource
        return pod_violations if is_create or is_resize else None
    is_write = operation.verb in ("CREATE", "UPDATE") and not operation.subresource
    return claim_violations if is_write else None


def _limits(limit_range: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (limit_range.get("spec") or {}).get("limits") or []


def _set_defaults(pod: Object, limit_range: Object) -> None:
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for limit in _limits(limit_range):
        if limit.get("type") == "Container":
            limits |= limit.get("default") or {}
            requests |= limit.get("defaultRequest") or {}
    notes: list[str] = []
    for kind, word in _CONTAINERS:
        for container in pod["spec"].get(kind) or ():
            resources = container.setdefault("resources", {})
            for name, defaults, what in (
                ("requests", requests, "request"),
                ("limits", limits, "limit"),
            ):
                have = resources.get(name) or {}
                missing = sorted(defaults.keys() - have.keys())
                if missing:
                    resources[name] = have | {key: defaults[key] for key in missing}
                    notes.append(f"{', '.join(missing)} {what} for {word} {container['name']}")
    if notes:
        metadata = pod["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION: text}


def pod_violations(pod: Object, limit_range: Object) -> list[str]:
    reasons: list[str] = []
    for limit in _limits(limit_range):
        if limit.get("type") == "Container":
            for kind, _ in _CONTAINERS:
                for container in pod["spec"].get(kind) or ():
                    resources = container.get("resources") or {}
                    requests, limits = (
                        read(resources.get("requests")),
                        read(resources.get("limits")),
                    )
                    reasons += _violations(limit, requests, limits)
        elif limit.get("type") == "Pod":
            reasons += _violations(
                limit, _pod_total(pod["spec"], "requests"), _pod_total(pod["spec"], "limits")
            )
    return reasons


def claim_violations(claim: Object, limit_range: Object) -> list[str]:
    requests = read((claim["spec"].get("resources") or {}).get("requests"))
    reasons: list[str] = []
    for limit in _limits(limit_range):
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        of = "PersistentVolumeClaim"
        for name, least in read(limit.get("min")).items():
            reasons += _below(of, name, least, requests.get(name), None)
        for name, most in read(limit.get("max")).items():
            head, asked = f"maximum {name} usage per {of} is {most}", requests.get(name)
            if asked is None:
                reasons.append(f"{head}.  No request is specified")
            elif asked > most:
                reasons.append(f"{head}, but request is {asked}")
    return reasons


def _pod_total(spec: Mapping[str, Any], kind: str) -> Amounts:
    amounts = total(spec, kind)
    own = read((spec.get("resources") or {}).get(kind))
    return amounts | {name: own[name] for name in ("cpu", "memory") if name in own}


def _violations(limit: Mapping[str, Any], requests: Amounts, limits: Amounts) -> list[str]:
    of, reasons = limit["type"], []
    for name, least in read(limit.get("min")).items():
        reasons += _below(of, name, least, requests.get(name), limits.get(name))
    for name, most in read(limit.get("max")).items():
        reasons += _above(of, name, most, requests.get(name), limits.get(name))
    for name, ratio in read(limit.get("maxLimitRequestRatio")).items():
        reasons += _too_far_apart(of, name, ratio, requests.get(name), limits.get(name))
    return reasons


def _below(
    of: str, name: str, least: Quantity, request: Quantity | None, limit: Quantity | None
) -> list[str]:
    head = f"minimum {name} usage per {of} is {least}"
    if request is None:
        return [f"{head}.  No request is specified"]
    if request < least:
        return [f"{head}, but request is {request}"]
    if limit is not None and limit < least:
        return [f"{head}, but limit is {limit}"]
    return []


def _above(
    of: str, name: str, most: Quantity, request: Quantity | None, limit: Quantity | None
) -> list[str]:
    head = f"maximum {name} usage per {of} is {most}"
    if limit is None:
        return [f"{head}.  No limit is specified"]
    if limit > most:
        return [f"{head}, but limit is {limit}"]
    if request is not None and request > most:
        return [f"{head}, but request is {request}"]
    return []


def _too_far_apart(
    of: str, name: str, most: Quantity, request: Quantity | None, limit: Quantity | None
) -> list[str]:
    head = f"{name} max limit to request ratio per {of} is {most}"
    if not request:
        return [f"{head}, but no request is specified or request is 0"]
    if not limit:
        return [f"{head}, but no limit is specified or limit is 0"]
    ratio = limit.milli_value() / request.milli_value()
    if ratio * 1000 > most.milli_value():
        return [f"{head}, but provided ratio is {ratio:f}"]
    return []
