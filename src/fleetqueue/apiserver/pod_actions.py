"""What pods and service accounts offer beyond their objects: eviction, binding, tokens, logs, exec.

The last ones need somebody who runs pods; without a runtime they say so.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from fleetqueue.api import field_errors as fields
from fleetqueue.api import selectors
from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver import bodies, problems
from fleetqueue.apiserver.access.token_reviews import default_token_request
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core, ordered, private
from fleetqueue.apiserver.deletes import Deleter, Options, options_from
from fleetqueue.apiserver.elsewhere import PodElsewhere
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.log_options import check_log_options
from fleetqueue.apiserver.merge import managed
from fleetqueue.apiserver.proxy_names import split_target
from fleetqueue.apiserver.request import Response
from fleetqueue.apiserver.shapes import BuiltinShape
from fleetqueue.apiserver.strategy import STATUS
from fleetqueue.apiserver.writes import Writer

Object = dict[str, Any]
Action = Callable[[Call], Awaitable[Response]]

TOKEN_REQUEST = "io.k8s.api.authentication.v1.TokenRequest"
BINDING_KIND = ("", "v1", "Binding")
TOKEN_KIND = ("authentication.k8s.io", "v1", "TokenRequest")
EVICTION_KIND = ("policy", "v1", "Eviction")
EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
OVER_BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."
BUDGETS = "poddisruptionbudgets.policy"
CONNECTIONS = ("log", "exec", "attach", "portforward", "proxy")


class PodRuntime(Protocol):
    """Whoever runs the pods: it answers logs, exec, attach, port-forward and proxy."""

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
        self._internal = Internal(core, writer, deleter)
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
        found = await self._elsewhere(call)
        obj = self._existing(call) if found is None else found.pod
        operation = Operation(
            "CONNECT", call, call.route.name, None, None, {}, call.route.subresource
        )
        if call.route.subresource != "log":
            await self._core.hooks.mutate(operation)
            await self._core.hooks.validate(operation)
        if call.route.subresource == "log":
            check_log_options(call)
        if call.route.subresource in ("log", "exec", "attach"):
            _check_container(call, obj)
        if found is not None:
            return await found.connect(call)
        if call.resource.plural == "pods" and not (obj.get("spec") or {}).get("nodeName"):
            if call.route.subresource == "log":
                return Response(204, body=b"", content_type="")
            if call.route.subresource == "proxy":
                raise problems.bad_request("address not allowed")
            raise problems.bad_request(f"pod {call.route.name} does not have a host assigned")
        if self._core.runtime is None:
            raise problems.service_unavailable(
                f'nothing runs the pods of this server, so "{call.route.subresource}" has no '
                "answer: start it with its runtime"
            )
        return await self._core.runtime.connect(call, obj, call.user)

    async def _elsewhere(self, call: Call) -> PodElsewhere | None:
        """A pod of another cluster; one that has a node here is never looked for there."""
        elsewhere, route = self._core.elsewhere, call.route
        if elsewhere is None or call.resource.plural != "pods" or route.subresource == "proxy":
            return None
        here = self._core.get(call.resource.table, call.key)
        if here is not None and (here.get("spec") or {}).get("nodeName"):
            return None
        return await elsewhere.find(call)

    def _existing(self, call: Call) -> Object:
        """The object that is meant; a proxy's name may say more than that."""
        name = call.route.name
        if call.route.subresource == "proxy":
            name = split_target(call).name
        key = call.resource.key(call.route.namespace, name)
        stored = self._core.store.get(call.resource.table, key)
        if stored is None:
            raise problems.not_found(call.resource.group, call.resource.plural, name)
        return self._core.store.decoded(stored)

    # Tokens

    async def _token(self, call: Call) -> Response:
        shape = BuiltinShape(TOKEN_REQUEST, "TokenRequest", "v1")
        body = _read(call, shape)
        default_token_request(body)
        operation = created(call, body, TOKEN_KIND)
        await self._core.hooks.mutate(operation)
        assert operation.obj is not None
        owned = managed.track_update(
            None,
            operation.obj,
            shape.node,
            manager=call.manager,
            api_version="authentication.k8s.io/v1",
            subresource="token",
            now=self._core.now(),
        )
        assert self._core.tokens is not None
        issued = self._core.tokens.issue(call, operation.obj)
        # After what is wrong with the request itself; nobody has the token yet.
        await self._core.hooks.validate(operation)
        if owned:
            issued["metadata"]["managedFields"] = owned
        return Response(201, object=issued)

    # Binding

    async def _bind(self, call: Call) -> Response:
        body = _read(call, BuiltinShape("io.k8s.api.core.v1.Binding", "Binding", "v1"))
        name = (body.get("metadata") or {}).get("name") or call.route.name
        if name != call.route.name:
            raise problems.bad_request("name in URL does not match name in Binding object")
        return await self.bind(call, body, created(call, body, BINDING_KIND))

    async def bind(self, call: Call, binding: Object, operation: Operation) -> Response:
        """`call`: about the binding of one pod; `operation`: as hooks see what was asked."""
        target = binding.get("target") or {}
        if target.get("kind") not in (None, "", "Node"):
            raise _plain(_unsupported_kind(str(target.get("kind"))))
        if not target.get("name"):
            raise _plain(_no_target())
        await self._core.hooks.mutate(operation)
        await self._core.hooks.validate(operation)
        await self._put_bound(call, operation.obj or binding)
        return Response(201, object=_success())

    async def _put_bound(self, call: Call, binding: Object) -> None:
        """A binding is the server's own doing: no field manager comes to own what it sets."""
        core, table = self._core, call.resource.table
        live = core.store.latest(table, call.key)
        if live is None:
            raise call.not_found()
        pod = self._bound(call, core.live(call.resource, live), binding)
        if not call.is_dry_run:
            await core.store.put(table, call.key, ordered(pod, call.resource))

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
        body = _read(call, BuiltinShape("io.k8s.api.policy.v1.Eviction", "Eviction", "v1"))
        named = (body.get("metadata") or {}).get("name")
        if named != call.route.name:
            raise problems.bad_request("name in URL does not match name in Eviction object")
        operation = created(call, body, EVICTION_KIND)
        await self._core.hooks.mutate(operation)
        await self._core.hooks.validate(operation)
        asked = dict((operation.obj or {}).get("deleteOptions") or {})
        if call.is_dry_run:
            asked["dryRun"] = ["All"]
        options = options_from(asked)
        pod = self._existing(call)
        if not _ignores_budgets(pod):
            await self._spend_budget(call, pod, is_dry_run=bool(options.raw.get("dryRun")))
        return await self._delete_evicted(call, options)

    async def _delete_evicted(self, call: Call, options: Options) -> Response:
        asked = options.raw.get("preconditions") or {}
        if not options.raw.get("dryRun") and not asked.get("resourceVersion"):
            await self._mark_evicted(call, asked.get("uid"))
        plain = call.route._replace(subresource="", verb="delete")
        await self._deleter.delete(
            Call(call.request, plain, call.user, call.resource, call.version), options
        )
        return Response(201, object=_success())

    async def _mark_evicted(self, call: Call, uid: str | None) -> None:
        """Whoever made the pod can tell from this that it did not fail by itself."""

        def mark(pod: Object) -> None:
            if uid in (None, "", pod["metadata"]["uid"]):
                _set_condition(pod, EVICTED, self._core.now())

        await self._internal.edit(
            call.resource,
            call.route.namespace,
            call.route.name,
            mark,
            aspect=STATUS,
            manager="kube-apiserver",
        )

    async def _spend_budget(self, call: Call, pod: Object, *, is_dry_run: bool) -> None:
        budgets = self._budgets(call.route.namespace, pod)
        if not budgets:
            return
        if len(budgets) > 1:
            raise problems.ApiError(
                500,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction "
                "subresource does not support.",
            )
        budget = budgets[0]
        if _is_unhealthy_enough(pod, budget):
            return
        status = budget.get("status") or {}
        if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
            name = budget["metadata"]["name"]
            raise _too_many(
                f"The disruption budget {name} is still being processed by the server.", 10
            )
        if status.get("disruptionsAllowed", 0) <= 0:
            raise _over_budget(budget)
        if not is_dry_run:
            await self._note_disruption(call, budget)

    def _budgets(self, namespace: str, pod: Object) -> list[Object]:
        labels = pod["metadata"].get("labels") or {}
        store = self._core.store
        found = []
        for stored in store.range_at(BUDGETS, f"{namespace}/", store.revision):
            budget = store.decoded(stored)
            selector = (budget.get("spec") or {}).get("selector")
            if selector is not None and selectors.labels_from_object(selector).matches(labels):
                found.append(budget)
        return found

    async def _note_disruption(self, call: Call, budget: Object) -> None:
        resource = self._core.registry.by_kind("policy", "PodDisruptionBudget")
        assert resource is not None

        def spend(budget: Object) -> None:
            status = budget["status"]
            if status.get("disruptionsAllowed", 0) <= 0:
                # Another eviction was faster.
                raise _over_budget(budget)
            status["disruptionsAllowed"] -= 1
            status.setdefault("disruptedPods", {})[call.route.name] = self._core.now()
            if not status["disruptionsAllowed"]:
                _set_spent(budget, self._core.now())

        name = budget["metadata"]["name"]
        await self._internal.edit(
            resource, call.route.namespace, name, spend, aspect=STATUS, manager="kube-apiserver"
        )


