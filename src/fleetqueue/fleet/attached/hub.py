"""The controllers of a hub against a foreign API server: connect, lead, serve webhooks, work."""

import asyncio
import random
import socket
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from fleetqueue.api.fleet.naming import SYSTEM_NAMESPACE
from fleetqueue.api.meta import Key
from fleetqueue.base.backoff import Backoff
from fleetqueue.base.clock import Clock, SystemClock
from fleetqueue.fleet import access, kinds
from fleetqueue.fleet.attached import installation, pages, policies
from fleetqueue.fleet.hub import parts
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import registry, serving
from fleetqueue.fleet.webhooks.declared import Around
from fleetqueue.fleet.webhooks.hub_objects import SERVICE_EXPORT
from fleetqueue.kube import catalogue
from fleetqueue.kube.allowance import Rate
from fleetqueue.kube.catalogue import Catalogue
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.connect import connect
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.late_kinds import LateKinds
from fleetqueue.kube.leader import LeaderElector, Terms
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.registering import register
from fleetqueue.kube.webhook import Webhooks, WebhookServer
from fleetqueue.kube.webhook_certificates import CertificateKeeper
from fleetqueue.kube.webhook_serving import Reach
from fleetqueue.metrics.registry import FOLLOWER, LEADER, STANDALONE, Metrics

LEASE = "136224848560.hub.fleet.azure.com"
MANAGER = "hubagent"
HELD_BY = "fleetqueue-install"
KINDS_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class HubOptions:
    """Which cluster, how it reaches our webhooks, and what runs."""

    settings: HubSettings = field(default_factory=HubSettings)
    kubeconfig: Path | None = None
    context: str = ""
    host: str = "0.0.0.0"
    port: int = 9443
    url: str = ""
    """Where the API server finds our webhooks; "": behind the Service."""
    service: str = "fleetwebhook"
    metrics_address: str = ""
    """Host and port, divided by a colon; "": no metrics are served."""
    health_address: str = ""
    elects: bool = False
    election_namespace: str = SYSTEM_NAMESPACE
    terms: Terms | None = None
    rate: Rate | None = None
    """How often it calls the API server at most; None: as often as it likes."""
    election_rate: Rate | None = None
    placements_max: int = 0
    """How many placements are worked on at once, counted as KubeFleet does; 0: as we see fit."""
    backoff: Backoff | None = None
    """How long what failed waits; None: as each controller has it."""

    @property
    def reach(self) -> Reach:
        return Reach(self.url, self.service, SYSTEM_NAMESPACE)


def open_client(options: HubOptions, rate: Rate | None = None) -> Client:
    return connect(
        options.kubeconfig,
        options.context,
        clock=SystemClock(),
        random=random.SystemRandom(),
        field_manager=MANAGER,
        rate=rate,
    )


async def install(options: HubOptions) -> list[str]:
    """Makes or updates what the controllers need; the kinds and names of it."""
    client = open_client(options)
    try:
        return await prepare(client, options)
    finally:
        await client.close()


async def prepare(client: Client, options: HubOptions) -> list[str]:
    """Through this client; the kinds and names of what was made."""
    done, settings = [], options.settings
    home = await client.apply(access.namespace(), force=True, field_manager=HELD_BY)
    for obj in installation.hub_objects(settings, options.reach, options.port, home):
        await register(client, obj, field_manager=HELD_BY)
        done.append(f"{obj['kind']}/{obj['metadata']['name']}")
    await policies.keep(client, settings.policies)
    return done


async def run(options: HubOptions) -> None:
    """Until it is cancelled, or the leadership is lost."""
    clients = [open_client(options, options.rate)]
    if options.elects:
        # Its own, so that a busy hub does not lose its lease.
        clients.append(open_client(options, options.election_rate))
    try:
        await _run(options, clients[0], clients[-1])
    finally:
        for each in clients:
            await each.close()


