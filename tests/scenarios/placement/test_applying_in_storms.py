"""Whatever gets lost between an agent and its clusters, in the end the member is as its Works say,
and the Works say how the member is.
"""

from random import Random

import pytest
from tests.support import delivering
from tests.support.delivering import HOME, Delivery, config_map, job, said

from fleetqueue.fleet import kinds
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import CONFIG_MAPS
from fleetqueue.testing import Fleet
from fleetqueue.testing.faults import CALM, Weather

STORM = Weather(
    lost_request=0.05,
    lost_answer=0.05,
    conflict=0.05,
    busy=0.02,
    delay=0.2,
    delay_seconds_max=0.5,
    cut_watch=0.05,
)
NAMES = ("a", "b", "c", "d")


async def step(delivery: Delivery, chance: Random, wanted: dict[str, dict[str, str]]) -> None:
    """A Work comes, changes or goes, the agent dies, or somebody meddles with an object."""
    client, name = delivery.hub.client, chance.choice(("w1", "w2"))
    free = [each for each in NAMES if (each < "c") == (name == "w1")]
    objects = {each: str(chance.randrange(3)) for each in free if chance.random() < 0.6}
    manifests = [config_map(each, a=value) for each, value in objects.items()]
    match chance.randrange(6):
        case 0 if name in wanted:
            await client.delete(kinds.WORK, name, HOME)
            del wanted[name]
        case 1:
            await delivery.restart()
        case 2:
            victim = chance.choice(NAMES)
            try:
                if chance.random() < 0.5:
                    await delivery.member.client.delete(CONFIG_MAPS, victim, "app")
                else:
                    patch = {"data": {"a": "9"}}
                    await delivery.member.client.patch(CONFIG_MAPS, victim, patch, "app")
            except NotFound:
                pass
        case _:
            found = await delivery.hub.find(kinds.WORK, name, HOME)
            if found is None:
                await client.create(delivering.work(*manifests, name=name))
                wanted[name] = objects
            elif not found["metadata"].get("deletionTimestamp"):
                body = {"spec": {"workload": {"manifests": manifests}}}
                await client.patch(kinds.WORK, name, body, HOME)
                wanted[name] = objects


@pytest.mark.parametrize("seed", range(4))
async def test_after_the_storm_all_is_as_it_should_be(seed: int) -> None:
    async with Fleet(seed=seed) as fleet:
        delivery = await delivering.start(fleet)
        chance, wanted = Random(seed), dict[str, dict[str, str]]()
        for each in (delivery.hub.cluster, delivery.member.cluster):
            each.set_weather(STORM)
        for _ in range(25):
            await step(delivery, chance, wanted)
            await fleet.passes(seconds=chance.random() * 3)
        for each in (delivery.hub.cluster, delivery.member.cluster):
            each.set_weather(CALM)
        await delivery.world.passes(seconds=120)
        found = await delivery.member.all(CONFIG_MAPS, "app")
        placed = {
            each["metadata"]["name"]: each["data"]["a"]
            for each in found
            if each["metadata"].get("ownerReferences")
        }
        assert placed == {name: value for each in wanted.values() for name, value in each.items()}
        works = await delivery.hub.all(kinds.WORK, HOME)
        assert {each["metadata"]["name"] for each in works} == set(wanted)
        for each in works:
            assert said(each) == [
                ("Applied", "True", "AllManifestsApplied"),
                ("Available", "True", "AllManifestsAvailable"),
            ]
        left = await delivery.member.all(kinds.APPLIED_WORK)
        assert {each["metadata"]["name"] for each in left} == set(wanted)


@pytest.mark.rule("KJ-5")
@pytest.mark.parametrize("seed", range(3))
async def test_no_job_runs_twice_in_a_storm(seed: int) -> None:
    async with Fleet(seed=seed) as fleet:
        delivery = await delivering.start(fleet)
        chance = Random(seed)
        seen = delivering.Seen(delivery.member, delivering.JOBS, "app")
        for each in (delivery.hub.cluster, delivery.member.cluster):
            each.set_weather(STORM)
        await delivery.hub.create(delivering.work(job(ttlSecondsAfterFinished=0)))
        while await delivery.member.find(delivering.JOBS, "train", "app") is None:
            await fleet.passes(seconds=1)
        # It is known to have been made once its Work says so.
        while len(said(await delivery.work())) < 2:
            await fleet.passes(seconds=1)
        client = delivery.member.client
        status = {
            "startTime": "2026-01-01T00:00:00Z",
            "completionTime": "2026-01-01T00:01:00Z",
            "succeeded": 1,
            "uncountedTerminatedPods": {},
            "conditions": [
                {"type": "SuccessCriteriaMet", "status": "True"},
                {"type": "Complete", "status": "True"},
            ],
        }
        await client.patch(delivering.JOBS, "train", {"spec": {"suspend": False}}, "app")
        await client.patch(
            delivering.JOBS, "train", {"status": status}, "app", subresource="status"
        )
        if chance.random() < 0.5:
            await delivery.restart()
        await client.delete(delivering.JOBS, "train", "app", propagation="Background")
        for _ in range(5):
            await fleet.passes(seconds=chance.random() * 20)
            await delivery.restart()
        for each in (delivery.hub.cluster, delivery.member.cluster):
            each.set_weather(CALM)
        await delivery.world.passes(seconds=60)
        made = [each for type, each in await seen.stop() if type == "ADDED"]
        assert len(made) == 1
        assert said(await delivery.work())[1] == ("Available", "True", "AllManifestsAvailable")
