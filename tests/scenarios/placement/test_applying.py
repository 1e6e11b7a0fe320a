"""What a member makes of a Work: ownership, write-ahead, waves, and what it says of each object."""

from dataclasses import replace

import pytest
from tests.support import delivering
from tests.support.delivering import (
    HOME,
    Seen,
    config_map,
    deployment,
    entry,
    message,
    of_manifest,
    said,
    strategy,
)
from tests.support.placing import Side

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide.delivery import expectations
from fleetqueue.fleet.decide.envelopes import Envelope
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from fleetqueue.testing import Fleet, namespace

WIDGETS = Resource("example.org", "v1", "widgets", "Widget")


def widget_definition() -> dict[str, object]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget", "listKind": "WidgetList", "singular": "widget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced", "names": names,
                 "versions": [version]},
    }  # fmt: skip


def widget(**spec: object) -> dict[str, object]:
    metadata = {"name": "wid", "namespace": "app"}
    return {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


class Made:
    """The names of new objects of some kinds, in the order in which they were made."""

    def __init__(self, side: Side, *kinds: Resource) -> None:
        self._seen = [Seen(side, kind, "") for kind in kinds]
        self._began = side.cluster.instance.core.store.revision

    async def stop(self) -> list[str]:
        states = [each for seen in self._seen for each in await seen.stop()]
        added = {
            int(obj["metadata"]["resourceVersion"]): str(obj["metadata"]["name"])
            for type, obj in states
            if type == "ADDED"
        }
        return [added[version] for version in sorted(added) if version > self._began]


@pytest.mark.rule("APPLY-1")
@pytest.mark.rule("APPLY-2")
async def test_a_work_is_applied_and_its_objects_are_owned(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    work = await delivery.send(config_map(a="1"))
    assert work["metadata"]["finalizers"] == [labels.WORK_FINALIZER]
    applied = await delivery.member.get(kinds.APPLIED_WORK, "w")
    assert applied["spec"] == {"workName": "w", "workNamespace": HOME}
    made = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert made["data"] == {"a": "1"}
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "AppliedWork",
            "name": "w",
            "uid": applied["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
    ]
    assert applied["status"]["appliedResources"] == [
        {
            "ordinal": 0,
            "version": "v1",
            "kind": "ConfigMap",
            "resource": "configmaps",
            "namespace": "app",
            "name": "conf",
            "uid": made["metadata"]["uid"],
        }
    ]
    assert said(work) == [
        ("Applied", "True", "AllManifestsApplied"),
        ("Available", "True", "AllManifestsAvailable"),
    ]
    assert of_manifest(work) == [("Applied", "True", "Applied"), ("Available", "True", "Available")]


@pytest.mark.rule("APPLY-1")
async def test_nothing_is_applied_before_the_member_has_joined(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    hub = delivery.hub.client
    state = {"spec": {"state": "Leave"}}
    await hub.patch(kinds.INTERNAL_MEMBER_CLUSTER, delivering.MEMBER, state, HOME)
    await delivery.world.settle()
    work = await delivery.send(config_map(a="1"))
    assert "status" not in work
    assert "finalizers" not in work["metadata"]
    state = {"spec": {"state": "Join"}}
    await hub.patch(kinds.INTERNAL_MEMBER_CLUSTER, delivering.MEMBER, state, HOME)
    await delivery.world.settle()
    assert said(await delivery.work())[0] == ("Applied", "True", "AllManifestsApplied")


@pytest.mark.rule("IMC-2")
@pytest.mark.rule("MC-13")
async def test_a_member_that_leaves_keeps_its_objects_and_takes_them_up_again(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"))
    before = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    hub = delivery.hub.client
    kind = kinds.INTERNAL_MEMBER_CLUSTER
    await hub.patch(kind, delivering.MEMBER, {"spec": {"state": "Leave"}}, HOME)
    await delivery.world.settle()
    assert not (await delivery.work())["metadata"].get("finalizers")
    await delivery.delete()
    assert await delivery.hub.find(kinds.WORK, "w", HOME) is None
    assert await delivery.member.get(CONFIG_MAPS, "conf", "app") == before
    assert await delivery.member.find(kinds.APPLIED_WORK, "w") is not None
    await hub.patch(kind, delivering.MEMBER, {"spec": {"state": "Join"}}, HOME)
    work = await delivery.send(config_map(a="2"), name="other")
    assert said(work)[0] == ("Applied", "True", "AllManifestsApplied")
    after = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert [each["name"] for each in after["metadata"]["ownerReferences"]] == ["other"]


@pytest.mark.rule("APPLY-4")
async def test_objects_are_written_down_before_they_are_made(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    seen = Seen(delivery.hub, kinds.WORK, HOME)
    await delivery.send(config_map(a="1"))
    states = [work for _, work in await seen.stop()]
    assert [bool(work["metadata"].get("finalizers")) for work in states[:2]] == [False, True]
    ahead = states[2]["status"]
    assert ahead["conditions"] == []
    assert of_manifest(states[2]) == [("Applied", "False", "PreparingToProcess")]
    assert message(states[2]) == "The manifest is being prepared for processing."
    assert said(states[3])[0] == ("Applied", "True", "AllManifestsApplied")
    assert len(states) == 4


@pytest.mark.rule("APPLY-4")
async def test_where_much_happens_they_are_noted_with_what_will_own_them(fleet: Fleet) -> None:
    """A Work that is held already is written once: when it is done."""
    delivery = await delivering.start(fleet, delivering.BUSY)
    seen = Seen(delivery.hub, kinds.WORK, HOME)
    owners = Seen(delivery.member, kinds.APPLIED_WORK, "")
    made = delivering.work(config_map(a="1"))
    made["metadata"]["finalizers"] = [labels.WORK_FINALIZER]
    await delivery.hub.create(made)
    await delivery.world.settle()
    _, work = [each for _, each in await seen.stop()]
    assert said(work)[0] == ("Applied", "True", "AllManifestsApplied")
    owner, _ = [each for _, each in await owners.stop()]
    [expected] = expectations.noted(owner) or []
    assert (expected.resource, expected.namespace, expected.name) == ("configmaps", "app", "conf")


async def test_what_was_expected_to_be_missing_and_is_there_is_taken_over(fleet: Fleet) -> None:
    """Objects of a new Work are made without looking first."""
    delivery = await delivering.start(fleet)
    await delivery.member.create(config_map(a="0", b="kept"))
    work = await delivery.send(config_map(a="1"))
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    found = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert found["data"] == {"a": "1", "b": "kept"}


@pytest.mark.rule("APPLY-5")
async def test_objects_that_left_the_work_are_removed(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map("a"), config_map("b"), config_map("c"))
    member = delivery.member
    foreign = (await member.get(NAMESPACES, "app"))["metadata"]["uid"]
    shared = await member.get(CONFIG_MAPS, "b", "app")
    owners = [*shared["metadata"]["ownerReferences"],
              {"apiVersion": "v1", "kind": "Namespace", "name": "app", "uid": foreign}]  # fmt: skip
    await member.client.patch(CONFIG_MAPS, "b", {"metadata": {"ownerReferences": owners}}, "app")
    work = await delivery.change(config_map("c"))
    assert await member.find(CONFIG_MAPS, "a", "app") is None
    left = await member.get(CONFIG_MAPS, "b", "app")
    assert [each["uid"] for each in left["metadata"]["ownerReferences"]] == [foreign]
    assert [each["identifier"]["name"] for each in work["status"]["manifestConditions"]] == ["c"]


@pytest.mark.rule("APPLY-6")
async def test_waves_go_one_after_the_other_and_a_failure_stops_none(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    elsewhere = {**deployment("late"), "metadata": {"name": "late", "namespace": "new"}}
    broken = config_map("broken", "nowhere")
    order = Made(delivery.member, NAMESPACES, CONFIG_MAPS, delivering.DEPLOYMENTS)
    work = await delivery.send(
        elsewhere, broken, config_map("early", "new"), namespace("new"), widget()
    )
    reasons = [of_manifest(work, index)[0][2] for index in range(5)]
    assert reasons == ["Applied", "ManifestApplyFailed", "Applied", "Applied", "DecodingErred"]
    assert [name for name in await order.stop() if name != "kube-root-ca.crt"] == [
        "new", "early", "late",
    ]  # fmt: skip
    assert message(work, 1) == (
        "Failed to apply the manifest (error: failed to apply the manifest: failed to create the"
        ' manifest object: error returned by the API server: namespaces "nowhere" not found)'
    )


NAMESPACED = {
    "a resource envelope": Envelope("ResourceEnvelope", "app", "narrow").labels,
    "a placement of a namespace": {labels.PARENT_PLACEMENT_NAMESPACE: "app"},
}
"""What a Work says of where its manifests come from."""


@pytest.mark.rule("ENV-2")
@pytest.mark.parametrize("marks", NAMESPACED.values(), ids=NAMESPACED)
async def test_a_member_makes_nothing_outside_the_namespace_that_a_work_comes_from(
    fleet: Fleet, marks: dict[str, str]
) -> None:
    delivery = await delivering.start(fleet)
    work = delivering.work(namespace("new"), config_map("far", "default"), config_map("near"))
    await delivery.hub.create({**work, "metadata": {**work["metadata"], "labels": marks}})
    await delivery.world.settle()
    told = await delivery.work()
    assert [of_manifest(told, index)[0] for index in range(3)] == [
        ("Applied", "False", "DecodingErred"),
        ("Applied", "False", "DecodingErred"),
        ("Applied", "True", "Applied"),
    ]
    assert await delivery.member.find(NAMESPACES, "new") is None
    assert await delivery.member.find(CONFIG_MAPS, "far", "default") is None
    assert await delivery.member.find(CONFIG_MAPS, "near", "app") is not None


@pytest.mark.rule("APPLY-10")
async def test_manifests_that_cannot_be_used_are_told_and_the_others_applied(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    nameless = {**config_map(), "metadata": {"generateName": "g-", "namespace": "app"}}
    work = await delivery.send(widget(), nameless, config_map(a="1"), config_map(a="2"))
    assert [of_manifest(work, index)[0] for index in range(4)] == [
        ("Applied", "False", "DecodingErred"),
        ("Applied", "False", "FoundGenerateName"),
        ("Applied", "True", "Applied"),
        ("Applied", "False", "Duplicated"),
    ]
    assert "observedGeneration" not in entry(work)["conditions"][0]
    assert entry(work)["identifier"] == {
        "ordinal": 0, "group": "example.org", "version": "v1", "kind": "Widget",
        "namespace": "app", "name": "wid",
    }  # fmt: skip
    assert (await delivery.member.get(CONFIG_MAPS, "conf", "app"))["data"] == {"a": "1"}
    await delivery.passes(10.0)
    work = await delivery.change(config_map(a="3"))
    assert (await delivery.member.get(CONFIG_MAPS, "conf", "app"))["data"] == {"a": "3"}


@pytest.mark.rule("APPLY-10")
async def test_a_kind_that_comes_with_the_same_work_is_applied_in_the_same_pass(
    fleet: Fleet,
) -> None:
    delivery = await delivering.start(fleet)
    seen = Seen(delivery.hub, kinds.WORK, HOME)
    work = await delivery.send(widget(size=1), widget_definition())
    assert [of_manifest(work, index)[0][2] for index in range(2)] == ["Applied", "Applied"]
    states = [said(each) for _, each in await seen.stop()]
    assert ("Applied", "False", "SomeManifestsAreNotApplied") not in [
        condition for state in states for condition in state
    ]
    assert (await delivery.member.get(WIDGETS, "wid", "app"))["spec"] == {"size": 1}
    assert await delivery.member.find(CRDS, "widgets.example.org") is not None


@pytest.mark.rule("APPLY-20")
@pytest.mark.rule("APPLY-23")
async def test_custom_resources_are_merged_with_what_was_applied_last(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.member.create(widget_definition())
    await delivery.send(widget(size=1, colour="red", parts=[1, 2]))
    client = delivery.member.client
    await client.patch(WIDGETS, "wid", {"spec": {"owner": "me"}}, "app")
    await delivery.change(widget(size=2, parts=[3]))
    found = await delivery.member.get(WIDGETS, "wid", "app")
    assert found["spec"] == {"size": 2, "parts": [3], "owner": "me"}


@pytest.mark.rule("APPLY-20")
async def test_built_in_kinds_are_merged_by_their_keys(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    first = deployment()
    await delivery.send(first)
    extra = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}}
    client = delivery.member.client
    kind = delivering.DEPLOYMENTS
    await client.patch(kind, "web", extra, "app", type=PatchType.STRATEGIC)
    second = deployment()
    second["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
    second["metadata"]["labels"] = {"new": "1"}
    await delivery.change(second)
    found = await delivery.member.get(kind, "web", "app")
    containers = found["spec"]["template"]["spec"]["containers"]
    images = {each["name"]: each["image"] for each in containers}
    assert images == {"c": "nginx:2", "side": "s"}
    assert found["metadata"]["labels"] == {"new": "1"}


@pytest.mark.rule("APPLY-20", "APPLY-21", "DRIFT-2")
@pytest.mark.parametrize("type", ["ClientSideApply", "ServerSideApply"])
async def test_what_no_comparison_counts_is_applied_all_the_same(fleet: Fleet, type: str) -> None:
    delivery = await delivering.start(fleet)
    told = config_map(a="1")
    await delivery.send(told, **strategy(type=type))
    told["metadata"]["labels"] = {"app.kubernetes.io/version": "2"}
    await delivery.change(told)
    found = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert found["metadata"]["labels"] == {"app.kubernetes.io/version": "2"}
    await delivery.change(config_map(a="1"))
    found = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert "labels" not in found["metadata"]


@pytest.mark.rule("APPLY-20")
async def test_what_is_too_big_for_the_annotation_is_applied_on_the_server(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    big = "x" * 262_144
    await delivery.send(config_map(a=big, gone="1"))
    name = labels.LAST_APPLIED_CONFIGURATION
    made = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert made["metadata"]["annotations"][name] == ""
    await delivery.change(config_map(a=big, b="2"))
    found = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert found["data"]["b"] == "2"
    operations = {(each["manager"], each["operation"]) for each in
                  found["metadata"]["managedFields"]}  # fmt: skip
    assert ("work-api-agent", "Apply") in operations
    await delivery.change(config_map(b="3"))
    found = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert found["metadata"]["annotations"][name].startswith('{"apiVersion"')
    assert found["data"]["b"] == "3"


@pytest.mark.rule("APPLY-21")
async def test_server_side_apply_yields_to_other_managers_unless_forced(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    spec = strategy(type="ServerSideApply")
    await delivery.send(config_map(a="1"), **spec)
    client = delivery.member.client
    await client.apply(config_map(a="9"), force=True, field_manager="somebody")
    work = await delivery.change(config_map(a="2"), **spec)
    assert of_manifest(work)[0] == ("Applied", "False", "ManifestApplyFailed")
    assert "conflict" in message(work)
    forced = strategy(type="ServerSideApply", serverSideApplyConfig={"force": True})
    work = await delivery.change(config_map(a="2"), **forced)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    assert (await delivery.member.get(CONFIG_MAPS, "conf", "app"))["data"] == {"a": "2"}


@pytest.mark.rule("APPLY-21")
@pytest.mark.parametrize("first", ["ClientSideApply", "ServerSideApply"])
@pytest.mark.parametrize("when", ["Always", "IfNotDrifted"])
async def test_what_the_hub_removed_is_removed_by_server_side_apply(
    fleet: Fleet, first: str, when: str
) -> None:
    delivery = await delivering.start(fleet)
    spec = strategy(type="ServerSideApply", whenToApply=when)
    await delivery.send(config_map(a="1", b="1"), **strategy(type=first, whenToApply=when))
    others = {"data": {"theirs": "1"}}
    await delivery.member.client.patch(CONFIG_MAPS, "conf", others, "app")
    if first != "ServerSideApply":
        await delivery.change(config_map(a="1", b="1"), **spec)
    work = await delivery.change(config_map(a="2"), **spec)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    found = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert found["data"] == {"a": "2", "theirs": "1"}
    entries = [
        (each["operation"], each.get("subresource"))
        for each in found["metadata"]["managedFields"]
        if each["manager"] == labels.WORK_APPLIER_MANAGER
    ]
    assert entries == [("Apply", None)]


@pytest.mark.rule("APPLY-21", "APPLY-23")
async def test_what_the_server_filled_in_stays_under_server_side_apply(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    spec = strategy(type="ServerSideApply")
    services = Resource("", "v1", "services", "Service")
    ports = {"ports": [{"port": 80}], "selector": {"app": "web"}}
    service = {"apiVersion": "v1", "kind": "Service", "spec": ports,
               "metadata": {"name": "web", "namespace": "app"}}  # fmt: skip
    await delivery.send(deployment(), service, **spec)
    made = (delivering.DEPLOYMENTS, services)
    before = [(await delivery.member.get(kind, "web", "app"))["spec"] for kind in made]
    labelled = [{**each, "metadata": {**each["metadata"], "labels": {"new": "1"}}}
                for each in (deployment(), service)]  # fmt: skip
    await delivery.change(*labelled, **spec)
    found = [await delivery.member.get(kind, "web", "app") for kind in made]
    assert [each["metadata"]["labels"] for each in found] == [{"new": "1"}] * 2
    assert [each["spec"] for each in found] == before


@pytest.mark.rule("APPLY-16")
async def test_what_the_member_refuses_is_told(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(deployment())
    changed = deployment()
    changed["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    changed["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    work = await delivery.change(changed)
    assert of_manifest(work)[0] == ("Applied", "False", "ManifestApplyFailed")
    assert message(work).startswith(
        "Failed to apply the manifest (error: failed to apply the manifest: failed to patch the"
        " manifest object: error returned by the API server: Deployment.apps"
    )


async def test_a_pass_that_finds_nothing_new_writes_nothing(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"), deployment(), **strategy(whenToApply="IfNotDrifted"))
    work = await delivery.work()
    made = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    revision = delivery.member.cluster.instance.core.store.revision
    later = await delivery.passes(60.0)
    assert later == work
    assert await delivery.member.get(CONFIG_MAPS, "conf", "app") == made
    assert delivery.member.cluster.instance.core.store.revision == revision


@pytest.mark.rule("kubefleet 10.1")
async def test_what_came_of_works_and_manifests_is_counted(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"), widget())
    await delivery.send(config_map("b"), name="good")
    await delivery.send(config_map("c"), name="diff", **strategy(type="ReportDiff"))
    shown = delivery.member.metrics.text().decode()
    works = "fleet_work_processing_requests_total"
    for line in (
        f'{works}{{apply_status="SomeManifestsAreNotApplied",availability_status="Unknown",'
        'diff_reporting_status="Skipped"}',
        f'{works}{{apply_status="AllManifestsApplied",availability_status="AllManifestsAvailable",'
        'diff_reporting_status="Skipped"}',
        f'{works}{{apply_status="Skipped",availability_status="Skipped",'
        'diff_reporting_status="AllManifestsDiffReported"}',
        'fleet_manifest_processing_requests_total{apply_status="Applied",availability_status='
        '"Available",diff_detection_status="NotFound",diff_reporting_status="Skipped",'
        'drift_detection_status="NotFound"}',
        'fleet_manifest_processing_requests_total{apply_status="Skipped",availability_status='
        '"Skipped",diff_detection_status="Found",diff_reporting_status="FoundDiff",'
        'drift_detection_status="Skipped"}',
        'work_apply_time_seconds_count{name="good"} 1.0',
    ):
        assert line in shown, line
    assert 'work_apply_time_seconds_count{name="w"}' not in shown

    await delivery.hub.client.delete(kinds.WORK, "good", HOME)
    await fleet.passes(seconds=5)
    shown = delivery.member.metrics.text().decode()
    assert 'work_apply_time_seconds_count{name="good"}' not in shown
    assert works in shown


@pytest.mark.rule("REQ-2")
async def test_works_are_applied_with_priorities_too(fleet: Fleet) -> None:
    settings = replace(delivering.AWARE, uses_priorities=True)
    delivery = await delivering.start(fleet, settings)
    work = await delivery.send(config_map(a="1"))
    assert said(work)[0] == ("Applied", "True", "AllManifestsApplied")
    await delivery.change(config_map(a="2"))
    assert (await delivery.member.get(CONFIG_MAPS, "conf", "app"))["data"] == {"a": "2"}
    await delivery.member.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "9"}}, "app")
    await delivery.passes(10.0)
    assert (await delivery.member.get(CONFIG_MAPS, "conf", "app"))["data"] == {"a": "2"}
    await delivery.delete()
    assert await delivery.member.find(CONFIG_MAPS, "conf", "app") is None


async def test_a_work_without_manifests_is_applied(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    work = await delivery.send()
    assert said(work) == [
        ("Applied", "True", "AllManifestsApplied"),
        ("Available", "True", "AllManifestsAvailable"),
    ]
    assert await delivery.passes(60.0) == work


async def test_many_works_take_few_calls(fleet: Fleet) -> None:
    """For each object a write, and for each Work what it says on both sides."""
    delivery = await delivering.start(fleet, delivering.BUSY)
    before = delivery.gate.calls.copy()
    for number in range(20):
        await delivery.hub.create(delivering.work(config_map(f"c{number}"), name=f"w{number}"))
    await delivery.world.settle()
    calls = delivery.gate.calls - before
    assert calls["configmaps"] == 20
    assert calls["appliedworks"] == 2 * 20
    assert calls["works"] == 2 * 20
