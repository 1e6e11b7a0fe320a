"""Where an object on a member differs from the one on the hub, path by path."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api.fleet import text
from fleetqueue.fleet.decide.delivery import forms

Json = dict[str, Any]

DETAILS_MAX = 100
REDACTED = "(redacted for security reasons)"
WHOLE_OBJECT: Json = {"path": "/", "valueInHub": "(the whole object)"}
_ABSENT = object()
_SECRET_PATHS = ("/data", "/stringData")


def differences(hub: Json, member: Json) -> list[Json]:
    """The first hundred; both are whole objects, of which only what counts is compared."""
    found = _differ("", forms.comparable(hub), forms.comparable(member))
    details = [detail for detail, _ in zip(found, range(DETAILS_MAX), strict=False)]
    return [_redacted(each) for each in details] if _is_secret(hub) else details


def overlaid(manifest: Any, live: Any) -> Any:
    """The live object with what the manifest says, where no server can tell how that would be:
    named items are those of that name, other lists are as the manifest has them.
    """
    if isinstance(manifest, dict) and isinstance(live, dict):
        said = {
            key: overlaid(value, live[key]) if key in live else value
            for key, value in manifest.items()
        }
        return {**live, **said}
    if isinstance(manifest, list) and isinstance(live, list):
        named = {each["name"]: each for each in live if isinstance(each, dict) and "name" in each}
        return [
            overlaid(each, named.get(each["name"])) if isinstance(each, dict) and "name" in each
            else each
            for each in manifest
        ]  # fmt: skip
    return manifest


def _differ(path: str, hub: Any, member: Any) -> Iterator[Json]:
    if isinstance(hub, dict) and isinstance(member, dict):
        for key in sorted({*hub, *member}):
            below = f"{path}/{_escaped(key)}"
            yield from _differ(below, hub.get(key, _ABSENT), member.get(key, _ABSENT))
    elif isinstance(hub, list) and isinstance(member, list):
        yield from _differ_in_lists(path, hub, member)
    elif not _equal(hub, member):
        yield _detail(path, hub, member)


def _differ_in_lists(path: str, hub: list[Any], member: list[Any]) -> Iterator[Json]:
    """What the member lacks comes first, all at the place where its list ends."""
    shared = min(len(hub), len(member))
    for item in hub[shared:]:
        yield _detail(f"{path}/{shared}", item, _ABSENT)
    for index in range(shared):
        yield from _differ(f"{path}/{index}", hub[index], member[index])
    for item in member[shared:]:
        yield _detail(f"{path}/-", _ABSENT, item)


def _detail(path: str, hub: Any, member: Any) -> Json:
    detail: Json = {"path": path}
    if member is not _ABSENT:
        detail["valueInMember"] = text.value(member)
    if hub is not _ABSENT:
        detail["valueInHub"] = text.value(hub)
    return {name: value for name, value in detail.items() if value}


def _equal(one: Any, other: Any) -> bool:
    """True is not 1, as JSON has it."""
    if one is _ABSENT or other is _ABSENT:
        return one is other
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _is_secret(obj: Json) -> bool:
    return obj.get("apiVersion") == "v1" and obj.get("kind") == "Secret"


def _redacted(detail: Json) -> Json:
    if not detail["path"].startswith(_SECRET_PATHS):
        return detail
    return {name: value if name == "path" else REDACTED for name, value in detail.items()}
