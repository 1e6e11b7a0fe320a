"""Answers as objects: raw or typed, single ones, lists and watch events."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from fleetqueue.api import kinds
from fleetqueue.kube.errors import BadAnswer
from fleetqueue.kube.resources import Kind, Object, Resource
from fleetqueue.kube.transport import Payload

T = TypeVar("T")


@dataclass(frozen=True)
class ObjectList(Generic[T]):
    """Objects as they were at one revision, and how to get the next page if there is one."""

    items: Sequence[T]
    resource_version: str = ""
    token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """ADDED, MODIFIED, DELETED or BOOKMARK, with the object as it is now or was last."""

    type: str
    object: T


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    items: list[msgspec.Raw] | None = None


_list_decoder = msgspec.json.Decoder(_List)


def reader(kind: Kind) -> Callable[[Payload], Any]:
    """How a payload of this kind is read."""
    if isinstance(kind, Resource):
        return lambda payload: _named(payload.decoded(), kind)
    return lambda payload: typed(payload, kind)


def typed(payload: Payload, cls: type[kinds.Resource]) -> Any:
    try:
        return payload.typed(cls)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the server sent a {cls.__name__} that is none: {error}") from error


def list_of(payload: Payload) -> ObjectList[Payload]:
    """A list with its items still unread, so that one bad item does not spoil the others."""
    if payload.is_decoded:
        answer = payload.decoded()
        meta = answer.get("metadata") or {}
        items = [Payload(shared=item) for item in answer.get("items") or ()]
        return ObjectList(
            items,
            str(meta.get("resourceVersion") or ""),
            str(meta.get("continue") or ""),
            meta.get("remainingItemCount"),
        )
    try:
        read = _list_decoder.decode(payload.data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the server sent a list that is none: {error}") from error
    meta = read.metadata
    items = [Payload(item) for item in read.items or ()]
    return ObjectList(items, meta.resource_version, meta.continue_, meta.remaining_item_count)


def _named(obj: Any, resource: Resource) -> Object:
    """Items of a list of built-in kinds do not say what they are; here they do."""
    if isinstance(obj, dict) and "kind" in obj and "apiVersion" in obj:
        return obj
    if not isinstance(obj, dict):
        raise BadAnswer(f"the server sent a {type(obj).__name__} for a {resource.kind}")
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
