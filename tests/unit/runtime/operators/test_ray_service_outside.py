"""What a RayService had Ray serve is remembered as long as its cluster is there."""

from tests.support.held import entries

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.ray_service_outside import Deploy, Seen, ServeOfRay
from support import ray
from support.operators import look

CONFIG = {"applications": [{"name": "fruit"}]}
DEPLOYING = {"status": "DEPLOYING"}


def ready(name: str) -> Object:
    condition = {"type": "HeadPodReady", "status": "True"}
    return {**ray.ray_cluster_of(name=name), "status": {"conditions": [condition]}}


async def test_clusters_that_went_leave_nothing_behind() -> None:
    serve = ServeOfRay(ray.FakeRay(), lambda image: True)
    counts = []
    for name in ("one", "two", "three"):
        cluster = ready(name)
        parent = ray.ray_service_of()
        parent["status"] = {"activeServiceStatus": {"rayClusterName": name}}
        around = look(parent, cluster)
        await serve.carry_out(around, Deploy(cluster, CONFIG, "text"))
        assert await serve.observe(around) == {name: Seen({"fruit": DEPLOYING}, True, "text")}
        counts.append(entries(serve))

    assert len(set(counts)) == 1


async def test_a_cluster_that_is_made_again_was_given_nothing() -> None:
    serve = ServeOfRay(ray.FakeRay(), lambda image: True)
    cluster = ready("one")
    parent = ray.ray_service_of()
    parent["status"] = {"activeServiceStatus": {"rayClusterName": "one"}}
    await serve.carry_out(look(parent, cluster), Deploy(cluster, CONFIG, "text"))
    cluster["metadata"]["uid"] = "another"

    assert (await serve.observe(look(parent, cluster)))["one"].deployed is None
