"""The controllers of a hub against a foreign API server: connect, lead, serve webhooks, work."""

import asyncio
import random
import socket
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fleetqueue.api.fleet.naming import SYSTEM_NAMESPACE
from fleetqueue.api.meta import Key
from fleetqueue.base.clock import Clock, SystemClock
from fleetqueue.fleet.attached import installation, policies
from fleetqueue.fleet.hub import parts
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import registry, serving
from fleetqueue.fleet.webhooks.declared import Around
from fleetqueue.kube import catalogue
from fleetqueue.kube.catalogue import Catalogue
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.connect import connect
from fleetqueue.kube.delegated_access import DelegatedAccess
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.leader import LeaderElector, Terms
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.metrics_page import MetricsPage
from fleetqueue.kube.page_server import PageServer
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
    elects: bool = False
    election_namespace: str = SYSTEM_NAMESPACE
    terms: Terms | None = None

    @property
    def reach(self) -> Reach:
        return Reach(self.url, self.service, SYSTEM_NAMESPACE)


def open_client(options: HubOptions) -> Client:
    return connect(
        options.kubeconfig,
        options.context,
        clock=SystemClock(),
        random=random.SystemRandom(),
        field_manager=MANAGER,
    )


async def install(options: HubOptions) -> list[str]:
    """Makes or updates what the controllers need; the kinds and names of it."""
    client = open_client(options)
    done = []
    try:
        for obj in installation.hub_objects(options.settings, options.reach, options.port):
            await client.apply(obj, force=True, field_manager=HELD_BY)
            done.append(f"{obj['kind']}/{obj['metadata']['name']}")
        await policies.keep(client, options.settings.policies)
    finally:
        await client.close()
    return done


async def run(options: HubOptions) -> None:
    """Until it is cancelled, or the leadership is lost."""
    clock, source = SystemClock(), random.SystemRandom()
    client = open_client(options)
    try:
        cluster = Cluster(client, clock=clock, random=source, component="fleet-hub-agent")
        elector = _elector(options, client, clock, source)
        manager = Manager(cluster, random=source, elector=elector)
        metrics = Metrics(lambda: _role(elector))
        parts.install(manager, options.settings, metrics)
        keeper = _certificates(options, cluster, clock)
        await policies.keep(client, options.settings.policies)
        if options.settings.enable_webhook:
            await _serve_webhooks(options, manager, keeper)
        if options.metrics_address not in ("", "0"):
            manager.add_task(
                "metrics", _metrics_server(options, client, clock, keeper, metrics).run
            )
        await manager.run()
    finally:
        await client.close()


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
    scopes = Scopes(cluster.client)
    await scopes.refresh()
    manager.add_task("kinds", scopes.run)
    webhooks = Webhooks(partial(_synced, cluster))
    around = Around(Caches(cluster), options.settings, scopes.is_cluster_scoped)
    serving.serve(webhooks, registry.declared(options.settings), around)
    server = WebhookServer(webhooks, keeper, host=options.host, port=options.port)
    manager.add_task("webhooks", server.run)


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


async def _synced(cluster: Cluster) -> None:
    """What comes while we start must not be judged by what is not known yet."""
    if not cluster.has_synced:
        await cluster.wait_synced()


def _metrics_server(
    options: HubOptions,
    client: Client,
    clock: Clock,
    keeper: CertificateKeeper,
    metrics: Metrics,
) -> PageServer:
    access = DelegatedAccess(client, clock)
    host, _, port = options.metrics_address.rpartition(":")
    page = MetricsPage(metrics.exposed, access)
    where = host.strip("[]") or "0.0.0.0"
    return PageServer(page.answer, keeper, access, host=where, port=int(port))


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
