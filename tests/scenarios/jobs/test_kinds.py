"""Every kind through its life before a queue; the test is scheduler and operator."""

from dataclasses import replace

import pytest
from tests.support import queued, train_jobs, training
from tests.support.queued import QUEUE, Queued, conditions, message
from tests.support.queued_kinds import EXAMPLES, Example

from fleetqueue.base import paths
from fleetqueue.embedded import parts
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.kube.errors import Forbidden, Invalid
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.training_webhook import webhook_of
from fleetqueue.testing import Fleet

pytestmark = [
    pytest.mark.rule("jobs A.1"),
    pytest.mark.rule("jobs A.11"),
    pytest.mark.rule("jobs A.14"),
    pytest.mark.rule("jobs A.15"),
    pytest.mark.rule("jobs A.16"),
    pytest.mark.rule("jobs A.19"),
    pytest.mark.rule("kueue 9.1"),
]

CUSTOM = [each for each in EXAMPLES if each.kind.resource.group != "batch"]
NAMES = [each.kind.resource.kind for each in CUSTOM]
MAY_BE_EMPTY = (("JobSet", True), ("JobSet", False), ("RayJob", False))
"""By whether they name a queue: their schemas ask for nothing."""


async def start(fleet: Fleet, example: Example) -> Queued:
    settings = replace(queued.EVERYTHING, blueprints=BLUEPRINTS)
    group = example.kind.resource.group
    here = await queued.start(fleet, settings, groups=[group])
    if group == train_jobs.GROUP:
        await here.create(train_jobs.runtime())
    return here


def injected(job: Object, example: Example) -> list[str]:
    """The pod sets that the labels of the templates name."""
    found = [paths.get(job, path) or {} for path in example.templates]
    labels = [(each.get("metadata") or {}).get("labels") or {} for each in found]
    return [each["kueue.x-k8s.io/podset"] for each in labels if "kueue.x-k8s.io/podset" in each]


@pytest.mark.parametrize("example", CUSTOM, ids=NAMES)
async def test_a_job_without_a_spec_is_refused_or_taken_as_empty(
    fleet: Fleet, example: Example
) -> None:
    settings = replace(queued.EVERYTHING, blueprints=BLUEPRINTS)
    group = example.kind.resource.group
    others = [each for each in parts.webhooks() if each.kind.group == group]
    here = await queued.start(fleet, settings, groups=[group], others=others)
    for labels in (None, QUEUE):
        bare = {name: value for name, value in example.job(labels).items() if name != "spec"}
        bare["metadata"]["name"] = "queued" if labels else "free"
        if (example.kind.resource.kind, bool(labels)) in MAY_BE_EMPTY:
            assert "spec" in await here.create(bare)
            continue
        with pytest.raises((Invalid, Forbidden)) as refused:
            await here.create(bare)
        assert "spec" in str(refused.value)


@pytest.mark.parametrize("example", CUSTOM, ids=NAMES)
async def test_the_life_of_a_job(fleet: Fleet, example: Example) -> None:
    here, kind = await start(fleet, example), example.kind
    made = await here.create(example.job(QUEUE))
    name, resource = made["metadata"]["name"], kind.resource
    assert paths.get(made, kind.suspend) is True
    workload = await here.workload()
    assert workload["metadata"]["name"].startswith(f"{resource.kind.lower()}-{name}-")
    sizes = {each["name"]: each["count"] for each in workload["spec"]["podSets"]}
    assert sizes == example.pod_sets

    await here.admit()
    running = await here.read(resource, name)
    assert paths.get(running, kind.suspend) is False
    assert injected(running, example) == list(example.pod_sets)[: len(example.templates)]
    await here.patch(resource, name, {"status": example.running}, "status")
    assert conditions(await here.workload())["PodsReady"] == ("True", "Started")
    assert len(await here.workloads()) == 1

    await here.evict("Preempted", "make room")
    stopped = await here.read(resource, name)
    assert paths.get(stopped, kind.suspend) is True
    assert injected(stopped, example) == []
    assert "admission" in (await here.workload())["status"]
    await here.patch(resource, name, {"status": example.stopped}, "status")
    workload = await here.workload()
    assert "admission" not in workload["status"]
    assert conditions(workload)["Requeued"] == ("True", "Preempted")

    await here.admit()
    assert paths.get(await here.read(resource, name), kind.suspend) is False
    told = [reason for reason, _ in await here.events(resource.kind)]
    assert told[:3] == ["CreatedWorkload", "Started", "Stopped"]


ENDING = [each for each in CUSTOM if each.done is not None]


@pytest.mark.parametrize("example", ENDING, ids=[each.kind.resource.kind for each in ENDING])
async def test_the_end_of_a_job(fleet: Fleet, example: Example) -> None:
    here = await start(fleet, example)
    made = await here.create(example.job(QUEUE))
    await here.admit()
    name = made["metadata"]["name"]
    await here.patch(example.kind.resource, name, {"status": example.done}, "status")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "Succeeded")
    assert message(workload, "Finished") == example.message
    assert "finalizers" not in workload["metadata"]


@pytest.mark.rule("jobs B.4.1")
async def test_a_job_whose_roles_are_spelled_in_lower_case_is_queued(fleet: Fleet) -> None:
    webhook = webhook_of(training.PYTORCH)
    here = await queued.start(fleet, groups=["kubeflow.org"], others=[webhook])
    made = training.job(training.PYTORCH, {"master": 1, "worker": 2})
    kept = {"name": "mnist", "namespace": "default", "labels": QUEUE}
    await here.create({**made, "metadata": kept})
    workload = await here.workload()
    sizes = {each["name"]: each["count"] for each in workload["spec"]["podSets"]}
    assert sizes == {"master": 1, "worker": 2}
