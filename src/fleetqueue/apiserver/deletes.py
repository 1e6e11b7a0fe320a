"""Delete and delete-collection: preconditions, grace, finalizers, and the three ways to cascade."""

from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple

from fleetqueue.api import field_errors as fields
from fleetqueue.api import times
from fleetqueue.apiserver import bodies, problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core, ordered, private, with_own_metadata
from fleetqueue.apiserver.finalization import may_leave
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.schema import decoding
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.base import codec, go_json

Object = dict[str, Any]

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
POLICIES = ("Foreground", "Background", "Orphan")


class Options(NamedTuple):
    """A DeleteOptions object, read."""

    grace_seconds: int | None = None
    policy: str = ""
    uid: str = ""
    resource_version: str = ""
    orphan_dependents: bool | None = None
    raw: Object = {}  # noqa: RUF012 - never changed

    @property
    def names_policy(self) -> bool:
        return bool(self.policy) or self.orphan_dependents is not None


NO_OPTIONS = Options()


class Deleted(NamedTuple):
    """What a deletion left: the object's last or terminating state."""

    obj: Object
    is_gone: bool
    options: Options


class Deleter:
    """Carries out deletions for one server."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def delete(
        self, call: Call, options: Options | None = None, *, is_one_of_many: bool = False
    ) -> Deleted:
        """`is_one_of_many`: hooks are not told the name, for the request named none."""
        core, resource = self._core, call.resource
        options = read_options(call) if options is None else options
        while True:
            live = core.store.latest(resource.table, call.key)
            if live is None:
                raise call.not_found()
            old = await core.in_version(resource, live, call.api_version)
            self._check_preconditions(call, options, old)
            name = "" if is_one_of_many else call.route.name
            operation = Operation("DELETE", call, name, None, old, options.raw)
            await core.hooks.mutate(operation)
            await core.hooks.validate(operation)
            if core.store.latest(resource.table, call.key) is live:
                break
        return await self._remove(call, options, core.live(resource, live))

    async def _remove(self, call: Call, options: Options, live: Object) -> Deleted:
        core, resource, strategy = self._core, call.resource, call.resource.strategy
        # Of most kinds a deletion changes nothing but metadata.
        obj = with_own_metadata(live) if strategy.on_delete is None else private(live)
        self._mark(call, options, obj)
        is_instant = strategy.graceful_seconds is None
        is_gone = may_leave(obj) and strategy.may_leave(obj)
        if options.raw.get("dryRun"):
            return Deleted(live if is_instant and is_gone else obj, is_gone, options)
        if is_gone:
            if not is_instant and obj != live:
                # Watchers see a pod end before it is gone, however short its grace is.
                # Both are proposed at once, so that nobody writes between them or sees one alone.
                ending = ordered(with_own_metadata(obj), resource)
                core.store.propose(resource.table, call.key, ending)
            last = with_own_metadata(live if is_instant else obj)
            gone = await core.store.delete(resource.table, call.key, ordered(last, resource))
            if is_instant and "deletionTimestamp" not in live["metadata"]:
                return Deleted(last, is_gone, options)
            obj["metadata"]["resourceVersion"] = str(gone.revision)
        elif obj != live:
            await core.store.put(resource.table, call.key, ordered(obj, resource))
        return Deleted(obj, is_gone, options)

    def _mark(self, call: Call, options: Options, obj: Object) -> None:
        """Set what a deletion sets: finalizers by policy, the deletion's time and grace."""
        metadata, strategy = obj["metadata"], call.resource.strategy
        if strategy.orphans_by_default and not options.names_policy:
            options = options._replace(policy="Orphan")
        finalizers = cascade(metadata.get("finalizers") or [], options)
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        grace = 0
        if strategy.graceful_seconds is not None:
            grace = strategy.graceful_seconds(obj, options.grace_seconds)
        already = metadata.get("deletionGracePeriodSeconds")
        if "deletionTimestamp" in metadata:
            if already is None or grace >= already:
                return
            begun = times.parse_time(metadata["deletionTimestamp"])
            begun -= timedelta(seconds=already or 0)
        else:
            begun = self._core.clock.now()
            if "generation" in metadata:
                metadata["generation"] += 1
        metadata["deletionTimestamp"] = times.format_time(begun + timedelta(seconds=grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if strategy.on_delete is not None:
            strategy.on_delete(obj)

    def _check_preconditions(self, call: Call, options: Options, old: Object) -> None:
        metadata, why = old["metadata"], ""
        if options.uid and options.uid != metadata["uid"]:
            why = (
                f"the UID in the precondition ({options.uid}) does not match the UID in record "
                f"({metadata['uid']}). The object might have been deleted and then recreated"
            )
        elif options.resource_version and options.resource_version != metadata["resourceVersion"]:
            why = (
                f"the ResourceVersion in the precondition ({options.resource_version}) does not "
                f"match the ResourceVersion in record ({metadata['resourceVersion']}). The object "
                "might have been modified"
            )
        if why:
            raise problems.conflict(call.resource.group, call.version.kind, call.route.name, why)


def cascade(finalizers: list[str], options: Options) -> list[str]:
    """The finalizers that a propagation policy leaves; no policy keeps what is there."""
    policy = options.policy
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if not policy:
        return finalizers
    kept = [name for name in finalizers if name not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        return [*kept, ORPHAN]
    if policy == "Foreground":
        return [*kept, FOREGROUND]
    return kept


def read_options(call: Call) -> Options:
    """DeleteOptions from the body, or from the query where there is none."""
    raw: Any = None
    if call.request.object is not None:
        raw = call.request.object
    elif call.request.body.strip():
        kind = bodies.media_type(call)
        if kind in ("", "application/json"):
            raw = _decoded(call.request.body)
        else:
            raw = bodies.read_other(call.request.body, kind)
    if raw is None:
        raw = _from_query(call)
        if not raw:
            return NO_OPTIONS
    return options_from(raw)


def options_from(raw: Any) -> Options:
    """Read and check a DeleteOptions object."""
    if not isinstance(raw, dict):
        raise _unreadable(bodies.no_struct(bodies.json_type(raw)))
    version, kind = raw.get("apiVersion") or "", raw.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        raise problems.ApiError(500, "", bodies.not_registered(str(version), str(kind)))
    raw, _, error = decoding.decode(codec.copy(raw), _node())
    if error:
        raise problems.ApiError(500, "", error)
    return _checked(raw)


@cache
def _node() -> Node:
    return decoding.node_of("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")


def _decoded(data: bytes) -> Any:
    try:
        return codec.decode(data)
    except codec.DecodeError as error:
        raise _unreadable(go_json.syntax_error(data) or str(error)) from error


def _unreadable(why: str) -> problems.ApiError:
    return problems.ApiError(500, "", f"couldn't get version/kind; json parse error: {why}")


def _from_query(call: Call) -> Object:
    raw: Object = {}
    grace = call.request.first("gracePeriodSeconds")
    if grace:
        try:
            raw["gracePeriodSeconds"] = int(grace)
        except ValueError as error:
            raise problems.bad_request(
                f"strconv.ParseInt: parsing {fields.show(grace)}: invalid syntax"
            ) from error
    if call.request.first("propagationPolicy"):
        raw["propagationPolicy"] = call.request.first("propagationPolicy")
    if call.request.first("orphanDependents"):
        raw["orphanDependents"] = call.request.flag("orphanDependents")
    if call.request.query.get("dryRun"):
        raw["dryRun"] = call.request.query["dryRun"]
    return raw


def _checked(raw: Object) -> Options:
    policy = raw.get("propagationPolicy") or ""
    orphan = raw.get("orphanDependents")
    errors = []
    if policy and orphan is not None:
        errors.append(
            fields.wrong(
                "propagationPolicy",
                policy,
                "orphanDependents and deletionPropagation cannot be both set",
            )
        )
    if policy and policy not in POLICIES:
        errors.append(fields.unsupported("propagationPolicy", policy, [*POLICIES, "nil"]))
    if any(value != "All" for value in raw.get("dryRun") or []):
        errors.append(fields.unsupported("dryRun", raw["dryRun"], ["All"]))
    if errors:
        raise problems.invalid("meta.k8s.io", "DeleteOptions", "", errors)
    conditions = raw.get("preconditions") or {}
    grace = raw.get("gracePeriodSeconds")
    return Options(
        None if grace is None else max(int(grace), 0),
        policy,
        str(conditions.get("uid") or ""),
        str(conditions.get("resourceVersion") or ""),
        orphan,
        raw,
    )
