"""Kueue's controllers against a foreign API server: connect, lead, serve webhooks, work."""

import random
import socket
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fleetqueue import installation, kueue
from fleetqueue.admission.parts import Admission
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import conversion, policies
from fleetqueue.api.kueue.config import Configuration
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.api.meta import Key
from fleetqueue.api.model import write
from fleetqueue.api.times import parse_duration
from fleetqueue.base import documents
from fleetqueue.base.clock import SystemClock
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.errors import InvalidInput, UserError
from fleetqueue.jobs import registry
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.connect import connect, connect_to
from fleetqueue.kube.delegated_access import DelegatedAccess
from fleetqueue.kube.errors import UnknownKind
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.group_pages import GroupPages
from fleetqueue.kube.health_server import HealthServer
from fleetqueue.kube.late_kinds import LateKinds
from fleetqueue.kube.leader import JITTER, LeaderElector, Terms
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.metrics_page import MetricsPage
from fleetqueue.kube.page_server import PageServer
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.webhook import Webhooks, WebhookServer
from fleetqueue.kube.webhook_certificates import CertificateKeeper
from fleetqueue.kube.webhook_serving import Reach, serve
from fleetqueue.kueue import KueueOptions
from fleetqueue.metrics.registry import FOLLOWER, LEADER, STANDALONE, Metrics
from fleetqueue.multikueue.kinds import CLUSTER_PROFILE
from fleetqueue.provisioning.kinds import REQUEST as PROVISIONING_REQUEST

MANAGER = "kueue"
HELD_BY = "fleetqueue-install"


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """Which cluster, how it reaches our webhooks, and what runs."""

    kueue: KueueOptions
    kubeconfig: Path | None = None
    context: str = ""
    host: str = ""
    port: int | None = None
    """Where webhooks listen; as the configuration says where nothing is given."""
    url: str = ""
    """Where the API server finds us; "" : behind the Service in our namespace."""
    leads_alone: bool = False
    """No election: nobody else runs."""
    has_policy: bool = False
    """Install the policy that lets any field manager nominate workers."""
    image: str = ""
    replicas: int = 1
    """Of the Deployment to install; none without an image."""

    @property
    def namespace(self) -> str:
        return self.kueue.config.namespace or "kueue-system"

    @property
    def webhook_host(self) -> str:
        return self.host or self.kueue.config.webhook.host or "0.0.0.0"

    @property
    def webhook_port(self) -> int:
        return self.kueue.config.webhook.port if self.port is None else self.port

    @property
    def elects(self) -> bool:
        return not self.leads_alone and self.kueue.config.leader_election.leader_elect is not False

    @property
    def lease(self) -> Key:
        said = self.kueue.config.leader_election
        return Key(said.resource_namespace or self.namespace, said.resource_name)

    @property
    def terms(self) -> Terms:
        said = self.kueue.config.leader_election
        lease, renew, retry = map(
            parse_duration, (said.lease_duration, said.renew_deadline, said.retry_period)
        )
        if lease <= renew:
            raise InvalidInput("leaderElection: leaseDuration must be greater than renewDeadline")
        if renew <= retry * JITTER:
            text = f"renewDeadline must be greater than {JITTER} times retryPeriod"
            raise InvalidInput(f"leaderElection: {text}")
        return Terms(lease, renew, retry)

    @property
    def visibility_port(self) -> int:
        return self.kueue.config.visibility_server.bind_port

    @property
    def reach(self) -> Reach:
        service = self.kueue.config.internal_cert_management.webhook_service_name
        return Reach(self.url, service, self.namespace)


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
    try:
        for obj in installation.objects(await _as_served(client, wanted(options))):
            await client.apply(obj, force=True, field_manager=HELD_BY)
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
    probes = _place(options.kueue.config.health.health_probe_bind_address)
    return installation.Wanted(
        options.namespace,
        list(kueue.webhooks(options.kueue)),
        options.reach,
        jobs,
        [each for each in dict.fromkeys(others) if each.group not in ("", GROUP)],
        shipped(options.kueue.config),
        options.webhook_port,
        options.visibility_port,
        options.has_policy,
        image=options.image,
        replicas=options.replicas,
        probes_port=probes[1] if probes is not None else None,
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
    clock, source = SystemClock(), random.SystemRandom()
    options = replace(options, kueue=replace(options.kueue, blueprints=BLUEPRINTS))
    client = open_client(options)
    try:
        cluster = Cluster(client, clock=clock, random=source, component=MANAGER, strip=status.lean)
        identity = f"{socket.gethostname()}_{source.getrandbits(64):016x}"
        elector = None
        if options.elects:
            elector = LeaderElector(
                client, options.lease, identity, clock=clock, random=source, terms=options.terms
            )
        manager = Manager(cluster, random=source, elector=elector)
        metrics = Metrics(lambda: _role(elector))
        made = await install_controllers(manager, options.kueue, metrics, source)
        keeper = certificates(options, cluster, clock)
        webhooks = webhook_server(options, cluster, clock, keeper)
        manager.add_task("webhooks", webhooks.run)
        for name, server in page_servers(options, client, clock, keeper, made).items():
            manager.add_task(name, server.run)
        if place := _place(options.kueue.config.health.health_probe_bind_address):
            is_up = partial(_is_up, manager, webhooks)
            manager.add_task("probes", HealthServer(is_up, *place).run)
        await manager.run()
    finally:
        await client.close()


async def install_controllers(
    manager: Manager, options: KueueOptions, metrics: Metrics, source: random.Random
) -> Admission:
    """All controllers; those of kinds that the cluster does not have yet wait for them."""
    cluster = manager.cluster
    provisions = await _is_served(cluster.client, PROVISIONING_REQUEST)
    made = kueue.install(
        manager, options, lambda kind: kind != PROVISIONING_REQUEST or provisions, metrics
    )
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
    options: AttachOptions, cluster: Cluster, clock: SystemClock, keeper: CertificateKeeper
) -> WebhookServer:
    webhooks = Webhooks(cluster)
    serve(webhooks, kueue.webhooks(options.kueue), Caches(cluster), clock)
    webhooks.convert("/convert", conversion.convert)
    return WebhookServer(webhooks, keeper, host=options.webhook_host, port=options.webhook_port)


def page_servers(
    options: AttachOptions,
    client: Client,
    clock: SystemClock,
    keeper: CertificateKeeper,
    made: Admission,
) -> dict[str, PageServer]:
    """What people look at: who waits and why, and the metrics."""
    config = options.kueue.config
    access = DelegatedAccess(client, clock)
    groups = GroupPages(kueue.served_groups(options.kueue, made), access)
    where = config.visibility_server
    servers = {
        "visibility": PageServer(
            groups.answer, keeper, access, host=where.bind_address, port=where.bind_port
        )
    }
    if place := _place(config.metrics.bind_address):
        page = MetricsPage(made.metrics.exposed, access)
        servers["metrics"] = PageServer(page.answer, keeper, access, host=place[0], port=place[1])
    return servers


def _is_up(manager: Manager, webhooks: WebhookServer) -> bool:
    """Whoever is ready is asked by the API server, leader or not."""
    return manager.is_ready and webhooks.is_listening


def _place(address: str) -> tuple[str, int] | None:
    """Host and port; None where nobody is to listen."""
    host, _, port = address.rpartition(":")
    return None if address in ("", "0") else (host.strip("[]") or "0.0.0.0", int(port))


def certificates(options: AttachOptions, cluster: Cluster, clock: SystemClock) -> CertificateKeeper:
    """One for all our servers."""
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
        client=cluster.client,
        secret=secret,
        registration=installation.registration(),
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
