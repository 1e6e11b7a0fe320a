"""What is refused in the old version, by gates that are off by default, and in rare places."""

import pytest

from fleetqueue import kueue
from fleetqueue.api.crds import all_crds
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube.client import Client
from fleetqueue.testing import Fleet
from scenarios.admission.test_refusals import differences
from support.kueue_rare_refusals import CHANGES, GATED, GATES_OF_PREEMPTION, LARGE, OLD, UPDATES

GATES = {"ConcurrentAdmission": True, "PriorityBoost": True}


async def guarded(fleet: Fleet) -> Client:
    """A cluster with Kueue's kinds and webhooks, the gates on, and nobody who works."""
    cluster = await fleet.add_cluster("one")
    for crd in all_crds():
        if crd["spec"]["group"] == "kueue.x-k8s.io":
            await cluster.client.create(crd)
    await fleet.settle()
    core = cluster.instance.core
    for webhook in kueue.webhooks(kueue.read_options(wanted=GATES)):
        core.hooks.add(DeclaredHook(webhook, core, cluster.instance.gate))
    return cluster.client


@pytest.mark.rule("kueue 1.1", "kueue 9.10", "kueue 7.9")
async def test_by_gates_that_are_off_by_default(fleet: Fleet) -> None:
    assert await differences(await guarded(fleet), [*GATED, *GATES_OF_PREEMPTION]) == ""


@pytest.mark.rule("kueue 1.4", "kueue 1.5", "kueue 13.7")
async def test_in_rare_places(fleet: Fleet) -> None:
    assert await differences(await guarded(fleet), [*UPDATES, *CHANGES, *LARGE]) == ""


@pytest.mark.rule("kueue 1.7", "kueue 13.7")
async def test_in_the_old_version(fleet: Fleet) -> None:
    assert await differences(await guarded(fleet), OLD) == ""
