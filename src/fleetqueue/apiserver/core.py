"""The parts that every handler of one server shares, and what they all do with objects."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv4Network
from itertools import islice
from typing import TYPE_CHECKING, Any

from fleetqueue.api import times
from fleetqueue.apiserver.aggregation.services import RemoteServices
from fleetqueue.apiserver.extensions import Extensions
from fleetqueue.apiserver.feed import Feed
from fleetqueue.apiserver.hooks import Hooks
from fleetqueue.apiserver.registry import Registry, Resource
from fleetqueue.apiserver.storage import Store, Stored
from fleetqueue.base import codec
from fleetqueue.base.clock import Clock

if TYPE_CHECKING:
    from fleetqueue.apiserver.elsewhere import PodsElsewhere
    from fleetqueue.apiserver.hooks.remote import Remote
    from fleetqueue.apiserver.pod_actions import PodRuntime, TokenIssuer

Object = dict[str, Any]

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
GENERATED_LENGTH_MAX = 63
SERVICE_NETWORK = IPv4Network("10.0.0.0/24")
SUFFIX_LENGTH = 5
_CUSTOM_ORDER = ("apiVersion", "kind", "metadata")
_BUILTIN_ORDER = ("kind", "apiVersion", "metadata")


@dataclass(slots=True)
class Core:
    """One server's state and seams."""

    store: Store
    feed: Feed
    registry: Registry
    clock: Clock
    random: random.Random
    hooks: Hooks = field(default_factory=Hooks)
    runtime: "PodRuntime | None" = None
    elsewhere: "PodsElsewhere | None" = None
    tokens: "TokenIssuer | None" = None
    conversion_remote: "Remote | None" = None
    extensions: Extensions = field(init=False)
    """Groups that others in this process answer."""
    remotes: RemoteServices = field(init=False)
    """Groups that other servers answer."""
    service_network: IPv4Network = SERVICE_NETWORK
    """Where the addresses of Services come from."""
    _second: tuple[datetime, str] = (datetime.min.replace(tzinfo=UTC), "")

    def __post_init__(self) -> None:
        self.extensions = Extensions(self.registry)
        self.remotes = RemoteServices(self.registry)

    def now(self) -> str:
        """The time as objects carry it; formatted once a second."""
        moment = self.clock.now().replace(microsecond=0)
        if moment != self._second[0]:
            self._second = (moment, times.format_time(moment))
        return self._second[1]

    def new_uid(self) -> str:
        return new_uid(self.random)

    def generate_name(self, prefix: str) -> str:
        suffix = "".join(self.random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))
        return prefix[: GENERATED_LENGTH_MAX - SUFFIX_LENGTH] + suffix

    def current(self, resource: Resource, stored: Stored) -> Stored:
        """The object as the present schema shows it."""
        reshaper = resource.reshaper
        if reshaper is None or stored.revision >= reshaper.since:
            return stored
        return reshaper.reshape(stored)

    def is_current(self, resource: Resource, stored: Stored) -> bool:
        """Whether a write that changes nothing would store the same bytes."""
        if self.current(resource, stored) is not stored:
            return False
        is_current: bool = self.store.decoded(stored)["apiVersion"] == resource.stored_as
        return is_current

    def live(self, resource: Resource, stored: Stored) -> Object:
        """The object in the version it is stored in; shared, never to be changed."""
        if resource.table == DEFINITIONS:
            # Ten times as large as their bytes, and hardly anybody looks twice.
            found: Object = codec.decode(stored.data)
            return found
        return self.store.decoded(self.current(resource, stored))

    async def in_version(self, resource: Resource, stored: Stored, api_version: str) -> Object:
        """The object in the version asked for; shared, never to be changed."""
        obj = self.live(resource, stored)
        return (await self.convert(resource, [obj], api_version))[0]

    async def convert(
        self, resource: Resource, objects: list[Object], api_version: str
    ) -> list[Object]:
        """Objects brought to a version; what is in it already is passed through."""
        if resource.convert_later is None:
            return [self.convert_now(resource, obj, api_version) for obj in objects]
        others = [obj for obj in objects if obj.get("apiVersion") != api_version]
        if not others:
            return objects
        converted = iter(await resource.convert_later(others, api_version))
        return [obj if obj.get("apiVersion") == api_version else next(converted) for obj in objects]

    def convert_now(self, resource: Resource, obj: Object, api_version: str) -> Object:
        """The same for one object of a resource that no webhook converts."""
        if obj.get("apiVersion") == api_version:
            return obj
        if resource.convert is None:
            converted = {**obj, "apiVersion": api_version}
            version = resource.versions.get(api_version.rpartition("/")[2])
            if version is None or not resource.is_custom:
                return converted
            # A version shows only the fields it knows.
            return version.shape.clean(private(converted))[0]
        return resource.convert(obj, api_version)

    def get(self, table: str, key: str) -> Object | None:
        """A committed object by table and key, shared; for hooks and collectors."""
        stored = self.store.get(table, key)
        return None if stored is None else self.store.decoded(stored)


def new_uid(source: random.Random) -> str:
    """A random UUID, version 4."""
    bits = source.getrandbits(128) & ~(0xF000 << 64) & ~(0xC000 << 48)
    text = f"{bits | (4 << 76) | (2 << 62):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def ordered(obj: Object, resource: Resource) -> Object:
    """The object with its type first, so that its bytes begin with the version's prefix."""
    first = _CUSTOM_ORDER if resource.is_custom else _BUILTIN_ORDER
    if tuple(islice(obj, len(first))) == first:
        return obj
    head = {name: obj[name] for name in first}
    return head | {name: value for name, value in obj.items() if name not in head}


def with_own_metadata(obj: Object) -> Object:
    """A copy that may get other metadata and other fields; what lies deeper is shared."""
    return {**obj, "metadata": {**obj["metadata"]}}


def private(obj: Object) -> Object:
    """A copy that a write may change."""
    copied: Object = codec.copy(obj)
    return copied
