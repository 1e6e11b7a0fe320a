"""What recordings of KubeFleet have in common, in words of our own: a hub and two members, and all
that was seen of placements, of what they are made into, and of what arrived on the members.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from tests.support import placing, recorder, simulated
from tests.support.golden import Event, Maybe
from tests.support.placing import Side, World
from tests.support.recorder import Recorder

from fleetqueue.embedded.hub_webhooks import HubHook
from fleetqueue.fleet import kinds
from fleetqueue.fleet.settings import HubSettings, MemberSettings, Requeue
from fleetqueue.fleet.webhooks import registry
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES, Object, Resource
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.runtime.controllers.ttl_after_finished import OPERATOR as TTL
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.node_lifecycle import NodeLifecycle
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.runtime.stages import Profile, Timing
from fleetqueue.testing import Fleet

MEMBERS = ONE, TWO = "kind-cluster-1", "kind-cluster-2"
JOBS = Resource("batch", "v1", "jobs", "Job")
FOR_EVER = 1e9
OFTEN = Requeue(slow_max_seconds=5.0, fast_max_seconds=5.0)
"""The members of the recordings looked at their Works every five seconds."""
OF_PLACEMENT = (
    *(
        kind
        for scope in kinds.SCOPES
        for kind in (
            scope.placement,
            scope.policy_snapshot,
            scope.resource_snapshot,
            scope.binding,
            scope.update_run,
            scope.update_strategy,
            scope.approval_request,
        )
    ),
    kinds.WORK,
    kinds.CLUSTER_OVERRIDE,
    kinds.OVERRIDE,
    kinds.CLUSTER_OVERRIDE_SNAPSHOT,
    kinds.OVERRIDE_SNAPSHOT,
)
ON_MEMBER = (kinds.APPLIED_WORK, NAMESPACES, CONFIG_MAPS, JOBS)
_ADDRESS = re.compile(r"\b0xc[0-9a-f]{9}\b")
_SUFFIX = re.compile(rf"({ONE[:-1]}\d)-[0-9a-z]{{8}}\b")


class Replay:
    """The fleet of a recording; records while it is entered."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hub = world.hub
        self.seen: dict[str, Seen] = {"hub": Seen(world.hub, (*OF_PLACEMENT, JOBS))}
        for name, side in world.members.items():
            self.seen[name] = Seen(side, ON_MEMBER)

    async def __aenter__(self) -> "Replay":
        for seen in self.seen.values():
            await seen.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for seen in self.seen.values():
            await seen.__aexit__()

    def member(self, name: str) -> Side:
        return self.world.members[name]

    async def by_hand(
        self, member: str, kind: Resource, name: str, patch: Object, space: str
    ) -> None:
        """Somebody changes an object on a member."""
        client = self.member(member).client
        await client.patch(kind, name, patch, space, field_manager="by-hand")

    async def passes(self, seconds: float) -> None:
        await self.world.passes(seconds=seconds)


async def start(
    fleet: Fleet, *, is_compatible: bool = True, runs_seconds: float | None = None
) -> Replay:
    """Members that have joined; `is_compatible`: without what we do better.

    `runs_seconds`: of a pod on a member; where it is said, all clusters have what makes Jobs run.
    """
    is_aware = not is_compatible
    settings = HubSettings(
        is_job_aware=is_aware,
        # A hub that runs jobs itself marks those that it places, which KubeFleet does not.
        enable_workload=is_aware,
        snapshot_interval_seconds=0.0,
        collection_seconds=0.0,
    )
    agent = MemberSettings("", is_job_aware=is_aware, requeue=OFTEN)
    world = await placing.start(fleet, members=MEMBERS, settings=settings, agent=agent)
    core = world.hub.cluster.instance.core
    core.hooks.add(HubHook(core, settings, registry.declared(settings), ()))
    if runs_seconds is not None:
        for side in (world.hub, *world.members.values()):
            await _run_jobs(world, side, runs_seconds)
    return Replay(world)


async def _run_jobs(world: World, side: Side, runs_seconds: float) -> None:
    """A hub has no nodes: what is not suspended there would wait."""
    fleet, cluster = world.fleet, side.cluster
    for operator in (job_controller.job_operator(), job_controller.ORPHANS, TTL):
        fleet.run(controller_of(operator), on=cluster)
    if side is world.hub:
        return
    profile = Profile({"pod-complete": Timing(runs_seconds)})
    keepers: list[NodeKeeper] = []

    def keeper(made: Cluster) -> NodeKeeper:
        keepers.append(NodeKeeper(made, (simulated.NODE_SPEC,), simulated.SITE))
        return keepers[-1]

    for make in (Binder, keeper, NodeLifecycle, lambda made: SimulatedPods(made, profile)):
        fleet.run(make, on=cluster)
    await keepers[0].register()
    await world.settle()


# What was seen


