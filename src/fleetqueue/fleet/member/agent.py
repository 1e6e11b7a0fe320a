"""The agent of a member: follows what the hub wants of it, joins and leaves, and tells with each
heartbeat how it fares and what it has.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import naming
from fleetqueue.api.fleet.cluster import ClusterState
from fleetqueue.api.meta import Key
from fleetqueue.errors import FleetqueueError
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import agent
from fleetqueue.fleet.decide.agent import Report, Verdict
from fleetqueue.fleet.decide.membership import HEARTBEAT_SECONDS, Told
from fleetqueue.fleet.member.joined import Membership
from fleetqueue.fleet.member.properties.calling import Asking, Heard
from fleetqueue.fleet.member.properties.provider import Site
from fleetqueue.fleet.member.properties.registry import provider_of
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.errors import KubeError, Refused
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.transport import Call
from fleetqueue.metrics.registry import Metrics

NAME = "v1beta1InternalMemberClusterController"
"""Who its events say that they come from."""
JITTER = 0.05
"""How much a heartbeat comes early or late, so that members do not come together."""
NEWS_SECONDS = 1.0
"""How soon changed properties are told; what changes meanwhile is told with them."""
PROBE_SECONDS_MAX = 10.0
log = logging.getLogger(__name__)


def install(
    manager: Manager,
    member: Cluster,
    settings: MemberSettings,
    metrics: Metrics,
    membership: Membership,
) -> None:
    made = Agent(manager.cluster, member, settings, metrics, membership)
    manager.follow(member)
    loop = manager.add(made)
    made.wake_after = lambda seconds: loop.queue.add_after(made.key, seconds)
    manager.add_task("properties", made.asking.run)


class Agent(Controller[Any]):
    """Woken when the hub wants something else, by the clock, and by news of the member."""

    kind = kinds.INTERNAL_MEMBER_CLUSTER

    def __init__(
        self,
        hub: Cluster,
        member: Cluster,
        settings: MemberSettings,
        metrics: Metrics,
        membership: Membership,
    ) -> None:
        self.hub = hub
        self.member = member
        self.namespace = naming.member_namespace(settings.name)
        self.key = Key(self.namespace, settings.name)
        self.wake_after: Callable[[float], None] = _wake_nobody
        make = provider_of(settings.provider)
        provider = make and make(Site(member, settings, self._note_news))
        self.asking = Asking(provider or None, member.client)
        self._metrics = metrics
        self._membership = membership
        self._due_at: datetime | None = None
        """When the next heartbeat is due; none has been sent where it is None."""

    def wanted(self, old: Any, new: Any, /) -> bool:
        """Its own reports do not wake it."""
        if old is None or new is None:
            return True
        return bool(old["metadata"].get("generation") != new["metadata"].get("generation"))

    async def reconcile(self, internal: Object, /) -> Result:
        if key_of(internal) != self.key:
            return DONE
        if internal["spec"].get("state") == ClusterState.LEAVE:
            return await self._leave(internal)
        return await self._join(internal)

    async def gone(self, key: Key, /) -> Result:
        """The hub has forgotten this member; nothing of its Works is left to apply."""
        if key == self.key:
            self._membership.is_joined = False
            self._due_at = None
        return DONE

    async def _join(self, internal: Object) -> Result:
        try:
            self._membership.join()
        except FleetqueueError as error:
            await self._report(internal, Report([agent.failed_to_join(str(error))]))
            raise
        heard = await self.asking.ask()
        if self._is_told(internal, heard):
            return Result(self._due_in())
        health = agent.health(await self._probe())
        await self._report(internal, Report([health, agent.JOINED], heard.remarks, heard.collected))
        self._tell(internal, [Told(each.reason, each.message, not each.is_true)
                              for each in heard.news])  # fmt: skip
        self._due_at = self.member.clock.now() + self._period(internal)
        return Result(self._due_in())

    async def _leave(self, internal: Object) -> Result:
        try:
            await self._membership.leave()
        except FleetqueueError as error:
            await self._report(internal, Report([agent.failed_to_leave(str(error))]))
            raise
        await self._report(internal, Report([agent.LEFT], has_heartbeat=False))
        self._due_at = None
        return DONE

    def _is_told(self, internal: Object, heard: Heard) -> bool:
        """Whether it was woken before its time and has nothing new to tell."""
        if self._due_at is None or self.member.clock.now() >= self._due_at:
            return False
        status = internal.get("status") or {}
        if heard.collected is None or not agent.says_same(status, heard.collected):
            return False
        agents = status.get("agentStatus") or ()
        return _generations(agents) == {internal["metadata"].get("generation")}

    async def _report(self, internal: Object, report: Report) -> None:
        status, told = agent.status(internal, report, self.member.clock.now())
        if status == internal.get("status"):
            return
        written = await self.hub.client.update(
            {**internal, "status": status}, subresource="status", resource=self.kind
        )
        self.hub.accept(written)
        self._tell(internal, told)
        self._count(report.verdicts, told)

    def _tell(self, internal: Object, told: Sequence[Told]) -> None:
        for each in told:
            kind = "Warning" if each.is_warning else "Normal"
            self.hub.events.record(internal, kind, each.reason, each.message, component=NAME)

    def _count(self, verdicts: Sequence[Verdict], told: Sequence[Told]) -> None:
        for verdict, name in ((agent.JOINED, "join"), (agent.LEFT, "leave")):
            if verdict in verdicts and verdict.told in told:
                self._metrics.count(f"{name}_result_counter", "success")

    async def _probe(self) -> int:
        """What the member's API server answers; 0 where it does not."""
        call = Call("GET", "/readyz", timeout_seconds=PROBE_SECONDS_MAX)
        try:
            answer = await self.member.client.call(call)
        except Refused as error:
            return error.code
        except KubeError:
            return 0
        return answer.status

    def _note_news(self) -> None:
        if self._due_at is not None:
            self.wake_after(NEWS_SECONDS)

    def _period(self, internal: Object) -> timedelta:
        seconds = internal["spec"].get("heartbeatPeriodSeconds") or HEARTBEAT_SECONDS
        return timedelta(seconds=seconds * (1 + JITTER * (2 * self.hub.random.random() - 1)))

    def _due_in(self) -> timedelta:
        assert self._due_at is not None
        return max(self._due_at - self.member.clock.now(), timedelta(milliseconds=1))


def _wake_nobody(seconds: float) -> None:
    """Before the agent is installed there is nobody to wake."""


def _generations(agents: Iterable[Object]) -> set[Any]:
    return {
        condition.get("observedGeneration")
        for each in agents
        for condition in each.get("conditions") or ()
    }
