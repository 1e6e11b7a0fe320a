"""What a RayService hears from Ray, and what it has Ray serve."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.kube.plan import Look, Note, Plan
from fleetqueue.kube.resources import Object, key_of, uid_of
from fleetqueue.runtime.kinds import RAY_CLUSTER
from fleetqueue.runtime.operators import ray_cluster_status as states
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.ray_dashboard import Dashboard, DashboardError


@dataclass(frozen=True, slots=True)
class Deploy:
    """An order to Ray: serve this."""

    cluster: Object
    config: Object
    text: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What Ray says of one cluster."""

    applications: Mapping[str, Any]
    is_serving: bool = False
    deployed: str | None = None
    """The config that was last given to it; None: none yet."""
    problem: str = ""


class ServeOfRay:
    """Asks and orders the dashboards of clusters that have Ray, and remembers what they were given:
    after a restart everything is given again, which changes nothing.
    """

    def __init__(self, dashboard: Dashboard, has_ray: Callable[[str], bool]) -> None:
        self._dashboard, self._has_ray = dashboard, has_ray
        self._deployed: dict[Key, tuple[str, str]] = {}
        """By cluster: its uid, and what it was given."""

    async def observe(self, look: Look, /) -> Mapping[str, Any]:
        seen = {}
        for field in ("activeServiceStatus", "pendingServiceStatus"):
            one = (look.parent.get("status") or {}).get(field) or {}
            cluster = look.find(RAY_CLUSTER, str(one.get("rayClusterName") or ""))
            if cluster is not None and self._can_ask(cluster):
                seen[cluster["metadata"]["name"]] = await self._see(cluster)
        return seen

    async def carry_out(self, look: Look, what: Deploy, /) -> Plan:
        name = names.full_name(what.cluster)
        try:
            await self._dashboard.deploy(what.cluster, what.config)
        except DashboardError as error:
            text = f"Failed to update serve applications to the RayCluster {name}: {error}"
            return Plan([Note("FailedToUpdateServeApplications", text, "Warning")])
        self._note(look, what)
        text = f"Updated serve applications to the RayCluster {name}"
        return Plan([Note("UpdatedServeApplications", text)])

    async def _see(self, cluster: Object) -> Seen:
        try:
            applications = await self._dashboard.applications(cluster)
        except DashboardError as error:
            return Seen({}, problem=str(error))
        is_serving = await self._dashboard.is_serving(cluster)
        uid, text = self._deployed.get(key_of(cluster), ("", None))
        return Seen(applications, is_serving, text if uid == uid_of(cluster) else None)

    def _note(self, look: Look, what: Deploy) -> None:
        for key in list(self._deployed):
            if look.find(RAY_CLUSTER, key.name, key.namespace) is None:
                del self._deployed[key]
        self._deployed[key_of(what.cluster)] = uid_of(what.cluster), what.text

    def _can_ask(self, cluster: Object) -> bool:
        has_ray = self._has_ray(names.head_image(cluster["spec"]))
        return has_ray and states.is_true(cluster, states.HEAD_READY)
