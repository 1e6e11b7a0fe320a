"""Placements and runs that are unusual and allowed: what one of them says hinders no other, and
what a run rests on is noticed while it waits.
"""

import pytest
from tests.scenarios.placement import test_update_runs as runs
from tests.support import hub_doors, placing
from tests.support.placed import config_map, placement, selector, told, words

from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.fleet.webhooks import policies
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES
from fleetqueue.testing import Fleet, namespace

NO_SENSE = {"matchExpressions": [{"key": "x", "operator": "In"}]}
"""Only webhooks refuse that, and ResourcePlacements have none."""


@pytest.mark.rule("SEL-5", "SEL-6")
async def test_a_selector_that_makes_no_sense_keeps_nobody_else_from_changes(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=("cluster-1",))
    await world.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    bad = placement("bad", selector("ConfigMap", labelSelector=NO_SENSE), namespace="web")
    good = placement("good", selector("ConfigMap", "conf"), namespace="web")
    await world.hub.create(bad, good)
    await world.settle()
    await world.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "web")
    await world.settle()
    found = told(await world.hub.get(NAMESPACED.placement, "bad", "web"))
    assert found == {"Scheduled": ("False", "InvalidResourceSelectors")}
    latest = await world.hub.get(NAMESPACED.resource_snapshot, "good-1-snapshot", "web")
    assert latest["spec"]["selectedResources"][0]["data"] == {"a": "2"}


@pytest.mark.rule("RUN-15", "RUN-20")
async def test_a_run_that_waits_notices_another_apply_strategy(fleet: Fleet) -> None:
    world = await runs.staged_world(fleet)
    await world.hub.create(runs.strategy(runs.CANARY, runs.PROD), runs.placement())
    await world.settle()
    await world.hub.create(runs.run("run1", state="Run"))
    await world.passes(seconds=20)
    assert (await runs.words(world, "run1"))[-1] == "Progressing=False/UpdateRunWaiting"
    other = {"spec": {"strategy": {"applyStrategy": {"type": "ServerSideApply"}}}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "staged", other)
    await world.settle()
    found = await runs.told(world, "run1")
    assert found["Succeeded"]["reason"] == "UpdateRunFailed"
    assert "the applyStrategy in the updateRun is outdated" in found["Succeeded"]["message"]


@pytest.mark.rule("RUN-20")
async def test_a_run_that_waits_tells_a_new_policy_as_such(fleet: Fleet) -> None:
    world = await runs.staged_world(fleet)
    await world.hub.create(runs.strategy(runs.CANARY, runs.PROD), runs.placement())
    await world.settle()
    await world.hub.create(runs.run("run1", state="Run"))
    await world.passes(seconds=20)
    other = {"spec": {"policy": {"tolerations": [{"key": "a", "operator": "Exists"}]}}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "staged", other)
    await world.settle()
    found = await runs.told(world, "run1")
    assert found["Succeeded"]["message"] == (
        "cannot continue the updateRun: failed to validate the updateRun: the policy snapshot index"
        " used in the updateRun is outdated, latest: 1, recorded: 0"
    )


@pytest.mark.rule("RUN-20")
async def test_a_run_that_waits_notices_that_more_clusters_are_wanted(fleet: Fleet) -> None:
    """There are no more, so that no binding changes."""
    world = await runs.staged_world(fleet)
    counted = runs.placement(placementType="PickN", numberOfClusters=2)
    await world.hub.create(runs.strategy(runs.CANARY, runs.PROD), counted)
    await world.settle()
    await world.hub.create(runs.run("run1", state="Run"))
    await world.passes(seconds=20)
    assert (await runs.words(world, "run1"))[-1] == "Progressing=False/UpdateRunWaiting"
    more = {"spec": {"policy": {"numberOfClusters": 3}}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "staged", more)
    await world.settle()
    assert (await runs.told(world, "run1"))["Succeeded"]["message"] == (
        "cannot continue the updateRun: failed to validate the updateRun: the cluster count"
        " initialized in the updateRun is outdated, latest: 3, recorded: 2"
    )


@pytest.mark.rule("RUN-8")
async def test_a_stage_whose_selector_makes_no_sense_fails_the_run(fleet: Fleet) -> None:
    world = await runs.staged_world(fleet)
    bad = {"name": "canary", "labelSelector": NO_SENSE}
    await world.hub.create(runs.strategy(bad, runs.PROD), runs.placement())
    await world.settle()
    await world.hub.create(runs.run("run1", state="Run"))
    await world.settle()
    assert await runs.words(world, "run1") == ["Initialized=False/UpdateRunInitializedFailed"]


