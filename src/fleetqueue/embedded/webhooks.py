"""The webhooks that kinds declare, asked by the API server of the same process.

A refusal reads as if the operator's own webhook had sent it.
"""

import copy
from collections.abc import Hashable, Sequence
from typing import Any

from fleetqueue.api.field_errors import FieldError, aggregate
from fleetqueue.api.owners import controller_uid
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.attributes import Attributes
from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.registry import Resource as Served
from fleetqueue.kube.resources import Resource, split_api_version
from fleetqueue.kube.sources import Index, owner_name, owner_names
from fleetqueue.kube.webhook_rules import Asked, Webhook, scaled

Object = dict[str, Any]


class DeclaredHook(Hook):
    """Asks one kind's webhook."""

    def __init__(self, webhook: Webhook, core: Core, gate: Gate) -> None:
        self._webhook = webhook
        self._core = core
        self._gate = gate
        self._source = Stored(core)
        self.resources = {(webhook.kind.group, webhook.kind.plural)}

    def mutate(self, operation: Operation) -> None:
        webhook = self._webhook
        is_due = operation.verb == "CREATE" or webhook.defaults_updates
        if webhook.default is None or not is_due or not self._concerns(operation):
            return
        asked, written = self._asked(operation), operation.obj
        assert written is not None
        is_other_version = asked.obj is not written
        seen = copy.deepcopy(asked.obj) if is_other_version else None
        webhook.default(asked)
        for text in asked.warnings:
            operation.call.warn(text)
        # What the other version cannot say is kept where nothing was changed.
        if is_other_version and asked.obj != seen:
            _become(written, self._converted(operation, asked.obj, written["apiVersion"]))
        if operation.call.resource.is_custom:
            # What its definition does not know is not kept, whoever wrote it.
            kept, unknown = operation.call.version.shape.clean(written)
            if unknown:
                _become(written, kept)

    def validate(self, operation: Operation) -> None:
        webhook, part = self._webhook, operation.subresource
        of_scale = part == "scale" and webhook.validates_scale
        of_part = of_scale or (part == "status" and webhook.validates_status)
        if webhook.validate is None or not self._concerns(operation, of_part):
            return
        asked = self._asked_of_scale(operation) if of_scale else self._asked(operation)
        if asked is None:
            return
        errors = webhook.validate(asked)
        for text in asked.warnings:
            operation.call.warn(text)
        if errors:
            raise denial(webhook, operation.name, errors)

    def _concerns(self, operation: Operation, of_part: bool = False) -> bool:
        is_whole = not operation.subresource
        return operation.verb in ("CREATE", "UPDATE") and (is_whole or of_part)

    def _asked(self, operation: Operation) -> Asked:
        assert operation.obj is not None
        version, old = self._webhook.kind.api_version, operation.old
        return self._about(
            operation,
            self._converted(operation, operation.obj, version),
            None if old is None else self._converted(operation, old, version),
        )

    def _asked_of_scale(self, operation: Operation) -> Asked | None:
        assert operation.obj is not None
        found = scaled(self._source, self._webhook.kind, operation.obj)
        return None if found is None else self._about(operation, *found)

    def _about(self, operation: Operation, obj: Object, old: Object | None) -> Asked:
        user = operation.call.user

        def may(verb: str, kind: Resource, namespace: str) -> bool:
            wanted = Attributes(user, verb, kind.group, kind.version, kind.plural, "", namespace)
            return self._gate.allowed(wanted).allowed

        return Asked(
            obj=obj,
            old=old,
            now=self._core.clock.now(),
            source=self._source,
            user=user.name,
            uid=user.uid,
            may=may,
            served=self._source.served,
        )

    def _converted(self, operation: Operation, obj: Object, version: str) -> Object:
        """A webhook sees its own version of an object, whichever one was written."""
        return self._core.convert_now(operation.call.resource, obj, version)


def _become(written: Object, other: Object) -> None:
    written.clear()
    written.update(other)


def denial(webhook: Webhook, name: str, errors: Sequence[FieldError]) -> problems.ApiError:
    head = f'admission webhook "{webhook.name}" denied the request: '
    if webhook.refuses_as == "Forbidden":
        return problems.ApiError(403, "Forbidden", head + aggregate(errors))
    refusal = problems.invalid(webhook.kind.group, webhook.kind.kind, name, errors)
    refusal.message = head + refusal.message
    return refusal


class Stored:
    """What a webhook may look at: the objects as they are stored."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def get(self, kind: Resource, namespace: str, name: str) -> Object | None:
        resource = self._served(kind)
        if resource is None:
            return None
        found = self._core.store.get(resource.table, resource.key(namespace, name))
        return None if found is None else self._core.store.decoded(found)

    def all(self, kind: Resource, namespace: str) -> list[Object]:
        resource = self._served(kind)
        if resource is None:
            return []
        prefix = f"{namespace}/" if namespace else ""
        store = self._core.store
        found = store.range_at(resource.table, prefix, store.revision)
        return [store.decoded(stored) for stored in found]

    def served(self, api_version: str, kind: str) -> Resource | None:
        group, version = split_api_version(api_version)
        found = self._core.registry.by_kind(group, kind)
        if found is None or all(each.name != version for each in found.served):
            return None
        return Resource(group, version, found.plural, kind, found.namespaced)

    def _served(self, kind: Resource) -> Served | None:
        registry = self._core.registry
        if kind.is_guess:
            return registry.by_kind(kind.group, kind.kind)
        return registry.find(kind.group, kind.version, kind.plural)

    def controlled(self, kind: Resource, uid: str, namespace: str) -> list[Object]:
        return [obj for obj in self.all(kind, namespace) if controller_uid(obj) == uid]

    def orphans(self, kind: Resource, namespace: str) -> list[Object]:
        return [obj for obj in self.all(kind, namespace) if not controller_uid(obj)]

    def left(self, kind: Resource, owner: Object) -> list[Object]:
        namespace = str(owner["metadata"].get("namespace") or "")
        wanted = owner_name(owner)
        return [obj for obj in self.all(kind, namespace) if owner_names(obj) == wanted]

    def found(self, index: Index, value: Hashable) -> list[Object]:
        return [obj for obj in self.all(index.kind, "") if value in index.values(obj)]
