"""What an embedded cluster has as a hub of members, and as a member of a hub. Little of it is
loaded where it is neither.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleetqueue.embedded.options import LiveOptions

if TYPE_CHECKING:
    from fleetqueue.apiserver.core import Core
    from fleetqueue.fleet.member.following_hub import Connect
    from fleetqueue.fleet.webhooks.declared import Declared
    from fleetqueue.kube.cluster import Cluster
    from fleetqueue.kube.manager import Manager
    from fleetqueue.kube.resources import Resource
    from fleetqueue.metrics.registry import Metrics

Object = dict[str, Any]
PROVIDER = "fleetqueue"
KNOWN_BY = "memberclusters.cluster.kubernetes-fleet.io"
"""What has this has the other kinds of a hub."""


def crds(options: LiveOptions, core: "Core") -> list[Object]:
    """Those of a hub, where it is one and does not have them."""
    if options.hub is None or core.registry.by_table(KNOWN_BY) is not None:
        return []
    from fleetqueue.fleet.crds import hub_crds

    return hub_crds()


def objects(options: LiveOptions) -> list[Object]:
    if options.hub is None:
        return []
    from fleetqueue.fleet import access

    return [access.namespace()]


def placed(options: LiveOptions, cluster: "Cluster") -> "Callable[[Resource, Object], bool]":
    """Whether a placement of this hub takes an object to members."""
    if options.hub is None:
        return lambda kind, obj: False
    from fleetqueue.fleet.hub.placed import Placed

    return Placed(cluster).selects


def install(options: LiveOptions, manager: "Manager", core: "Core", metrics: "Metrics") -> None:
    """The controllers and webhooks of a hub, where it is one."""
    if options.hub is None:
        return
    from fleetqueue.embedded.hub_webhooks import HubHook
    from fleetqueue.fleet.hub import parts
    from fleetqueue.fleet.webhooks import registry

    declared = registry.declared(options.hub)
    hook = HubHook(core, options.hub, declared, options.hub.policies)
    if not options.hub.policies:
        hook.resources = _concerned(declared)
    core.hooks.add(hook)
    parts.install(manager, replace(options.hub, observes_all_versions=True), metrics)


def _concerned(declared: "Iterable[Declared]") -> set[tuple[str, str]] | None:
    """Group and resource of what the webhooks look at, so that other writes pass untouched; None
    where one looks at everything.
    """
    found = set()
    for rule in (rule for each in declared for rule in each.rules):
        for named in rule.resources:
            plural = named.partition("/")[0]
            if "*" in (rule.group, plural):
                return None
            found.add((rule.group, plural))
    return found


def follow_hub(
    options: LiveOptions,
    manager: "Manager",
    connect: "Connect",
    make_member: "Callable[[], Cluster]",
    metrics: "Metrics",
) -> None:
    """It becomes a member as soon as a Secret names a hub."""
    from fleetqueue.fleet.member.following_hub import HubFollower
    from fleetqueue.fleet.settings import MemberSettings

    settings = MemberSettings(
        name="",
        provider=PROVIDER,
        is_job_aware=options.is_job_aware,
        server_url=options.url,
        certificate_authority=options.authority.decode(),
    )
    follower = HubFollower(manager.cluster, connect, make_member, settings, metrics)
    manager.add_task("member of a hub", follower.run)
