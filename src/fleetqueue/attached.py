"""Kueue's controllers against a foreign API server: connect, lead, serve webhooks, work."""

import random
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from fleetqueue import installation, kueue
from fleetqueue.admission.parts import Admission
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import conversion, policies
from fleetqueue.api.kueue.config import Configuration
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.api.meta import Key
from fleetqueue.api.model import write
from fleetqueue.attach_options import AttachOptions
from fleetqueue.base import documents
from fleetqueue.base.clock import SystemClock
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.errors import UserError
from fleetqueue.jobs import registry
from fleetqueue.kube.allowance import Rate
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.connect import connect, connect_to
from fleetqueue.kube.delegated_access import DelegatedAccess
from fleetqueue.kube.errors import UnknownKind
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.given_certificates import GivenCertificates
from fleetqueue.kube.group_pages import GroupPages
from fleetqueue.kube.health_server import ALIVE, HealthServer
from fleetqueue.kube.late_kinds import LateKinds
from fleetqueue.kube.leader import LeaderElector
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.metrics_page import MetricsPage
from fleetqueue.kube.page_server import Answer, PageServer
from fleetqueue.kube.registering import register
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.webhook import Webhooks, WebhookServer
from fleetqueue.kube.webhook_certificates import CertificateKeeper, Certificates
from fleetqueue.kube.webhook_serving import serve, serve_idly
from fleetqueue.kueue import KueueOptions
from fleetqueue.metrics.registry import FOLLOWER, LEADER, STANDALONE, Metrics
from fleetqueue.multikueue.kinds import CLUSTER_PROFILE

__all__ = ["AttachOptions", "install", "run"]

MANAGER = "kueue"
HELD_BY = "fleetqueue-install"


def open_client(options: AttachOptions, rate: Rate | None = None) -> Client:
    return connect(
        options.kubeconfig,
        options.context,
        clock=SystemClock(),
        random=random.SystemRandom(),
        field_manager=MANAGER,
        rate=rate,
    )


def open_clients(options: AttachOptions) -> list[Client]:
    """The controllers' at the rate of the configuration; where it has one, the last is for the
    lease and for whoever asks us, which must not wait behind them.
    """
    rates = [None] if options.rate is None else [options.rate, None]
    return [open_client(options, rate) for rate in rates]


async def install(options: AttachOptions) -> list[str]:
    """Makes or updates what the controllers need; the kinds and names of it."""
    client = open_client(options)
    done = []
    try:
        for obj in installation.objects(await _as_served(client, wanted(options))):
            await register(client, obj, field_manager=HELD_BY)
            done.append(f"{obj['kind']}/{obj['metadata']['name']}")
    finally:
        await client.close()
    return done


async def _as_served(client: Client, asked: installation.Wanted) -> installation.Wanted:
    """In the names and versions that the cluster has."""
    reads = [await client.discovery.found(each) for each in asked.reads]
    version = await policy_version(client) if asked.has_policy else asked.policy_version
    return replace(asked, reads=reads, policy_version=version)


async def policy_version(client: Client) -> str:
    """The best in which the server has policies that change what is written."""
    for version in policies.VERSIONS:
        try:
            await client.discovery.resource(f"{policies.API_GROUP}/{version}", policies.KIND)
        except UnknownKind:
            continue
        return version
    raise UserError(
        f"the cluster serves no {policies.KIND}: Kubernetes 1.36 does, and 1.32 and later with the"
        f" feature gate {policies.KIND} and its API turned on"
    )


def wanted(options: AttachOptions) -> installation.Wanted:
    kinds = registry.enabled_kinds(options.kueue.jobs)
    jobs = [kind.resource for kind in kinds]
    others = [each for kind in kinds for each in (*kind.owns, *kind.reads)]
    others += options.kueue.jobs.external
    probes, metrics = options.probes_place, options.metrics_place
    config = options.kueue.config
    return installation.Wanted(
        options.namespace,
        list(kueue.webhooks(options.kueue)),
        options.reach,
        jobs,
        [each for each in dict.fromkeys(others) if each.group not in ("", GROUP)],
        shipped(config),
        options.webhook_port,
        options.visibility_port,
        options.has_policy,
        image=options.image,
        replicas=options.replicas,
        probes_port=probes[1] if probes is not None else None,
        people=[kind.resource for kind in registry.all_kinds()],
        lease_namespace=options.lease.namespace,
        metrics_port=metrics[1] if metrics is not None else None,
        alive_path=options.alive_path,
        ready_path=options.ready_path,
        certificates=options.mounted_certificate,
    )


def shipped(config: Configuration) -> str:
    """The file of the ConfigMap, with the parts that people's programs add to even where they are
    empty.
    """
    document = write(config)
    listed = {"frameworks": list(config.integrations.frameworks)}
    document["integrations"] = {**(document.get("integrations") or {}), **listed}
    document["featureGates"] = dict(config.feature_gates)
    return documents.dump(document)


async def run(options: AttachOptions) -> None:
    """Until it is cancelled, or the leadership is lost."""
    options = replace(options, kueue=replace(options.kueue, blueprints=BLUEPRINTS))
    clients = open_clients(options)
    try:
        await _run(options, clients[0], clients[-1])
    finally:
        for each in clients:
            await each.close()


