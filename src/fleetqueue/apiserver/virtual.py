"""Resources that are never stored: access reviews, token reviews, bindings, component statuses."""

from collections.abc import Awaitable, Callable
from typing import Any

from fleetqueue.apiserver import bodies, forms, problems
from fleetqueue.apiserver.access import reviews, token_reviews
from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.call import Call, check_options
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.merge import managed
from fleetqueue.apiserver.pod_actions import PodActions, created
from fleetqueue.apiserver.reads import Page, Reader, written
from fleetqueue.apiserver.request import Response

Object = dict[str, Any]

COMPONENTS = ("controller-manager", "etcd-0", "scheduler")
REVIEWS = frozenset(
    (
        "tokenreviews",
        "selfsubjectreviews",
        "subjectaccessreviews",
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
    )
)


class VirtualResources:
    """Answers for the kinds that exist only in their answers."""

    def __init__(self, core: Core, gate: Gate, pods: PodActions) -> None:
        self._core = core
        self._gate = gate
        self._pods = pods
        self._reader = Reader(core)
        self._answers: dict[str, Callable[[Call], Awaitable[Response]]] = {
            "bindings": self._bind,
            "componentstatuses": self._components,
        }

    def serves(self, call: Call) -> bool:
        if call.resource.is_custom:
            return False
        return call.resource.plural in REVIEWS or call.resource.plural in self._answers

    async def answer(self, call: Call) -> Response:
        if call.route.verb not in call.version.verbs:
            raise problems.wrong_method()
        if call.resource.plural in REVIEWS:
            return await self._review(call)
        return await self._answers[call.resource.plural](call)

    async def _review(self, call: Call) -> Response:
        check_options(call, "CreateOptions")
        form = forms.choose(call)
        if form.transform:
            accepted = ", ".join(forms.SUPPORTED)
            raise problems.not_acceptable(
                f"only the following media types are accepted: {accepted}"
            )
        obj, found = bodies.read_object(call)
        bodies.check_identity(call, obj)
        obj, unknown = call.version.shape.clean(obj)
        bodies.report_unknown(call, found + unknown)
        if call.resource.namespaced:
            bodies.check_namespace(call, obj)
        self._note_manager(call, obj)
        operation = created(call, obj)
        await self._core.hooks.mutate(operation)
        answer = self._reviewed(call, operation.obj or obj)
        # After what is wrong with the review itself.
        await self._core.hooks.validate(operation)
        return written(form, answer, 201)

    def _note_manager(self, call: Call, obj: Object) -> None:
        """Reviews are not stored, but the answer tells who set what, as for any object."""
        entries = managed.track_update(
            None,
            obj,
            call.version.shape.node,
            manager=call.manager,
            api_version=call.api_version,
            subresource="",
            now=self._core.now(),
        )
        if entries:
            obj["metadata"]["managedFields"] = entries

    def _reviewed(self, call: Call, obj: Object) -> Object:
        gate, user = self._gate, call.user
        match call.version.kind:
            case "TokenReview":
                return token_reviews.token_review(obj, gate.authenticator)
            case "SelfSubjectReview":
                return token_reviews.self_subject_review(user, self._core.clock.now())
            case "SubjectAccessReview":
                return reviews.subject_access_review(obj, gate.allowed)
            case "LocalSubjectAccessReview":
                return reviews.local_subject_access_review(obj, call.route.namespace, gate.allowed)
            case "SelfSubjectAccessReview":
                return reviews.self_subject_access_review(obj, user, gate.allowed)
            case _:
                return reviews.self_subject_rules_review(obj, user, gate.rbac)

    async def _bind(self, call: Call) -> Response:
        body, found = bodies.read_object(call)
        body, unknown = call.version.shape.clean(body)
        bodies.report_unknown(call, found + unknown)
        name = (body.get("metadata") or {}).get("name") or ""
        pods = self._core.registry.find("", "v1", "pods")
        assert pods is not None
        route = call.route._replace(resource="pods", name=name, subresource="binding")
        one = Call(call.request, route, call.user, pods, pods.versions["v1"])
        operation = created(call, body)
        operation.name = name
        return await self._pods.bind(one, body, operation)

    async def _components(self, call: Call) -> Response:
        """Long deprecated upstream, but `kubectl get cs` still asks."""
        form = forms.choose(call)
        call.warn("v1 ComponentStatus is deprecated in v1.19+")
        items = [_component(name) for name in COMPONENTS]
        if call.route.verb == "get":
            for item in items:
                if item["metadata"]["name"] == call.route.name:
                    obj = {"kind": "ComponentStatus", "apiVersion": "v1", **item}
                    return self._reader.shown(call, form, obj)
            raise problems.not_found("", "componentstatus", call.route.name)
        return self._reader.listed(call, form, items, Page([], 0))


def _component(name: str) -> Object:
    return {
        "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
    }