@dataclass(frozen=True)
class Life:
    """Of one object, or how it should have been."""

    told: Sequence[Any]
    """Facts; of a recording the first ones and then what changed."""
    says: Sequence[Any] = ()
    """Each status, whole."""
    clusters: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Of a placement: what it said of each cluster, whole."""


class Seen(Recorder):
    """Keeps what each object was told (metadata and spec) apart from what it says (its status):
    they are written by different hands, and how they interleave is chance. What was there before
    it begins is seen when it changes.
    """

    def __init__(self, side: Side, kinds: Iterable[Resource]) -> None:
        super().__init__(side.client, kinds)
        self.lives: dict[tuple[str, str], Life] = {}
        """By title and uid."""
        self._before: set[str] = set()
        """Revisions of what was there."""

    async def __aenter__(self) -> "Seen":
        for kind in self._kinds:
            found = (await self._client.list(kind)).items
            self._before |= {each["metadata"]["resourceVersion"] for each in found}
        await super().__aenter__()
        return self

    def _keep(self, obj: Object, *, is_gone: bool) -> None:
        if obj["metadata"].get("resourceVersion") in self._before:
            return
        key = title(obj), obj["metadata"]["uid"]
        life = self.lives.setdefault(key, Life([], [], defaultdict(list)))
        told = recorder.facts({**obj, "status": {}}) | ({"gone": True} if is_gone else {})
        _add(life.told, {key: _plain(value) for key, value in told.items()})
        status = compact(obj.get("status") or {})
        for name, entry in _by_cluster(status.pop("placementStatuses", ())).items():
            _add(life.clusters[name], entry)
        if status:
            _add(life.says, status)

    def of(self, name: str) -> list[Life]:
        return [life for (told, _), life in self.lives.items() if told == name]


# What should have been seen


@dataclass(frozen=True)
class Recording:
    """By cluster and title, the life of each object; several that had one name in their order."""

    lives: Mapping[str, Mapping[str, Life | Sequence[Life]]]
    events: Iterable[Event] = ()
    """On the hub, about placements."""
    unheeded: Iterable[str] = ()
    """Names of objects that the recording leaves out."""

    def compare(self, seen: Mapping[str, Seen]) -> None:
        for cluster, lives in self.lives.items():
            for name, expected in lives.items():
                wanted = [expected] if isinstance(expected, Life) else expected
                found = seen[cluster].of(name)
                assert len(found) == len(wanted), f"{cluster} {name}: {found}"
                for one, other in zip(found, wanted, strict=True):
                    _same_life(one, other, f"{cluster} {name}")
            self._knows_all(cluster, seen[cluster])
        about = ("ClusterResourcePlacement ", "ResourcePlacement ")
        events = {each for each in seen["hub"].events() if each[0].startswith(about)}
        assert sorted(events) == sorted(set(self.events))

    def _knows_all(self, cluster: str, seen: Seen) -> None:
        """Of the kinds of placement there was nothing else."""
        known = {kind.kind for kind in (*OF_PLACEMENT, kinds.APPLIED_WORK)}
        for name, _ in seen.lives:
            kind, _, rest = name.partition(" ")
            is_told = name in self.lives[cluster] or rest.rpartition("/")[2] in self.unheeded
            assert kind not in known or is_told, f"{cluster}: {name}"


def _same_life(found: Life, expected: Life, title: str) -> None:
    same(recorder.story(found.told), expected.told, f"{title} was told")
    same(found.says, expected.says, f"{title} says")
    assert set(found.clusters) == set(expected.clusters), title
    for name, states in found.clusters.items():
        same(states, expected.clusters[name], f"{title} says of {name}")


def same(found: Sequence[Any], expected: Sequence[Any], title: str) -> None:
    """`found` is what is expected, with some of what may be seen."""
    assert _fits(found, expected), f"{title}:\n{_difference(found, expected)}"


def _difference(found: Sequence[Any], expected: Sequence[Any]) -> str:
    """Where they part, and by what."""
    missed = [each.state for each in expected if isinstance(each, Maybe)]
    told = [each.state if isinstance(each, Maybe) else each for each in expected]
    wanted = [each for each in told if each in found or each not in missed]
    for number, (one, other) in enumerate(zip_longest(found, wanted, fillvalue={})):
        if one != other:
            keys = sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
            parts = [f"  {key}: {one.get(key)}, not {other.get(key)}" for key in keys]
            return "\n".join([f"the state {number} of {len(found)} has", *parts])
    return "the states come in another order"


def _fits(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    if not expected:
        return not found
    first = expected[0]
    if isinstance(first, Maybe):
        is_seen = bool(found) and found[0] == first.state and _fits(found[1:], expected[1:])
        return is_seen or _fits(found, expected[1:])
    return bool(found) and found[0] == first and _fits(found[1:], expected[1:])


def title(obj: Object) -> str:
    metadata = obj["metadata"]
    space = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{obj['kind']} {space}{_plain(metadata['name'])}"


def compact(value: Any) -> Any:
    """The same, with conditions as lines."""
    if isinstance(value, Mapping):
        return {key: _compact(key, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [compact(each) for each in value]
    return _plain(value)


def _compact(key: str, value: Any) -> Any:
    if key == "condition":
        return line(value)
    if key == "conditions":
        return [line(each) for each in value]
    return compact(value)


def line(condition: Object) -> str:
    """`Applied True AllWorkHaveBeenApplied @3: what it says`."""
    said = " ".join((condition["type"], condition["status"], condition["reason"]))
    at = f" @{seen}" if (seen := condition.get("observedGeneration")) else ""
    return f"{said}{at}: {_plain(condition['message'])}"


def _by_cluster(entries: Iterable[Object]) -> dict[str, Object]:
    """Those without a name are of clusters that were not found."""
    found: dict[str, Object] = {}
    for number, entry in enumerate(entries):
        name = entry.pop("clusterName", f"missing {number}")
        found[name] = entry
    return found


def _add(states: Any, state: Any) -> None:
    if not states or states[-1] != state:
        states.append(state)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _ADDRESS.sub("<pointer>", _SUFFIX.sub(r"\1-*", recorder.plain(value)))
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items() if not _is_constant(key, inner)}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _is_constant(key: str, value: Any) -> bool:
    """What every pod template has by default; recordings leave it out."""
    return key in recorder.CONSTANT and recorder.CONSTANT[key] == value
