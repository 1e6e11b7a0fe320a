"""The agent of a member beside a foreign API server. Where the hub is, the environment says, as
KubeFleet's agent reads it, or a Secret of the member, which may come and change at any time.
"""

import base64
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fleetqueue.base.clock import SystemClock
from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.attached import installation
from fleetqueue.fleet.member import following_hub
from fleetqueue.fleet.member.following_hub import HubFollower
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.auth import find_access
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.connect import connect_to
from fleetqueue.kube.kubeconfig import Access, Material
from fleetqueue.kube.manager import Manager
from fleetqueue.metrics.registry import Metrics

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
    access = Access(server=server, is_insecure=is_insecure, name="hub")
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
    """Until it is cancelled."""
    own = find_access(options.kubeconfig, options.context)
    client = _client(own)
    settings = _told_of(own, options.settings)
    metrics = Metrics()
    try:
        if options.hub is None:
            await _follow(client, settings, metrics)
            return
        hub = _client(options.hub)
        try:
            source = random.SystemRandom()
            await following_hub.run(hub, _cluster(client), settings, metrics, source)
        finally:
            await hub.close()
    finally:
        await client.close()


async def _follow(client: Client, settings: MemberSettings, metrics: Metrics) -> None:
    cluster = _cluster(client)
    manager = Manager(cluster, random=cluster.random)
    follower = HubFollower(cluster, _client, lambda: _cluster(client), settings, metrics)
    manager.add_task("member of a hub", follower.run)
    await manager.run()


def _told_of(own: Access, settings: MemberSettings) -> MemberSettings:
    """Others may be told how to reach this cluster."""
    authority = "" if own.authority is None else own.authority.read().decode()
    return replace(settings, server_url=own.server, certificate_authority=authority)


def _client(access: Access) -> Client:
    clock, source = SystemClock(), random.SystemRandom()
    return connect_to(access, clock=clock, random=source, field_manager=MANAGER)


def _cluster(client: Client) -> Cluster:
    return Cluster(client, clock=SystemClock(), random=random.SystemRandom())
