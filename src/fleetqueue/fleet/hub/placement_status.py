"""Writes what a placement says of itself: its status, the copy of it in a namespace, events, and
the metric of how far it is.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import selection, status
from fleetqueue.fleet.decide.status_clusters import Facts
from fleetqueue.fleet.hub.pacing import Turns
from fleetqueue.fleet.kinds import Scope
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import AlreadyExists, Forbidden, Invalid, NotFound
from fleetqueue.kube.events import NORMAL, WARNING
from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.metrics.registry import Reading

COMPONENT = "placement-controller"
METRIC = "fleet_workload_placement_status_last_timestamp_seconds"
NAMESPACE_ACCESSIBLE = "NamespaceAccessible"
STATUS_OF_PLACEMENT = "placement status by name"
_PARTS = ("selectedResources", "observedResourceIndex", "placementStatuses", "conditions")


class Reporter:
    """Of the placements of one scope."""

    def __init__(self, cluster: Cluster, scope: Scope, *, in_steps: bool) -> None:
        """`in_steps`: every step on the way is told."""
        self._cluster = cluster
        self._scope = scope
        self._turns = None if in_steps else Turns(cluster.clock)
        self._said: dict[Key, Object] = {}
        """The status written last."""
        self._measured: dict[Key, dict[tuple[str, ...], float]] = {}
        """By placement, when it came to each place on its way, in its present generation."""
        if not scope.is_namespaced:
            cluster.informer(
                kinds.PLACEMENT_STATUS,
                indexes={STATUS_OF_PLACEMENT: lambda obj: (obj["metadata"]["name"],)},
            )

    async def report(self, facts: Facts, told: Object) -> float:
        """Status first, events after it: whoever reads of an event finds it there. Returns how many
        seconds what there is to say waits for its turn.
        """
        placement = facts.placement
        self.measure(facts, told)
        if seconds := self._waits(placement, told):
            return seconds
        if is_accessible(placement):
            told = await self._copied(facts, told)
        await self.write(placement, told)
        for reason, message in status.events(facts, told):
            self.note(placement, reason, message)
        return 0.0

    def _waits(self, placement: Object, told: Object) -> float:
        if self._turns is None:
            return 0.0
        key, before = key_of(placement), placement.get("status") or {}
        if told != before and status.is_under_way(before, told):
            return self._turns.wait(key)
        self._turns.give_back(key)
        return 0.0

    async def write(self, placement: Object, told: Object) -> None:
        key, before = key_of(placement), placement.get("status") or {}
        self._said[key] = told
        if before == told:
            return
        change = {name: told.get(name) for name in _PARTS if before.get(name) != told.get(name)}
        await self._cluster.patch(
            self._scope.placement, key.name, {"status": change}, key.namespace,
            subresource="status", field_manager=labels.PLACEMENT_MANAGER,
        )  # fmt: skip

    def note(self, placement: Object, reason: str, message: str, *, is_bad: bool = False) -> None:
        kind = WARNING if is_bad else NORMAL
        self._cluster.events.record(placement, kind, reason, message, component=COMPONENT)

    def measure(self, facts: Facts, told: Object) -> None:
        """When it came to where it is."""
        key, generation = key_of(facts.placement), str(facts.generation)
        place = (generation, *status.measured(facts, told))
        places = self._measured.setdefault(key, {})
        if place in places and next(reversed(places)) == place:
            return
        for each in [each for each in places if each[0] != generation or each == place]:
            del places[each]
        places[place] = facts.now.timestamp()

    def is_own(self, placement: Object) -> bool:
        """Whether its status is what was written here last."""
        said = self._said.get(key_of(placement))
        return said is not None and (placement.get("status") or {}) == said

    def forget(self, key: Key) -> None:
        if self._turns is not None:
            self._turns.give_back(key)
        self._said.pop(key, None)
        self._measured.pop(key, None)

    def readings(self) -> Iterator[Reading]:
        """A source of metrics."""
        for key, places in self._measured.items():
            for place, moment in places.items():
                yield METRIC, (key.namespace, key.name, *place), moment

    def copies(self, placement: Object) -> list[Object]:
        """The copies of its status that there are, in whatever namespace."""
        name = placement["metadata"]["name"]
        return self._cluster.cached_by(kinds.PLACEMENT_STATUS, STATUS_OF_PLACEMENT, name)

    async def _copied(self, facts: Facts, told: Object) -> Object:
        namespace = namespace_of(facts.placement, told)
        error = ""
        try:
            await self._copy(facts, namespace, status.copied(told))
        except (NotFound, Forbidden, Invalid) as refusal:
            error = str(refusal)
        return status.synced(told, facts.generation, facts.now, namespace, error)

    async def _copy(self, facts: Facts, namespace: str, told: Object) -> None:
        name = facts.name
        present = self._cluster.cached(kinds.PLACEMENT_STATUS, name, namespace)
        if present is not None and present.get("sourceStatus") == told:
            return
        content: dict[str, Any] = {"sourceStatus": told, "lastUpdatedTime": format_time(facts.now)}
        if present is None:
            made = child(kinds.PLACEMENT_STATUS, facts.placement, {"name": name})
            made["metadata"]["namespace"] = namespace
            try:
                await self._cluster.create(
                    {**made, **content}, field_manager=labels.PLACEMENT_MANAGER
                )
                return
            except AlreadyExists:
                present = dict(
                    await self._cluster.client.get(kinds.PLACEMENT_STATUS, name, namespace)
                )
        old = present.get("sourceStatus") or {}
        gone = {part: None for part in old if part not in told}
        content["sourceStatus"] = {**told, **gone}
        await self._cluster.patch(
            kinds.PLACEMENT_STATUS, name, content, namespace,
            field_manager=labels.PLACEMENT_MANAGER,
        )  # fmt: skip


def is_accessible(placement: Object) -> bool:
    """Whether its status is copied to the namespace that it selects."""
    scope = placement["spec"].get("statusReportingScope")
    return bool(placement["kind"] == "ClusterResourcePlacement" and scope == NAMESPACE_ACCESSIBLE)


def selected_namespace(placement: Object) -> str:
    """The namespace that a selector names."""
    for term in placement["spec"].get("resourceSelectors") or ():
        if selection.is_namespace(term):
            return str(term.get("name") or "")
    return ""


def namespace_of(placement: Object, told: Object) -> str:
    """Where the copy of its status belongs."""
    return selected_namespace(placement) or listed_namespace(told)


def listed_namespace(told: Object | None) -> str:
    for each in (told or {}).get("selectedResources") or ():
        if each.get("kind") == "Namespace" and not each.get("group"):
            return str(each["name"])
    return ""
