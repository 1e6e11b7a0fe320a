"""Workers and operators that know less than ours."""

import pytest
from tests.scenarios.multikueue.test_reference_training import KINDS
from tests.scenarios.multikueue.test_reference_training import job as training_job
from tests.support import shared_world, training
from tests.support.dispatching import job
from tests.support.fault_jobs import TRAINING

from fleetqueue.kube.resources import CRDS

LEGACY = "featureGates: {UnadmittedWorkloadsObservability: false}\n"


@pytest.mark.rule("S000-5")
async def test_an_operator_that_does_not_know_managed_by_hands_nothing_over() -> None:
    async with shared_world.start(TRAINING) as world:
        await world.begin()
        crd = await world.manager.client.get(CRDS, "pytorchjobs.kubeflow.org")
        for version in crd["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            del spec["properties"]["runPolicy"]["properties"]["managedBy"]
        await world.manager.client.update(crd)
        await world.passes(seconds=3)
        await world.submit(training_job(training.PYTORCH))
        await world.passes(seconds=5)

        stored = await world.manager.get(KINDS["PyTorchJob"], "one")
        assert "managedBy" not in stored["spec"]["runPolicy"]
        expected = 'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not ""'
        state, message = await world.check("one")
        assert state == "Rejected"
        assert message.startswith(f"The owner is not managed by Kueue: {expected}")
        assert await world.sites() == []


@pytest.mark.rule("IMP-11", "S000-3")
@pytest.mark.parametrize(
    ("config", "words"),
    [("", "worker1: ExceedsMaxQuota (couldn't assign flavors"), (LEGACY, "worker1: Pending (")],
    ids=["ours", "older"],
)
async def test_what_workers_say_of_a_job_that_waits_is_told_in_their_words(
    config: str, words: str
) -> None:
    async with shared_world.start(worker_config=config) as world:
        await world.begin(quota="8", workers={"worker1": "1", "worker2": "1"})
        await world.submit(job("big", cpu="2"))
        await world.passes(minutes=1)

        name = (await world.workload("big"))["metadata"]["name"]
        told = [each for each in await world.manager.events(name) if each[1] == "PendingOnWorkers"]
        assert words in told[-1][2]
