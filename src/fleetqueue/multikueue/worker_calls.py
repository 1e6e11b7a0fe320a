"""Calls to one worker. Each has a deadline, and its answer goes into the caches at once."""

from typing import Any

from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import DeleteOptions, PatchType, Propagation
from fleetqueue.kube.errors import Conflict, NotFound
from fleetqueue.kube.informer import deleted_uid
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.multikueue.session import Session

FIELD_MANAGER = "kueue"


async def read(session: Session, kind: Resource, key: Key) -> Object | None:
    call = session.client.get(session.dialect.kind(kind), key.name, key.namespace)
    try:
        found = await session.within(call, f"reading {kind} {key}")
    except NotFound:
        return None
    return session.dialect.hear(found)


async def create(session: Session, obj: Object) -> Object:
    kind = session.kind_of(obj)
    call = session.client.create(
        session.dialect.say(obj),
        resource=None if kind is None else session.dialect.kind(kind),
        field_manager=FIELD_MANAGER,
    )
    made = await session.within(call, f"creating {obj['kind']} {key_of(obj)}")
    made = session.dialect.hear(made)
    if kind is not None:
        _accept(session, kind, made)
    return made


async def patch(
    session: Session,
    kind: Resource,
    key: Key,
    patch: Any,
    *,
    subresource: str,
    type: PatchType,
    manager: str,
) -> Object:
    there, by = session.dialect.kind(kind), manager or FIELD_MANAGER
    if type is PatchType.APPLY:
        call = session.client.apply(
            session.dialect.say(patch),
            force=True,
            subresource=subresource,
            resource=there,
            field_manager=by,
        )
    else:
        said = session.dialect.say_patch(kind, patch) if type is PatchType.MERGE else patch
        call = session.client.patch(
            there,
            key.name,
            said,
            key.namespace,
            type=type,
            subresource=subresource,
            field_manager=by,
        )
    done = session.dialect.hear(await session.within(call, f"patching {kind} {key}"))
    _accept(session, kind, done)
    return done


async def delete(
    session: Session, obj: Object, kind: Resource, propagation: Propagation | None
) -> None:
    key, uid = key_of(obj), uid_of(obj)
    options: DeleteOptions = {"uid": uid}
    if propagation is not None:
        options["propagation"] = propagation
    call = session.client.delete(session.dialect.kind(kind), key.name, key.namespace, **options)
    cache = session.cache(kind)
    try:
        answer = await session.within(call, f"deleting {kind} {key}")
    except (NotFound, Conflict):
        # Gone already, or another object has the name by now.
        if cache is not None:
            cache.accept_deleted(key, uid)
        return
    if cache is None:
        return
    if gone := deleted_uid(answer):
        cache.accept_deleted(key, gone)
    elif answer.get("kind") != "Status":
        cache.accept(answer)


def _accept(session: Session, kind: Resource, obj: Object) -> None:
    cache = session.cache(kind)
    if cache is not None:
        origin = (obj["metadata"].get("labels") or {}).get(labels.MULTIKUEUE_ORIGIN)
        cache.accept(obj, belongs=origin == session.origin)
