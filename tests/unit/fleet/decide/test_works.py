"""The Works of a binding: their names, labels and contents, and when they are written again."""

from typing import Any

import pytest

from fleetqueue.api.fleet import labels
from fleetqueue.fleet.decide import deliveries, works
from fleetqueue.fleet.decide.confinement import OutOfNamespace
from fleetqueue.fleet.decide.envelopes import BadEnvelope
from fleetqueue.fleet.decide.overrides import OverrideFailed, Overrides
from fleetqueue.fleet.decide.works import Options

Json = dict[str, Any]
MEMBER = {"metadata": {"name": "east", "labels": {"region": "east"}}}
APPLY = {"type": "ClientSideApply"}
NONE = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"
KINDS = {("v1", "ConfigMap"): True, ("v1", "Namespace"): False}


def binding(namespace: str = "", **spec: Any) -> Json:
    metadata = {"name": "p-east-1", "labels": {labels.PARENT_PLACEMENT: "p"}}
    if namespace:
        metadata["namespace"] = namespace
    told = {
        "targetCluster": "east",
        "resourceSnapshotName": "p-3-snapshot",
        "applyStrategy": APPLY,
        **spec,
    }
    return {"metadata": metadata, "spec": told}


def config(name: str = "c", **data: str) -> Json:
    metadata = {"name": name, "namespace": "web"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def envelope(name: str = "e", **data: Json) -> Json:
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": name, "namespace": "web"},
        "data": data,
    }


def master(*manifests: Json) -> Json:
    return {
        "metadata": {
            "name": "p-3-snapshot",
            "labels": {labels.RESOURCE_INDEX: "3"},
            "annotations": {labels.RESOURCE_HASH: "x"},
        },
        "spec": {"selectedResources": list(manifests)},
    }


def shard(subindex: int, *manifests: Json) -> Json:
    return {
        "metadata": {
            "name": f"p-3-{subindex}",
            "labels": {labels.RESOURCE_INDEX: "3"},
            "annotations": {labels.RESOURCE_SNAPSHOT_SUBINDEX: str(subindex)},
        },
        "spec": {"selectedResources": list(manifests)},
    }


def wanted(
    *group: Json,
    of: Json | None = None,
    overrides: Overrides | None = None,
    options: Options | None = None,
) -> list[Json]:
    return works.wanted(
        of or binding(),
        deliveries.overridden(group, overrides or Overrides(MEMBER)),
        options or Options(),
        lambda *name: KINDS.get(name),
    )


def manifests(work: Json) -> list[Json]:
    found: list[Json] = work["spec"]["workload"].get("manifests", [])
    return found


def changing(name: str, *rules: Json) -> Json:
    return {
        "kind": "ResourceOverrideSnapshot",
        "metadata": {"name": f"{name}-0", "namespace": "web"},
        "spec": {
            "overrideSpec": {
                "resourceSelectors": [
                    {"group": "", "version": "v1", "kind": "ConfigMap", "name": name}
                ],
                "policy": {
                    "overrideRules": [
                        {"clusterSelector": {"clusterSelectorTerms": []}, **each} for each in rules
                    ]
                },
            }
        },
    }


@pytest.mark.rule("GEN-2")
def test_a_work_carries_the_objects_of_its_shard_in_order() -> None:
    [work] = wanted(master(config("b"), config("a")))
    assert work == {
        "metadata": {
            "name": "p-work",
            "namespace": "fleet-member-east",
            "labels": {
                "kubernetes-fleet.io/parent-CRP": "p",
                "kubernetes-fleet.io/parent-resource-binding": "p-east-1",
                "kubernetes-fleet.io/parent-resource-snapshot-index": "3",
            },
            "annotations": {
                "kubernetes-fleet.io/parent-cluster-resource-override-snapshot-hash": NONE,
                "kubernetes-fleet.io/parent-resource-override-snapshot-hash": NONE,
                "kubernetes-fleet.io/parent-resource-snapshot-name": "p-3-snapshot",
            },
        },
        "spec": {
            "workload": {"manifests": [config("b"), config("a")]},
            "applyStrategy": APPLY,
        },
    }