@pytest.mark.rule("kubefleet 0.4")
async def test_a_name_that_is_cut_after_a_dot_is_a_name_still(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=("cluster-1",))
    await world.hub.create(namespace("web"))
    name = f"{'a' * 25}.b"
    await world.hub.create(placement(name, selector("Namespace", "web")))
    await world.settle()
    assert told(await world.hub.get(CLUSTER_SCOPE.placement, name))["Available"][0] == "True"


@pytest.mark.rule("ST-32")
@pytest.mark.parametrize("other", ["db", "kube-system", "nowhere"])
async def test_a_copied_status_binds_a_placement_to_its_namespace(fleet: Fleet, other: str) -> None:
    world = await placing.start(fleet, members=("cluster-1",))
    await world.hub.create(namespace("web"), namespace("db"))
    made = placement("p", selector("Namespace", "web"), statusReportingScope="NamespaceAccessible")
    await world.hub.create(made)
    await world.settle()
    change = {"spec": {"resourceSelectors": [selector("Namespace", other)]}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "p", change)
    await world.settle()
    found = await world.hub.get(CLUSTER_SCOPE.placement, "p")
    assert words(found)["Scheduled"] == (
        f"namespace resource selector is choosing a different namespace '{other}' from what was"
        " originally picked 'web'. This is not allowed for NamespaceAccessible"
        " ClusterResourcePlacement"
    )


@pytest.mark.rule("RUN-20")
async def test_a_run_ends_with_its_placement(fleet: Fleet) -> None:
    world = await runs.staged_world(fleet)
    await world.hub.create(runs.strategy(runs.CANARY, runs.PROD), runs.placement())
    await world.settle()
    await world.hub.create(runs.run("run1", state="Run"))
    await world.passes(seconds=20)
    await world.hub.client.delete(CLUSTER_SCOPE.placement, "staged")
    await world.passes(seconds=20)
    assert await world.hub.find(CLUSTER_SCOPE.placement, "staged") is None
    found = await runs.told(world, "run1")
    assert found["Succeeded"]["message"] == (
        "cannot continue the updateRun: failed to validate the updateRun: failed to process the"
        " request due to a client error: parent placement not found"
    )


@pytest.mark.rule("kubefleet 0.4", "GEN-2")
async def test_two_placements_with_one_name_for_their_works_do_not_rob_each_other(
    fleet: Fleet,
) -> None:
    """`web.conf` and `conf` in `web` both call their Work `web.conf-work`."""
    world = await placing.start(fleet, members=("cluster-1",))
    await world.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    only = selector("Namespace", "web", selectionScope="NamespaceOnly")
    await world.hub.create(placement("web.conf", only))
    await world.settle()
    await world.hub.create(placement("conf", selector("ConfigMap", "conf"), namespace="web"))
    await world.passes(seconds=20)
    member = world.members["cluster-1"]
    assert await member.find(NAMESPACES, "web") is not None
    found = told(await world.hub.get(NAMESPACED.placement, "conf", "web"))
    assert found["WorkSynchronized"] == ("False", "WorkNotSynchronizedYet")
    await world.hub.client.delete(CLUSTER_SCOPE.placement, "web.conf")
    await world.passes(seconds=60)
    found = told(await world.hub.get(NAMESPACED.placement, "conf", "web"))
    assert found["WorkSynchronized"] == ("True", "WorkSynchronized")


@pytest.mark.rule("kubefleet 9.4")
async def test_a_policy_without_a_reason_finds_a_write_invalid(fleet: Fleet) -> None:
    """As an API server answers for a ValidatingAdmissionPolicy."""
    hub = await hub_doors.start(fleet, policies=[policies.NO_PODS])
    labels = {"matchLabels": {"app": "x"}}
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "c11"},
        "spec": {"selector": labels, "template": template},
    }
    name = policies.NO_PODS.name
    assert await hub_doors.refusal_of(hub.tester, made) == (
        422,
        "Invalid",
        f"replicasets.apps \"web\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding"
        f" '{name}-binding' denied request: creating pods and replicas is disallowed in the fleet"
        " hub cluster",
    )
