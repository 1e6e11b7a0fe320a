"""Kueue's controllers against a foreign API server: connect, lead, serve webhooks, work."""

import contextlib
import random
import socket
from dataclasses import dataclass
from pathlib import Path

from fleetqueue import installation, kueue
from fleetqueue.api.kueue import conversion
from fleetqueue.api.meta import Key
from fleetqueue.base.clock import SystemClock
from fleetqueue.jobs import registry
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.connect import connect
from fleetqueue.kube.errors import UnknownKind
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.leader import LeaderElector
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.webhook import Webhooks, WebhookServer
from fleetqueue.kube.webhook_certificates import CertificateKeeper, Registration
from fleetqueue.kube.webhook_serving import Reach, serve
from fleetqueue.kueue import KueueOptions

LEASE = "c1f6bfd2.kueue.x-k8s.io"
MANAGER = "kueue"
HELD_BY = "fleetqueue-install"


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """Which cluster, how it reaches our webhooks, and what runs."""

    kueue: KueueOptions
    kubeconfig: Path | None = None
    context: str = ""
    host: str = "0.0.0.0"
    port: int = 9443
    url: str = ""
    """Where the API server finds us; "" : behind the Service in our namespace."""
    leads_alone: bool = False
    """No election: nobody else runs."""

    @property
    def namespace(self) -> str:
        return self.kueue.config.namespace or "kueue-system"

    @property
    def reach(self) -> Reach:
        return Reach(self.url, installation.SERVICE, self.namespace)


def open_client(options: AttachOptions) -> Client:
    return connect(
        options.kubeconfig,
        options.context,
        clock=SystemClock(),
        random=random.SystemRandom(),
        field_manager=MANAGER,
    )


async def install(options: AttachOptions) -> list[str]:
    """Makes or updates what the controllers need; the kinds and names of it."""
    client = open_client(options)
    done = []
    kinds = [kind.resource for kind in registry.enabled_kinds(options.kueue.jobs)]
    declared = list(kueue.webhooks(options.kueue))
    try:
        for obj in installation.objects(options.namespace, declared, options.reach, kinds):
            await client.apply(obj, force=True, field_manager=HELD_BY)
            done.append(f"{obj['kind']}/{obj['metadata']['name']}")
    finally:
        await client.close()
    return done


async def run(options: AttachOptions) -> None:
    """Until it is cancelled, or the leadership is lost."""
    clock, source = SystemClock(), random.SystemRandom()
    client = open_client(options)
    try:
        cluster = Cluster(client, clock=clock, random=source, component=MANAGER)
        identity = f"{socket.gethostname()}_{source.getrandbits(64):016x}"
        lease = Key(options.namespace, LEASE)
        elector = None
        if not options.leads_alone:
            elector = LeaderElector(client, lease, identity, clock=clock, random=source)
        manager = Manager(cluster, random=source, elector=elector)
        served = await _served(client, options.kueue)
        kueue.install(manager, options.kueue, served.__contains__)
        manager.add_task("webhooks", webhook_server(options, cluster, clock).run)
        await manager.run()
    finally:
        await client.close()


def webhook_server(options: AttachOptions, cluster: Cluster, clock: SystemClock) -> WebhookServer:
    webhooks = Webhooks()
    serve(webhooks, kueue.webhooks(options.kueue), Caches(cluster), clock)
    webhooks.convert("/convert", conversion.convert)
    names = [
        f"{installation.SERVICE}.{options.namespace}.svc",
        "localhost",
        "127.0.0.1",
        socket.gethostname(),
    ]
    registration = Registration(
        mutating=[f"{installation.NAME}-mutating-webhook-configuration"],
        validating=[f"{installation.NAME}-validating-webhook-configuration"],
        crds=[f"{plural}.kueue.x-k8s.io" for plural in installation.CONVERTED],
    )
    keeper = CertificateKeeper(names, clock=clock, client=cluster.client, registration=registration)
    return WebhookServer(webhooks, keeper, host=options.host, port=options.port)


async def _served(client: Client, options: KueueOptions) -> set[Resource]:
    """The kinds of jobs that the cluster knows."""
    found = set()
    for kind in registry.enabled_kinds(options.jobs):
        with contextlib.suppress(UnknownKind):
            await client.discovery.resource(kind.resource.api_version, kind.resource.kind)
            found.add(kind.resource)
    return found
