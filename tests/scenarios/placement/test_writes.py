"""How often the hub is written to for a placement, from its creation until all is available: what
belongs together is written together, and nothing is written again when the hub starts anew.
"""

from collections import Counter

from tests.support import placing
from tests.support.placed import placement, selector
from tests.support.placing import World
from tests.support.recorder import Recorder

from fleetqueue.fleet.kinds import CLUSTER_SCOPE, WORK
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import Fleet, namespace

BUSY = MemberSettings("", steps_at_once=0)
KINDS = (
    CLUSTER_SCOPE.placement,
    CLUSTER_SCOPE.policy_snapshot,
    CLUSTER_SCOPE.resource_snapshot,
    CLUSTER_SCOPE.binding,
    WORK,
)


class Writes(Recorder):
    """By kind, all states of all objects: one for each write."""

    def __init__(self, world: World) -> None:
        super().__init__(world.hub.client, KINDS)
        self.counts: Counter[str] = Counter()

    def _keep(self, obj: Object, *, is_gone: bool) -> None:
        self.counts[obj["kind"]] += 1


def per_cluster(kind: Resource, counts: Counter[str], clusters: int = 3) -> float:
    return counts[kind.kind] / clusters


async def rolled_out(world: World) -> Counter[str]:
    await world.hub.create(namespace("web"))
    async with Writes(world) as writes:
        await world.hub.create(placement("p", selector("Namespace", "web")))
        await world.settle()
    return writes.counts


async def test_where_much_happens_what_belongs_together_is_written_together(fleet: Fleet) -> None:
    counts = await rolled_out(await placing.start(fleet, settings=placing.BUSY, agent=BUSY))
    assert per_cluster(CLUSTER_SCOPE.binding, counts) == 4, "made, bound, under way, available"
    assert per_cluster(WORK, counts) == 3, "made, held, done"
    assert counts[CLUSTER_SCOPE.policy_snapshot.kind] == 2, "made, decided"
    assert counts[CLUSTER_SCOPE.resource_snapshot.kind] == 1


async def test_while_little_happens_each_step_is_written_for_itself(fleet: Fleet) -> None:
    counts = await rolled_out(await placing.start(fleet))
    assert per_cluster(CLUSTER_SCOPE.binding, counts) == 7
    assert per_cluster(WORK, counts) == 4, "made, held, about to, done"


async def test_of_many_placements_most_steps_are_not_told(fleet: Fleet) -> None:
    world = await placing.start(fleet)
    count = 40
    names = [f"web-{number}" for number in range(count)]
    await world.hub.create(*map(namespace, names))
    async with Writes(world) as writes:
        await world.hub.create(*(placement(name, selector("Namespace", name)) for name in names))
        await world.settle()
    for each in await world.hub.all(CLUSTER_SCOPE.placement):
        told = each["status"]["conditions"]
        assert [one["status"] for one in told] == ["True"] * 6
    assert writes.counts[CLUSTER_SCOPE.binding.kind] < 4 * 3 * count
    assert writes.counts[CLUSTER_SCOPE.placement.kind] < 6 * count


async def test_a_hub_that_starts_again_writes_nothing(fleet: Fleet) -> None:
    world = await placing.start(fleet)
    await rolled_out(world)
    before = world.hub.cluster.instance.core.store.revision
    await world.hub.restart()
    await world.settle()
    assert world.hub.cluster.instance.core.store.revision == before
