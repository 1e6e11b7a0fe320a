"""One API server put together: storage, kinds, access, hooks and keepers; doors open onto its
handler.
"""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Any
from urllib.parse import urlsplit

from fleetqueue.apiserver import bootstrap, builtins, conversion, hooks
from fleetqueue.apiserver.access.authentication import Authenticator
from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.access.jwt import SigningKey
from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.access.static_tokens import StaticTokens
from fleetqueue.apiserver.access.tokens import Issuer
from fleetqueue.apiserver.aggregation import trust
from fleetqueue.apiserver.aggregation.calling import FrontProxy, HttpsCaller
from fleetqueue.apiserver.aggregation.keeper import RemoteServiceKeeper
from fleetqueue.apiserver.aggregation.openapi import RemoteOpenApi
from fleetqueue.apiserver.aggregation.proxying import Proxy
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.custom import CustomKinds
from fleetqueue.apiserver.discovery import Discovery
from fleetqueue.apiserver.feed import Feed
from fleetqueue.apiserver.hooks.chain import own_hooks
from fleetqueue.apiserver.hooks.policies import AdmissionPolicies
from fleetqueue.apiserver.hooks.resource_quota import ResourceQuotas
from fleetqueue.apiserver.hooks.webhooks import Webhooks
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers import Keeper
from fleetqueue.apiserver.keepers.all import all_keepers
from fleetqueue.apiserver.keepers.rbac import RbacKeeper
from fleetqueue.apiserver.log import Log
from fleetqueue.apiserver.openapi import OpenApi
from fleetqueue.apiserver.pages import Pages
from fleetqueue.apiserver.registry import Registry
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.apiserver.server import Server
from fleetqueue.apiserver.storage import Change, Store
from fleetqueue.apiserver.token_requests import TokenRequests
from fleetqueue.base.clock import Clock

logger = logging.getLogger(__name__)

Object = dict[str, Any]


@dataclass(slots=True)
class Settings:
    """What a server needs to know before it starts."""

    signing_key: SigningKey | None = None
    """Signs service-account tokens; None: a key that lives as long as the server."""
    static_tokens: StaticTokens = field(default_factory=StaticTokens)
    authority: bytes = b""
    """The certificate, in PEM, that clients in pods verify this server by."""
    front_proxy: FrontProxy | None = None
    """Who it is to API servers beside it; None: nobody that they would believe."""
    url: str = "https://127.0.0.1:6443"
    service_network: str = "10.0.0.0/24"
    """Where the addresses of Services come from."""


class Instance:
    """An API server without a door. `handle` is all that doors and in-process clients need."""

    def __init__(
        self, log: Log, clock: Clock, random: random.Random, settings: Settings | None = None
    ) -> None:
        settings = settings or Settings()
        store = Store(log)
        self.core = Core(store, Feed(store, clock), Registry(), clock, random)
        self.core.service_network = IPv4Network(settings.service_network)
        builtins.register(self.core.registry)
        self._custom = CustomKinds(self.core, conversion.converters(self.core))
        self.rbac = Rbac()
        issuer = Issuer(settings.signing_key or SigningKey.generate(), self._lookup, random)
        self.gate = Gate(Authenticator(clock, settings.static_tokens, issuer), self.rbac)
        self._address = urlsplit(settings.url)
        discovery = Discovery(self.core, self._address.netloc)
        self.proxy = Proxy(self.core, HttpsCaller(settings.front_proxy))
        openapi = OpenApi(self.core, RemoteOpenApi(self.core, self.proxy))
        self.pages = Pages(self.core, discovery, openapi, self.proxy)
        self.pages.issuer = issuer
        self.pages.server_url = settings.url
        self.server = Server(self.core, self.gate, self.pages, self.proxy)
        self.core.tokens = TokenRequests(self.core, issuer)
        self.internal = Internal(self.core, self.server.writer, self.server.deleter)
        webhooks = Webhooks(self.core)
        self.core.conversion_remote = webhooks.remote
        quotas = ResourceQuotas(self.core)
        policies = AdmissionPolicies(self.core)
        own = [*own_hooks(self.core, self.gate), policies]
        self.core.hooks = hooks.Hooks(own, webhooks, [quotas])
        self._keepers: list[Keeper] = [
            RbacKeeper(self.core, self.rbac),
            webhooks,
            policies,
            *all_keepers(self.core, self.internal, issuer, settings.authority, quotas.ledger),
            RemoteServiceKeeper(self.core, self.internal, self.proxy),
        ]
        if settings.front_proxy is not None:
            told = trust.trust_data(settings.authority, settings.front_proxy)
            self._keepers.append(trust.TrustKeeper(self.core, self.internal, told))
        self._followers_of: dict[str, list[Keeper]] = {}
        store.listen(self._follow)

    async def start(self) -> None:
        """Index what is stored, then make what every server has."""
        self._custom.start()
        for keeper in self._keepers:
            keeper.start()
        await bootstrap.ensure(self.core, self.internal, self._address.port or 443)

    async def stop(self) -> None:
        for keeper in self._keepers:
            await keeper.stop()
        self.core.feed.close_all()
        await self.core.store.close()

    async def handle(self, request: Request) -> Response:
        return await self.server.handle(request)

    @property
    def is_idle(self) -> bool:
        """Nothing is left to do until a request or a timer comes."""
        return all(keeper.is_idle for keeper in self._keepers)

    def _follow(self, changes: Sequence[Change]) -> None:
        for keeper in self._followers({change.resource for change in changes}):
            try:
                keeper.follow(changes)
            except Exception:  # the others must hear of the changes all the same
                logger.exception("a keeper failed", extra={"keeper": type(keeper).__name__})

    def _followers(self, tables: set[str]) -> Sequence[Keeper]:
        """Those who have to hear of changes in these tables."""
        if len(tables) > 1:
            return self._keepers
        (table,) = tables
        found = self._followers_of.get(table)
        if found is None:
            found = [one for one in self._keepers if one.tables is None or table in one.tables]
            self._followers_of[table] = found
        return found

    def _lookup(self, resource: str, namespace: str, name: str) -> Object | None:
        key = f"{namespace}/{name}" if namespace else name
        return self.core.get(resource, key)