@pytest.mark.rule("GEN-2")
def test_there_is_a_work_per_shard_and_one_even_of_nothing() -> None:
    names = [each["metadata"]["name"] for each in wanted(master(), shard(0, config()), shard(1))]
    assert names == ["p-work", "p-0", "p-1"]
    [empty] = wanted(master())
    assert empty["spec"]["workload"] == {}


@pytest.mark.rule("GEN-2")
def test_works_of_a_namespace_say_so() -> None:
    [work] = wanted(master(), of=binding("team"))
    assert work["metadata"]["name"] == "team.p-work"
    told = work["metadata"]["labels"]["kubernetes-fleet.io/parent-placement-namespace"]
    assert told == "team"


@pytest.mark.rule("GEN-2")
def test_the_hashes_tell_which_overrides_were_used() -> None:
    listed = {
        "clusterResourceOverrideSnapshots": ["c6n-cro-0"],
        "resourceOverrideSnapshots": [{"namespace": "c6n", "name": "c6-ro-0"}],
    }
    [work] = wanted(master(), of=binding(**listed))
    notes = work["metadata"]["annotations"]
    assert notes[labels.PARENT_CLUSTER_OVERRIDE_HASH].startswith("b8f616faee1ed3de3b")
    assert notes[labels.PARENT_OVERRIDE_HASH].startswith("3540d283d7f25cf943")


@pytest.mark.rule("ENV-1")
@pytest.mark.rule("ENV-3")
def test_what_an_envelope_holds_becomes_a_work_of_its_own() -> None:
    small, large = config("x", a="1"), config("x", a="2")
    group = master(config(), envelope(first=small, second=large))
    plain, wrapped = wanted(group)
    assert manifests(plain) == [config()]
    assert manifests(wrapped) == [large, small]
    assert wrapped["metadata"]["name"].startswith("p-work-envelope-")
    assert len(wrapped["metadata"]["name"]) == len("p-work-envelope-") + 16
    told = wrapped["metadata"]["labels"]
    assert told["kubernetes-fleet.io/envelope-work"] == "ResourceEnvelope"
    assert told["kubernetes-fleet.io/envelope-name"] == "e"
    assert told["kubernetes-fleet.io/envelope-namespace"] == "web"


@pytest.mark.rule("ENV-2")
def test_a_wrong_envelope_is_refused() -> None:
    inner = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    with pytest.raises(BadEnvelope, match="a cluster scope object n"):
        wanted(master(envelope(a=inner)))


SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "namespace": "web"}}
WIDE = {**envelope(a=SPACE), "kind": "ClusterResourceEnvelope"}
UNKNOWN_WIDE = {**WIDE, "apiVersion": "placement.kubernetes-fleet.io/v9"}


@pytest.mark.parametrize(
    "manifest",
    [
        {**config(), "metadata": {"name": "c", "namespace": "ops"}},
        {**config(), "metadata": {"name": "c"}},
        {"apiVersion": "test.io/v1", "kind": "Unknown", "metadata": {"name": "c"}},
        SPACE,
        WIDE,
        UNKNOWN_WIDE,
        {**envelope(a=config()), "metadata": {"name": "e", "namespace": "ops"}},
    ],
    ids=["elsewhere", "nowhere", "unknown nowhere", "cluster-scoped", "wide envelope",
         "wide envelope of no version", "envelope elsewhere"],
)  # fmt: skip
def test_a_placement_of_a_namespace_delivers_nothing_outside_it(manifest: Json) -> None:
    with pytest.raises(OutOfNamespace, match="ResourcePlacement of namespace web"):
        wanted(master(config()), shard(0, manifest), of=binding("web"))


