"""Create, update, patch and apply: one path from a decoded body to a stored object.

The order of the steps is kube-apiserver's, because clients can tell: decode and default, note who
owns which field, mutating hooks, prepare, validate, validating hooks, store.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from fleetqueue.api import field_errors as fields
from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver import bodies, homes, problems, reshaping
from fleetqueue.apiserver.access.attributes import refusal
from fleetqueue.apiserver.access.gate import Gate, attributes_of
from fleetqueue.apiserver.builtin import objectmeta as object_meta
from fleetqueue.apiserver.call import Call, check_options
from fleetqueue.apiserver.core import Core, ordered, private
from fleetqueue.apiserver.field_owners import FieldOwners
from fleetqueue.apiserver.finalization import may_leave
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.merge import managed
from fleetqueue.apiserver.registry import Resource
from fleetqueue.apiserver.storage import Stored
from fleetqueue.apiserver.strategy import WHOLE, Aspect
from fleetqueue.apiserver.written_metadata import (
    DUPLICATE_OWNERS,
    DUPLICATE_OWNERS_LATER,
    check_version,
    copy_field,
    drop_repeated_owners,
    finalizer_warnings,
    keep_system_fields,
)
from fleetqueue.base import codec

Object = dict[str, Any]
Make = Callable[[Object], Object]
"""(the live object, not to be changed) -> what it should become."""

RETRIES_MAX = 20
MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Written(NamedTuple):
    """What a write left: the stored version, or only the object after a dry run."""

    obj: Object
    """In the version of the request; private to it."""
    stored: Stored | None
    created: bool


class Writer:
    """Carries out writes for one server."""

    def __init__(self, core: Core, gate: Gate) -> None:
        self._core = core
        self._gate = gate
        self.owners = FieldOwners(core)

    # Create

    async def create(self, call: Call) -> Written:
        check_options(call, "CreateOptions")
        obj, found = bodies.read_object(call)
        bodies.check_identity(call, obj)
        obj, unknown = call.version.shape.clean(obj)
        bodies.report_unknown(call, found + unknown)
        bodies.check_namespace(call, obj)
        drop_repeated_owners(call, obj, DUPLICATE_OWNERS)
        return await self.create_object(call, obj)

    async def create_object(self, call: Call, obj: Object, *, owned: bool = False) -> Written:
        """Create from a decoded body. `owned`: its managedFields are set already, by apply."""
        core, resource, version = self._core, call.resource, call.version
        metadata = obj["metadata"]
        for name in ("uid", "creationTimestamp", "selfLink", "deletionTimestamp"):
            metadata.pop(name, None)
        metadata.pop("deletionGracePeriodSeconds", None)
        obj = self._defaulted(call, obj)
        if not owned:
            await self.owners.track(call, None, obj, WHOLE)
        operation = Operation("CREATE", call, metadata.get("name", ""), obj, None, _options(call))
        if await core.hooks.mutate(operation):
            obj = self._defaulted(call, operation.obj or obj)
            bodies.check_namespace(call, obj)
        drop_repeated_owners(call, obj, DUPLICATE_OWNERS_LATER)
        metadata = obj["metadata"]
        self._prepare_create(call, obj)
        errors = self._validate_create(call, obj)
        if errors:
            name = metadata.get("name", "")
            raise problems.invalid(resource.stored_group, version.kind, name, errors)
        for text in [*finalizer_warnings(call, obj, None), *resource.strategy.warnings(obj, None)]:
            call.warn(text)
        obj = call.version.shape.normalise(obj)
        metadata = obj["metadata"]
        operation.obj = obj
        operation.name = metadata["name"]
        self._check_may_create(call)
        await core.hooks.validate(operation)
        version.shape.settle(obj)
        resource.strategy.as_read(obj)
        return await self._insert(call, obj)

    def _check_may_create(self, call: Call) -> None:
        """Who may change something may not make it for that reason."""
        if call.route.verb == "create":
            return
        asked = attributes_of(call.user, call.route._replace(verb="create"), call.request)
        decision = self._gate.allowed(asked)
        if not decision.allowed:
            raise refusal(asked, decision.reason)

    def _prepare_create(self, call: Call, obj: Object) -> None:
        resource, version, metadata = call.resource, call.version, obj["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._core.generate_name(metadata["generateName"])
        metadata["uid"] = self._core.new_uid()
        metadata["creationTimestamp"] = self._core.now()
        if resource.is_custom or resource.strategy.has_generation:
            metadata["generation"] = 1
        if resource.is_custom and resource.has_status(version):
            obj.pop("status", None)
        resource.strategy.prepare_create(obj)

    def _validate_create(self, call: Call, obj: Object) -> list[FieldError]:
        resource = call.resource
        errors = object_meta.validate_object_meta(
            obj["metadata"], resource.namespaced, resource.strategy.validate_name
        )
        errors += resource.strategy.validate_create(obj)
        return errors + call.version.shape.validate(obj, None, status_only=False)

    async def _insert(self, call: Call, obj: Object) -> Written:
        core, resource = self._core, call.resource
        metadata = obj["metadata"]
        if metadata.get("resourceVersion"):
            raise problems.ApiError(
                500, "", "resourceVersion should not be set on objects to be created"
            )
        metadata.pop("resourceVersion", None)
        key = resource.key(call.route.namespace, metadata["name"])
        to_store = await self._to_store(resource, obj)
        homes.check(core, call, metadata["name"])
        existing = core.store.latest(resource.table, key)
        if existing is not None:
            await core.store.settled(resource.table, key)
            raise _exists_already(call, core.live(resource, existing))
        if call.is_dry_run:
            return Written(obj, None, created=True)
        stored = await core.store.put(resource.table, key, to_store)
        return Written(obj, stored, created=True)

    async def _to_store(self, resource: Resource, obj: Object) -> Object:
        """The object in the storage version.

        A webhook may have to be asked, so this comes before the last look at the latest state:
        nothing may wait between that and the store.
        """
        is_converted = obj["apiVersion"] != resource.stored_as
        if is_converted:
            obj = (await self._core.convert(resource, [obj], resource.stored_as))[0]
            obj = {**obj, "metadata": dict(obj["metadata"])}
        if resource.is_custom:
            now = self._core.registry.by_table(resource.table) or resource
            if is_converted or now is not resource:
                # It was checked in another version, or under a definition that has changed since.
                obj = reshaping.shaped(now.versions, obj)
        return ordered(obj, resource)

    # Update

    async def update(self, call: Call, aspect: Aspect) -> Written:
        """PUT: the body replaces the object, or the part of it that the aspect covers."""
        check_options(call, "UpdateOptions")
        body, found = bodies.read_object(call)
        bodies.check_identity(call, body)
        sent = body
        body, unknown = call.version.shape.clean(sent)
        bodies.keep_reset(sent, body)
        bodies.report_unknown(call, found + unknown)
        bodies.check_namespace(call, body)
        name = body["metadata"].get("name")
        if name != call.route.name:
            raise bodies.wrong_name(call, name)
        drop_repeated_owners(call, body, DUPLICATE_OWNERS)
        if self._core.store.latest(call.resource.table, call.key) is None:
            if call.resource.strategy.allow_create_on_update and not aspect.name:
                check_version(body["metadata"].pop("resourceVersion", None))
                return await self.create_object(call, body)
            raise call.not_found()
        self._check_unconditional(call, body)
        return await self.change(call, aspect, _each_time(body))

    def _check_unconditional(self, call: Call, body: Object) -> None:
        if body["metadata"].get("resourceVersion", "0") not in ("", "0"):
            return
        if call.resource.is_custom or not call.resource.strategy.allow_unconditional_update:
            where = fields.wrong(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )._replace(value="0")
            # Here, and only here, kube-apiserver names the resource where the kind should stand.
            raise problems.invalid(
                call.resource.group, call.resource.plural, call.route.name, [where]
            )

    async def change(
        self, call: Call, aspect: Aspect, make: Make, *, owned: bool = False
    ) -> Written:
        """Read, make, check and store, again if somebody else was faster.

        Where the client names the version it read, the next round refuses it.
        """
        core, resource = self._core, call.resource
        for _ in range(RETRIES_MAX):
            live = core.store.latest(resource.table, call.key)
            if live is None:
                raise call.not_found()
            old = await core.in_version(resource, live, call.api_version)
            obj = await self.owners.complete(call, partial(make, old))
            self._check_preconditions(call, obj, old)
            obj = await self._checked(call, aspect, obj, old, owned)
            to_store = await self._to_store(resource, obj)
            if core.store.latest(resource.table, call.key) is live:
                return await self._replace(call, live, obj, old, to_store)
        raise problems.conflict(resource.group, resource.plural, call.route.name, MODIFIED)

    def _check_preconditions(self, call: Call, obj: Object, old: Object) -> None:
        """Refuse a client that names another version than the latest, or another object."""
        resource, wanted = call.resource, obj["metadata"].get("resourceVersion")
        wanted = "" if wanted == "0" else wanted
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            check_version(wanted)
            raise problems.conflict(resource.group, resource.plural, call.route.name, MODIFIED)
        if not wanted:
            obj["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        uid = obj["metadata"].get("uid")
        if call.route.verb == "update" and uid and uid != old["metadata"]["uid"]:
            group = f"{resource.group}/" if resource.is_custom else ""
            why = (
                "StorageError: invalid object, Code: 4, "
                f"Key: /registry/{group}{resource.plural}/{call.key}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
                f"UID in object meta: {old['metadata']['uid']}"
            )
            raise problems.conflict(resource.group, resource.plural, call.route.name, why)

    async def _checked(
        self, call: Call, aspect: Aspect, obj: Object, old: Object, owned: bool
    ) -> Object:
        core, resource, version = self._core, call.resource, call.version
        keep_system_fields(obj["metadata"], old["metadata"])
        obj = self._defaulted(call, obj)
        if owned:
            obj["metadata"]["managedFields"] = managed.keep_times(old, obj)
        else:
            await self.owners.track(call, old, obj, aspect)
        operation = _operation(call, aspect, obj, old)
        if await core.hooks.mutate(operation):
            changed = operation.obj or obj
            if aspect.view is not None:
                changed = aspect.view.write(call, obj, changed)
            obj = self._defaulted(call, changed)
            keep_system_fields(obj["metadata"], old["metadata"])
        drop_repeated_owners(call, obj, DUPLICATE_OWNERS_LATER)
        obj = self._prepare_update(call, aspect, obj, old)
        errors = self._validate_update(call, aspect, obj, old)
        if errors:
            raise problems.invalid(resource.stored_group, version.kind, call.route.name, errors)
        if not aspect.name:
            own = resource.strategy.warnings(obj, old)
            for text in [*finalizer_warnings(call, obj, old), *own]:
                call.warn(text)
        obj = call.version.shape.normalise(obj)
        operation.obj = obj if aspect.view is None else aspect.view.read(call, obj)
        await core.hooks.validate(operation)
        version.shape.settle(obj)
        resource.strategy.as_read(obj)
        return obj

    def _prepare_update(self, call: Call, aspect: Aspect, obj: Object, old: Object) -> Object:
        resource, strategy = call.resource, call.resource.strategy
        obj = aspect.restrict(obj, old)
        if aspect.name == "status":
            strategy.prepare_status(obj, old)
        elif not aspect.name:
            if (strategy.has_status and not resource.is_custom) or (
                resource.is_custom and resource.has_status(call.version)
            ):
                copy_field(obj, old, "status")
            strategy.prepare_update(obj, old)
        grows = strategy.generation_grows and "generation" in old["metadata"]
        if grows and _spec_changed(call, obj, old):
            obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
        return obj

    def _validate_update(
        self, call: Call, aspect: Aspect, obj: Object, old: Object
    ) -> list[FieldError]:
        strategy = call.resource.strategy
        metadata, namespaced = obj["metadata"], call.resource.namespaced
        errors = object_meta.validate_object_meta(metadata, namespaced, names.path_segment)
        # The common path and each kind check metadata upstream, so every cause is told twice.
        errors += 2 * object_meta.validate_object_meta_update(metadata, old["metadata"])
        if aspect.validate is not None:
            errors += aspect.validate(obj, old)
        elif aspect.name == "status":
            errors += strategy.validate_status(obj, old)
        else:
            if not call.resource.is_custom:
                errors += object_meta.validate_prefix_update(
                    call.version.kind, metadata, strategy.validate_name
                )
            errors += strategy.validate_update(obj, old)
        is_status = aspect.name == "status"
        return errors + call.version.shape.validate(obj, old, status_only=is_status)

    async def _replace(
        self, call: Call, live: Stored, obj: Object, old: Object, to_store: Object
    ) -> Written:
        core, resource = self._core, call.resource
        obj["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        is_leaving = may_leave(obj) and resource.strategy.may_leave(obj)
        # A write of nothing brings what is stored to the storage version and the present schema.
        if obj == old and core.is_current(resource, live) and not is_leaving:
            await core.store.settled(resource.table, call.key)
            return Written(obj, live, created=False)
        if call.is_dry_run:
            return Written(obj, None, created=False)
        if is_leaving:
            # Watchers see the state that was stored last; the answer shows what was asked for.
            last = private(core.live(resource, live))
            await core.store.delete(resource.table, call.key, ordered(last, resource))
            return Written(obj, None, created=False)
        stored = await core.store.put(resource.table, call.key, to_store)
        obj["metadata"]["resourceVersion"] = str(stored.revision)
        return Written(obj, stored, created=False)

    # Shared steps

    def _defaulted(self, call: Call, obj: Object) -> Object:
        call.version.shape.default(obj)
        call.resource.strategy.default(obj)
        return call.version.shape.normalise(obj)


def _each_time(body: Object) -> Make:
    """Gives the body itself to the first try, and a copy to each that follows."""
    first, spare = [body], codec.encode(body)

    def make(_: Object) -> Object:
        fresh: Object = first.pop() if first else codec.decode(spare)
        return fresh

    return make


def _exists_already(call: Call, existing: Object) -> problems.ApiError:
    resource, metadata = call.resource, existing["metadata"]
    error = problems.already_exists(resource.group, resource.plural, metadata["name"])
    if "deletionTimestamp" in metadata:
        error.message = f"object is being deleted: {error.message}"
    return error


def _operation(call: Call, aspect: Aspect, obj: Object, old: Object) -> Operation:
    """What hooks see of an update: the objects, or what a subresource makes of them."""
    view, kind = aspect.view, None
    if view is not None:
        obj, old, kind = view.read(call, obj), view.read(call, old), view.kind
    return Operation("UPDATE", call, call.route.name, obj, old, _options(call), aspect.name, kind)


def _options(call: Call) -> Object:
    options: Object = {}
    if not call.request.query:
        return options
    if call.is_dry_run:
        options["dryRun"] = ["All"]
    for name in ("fieldManager", "fieldValidation"):
        if call.request.first(name):
            options[name] = call.request.first(name)
    return options


def _spec_changed(call: Call, obj: Object, old: Object) -> bool:
    """Anything but metadata and, where it is a subresource, status."""
    skipped = {"metadata", "apiVersion", "kind"}
    if not call.resource.is_custom or call.resource.has_status(call.version):
        skipped.add("status")
    return {k: v for k, v in obj.items() if k not in skipped} != {
        k: v for k, v in old.items() if k not in skipped
    }