def _read(call: Call, shape: BuiltinShape) -> Object:
    """The body as the kind that this action takes."""
    body, found = bodies.read_object(call)
    obj, unknown = shape.clean(body)
    bodies.report_unknown(call, found + unknown)
    return obj


def created(call: Call, body: Object, kind: tuple[str, str, str] | None = None) -> Operation:
    """What is asked of the server, or of an object, by creating something that is not stored, as
    hooks see it; `kind`: where it is not that of the resource.
    """
    options: Object = {"dryRun": ["All"]} if call.is_dry_run else {}
    name, part = call.route.name, call.route.subresource
    return Operation("CREATE", call, name, body, None, options, part, kind)


def _plain(error: FieldError) -> problems.ApiError:
    """A wrong binding was never answered with more than the words of its error."""
    return problems.ApiError(500, "", str(error))


def _ignores_budgets(pod: Object) -> bool:
    """Pods that are over, going, or not started are evicted whatever the budget says."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _is_unhealthy_enough(pod: Object, budget: Object) -> bool:
    """Whether a pod that is not ready may go without being counted."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted = status.get("desiredHealthy", 0)
    return bool(wanted > 0 and status.get("currentHealthy", 0) >= wanted)


def _set_spent(budget: Object, now: str) -> None:
    """The condition of a budget that allows no more disruptions."""
    conditions = budget["status"].setdefault("conditions", [])
    known = next((c for c in conditions if c.get("type") == "DisruptionAllowed"), None)
    if known is None:
        known = {"type": "DisruptionAllowed", "message": ""}
        conditions.append(known)
    if known.get("status") != "False":
        known["lastTransitionTime"] = now
    known |= {
        "status": "False",
        "reason": "InsufficientPods",
        "observedGeneration": budget["status"].get("observedGeneration", 0),
    }