@pytest.mark.parametrize(
    ("path", "value"),
    [("/metadata/namespace", "ops"), ("/kind", "Namespace"),
     ("/metadata", {"name": "x"})],
)  # fmt: skip
def test_no_override_carries_an_object_out_of_the_namespace_of_its_placement(
    path: str, value: Any
) -> None:
    patch = {"jsonPatchOverrides": [{"op": "replace", "path": path, "value": value}]}
    overrides = Overrides(MEMBER, namespaced=[changing("x", patch)])
    with pytest.raises(OutOfNamespace):
        wanted(master(config("x")), of=binding("web"), overrides=overrides)
    [work] = wanted(master(config("x")), overrides=overrides)
    assert len(manifests(work)) == 1


def test_the_server_is_asked_about_kinds_as_overrides_leave_them() -> None:
    patch = {"jsonPatchOverrides": [{"op": "replace", "path": "/kind", "value": "Namespace"}]}
    overrides = Overrides(MEMBER, namespaced=[changing("x", patch)])
    wrapped = envelope(a={**config(), "kind": "Secret"})
    found = deliveries.overridden([master(config("x"), wrapped)], overrides)
    assert list(deliveries.checked_kinds(found, "web")) == [("v1", "Namespace"), ("v1", "Secret")]
    assert list(deliveries.checked_kinds(found, "")) == [("v1", "Secret")]


def test_a_placement_of_a_namespace_delivers_what_is_in_it() -> None:
    unknown = {**config(), "apiVersion": "test.io/v1", "kind": "Unknown"}
    group = master(config(), unknown, envelope(a=config("x")))
    plain, wrapped = wanted(group, of=binding("web"))
    assert manifests(plain) == [config(), unknown]
    assert manifests(wrapped) == [config("x")]


@pytest.mark.rule("OVR-5")
@pytest.mark.rule("OVR-6")
def test_overrides_reach_into_envelopes_and_keep_objects_away() -> None:
    patch = {"jsonPatchOverrides": [{"op": "add", "path": "/data/a", "value": "2"}]}
    overrides = Overrides(
        MEMBER, namespaced=[changing("x", patch), changing("y", {"overrideType": "Delete"})]
    )
    group = master(config("y"), envelope(a=config("x"), b=config("y")))
    plain, wrapped = wanted(group, overrides=overrides)
    assert manifests(plain) == []
    assert manifests(wrapped) == [config("x", a="2")]


@pytest.mark.rule("OVR-8")
def test_an_override_that_does_not_fit_comes_before_a_wrong_envelope() -> None:
    patch = {"jsonPatchOverrides": [{"op": "remove", "path": "/nothing"}]}
    inner = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    overrides = Overrides(MEMBER, namespaced=[changing("x", patch)])
    with pytest.raises(OverrideFailed):
        wanted(master(envelope(a=inner)), shard(0, config("x")), overrides=overrides)


@pytest.mark.rule("KJ-6")
@pytest.mark.rule("KJ-7")
def test_what_the_placement_says_about_reports_and_deletion_goes_along() -> None:
    placement = {
        "metadata": {"annotations": {"fleetqueue.io/kueue-aware": "false"}},
        "spec": {
            "strategy": {
                "deleteStrategy": {"propagationPolicy": "Abandon"},
                "reportBackStrategy": {"type": "Mirror", "destination": "WorkAPI"},
            }
        },
    }
    options = works.options_of(placement)
    [work] = wanted(master(), options=options)
    assert work["spec"]["reportBackStrategy"] == {"type": "Mirror", "destination": "WorkAPI"}
    notes = work["metadata"]["annotations"]
    assert notes["fleetqueue.io/delete-propagation-policy"] == "Abandon"
    assert notes["fleetqueue.io/kueue-aware"] == "false"
    [plain] = wanted(master())
    steps = works.patch_of(work, plain)
    assert [each["path"] for each in steps] == ["/metadata/annotations", "/spec"]
    assert "fleetqueue.io/delete-propagation-policy" not in steps[0]["value"]


