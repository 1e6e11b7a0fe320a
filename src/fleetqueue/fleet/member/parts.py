"""What the agent of a member runs: one manager that follows two clusters, the hub's namespace of
this member and the member itself.
"""

from collections.abc import Callable, Sequence

from fleetqueue.fleet.member import agent, applier
from fleetqueue.fleet.member.joined import Membership
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.manager import Manager
from fleetqueue.metrics.registry import Metrics

Install = Callable[[Manager, Cluster, MemberSettings, Metrics, Membership], None]
PARTS: Sequence[Install] = (agent.install, applier.install)


def install(manager: Manager, member: Cluster, settings: MemberSettings, metrics: Metrics) -> None:
    """Adds all of it to a manager whose own cluster is the hub."""
    membership = Membership()
    for part in PARTS:
        part(manager, member, settings, metrics, membership)