async def _run(options: HubOptions, client: Client, electing: Client) -> None:
    clock, source = SystemClock(), random.SystemRandom()
    cluster = Cluster(client, clock=clock, random=source, component="fleet-hub-agent")
    elector = _elector(options, electing, clock, source)
    manager = Manager(cluster, random=source, elector=elector)
    metrics = Metrics(lambda: _role(elector))
    parts.install(manager, options.settings, metrics)
    _pace(manager, options)
    keeper = _certificates(options, cluster, clock)
    await policies.keep(client, options.settings.policies)
    if options.settings.enable_webhook:
        await _serve_webhooks(options, manager, keeper)
    pages.show_health(manager, options.health_address)
    pages.show_metrics(manager, client, clock, keeper, metrics, options.metrics_address)
    await manager.run()


def _pace(manager: Manager, options: HubOptions) -> None:
    """As many at once, and as late after failures, as is asked for."""
    if options.backoff is not None:
        manager.set_backoff(options.backoff)
    if options.placements_max:
        manager.set_workers(workers(options.placements_max, options.settings.max_fleet_size))


def workers(placements: int, clusters: int) -> dict[str, int]:
    """By kind, as KubeFleet counts them: a tenth of the placements is in motion, each on some of
    the clusters.
    """
    moving = ceil(placements / 10)
    bindings = ceil(clusters / 10) * moving
    found = {}
    for scope in kinds.SCOPES:
        for kind, count in ((scope.placement, moving), (scope.binding, bindings)):
            found[f"{kind.kind}.{kind.group}"] = count
    return found


def _elector(
    options: HubOptions, client: Client, clock: Clock, source: random.Random
) -> LeaderElector | None:
    if not options.elects:
        return None
    identity = f"{socket.gethostname()}_{source.getrandbits(64):016x}"
    lease = Key(options.election_namespace, LEASE)
    return LeaderElector(client, lease, identity, clock=clock, random=source, terms=options.terms)


async def _serve_webhooks(options: HubOptions, manager: Manager, keeper: CertificateKeeper) -> None:
    cluster = manager.cluster
    if options.settings.networking_agents_enabled:
        await _follow_exports(manager)
    scopes = Scopes(cluster.client)
    await scopes.refresh()
    manager.add_task("kinds", scopes.run)
    webhooks = Webhooks(cluster)
    around = Around(Caches(cluster), options.settings, scopes.is_cluster_scoped)
    serving.serve(webhooks, registry.declared(options.settings), around)
    server = WebhookServer(webhooks, keeper, host=options.host, port=options.port)
    manager.add_task("webhooks", server.run)


async def _follow_exports(manager: Manager) -> None:
    """What the networking agents of members export; their kind comes with another installation, at
    any time.
    """
    cluster = manager.cluster
    cluster.informer(SERVICE_EXPORT)
    late = LateKinds(cluster, lambda kind: kind == SERVICE_EXPORT, random=cluster.random)
    await late.look()
    manager.add_task("exports", late.run)


class Scopes:
    """Which kinds are of the whole cluster, as the server told last."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known = Catalogue()

    async def refresh(self) -> None:
        self._known = await catalogue.read(self._client)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(KINDS_SECONDS)
            try:
                await self.refresh()
            except KubeError:
                continue

    def is_cluster_scoped(self, group: str, version: str, kind: str) -> bool:
        found = self._known.served.get((group, version, kind))
        if found is None:
            where = f"{group}/{version}" if group else version
            raise LookupError(f'no matches for kind "{kind}" in version "{where}"')
        return not found.namespaced


def _certificates(options: HubOptions, cluster: Cluster, clock: Clock) -> CertificateKeeper:
    """One for all our servers."""
    names = [
        f"{options.service}.{SYSTEM_NAMESPACE}.svc",
        "localhost",
        "127.0.0.1",
        socket.gethostname(),
    ]
    # Several that are reached by one name must show one certificate.
    shared = Key(SYSTEM_NAMESPACE, installation.WEBHOOK_SECRET)
    return CertificateKeeper(
        names,
        clock=clock,
        client=cluster.client,
        secret=None if options.url else shared,
        registration=installation.registration(options.settings),
    )


def _role(elector: LeaderElector | None) -> str:
    if elector is None:
        return STANDALONE
    return LEADER if elector.is_leader else FOLLOWER
