"""What pods and service accounts offer beyond their objects: eviction, binding, tokens, logs, exec.

The last ones need somebody who runs pods; without a runtime they say so.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from fleetqueue.api import field_errors as fields
from fleetqueue.api import selectors
from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver import bodies, problems
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core, private
from fleetqueue.apiserver.deletes import Deleter, Options, options_from
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.request import Response
from fleetqueue.apiserver.strategy import Aspect
from fleetqueue.apiserver.writes import Writer

Object = dict[str, Any]
Action = Callable[[Call], Awaitable[Response]]

BINDING = Aspect("binding", lambda obj, old: obj, lambda obj, old: [])
CONNECTIONS = ("log", "exec", "attach", "portforward", "proxy")


class PodRuntime(Protocol):
    """Whoever runs the pods of this server: it answers logs, exec, attach, port-forward and proxy."""

    async def connect(self, call: Call, pod: Object, user: User) -> Response: ...


class TokenIssuer(Protocol):
    """Whoever signs service-account tokens."""

    def issue(self, call: Call, request: Object) -> Object: ...


class PodActions:
    """The actions of one server."""

    def __init__(self, core: Core, writer: Writer, deleter: Deleter) -> None:
        self._core = core
        self._writer = writer
        self._deleter = deleter
        self._actions: dict[tuple[str, str], Action] = {
            ("pods", "eviction"): self._evict,
            ("pods", "binding"): self._bind,
            ("serviceaccounts", "token"): self._token,
        }

    def find(self, call: Call) -> Action | None:
        where = (call.resource.plural, call.route.subresource)
        if call.resource.group:
            return None
        if where[1] in CONNECTIONS:
            return self._connect
        return self._actions.get(where)

    # Logs, exec, attach, port-forward, proxy

    async def _connect(self, call: Call) -> Response:
        obj = self._existing(call)
        operation = Operation(
            "CONNECT", call, call.route.name, None, None, {}, call.route.subresource
        )
        if call.route.subresource != "log":
            await self._core.hooks.mutate(operation)
            await self._core.hooks.validate(operation)
        if call.resource.plural == "pods" and not (obj.get("spec") or {}).get("nodeName"):
            raise problems.bad_request(f"pod {call.route.name} does not have a host assigned")
        if self._core.runtime is None:
            raise problems.service_unavailable(
                f'nothing runs the pods of this server, so "{call.route.subresource}" has no '
                "answer: start it with its runtime"
            )
        return await self._core.runtime.connect(call, obj, call.user)

    def _existing(self, call: Call) -> Object:
        stored = self._core.store.get(call.resource.table, call.key)
        if stored is None:
            raise call.not_found()
        return self._core.store.decoded(stored)

    # Tokens

    async def _token(self, call: Call) -> Response:
        body, _ = bodies.read_object(call)
        assert self._core.tokens is not None
        return Response(201, object=self._core.tokens.issue(call, body))

    # Binding

    async def _bind(self, call: Call) -> Response:
        body, _ = bodies.read_object(call)
        name = (body.get("metadata") or {}).get("name") or call.route.name
        return await self.bind(call, name, body)

    async def bind(self, call: Call, name: str, binding: Object) -> Response:
        target = binding.get("target") or {}
        if target.get("kind") not in (None, "", "Node"):
            raise problems.invalid(
                "", "Binding", name, [_unsupported_kind(str(target.get("kind")))]
            )
        if not target.get("name"):
            raise problems.invalid("", "Binding", name, [_no_target()])
        await self._writer.change(call, BINDING, lambda old: self._bound(call, old, binding))
        return Response(201, object=_success())

    def _bound(self, call: Call, old: Object, binding: Object) -> Object:
        name, node = call.route.name, binding["target"]["name"]
        spec, metadata = old["spec"], old["metadata"]
        why = ""
        if "deletionTimestamp" in metadata:
            why = f"pod {name} is being deleted, cannot be assigned to a host"
        elif spec.get("nodeName"):
            why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        elif spec.get("schedulingGates"):
            why = f"pod {name} has non-empty .spec.schedulingGates"
        if why:
            raise problems.conflict("", "pods/binding", name, why)
        pod = private(old)
        pod["spec"]["nodeName"] = node
        for part in ("labels", "annotations"):
            extra = (binding.get("metadata") or {}).get(part)
            if extra:
                pod["metadata"][part] = {**(pod["metadata"].get(part) or {}), **extra}
        _set_condition(pod, {"type": "PodScheduled", "status": "True"}, self._core.now())
        return pod

    # Eviction

    async def _evict(self, call: Call) -> Response:
        body, _ = bodies.read_object(call)
        named = (body.get("metadata") or {}).get("name")
        if named != call.route.name:
            raise problems.bad_request("name in URL does not match name in Eviction object")
        options = options_from(body.get("deleteOptions") or {})
        pod = self._existing(call)
        if not _ignores_budgets(pod):
            await self._spend_budget(call, pod)
        return await self._delete_evicted(call, options)

    async def _delete_evicted(self, call: Call, options: Options) -> Response:
        plain = call.route._replace(subresource="", verb="delete")
        await self._deleter.delete(
            Call(call.request, plain, call.user, call.resource, call.version), options
        )
        return Response(201, object=_success())

    async def _spend_budget(self, call: Call, pod: Object) -> None:
        budgets = self._budgets(call.route.namespace, pod)
        if not budgets:
            return
        if len(budgets) > 1:
            raise problems.internal(
                "This pod has more than one PodDisruptionBudget, which the eviction "
                "subresource does not support."
            )
        budget = budgets[0]
        status = budget.get("status") or {}
        if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
            raise problems.too_many_requests(
                "Cannot evict pod as it would violate the pod's disruption budget.", 10
            )
        if status.get("disruptionsAllowed", 0) <= 0:
            raise _over_budget(budget)
        if not call.is_dry_run:
            await self._note_disruption(call, budget)

    def _budgets(self, namespace: str, pod: Object) -> list[Object]:
        labels = pod["metadata"].get("labels") or {}
        store = self._core.store
        found = []
        table = "poddisruptionbudgets.policy"
        for stored in store.range_at(table, f"{namespace}/", store.revision):
            budget = store.decoded(stored)
            selector = (budget.get("spec") or {}).get("selector")
            if selector is not None and selectors.labels_from_object(selector).matches(labels):
                found.append(budget)
        return found

    async def _note_disruption(self, call: Call, budget: Object) -> None:
        changed = private(budget)
        status = changed["status"]
        status["disruptionsAllowed"] -= 1
        status.setdefault("disruptedPods", {})[call.route.name] = self._core.now()
        key = f"{call.route.namespace}/{budget['metadata']['name']}"
        await self._core.store.put("poddisruptionbudgets.policy", key, changed)


def _ignores_budgets(pod: Object) -> bool:
    """Pods that are over, going, or not started are evicted whatever the budget says."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _over_budget(budget: Object) -> problems.ApiError:
    status, name = budget["status"], budget["metadata"]["name"]
    error = problems.too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    message = (
        f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
        f"and has {status.get('currentHealthy', 0)} currently"
    )
    error.details = {"causes": [{"reason": "DisruptionBudget", "message": message}]}
    return error


def _set_condition(pod: Object, condition: Object, now: str) -> None:
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    kept = [c for c in conditions if c.get("type") != condition["type"]]
    fresh = {
        "type": condition["type"],
        "status": condition["status"],
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    pod["status"]["conditions"] = [*kept, fresh]


def _success() -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _unsupported_kind(kind: str) -> FieldError:
    return fields.unsupported("target.kind", kind, ["Node", "<empty>"])


def _no_target() -> FieldError:
    return fields.required("target.name")
