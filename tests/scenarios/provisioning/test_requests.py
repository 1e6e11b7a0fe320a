"""Workloads that hold quota ask for capacity, and start, wait or give up as the answer says."""

import pytest
from tests.support.kueue import (
    API,
    Kueue,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)
from tests.support.provisioned import CHECK, Provisioned, check, checked, config

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import Object
from fleetqueue.provisioning.kinds import ADMISSION_CHECK, CONFIG, REQUEST
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("kueue 13.9")

HOST = "kubernetes.io/hostname"
CLASS = "queued.example.com"
TOLERATION = {"key": "spot", "operator": "Exists"}


async def start(fleet: Fleet, *objects: Object, **config_spec: object) -> Provisioned:
    """A queue for four cpus, whose check has such a configuration."""
    return await Provisioned.open(
        fleet,
        flavor(nodeLabels={"pool": "spot"}, tolerations=[TOLERATION]),
        config(**config_spec),
        check(),
        *(objects or (cluster_queue(**checked()),)),
        local_queue(),
    )


def limited(name: str, count: int) -> Object:
    """A pod set that requests nothing but is limited."""
    made = pod_set(name, count)
    made["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    return made


# Asking


@pytest.mark.rule("kueue 12.1", "kueue 12.2")
async def test_pv1_nothing_is_asked_before_there_is_quota(fleet: Fleet) -> None:
    kueue = await start(fleet)
    await kueue.create(workload("large", cpu="9"))
    active = (await kueue.get(ADMISSION_CHECK, CHECK))["status"]["conditions"][0]
    assert (active["status"], active["reason"]) == ("True", "Active")
    assert not status.has_quota(await kueue.workload("large"))
    assert await kueue.requests() == []
    assert await kueue.templates() == {}


@pytest.mark.rule("kueue 12.2", "kueue 9.5")
async def test_pv1_the_request_and_its_templates_say_what_is_needed(fleet: Fleet) -> None:
    kueue = await start(fleet, parameters={"zone": "a", "speed": "slow"})
    made = workload("job", sets=[pod_set("one", 1, cpu="1"), limited("two", 2)])
    wishes = {"provreq.kueue.x-k8s.io/speed": "fast", "example.com/speed": "none"}
    made["metadata"]["annotations"] = wishes
    await kueue.create(made)

    assert await kueue.requests() == ["job-prov-1"]
    request = await kueue.get(REQUEST, "job-prov-1")
    assert request["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true"}
    [owner] = request["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Workload", "job", True)
    assert request["spec"] == {
        "provisioningClassName": CLASS,
        "parameters": {"zone": "a", "speed": "fast"},
        "podSets": [
            {"podTemplateRef": {"name": "ppt-job-prov-1-one"}, "count": 1},
            {"podTemplateRef": {"name": "ppt-job-prov-1-two"}, "count": 2},
        ],
    }
    templates = await kueue.templates()
    assert sorted(templates) == ["ppt-job-prov-1-one", "ppt-job-prov-1-two"]
    two = templates["ppt-job-prov-1-two"]
    assert two["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true"}
    [owner] = two["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ProvisioningRequest", request["metadata"]["uid"])
    assert two["template"]["metadata"]["labels"] == {
        "kueue.x-k8s.io/podset": "two",
        "kueue.x-k8s.io/local-queue-name": "main",
        "kueue.x-k8s.io/cluster-queue-name": "queue",
    }
    spec = two["template"]["spec"]
    assert spec["nodeSelector"] == {"pool": "spot"}
    assert spec["tolerations"] == [TOLERATION]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    told = ("Normal", "ProvisioningRequestCreated", 'Created ProvisioningRequest: "job-prov-1"')
    assert [each for each in await kueue.events("job") if each == told] == [told]
    assert await kueue.state("job") == ("Pending", "")


@pytest.mark.rule("kueue 12.2")
async def test_templates_tell_no_queues_where_pods_do_not(fleet: Fleet) -> None:
    objects = (flavor(), config(), check(), cluster_queue(**checked()), local_queue())
    off = {"AssignQueueLabelsForPods": False}
    kueue = await Provisioned.open(fleet, *objects, wanted_gates=off)
    await kueue.create(workload("job"))
    [template] = (await kueue.templates()).values()
    assert template["template"]["metadata"]["labels"] == {"kueue.x-k8s.io/podset": "main"}


@pytest.mark.rule("kueue 12.2")
async def test_equal_templates_are_one_entry_whatever_flavors_they_got(fleet: Fleet) -> None:
    queue = cluster_queue(quota={"default": {"cpu": "1"}, "other": {"cpu": "2"}}, **checked())
    more = flavor("other", nodeLabels={"pool": "other"})
    kueue = await start(fleet, more, queue, podSetMergePolicy="IdenticalPodTemplates")
    await kueue.create(
        workload("job", sets=[pod_set("one", 1, cpu="1"), pod_set("two", 2, cpu="1")])
    )
    assigned = status.assignments_of(await kueue.workload("job"))
    assert [each["flavors"]["cpu"] for each in assigned] == ["default", "other"]

    entry = {"podTemplateRef": {"name": "ppt-job-prov-1-one"}, "count": 3}
    assert (await kueue.get(REQUEST, "job-prov-1"))["spec"]["podSets"] == [entry]
    [template] = (await kueue.templates()).values()
    assert template["template"]["spec"]["nodeSelector"] == {"pool": "spot"}


@pytest.mark.rule("kueue 12.2")
async def test_templates_that_differ_in_what_they_say_are_not_one(fleet: Fleet) -> None:
    """Though the same comes of them once requests are filled in."""
    kueue = await start(fleet, podSetMergePolicy="IdenticalPodTemplates")
    said = limited("two", 1)
    said["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    await kueue.create(workload("job", sets=[limited("one", 1), said]))
    assert len((await kueue.get(REQUEST, "job-prov-1"))["spec"]["podSets"]) == 2


@pytest.mark.rule("kueue 12.2")
async def test_a_template_that_is_refused_is_told_to_its_check_alone(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        config("devices", managedResources=["example.com/gpu"]),
        check("other", "devices"),
        cluster_queue(**checked(CHECK, "other")),
    )
    made = workload("job")
    made["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["name"] = "Not_A_Name"
    await kueue.client.create(made)
    await kueue.fleet.passes(seconds=5)

    state, message = await kueue.state("job")
    assert state == "Pending"
    assert message.startswith('Error creating PodTemplate "ppt-job-prov-1-main": ')
    assert ("Warning", "FailedCreate", message) in await kueue.events("job")
    assert "Error" not in (await kueue.state("job", "other"))[1]
    assert await kueue.requests() == []


@pytest.mark.rule("kueue 12.1", "kueue 12.3")
@pytest.mark.parametrize("wrong", [{"kind": "Recipe"}, {"apiGroup": "example.com"}])
async def test_a_check_that_refers_to_something_else_is_not_active(
    fleet: Fleet, wrong: Object
) -> None:
    kueue = await start(fleet)
    await kueue.create(workload("job"))
    assert await kueue.requests() == ["job-prov-1"]

    await kueue.patch(ADMISSION_CHECK, CHECK, {"spec": {"parameters": wrong}})

    assert await kueue.state("job") == ("Pending", "the check is not active")
    assert await kueue.requests() == []


# Answers


@pytest.mark.rule("kueue 12.3", "kueue 12.4")
async def test_pv2_capacity_makes_the_check_ready(fleet: Fleet) -> None:
    update = {"key": "zone", "valueFromProvisioningClassDetail": "Zone"}
    kueue = await start(fleet, podSetUpdates={"nodeSelector": [update]})
    await kueue.create(workload("job"))
    await kueue.answer("job-prov-1", "Accepted")
    await kueue.answer("job-prov-1", "Provisioned", "in 5 minutes", holds=False)
    assert await kueue.state("job") == ("Pending", "in 5 minutes")
    assert not await kueue.is_admitted("job")

    await kueue.answer("job-prov-1", "Provisioned", "done", provisioningClassDetails={"Zone": "a"})

    assert await kueue.state("job") == ("Ready", "done")
    assert (await kueue.said("job"))[CHECK]["podSetUpdates"] == [
        {
            "name": "main",
            "annotations": {
                "autoscaling.x-k8s.io/consume-provisioning-request": "job-prov-1",
                "autoscaling.x-k8s.io/provisioning-class-name": CLASS,
            },
            "nodeSelector": {"zone": "a"},
        }
    ]
    assert await kueue.is_admitted("job")
    text = "Admission check prov updated state from Pending to Ready with message: done"
    assert ("Normal", "AdmissionCheckUpdated", text) in await kueue.events("job")

    await kueue.finish("job")
    assert await kueue.requests() == []
    assert await kueue.templates() == {}


async def is_deactivated(kueue: Kueue, name: str) -> bool:
    told = (await kueue.conditions(name))["Evicted"]
    assert told[:2] == ("True", "DeactivatedDueToAdmissionCheck")
    return not status.is_active(await kueue.workload(name))


@pytest.mark.rule("kueue 12.3")
async def test_pv2_a_failure_that_is_not_tried_again_deactivates(fleet: Fleet) -> None:
    kueue = await start(fleet, retryStrategy={"backoffLimitCount": 0})
    await kueue.create(workload("job"))
    await kueue.answer("job-prov-1", "Failed", "no machines")

    text = "Admission check prov updated state from Pending to Rejected with message: no machines"
    assert ("Normal", "AdmissionCheckUpdated", text) in await kueue.events("job")
    assert await is_deactivated(kueue, "job")
    assert await kueue.requests() == []


@pytest.mark.rule("kueue 12.3")
@pytest.mark.parametrize("succeeds", [True, False])
async def test_pv3_a_failure_is_tried_again_once(fleet: Fleet, succeeds: bool) -> None:
    kueue = await start(fleet, retryStrategy={"backoffLimitCount": 1, "backoffBaseSeconds": 60})
    await kueue.create(workload("job"))
    await kueue.answer("job-prov-1", "Failed", "no machines")
    assert (await kueue.conditions("job"))["Evicted"][:2] == ("True", "AdmissionCheck")
    assert (await kueue.said("job"))[CHECK]["retryCount"] == 1
    assert await kueue.stop_evicted() == ["job"]
    await kueue.passes(seconds=50)
    assert await kueue.requests() == []
    assert not status.has_quota(await kueue.workload("job"))

    await kueue.passes(seconds=15)
    assert await kueue.requests() == ["job-prov-2"]
    if succeeds:
        await kueue.answer("job-prov-2", "Provisioned", "done")
        assert await kueue.state("job") == ("Ready", "done")
        assert await kueue.is_admitted("job")
    else:
        await kueue.answer("job-prov-2", "Failed", "still no machines")
        assert await is_deactivated(kueue, "job")
        assert await kueue.requests() == []


# What changes meanwhile


@pytest.mark.rule("kueue 12.2")
@pytest.mark.parametrize(
    "change",
    [{"provisioningClassName": "other.example.com"}, {"parameters": {"zone": "b"}}],
)
async def test_pv4_another_configuration_replaces_the_request(fleet: Fleet, change: Object) -> None:
    kueue = await start(fleet, parameters={"zone": "a"})
    await kueue.create(workload("job"))
    before = await kueue.get(REQUEST, "job-prov-1")

    await kueue.patch(CONFIG, "config", {"spec": change})
    await kueue.passes(seconds=5)

    after = await kueue.get(REQUEST, "job-prov-1")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"] == {**before["spec"], **change}
    [template] = (await kueue.templates()).values()
    assert template["metadata"]["ownerReferences"][0]["uid"] == after["metadata"]["uid"]

    await kueue.answer("job-prov-1", "Provisioned")
    await kueue.patch(CONFIG, "config", {"spec": {"provisioningClassName": "third.example.com"}})
    assert (await kueue.get(REQUEST, "job-prov-1"))["spec"] == after["spec"]


@pytest.mark.rule("kueue 12.2")
@pytest.mark.parametrize("cleans_up", [True, False])
async def test_pv5_an_eviction_deletes_the_request(fleet: Fleet, cleans_up: bool) -> None:
    objects = (flavor(), config(), check(), cluster_queue(**checked()), local_queue())
    wanted = {"CleanupProvisioningRequestsOnEviction": cleans_up}
    kueue = await Provisioned.open(fleet, *objects, wanted_gates=wanted)
    await kueue.create(workload("job"))
    assert await kueue.requests() == ["job-prov-1"]

    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"active": False}})
    assert status.is_evicted(await kueue.workload("job"))
    assert await kueue.requests() == ([] if cleans_up else ["job-prov-1"])
    await kueue.stop_evicted()
    await kueue.passes(seconds=5)
    assert await kueue.requests() == ([] if cleans_up else ["job-prov-1"])

    await kueue.finish("job")
    assert await kueue.requests() == []