@pytest.mark.rule("GEN-3")
def test_a_work_that_is_as_it_should_be_is_not_written() -> None:
    [work] = wanted(master(config(a="1")))
    stored = {
        **work,
        "metadata": {
            **work["metadata"],
            "uid": "u",
            "finalizers": ["f"],
            "labels": {**work["metadata"]["labels"], "mine": "x"},
        },
        "status": {},
    }
    assert not works.compared([stored], [work])
    assert works.compared([], [work]).create == [work]


# fmt: off
CHANGES = {
    "other objects": (lambda: wanted(master(config(a="2"))), ["/spec"]),
    "another snapshot": (lambda: wanted({**master(config(a="1")), "metadata": {
        **master()["metadata"], "labels": {labels.RESOURCE_INDEX: "4"}}}), ["/metadata/labels"]),
    "other overrides": (lambda: wanted(master(config(a="1")), of=binding(
        clusterResourceOverrideSnapshots=["o-0"])), ["/metadata/annotations"]),
    "another strategy": (lambda: wanted(master(config(a="1")), of=binding(
        applyStrategy={"type": "ReportDiff"})), ["/spec"]),
}
# fmt: on


@pytest.mark.rule("GEN-3")
@pytest.mark.parametrize(("change", "paths"), CHANGES.values(), ids=CHANGES)
def test_what_makes_a_work_be_written_again(change: Any, paths: list[str]) -> None:
    [old] = wanted(master(config(a="1")))
    changes = works.compared([old], change())
    [(found, new)] = changes.update
    assert found is old
    assert [each["path"] for each in works.patch_of(old, new)] == paths


@pytest.mark.rule("GEN-2")
def test_works_that_nobody_needs_go() -> None:
    first, second = wanted(master(), shard(0))
    leaving = {**second, "metadata": {**second["metadata"], "deletionTimestamp": "t"}}
    assert works.compared([first, second], [first]).delete == [second]
    assert works.compared([first, leaving], [first]).delete == []
    assert works.compared([first, leaving], [first, second]).awaited == [leaving]


@pytest.mark.rule("GEN-4")
def test_without_its_snapshot_a_binding_is_served_by_works_that_match() -> None:
    found = wanted(master(), shard(0))
    assert works.is_synchronized(binding(), found)
    assert not works.is_synchronized(binding(resourceSnapshotName="p-4-snapshot"), found)
    assert not works.is_synchronized(binding(clusterResourceOverrideSnapshots=["o-0"]), found)
    assert not works.is_synchronized(binding(), [])
    [other] = wanted({**shard(0), "metadata": {
        **shard(0)["metadata"], "labels": {labels.RESOURCE_INDEX: "4"}}})  # fmt: skip
    assert not works.is_synchronized(binding(), [found[0], other])


@pytest.mark.rule("GEN-4")
def test_they_are_applied_as_the_binding_says_all_the_same() -> None:
    [old] = wanted(master(config()))
    of = binding(applyStrategy={"type": "ServerSideApply"})
    new = works.with_strategy(old, of, Options())
    assert works.patch_of(old, new) == [
        {
            "op": "add",
            "path": "/spec",
            "value": {**old["spec"], "applyStrategy": {"type": "ServerSideApply"}},
        }
    ]


@pytest.mark.rule("ENV-6")
def test_two_works_of_one_envelope_are_noticed() -> None:
    _, wrapped = wanted(master(envelope(a=config())))
    twin = {**wrapped, "metadata": {**wrapped["metadata"], "name": "other"}}
    _, another = wanted(master(envelope("f", a=config())))
    assert works.duplicates([wrapped, another]) == []
    assert works.duplicates([wrapped, twin, another]) == [[wrapped, twin]]