def _too_many(message: str, retry_seconds: int = 0) -> problems.ApiError:
    error = problems.too_many_requests(OVER_BUDGET, retry_seconds)
    cause = {"reason": "DisruptionBudget", "message": message}
    error.details = {**(error.details or {}), "causes": [cause]}
    return error


def _disrupted(old: Object, pod: str, now: str) -> Object:
    """The budget with one disruption less to give."""
    budget = private(old)
    status = budget["status"]
    status["disruptionsAllowed"] -= 1
    status.setdefault("disruptedPods", {})[pod] = now
    if not status["disruptionsAllowed"]:
        condition = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": status.get("observedGeneration", 0),
            "lastTransitionTime": now,
            "reason": "InsufficientPods",
            "message": "",
        }
        kept = [c for c in status.get("conditions") or () if c["type"] != condition["type"]]
        status["conditions"] = [*kept, condition]
    return budget


def _over_budget(budget: Object) -> problems.ApiError:
    status, name = budget["status"], budget["metadata"]["name"]
    message = (
        f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
        f"and has {status.get('currentHealthy', 0)} currently"
    )
    return _too_many(message)


def _set_condition(pod: Object, condition: Object, now: str) -> None:
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    kept = [c for c in conditions if c.get("type") != condition["type"]]
    fresh = {**condition, "lastProbeTime": None, "lastTransitionTime": now}
    pod["status"]["conditions"] = [*kept, fresh]


def _success() -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _check_container(call: Call, pod: Object) -> None:
    """Whoever names no container means the only one; kubectl names one by itself."""
    spec, wanted = pod.get("spec") or {}, call.request.first("container")
    kinds = ("initContainers", "containers", "ephemeralContainers")
    names = [container["name"] for kind in kinds for container in spec.get(kind) or []]
    if not wanted and len(spec.get("containers") or []) > 1:
        raise problems.bad_request(
            f"a container name must be specified for pod {call.route.name}, "
            f"choose one of: [{' '.join(names)}]"
        )
    if wanted and wanted not in names:
        raise problems.bad_request(f"container {wanted} is not valid for pod {call.route.name}")


def _unsupported_kind(kind: str) -> FieldError:
    return fields.unsupported("target.kind", kind, ["Node", "<empty>"])


def _no_target() -> FieldError:
    return fields.required("target.name")