@pytest.mark.rule("kueue 3.3", "kueue 12.2")
async def test_pv6_what_is_preempted_finds_a_flavor_without_a_check(fleet: Fleet) -> None:
    quota = {"default": {"cpu": "1"}, "plain": {"cpu": "1"}}
    preemption = {"withinClusterQueue": "LowerPriority"}
    queue = cluster_queue(quota=quota, preemption=preemption, **checked(on_flavors=["default"]))
    kueue = await start(fleet, flavor("plain", nodeLabels={"pool": "plain"}), queue)
    await kueue.create(workload("low", priority=-1))
    await kueue.answer("low-prov-1", "Provisioned")
    assert await kueue.is_admitted("low")

    picky = [pod_set(pod={"nodeSelector": {"pool": "spot"}}, cpu="1")]
    await kueue.create(workload("high", sets=picky, priority=9))
    assert await kueue.stop_evicted() == ["low"]
    await kueue.passes(seconds=2)

    assert await kueue.is_admitted("low")
    [assigned] = status.assignments_of(await kueue.workload("low"))
    assert assigned["flavors"] == {"cpu": "plain"}
    assert await kueue.said("low") == {}
    assert await kueue.requests() == ["high-prov-1"]


@pytest.mark.rule("kueue 13.8", "kueue 12.5", "kueue 5.8")
async def test_ta10_places_are_found_once_machines_are_there(fleet: Fleet) -> None:
    levels = {"levels": [{"nodeLabel": HOST}]}
    update = {"key": "zone", "valueFromProvisioningClassDetail": "Zone"}
    kueue = await Provisioned.open(
        fleet,
        {"apiVersion": API, "kind": "Topology", "metadata": {"name": "tree"}, "spec": levels},
        flavor(nodeLabels={"pool": "spot"}, topologyName="tree"),
        config(podSetUpdates={"nodeSelector": [update]}),
        check(),
        cluster_queue(**checked()),
        local_queue(),
    )
    sets = [{**pod_set(count=2, cpu="1"), "topologyRequest": {"required": HOST}}]
    await kueue.create(workload("job", sets=sets))
    await kueue.passes(seconds=5)
    [assigned] = status.assignments_of(await kueue.workload("job"))
    assert assigned["delayedTopologyRequest"] == "Pending"
    assert "topologyAssignment" not in assigned
    assert await kueue.requests() == ["job-prov-1"]

    await add_node(kueue, "elsewhere", "b")
    await add_node(kueue, "new", "a")
    await kueue.passes(seconds=5)
    assert "topologyAssignment" not in status.assignments_of(await kueue.workload("job"))[0]

    await kueue.answer("job-prov-1", "Provisioned", provisioningClassDetails={"Zone": "a"})
    await kueue.passes(seconds=5)
    [assigned] = status.assignments_of(await kueue.workload("job"))
    assert assigned["delayedTopologyRequest"] == "Ready"
    assert "new" in str(assigned["topologyAssignment"])
    assert await kueue.is_admitted("job")


async def add_node(kueue: Kueue, name: str, zone: str) -> None:
    labels = {HOST: name, "pool": "spot", "zone": zone}
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    ready = [{"type": "Ready", "status": "True"}]
    told = {"allocatable": {"cpu": "4", "pods": "10"}, "conditions": ready}
    await kueue.client.create(made)
    await kueue.client.patch(kinds.NODE, name, {"status": told}, subresource="status")
    await kueue.patch(kinds.NODE, name, {"spec": {"taints": None}})
