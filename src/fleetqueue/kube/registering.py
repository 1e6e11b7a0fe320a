"""Tells an API server where it reaches us, whoever it was told to ask before."""

from collections.abc import Iterator

from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import CRDS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Object, key_of

WAYS = ("url", "service")
"""A server is reached by one of them; both are refused."""
KINDS = {each.kind: each for each in (CRDS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)}


async def register(client: Client, obj: Object, *, field_manager: str) -> None:
    """Applied by force. The other way goes first: whoever wrote it holds it, and an apply would
    only put ours beside it.
    """
    kind = KINDS.get(obj["kind"])
    if kind is not None:
        name = key_of(obj).name
        try:
            found = await client.get(kind, name)
        except NotFound:
            found = {}
        if patch := turned(found, obj):
            await client.patch(kind, name, patch, type=PatchType.JSON, field_manager=field_manager)
    await client.apply(obj, force=True, field_manager=field_manager)


def turned(found: Object, wanted: Object) -> list[Object]:
    """A JSON patch for those that are reached the other way: to ours, with all else they have."""
    ours = {name: config for name, _, config in _configs(wanted)}
    patch: list[Object] = []
    for name, path, config in _configs(found):
        way = ours.get(name, {})
        if way and any(each in config and each not in way for each in WAYS):
            rest = {key: value for key, value in config.items() if key not in WAYS}
            patch.append({"op": "test", "path": path, "value": config})
            patch.append({"op": "replace", "path": path, "value": {**rest, **way}})
    return patch


def _configs(obj: Object) -> Iterator[tuple[str, str, Object]]:
    """Whom a definition, or each of its webhooks, asks: the webhook's name, where it stands, and
    how it is reached.
    """
    conversion = (obj.get("spec") or {}).get("conversion") or {}
    if config := (conversion.get("webhook") or {}).get("clientConfig"):
        yield "", "/spec/conversion/webhook/clientConfig", config
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        yield webhook["name"], f"/webhooks/{index}/clientConfig", webhook.get("clientConfig") or {}