async def _run(options: AttachOptions, client: Client, beside: Client) -> None:
    """`beside`: for what is no controller's work."""
    clock, source = SystemClock(), random.SystemRandom()
    cluster = Cluster(client, clock=clock, random=source, component=MANAGER, strip=status.lean)
    identity = f"{socket.gethostname()}_{source.getrandbits(64):016x}"
    elector = None
    if options.elects:
        elector = LeaderElector(
            beside, options.lease, identity, clock=clock, random=source, terms=options.terms
        )
    manager = Manager(
        cluster, random=source, elector=elector, sync_seconds_max=options.sync_seconds_max
    )
    metrics = Metrics(lambda: _role(elector))
    made = await install_controllers(manager, options.kueue, metrics, source)
    keeper = certificates(options, beside, clock)
    webhooks = webhook_server(options, cluster, clock, keeper)
    manager.add_task("webhooks", webhooks.run)
    for name, server in page_servers(options, beside, clock, keeper, made).items():
        manager.add_task(name, server.run)
    if (probes := health_server(options, partial(_is_up, manager, webhooks))) is not None:
        manager.add_task("probes", probes.run)
    await manager.run()


async def install_controllers(
    manager: Manager, options: KueueOptions, metrics: Metrics, source: random.Random
) -> Admission:
    """All controllers; those of kinds that the cluster does not have yet wait for them."""
    cluster = manager.cluster
    made = kueue.install(manager, options, metrics=metrics)
    kueue.install_late_provisioning(manager, options)
    profiles = await _is_served(cluster.client, CLUSTER_PROFILE)
    connect = partial(connect_to, clock=cluster.clock, random=source)
    kueue.install_dispatching(
        manager, options, made, connect, lambda kind: kind != CLUSTER_PROFILE or profiles
    )
    for kind in options.jobs.external:
        # Owners of pods may be of these, though their controllers are elsewhere.
        cluster.informer(kind)
    late = LateKinds(cluster, lambda kind: kind.group != GROUP, random=source)
    await late.look()
    manager.add_task("kinds", late.run)
    return made


def webhook_server(
    options: AttachOptions, cluster: Cluster, clock: SystemClock, keeper: Certificates
) -> WebhookServer:
    webhooks = webhooks_of(options, cluster, clock)
    host, port = options.webhook_host, options.webhook_port
    return WebhookServer(webhooks, keeper, host=host, port=port, tls=options.tls)


def webhooks_of(options: AttachOptions, cluster: Cluster, clock: SystemClock) -> Webhooks:
    webhooks = Webhooks(cluster)
    serve(webhooks, kueue.webhooks(options.kueue), Caches(cluster), clock)
    serve_idly(webhooks, kueue.job_webhooks_of_all_kinds(options.kueue))
    webhooks.convert("/convert", conversion.convert)
    return webhooks


def health_server(options: AttachOptions, is_up: Callable[[], bool]) -> HealthServer | None:
    if (place := options.probes_place) is None:
        return None
    # Where nothing else is said, a newer name of the same is answered too.
    names = ALIVE if options.alive_path == ALIVE[0] else (options.alive_path,)
    alive = [name for name in names if name != options.ready_path]
    return HealthServer(is_up, *place, alive=alive, ready=options.ready_path)


def page_servers(
    options: AttachOptions,
    client: Client,
    clock: SystemClock,
    keeper: Certificates,
    made: Admission,
) -> dict[str, PageServer]:
    """What people look at: who waits and why, and the metrics."""
    config = options.kueue.config
    access = DelegatedAccess(client, clock)
    groups = GroupPages(kueue.served_groups(options.kueue, made), access)
    where = config.visibility_server
    answers: dict[str, tuple[Answer, str, int]] = {
        "visibility": (groups.answer, where.bind_address, where.bind_port)
    }
    if place := options.metrics_place:
        answers["metrics"] = (MetricsPage(made.metrics.exposed, access).answer, *place)
    return {
        name: PageServer(answer, keeper, access, host=host, port=port, tls=options.tls)
        for name, (answer, host, port) in answers.items()
    }


def _is_up(manager: Manager, webhooks: WebhookServer) -> bool:
    """Whoever is ready is asked by the API server, leader or not."""
    return manager.is_ready and webhooks.is_listening


def certificates(options: AttachOptions, client: Client, clock: SystemClock) -> Certificates:
    """One for all our servers."""
    if (folder := options.certificate_folder) is not None:
        return GivenCertificates(folder)
    services = (options.reach.service, installation.VISIBILITY, installation.METRICS)
    names = [
        *(f"{each}.{options.namespace}.svc" for each in services),
        f"{installation.METRICS}.{options.namespace}.svc.cluster.local",
        "localhost",
        "127.0.0.1",
        socket.gethostname(),
    ]
    # Several that are reached by one name must show one certificate.
    shared = options.kueue.config.internal_cert_management.webhook_secret_name
    secret = None if options.url else Key(options.namespace, shared)
    return CertificateKeeper(
        names,
        clock=clock,
        client=client,
        secret=secret,
        registration=installation.registration(),
        key_kind=options.key_kind,
    )


async def _is_served(client: Client, kind: Resource) -> bool:
    try:
        await client.discovery.resource(kind.api_version, kind.kind)
    except UnknownKind:
        return False
    return True


def _role(elector: LeaderElector | None) -> str:
    if elector is None:
        return STANDALONE
    return LEADER if elector.is_leader else FOLLOWER
