"""The agent of a member beside a foreign API server. Where the hub is, the environment says, as
KubeFleet's agent reads it, or a Secret of the member, which may come and change at any time.
"""

import base64
import random
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fleetqueue.api.meta import Key
from fleetqueue.base.clock import SystemClock
from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.attached import installation, pages
from fleetqueue.fleet.member import following_hub
from fleetqueue.fleet.member.following_hub import HubFollower
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.allowance import Rate
from fleetqueue.kube.auth import find_access
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.connect import connect_to
from fleetqueue.kube.kubeconfig import Access, Material
from fleetqueue.kube.leader import LeaderElector, Terms
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.webhook_certificates import CertificateKeeper
from fleetqueue.metrics.registry import Metrics

LEASE = "136224848560.member.fleet.azure.com"
MANAGER = "work-api-agent"
HELD_BY = "fleetqueue-install"


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """Which cluster, and where its hub is."""

    settings: MemberSettings
    kubeconfig: Path | None = None
    context: str = ""
    hub: Access | None = None
    """None: a Secret of the member says so."""
    metrics_addresses: tuple[str, ...] = ()
    """Host and port, divided by a colon."""
    health_addresses: tuple[str, ...] = ()
    elects: bool = False
    election_namespace: str = "kube-system"
    terms: Terms | None = None
    hub_rate: Rate | None = None
    """How often it calls the hub at most; None: as often as it likes."""
    own_rate: Rate | None = None


def hub_from(
    environment: Mapping[str, str], *, uses_certificate: bool = False, is_insecure: bool = False
) -> tuple[str, Access] | None:
    """The name of the member and the access to its hub; None where nothing is said."""
    server = environment.get("HUB_SERVER_URL") or ""
    if not server:
        return None
    name = environment.get("MEMBER_CLUSTER_NAME") or ""
    if not name:
        raise InvalidInput("HUB_SERVER_URL is set, and MEMBER_CLUSTER_NAME is not: set both")
    headers = _headers(environment.get("HUB_KUBE_HEADER") or "")
    access = Access(server=server, is_insecure=is_insecure, headers=headers, name="hub")
    if not is_insecure:
        access = replace(access, authority=_authority(environment))
    if not uses_certificate:
        return name, replace(access, token_file=_needed(environment, "CONFIG_PATH"))
    certificate = Material(file=_needed(environment, "IDENTITY_CERT"))
    key = Material(file=_needed(environment, "IDENTITY_KEY"))
    return name, replace(access, certificate=certificate, key=key)


def _authority(environment: Mapping[str, str]) -> Material | None:
    if bundle := environment.get("CA_BUNDLE"):
        return Material(file=bundle)
    if encoded := environment.get("HUB_CERTIFICATE_AUTHORITY"):
        try:
            return Material(data=base64.b64decode(encoded, validate=True))
        except ValueError as error:
            raise InvalidInput("HUB_CERTIFICATE_AUTHORITY is not in base64") from error
    return None


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    """Lines as HTTP has them: a name, a colon, a value."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise InvalidInput(f'HUB_KUBE_HEADER must be lines of "name: value", not "{line}"')
        found.append((name.lower(), value.strip()))
    return tuple(found)


def _needed(environment: Mapping[str, str], name: str) -> str:
    found = environment.get(name) or ""
    if not found:
        raise InvalidInput(f"{name} is not set: it names the file with what proves who we are")
    return found


async def install(options: MemberOptions) -> list[str]:
    """Makes or updates what the agent needs; the kinds and names of it."""
    client = _client(find_access(options.kubeconfig, options.context))
    done = []
    try:
        for obj in installation.member_objects():
            await client.apply(obj, force=True, field_manager=HELD_BY)
            done.append(f"{obj['kind']}/{obj['metadata']['name']}")
    finally:
        await client.close()
    return done


async def run(options: MemberOptions) -> None:
    """Until it is cancelled, or the leadership is lost."""
    own = find_access(options.kubeconfig, options.context)
    client = _client(own, options.own_rate)
    try:
        cluster = _cluster(client)
        manager = Manager(cluster, random=cluster.random, elector=_elector(options, client))
        settings = _told_of(own, options.settings)
        metrics = Metrics()
        agent = _agent(options, cluster, settings, metrics)
        manager.add_task("member of a hub", agent, needs_leader=True)
        pages.show_health(manager, *options.health_addresses)
        names = ["localhost", "127.0.0.1", socket.gethostname()]
        keeper = CertificateKeeper(names, clock=cluster.clock)
        pages.show_metrics(
            manager, client, cluster.clock, keeper, metrics, *options.metrics_addresses
        )
        await manager.run()
    finally:
        await client.close()


def _agent(
    options: MemberOptions, cluster: Cluster, settings: MemberSettings, metrics: Metrics
) -> Callable[[], Awaitable[None]]:
    """What does the work: for the hub that we were told of, or for whichever a Secret names."""
    client = cluster.client

    async def serve_one(access: Access) -> None:
        hub = _client(access, options.hub_rate)
        try:
            await following_hub.run(hub, _cluster(client), settings, metrics, cluster.random)
        finally:
            await hub.close()

    if options.hub is not None:
        return partial(serve_one, options.hub)
    connect = partial(_client, rate=options.hub_rate)
    return HubFollower(cluster, connect, lambda: _cluster(client), settings, metrics).run


def _elector(options: MemberOptions, client: Client) -> LeaderElector | None:
    if not options.elects:
        return None
    source = random.SystemRandom()
    return LeaderElector(
        client,
        Key(options.election_namespace, LEASE),
        f"{socket.gethostname()}_{source.getrandbits(64):016x}",
        clock=SystemClock(),
        random=source,
        terms=options.terms,
    )


def _told_of(own: Access, settings: MemberSettings) -> MemberSettings:
    """Others may be told how to reach this cluster."""
    authority = "" if own.authority is None else own.authority.read().decode()
    return replace(settings, server_url=own.server, certificate_authority=authority)


def _client(access: Access, rate: Rate | None = None) -> Client:
    clock, source = SystemClock(), random.SystemRandom()
    return connect_to(access, clock=clock, random=source, field_manager=MANAGER, rate=rate)


def _cluster(client: Client) -> Cluster:
    return Cluster(client, clock=SystemClock(), random=random.SystemRandom())
