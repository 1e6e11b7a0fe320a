"""Conversions by webhook inside code that cannot wait.

Merging field owners is plain code, but it may need an object in a version that only a webhook can
make. What is missing stops it; the webhook is asked, and the code runs again, up to the next gap.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fleetqueue.base import codec

Object = dict[str, Any]
T = TypeVar("T")


class Conversions:
    """What a webhook made of objects in the course of one request."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Object] = {}

    def find(self, obj: Object, api_version: str) -> Object:
        """Raises Missing where the webhook was not asked yet."""
        if obj.get("apiVersion") == api_version:
            return obj
        # Who owns which field is not a webhook's business.
        metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
        shown = {**obj, "metadata": metadata}
        key = (api_version, codec.encode(shown))
        found = self._known.get(key)
        if found is None:
            raise Missing(shown, api_version, key)
        return found

    async def complete(
        self, compute: Callable[[], T], convert: Callable[[Object, str], Awaitable[Object]]
    ) -> T:
        """What `compute` returns once every conversion it asks for is known."""
        while True:
            try:
                return compute()
            except Missing as missing:
                self._known[missing.key] = await convert(missing.obj, missing.api_version)


class Missing(Exception):
    """A conversion that the webhook has to be asked for."""

    def __init__(self, obj: Object, api_version: str, key: tuple[str, bytes]) -> None:
        super().__init__(api_version)
        self.obj = obj
        self.api_version = api_version
        self.key = key
