"""Which manifests can be used, in which order, and whose the objects are."""

from typing import Any

import pytest

from fleetqueue.fleet.decide.delivery import manifests, ownership
from fleetqueue.fleet.decide.envelopes import Envelope

Json = dict[str, Any]


def raw(api_version: str = "v1", kind: str = "ConfigMap", **metadata: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


@pytest.mark.rule("APPLY-10")
def test_manifests_without_a_name_and_later_twins_cannot_be_used() -> None:
    found = manifests.checked(
        manifests.read(
            [
                raw(name="a", namespace="s"),
                raw(generateName="g", namespace="s"),
                raw(name="a", namespace="s"),
                raw(name="a", namespace="t"),
            ]
        )
    )
    assert [(each.problem, each.error) for each in found] == [
        ("", ""),
        ("FoundGenerateName", "objects with only generate name are not supported"),
        ("Duplicated", "a duplicate manifest has been found"),
        ("", ""),
    ]


@pytest.mark.rule("APPLY-10")
def test_a_kind_that_the_member_does_not_serve_cannot_be_decoded() -> None:
    found = manifests.unknown_kind(manifests.read([raw("test.io/v1", "Foo", name="a")])[0])
    assert found.problem == "DecodingErred"
    assert found.error == (
        "failed to decode manifest: failed to find GVR from member cluster client REST mapping:"
        ' no matches for kind "Foo" in version "test.io/v1"'
    )
    assert found.identifier == {
        "ordinal": 0, "group": "test.io", "version": "v1", "kind": "Foo", "name": "a"
    }  # fmt: skip


NARROW = Envelope("ResourceEnvelope", "web", "narrow")
WIDE = Envelope("ClusterResourceEnvelope", "", "wide")


@pytest.mark.rule("ENV-2")
@pytest.mark.parametrize(
    ("space", "is_namespaced", "envelope", "error"),
    [
        ("web", True, NARROW, ""),
        ("web", False, NARROW, "a cluster scope object web/a (test.io/v1, Kind=Foo) has been"
            " wrapped in a resource envelope web/narrow"),
        ("ops", True, NARROW, "a namespaced object ops/a (test.io/v1, Kind=Foo) in has been"
            " wrapped in a resource envelope from another namespace (web)"),
        ("ops", True, WIDE, ""),
        ("ops", True, None, ""),
    ],
)  # fmt: skip
def test_what_a_resource_envelope_may_not_hold_is_not_used_whatever_the_hub_knew(
    space: str, is_namespaced: bool, envelope: Envelope | None, error: str
) -> None:
    [found] = manifests.read([raw("test.io/v1", "Foo", name="a", namespace=space)])
    judged = manifests.unwrapped(found, envelope, is_namespaced=is_namespaced)
    assert judged.problem == ("DecodingErred" if error else "")
    assert judged.error == (f"failed to decode manifest: {error}" if error else "")


@pytest.mark.parametrize(
    ("space", "is_namespaced", "home", "error"),
    [
        ("web", True, "web", ""),
        ("ops", True, "", ""),
        ("ops", False, "", ""),
        ("ops", True, "web", "the object ops/a (test.io/v1, Kind=Foo) is not in the namespace"),
        ("", True, "web", "the object a (test.io/v1, Kind=Foo) is not in the namespace"),
        ("web", False, "web", "the object web/a (test.io/v1, Kind=Foo) is cluster-scoped"),
    ],
)  # fmt: skip
def test_what_a_placement_of_a_namespace_may_not_deliver_is_not_used_whatever_the_hub_knew(
    space: str, is_namespaced: bool, home: str, error: str
) -> None:
    [found] = manifests.read([raw("test.io/v1", "Foo", name="a", namespace=space)])
    judged = manifests.confined(found, home, is_namespaced=is_namespaced)
    assert judged.problem == ("DecodingErred" if error else "")
    assert judged.error.startswith(f"failed to decode manifest: {error}" if error else "")


@pytest.mark.rule("APPLY-10")
@pytest.mark.parametrize("bad", [{}, {"kind": "A"}, {"apiVersion": "v1"}, raw("", "A")])
def test_what_is_no_object_cannot_be_decoded(bad: Json) -> None:
    found = manifests.read([bad])[0]
    assert found.problem == "DecodingErred"
    assert found.error.startswith("failed to decode manifest: ")


@pytest.mark.rule("APPLY-6")
def test_manifests_go_in_waves_by_their_resource() -> None:
    resources = [
        ("example.org/v1", "namespaces", 999),
        ("apiregistration.k8s.io/v1", "apiservices", 5),
        ("batch/v1", "jobs", 4),
        ("autoscaling/v2", "horizontalpodautoscalers", 4),
        ("rbac.authorization.k8s.io/v1", "rolebindings", 3),
        ("rbac.authorization.k8s.io/v1", "clusterroles", 2),
        ("apiextensions.k8s.io/v1", "customresourcedefinitions", 1),
        ("v1", "secrets", 1),
        ("scheduling.k8s.io/v1", "priorityclasses", 0),
        ("v1", "namespaces", 0),
    ]
    found = [
        manifests.read([raw(version, "X", name=str(number))])[0].found_as(
            plural, is_namespaced=False
        )
        for number, (version, plural, _) in enumerate(resources)
    ]
    assert [each.wave for each in found] == [wave for _, _, wave in resources]
    waves = manifests.in_waves(found, at_once=False)
    assert [[each.identity.name for each in wave] for wave in waves] == [
        ["8", "9"], ["6", "7"], ["5"], ["4"], ["2", "3"], ["1"], ["0"],
    ]  # fmt: skip
    assert len(manifests.in_waves(found, at_once=True)) == 1


OURS = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "AppliedWork", "name": "w",
        "uid": "ours", "blockOwnerDeletion": True}  # fmt: skip
THEIRS = {**OURS, "name": "other", "uid": "theirs"}
FOREIGN = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "foreign"}


def owned(*owners: Json) -> Json:
    return {"metadata": {"name": "x", "ownerReferences": list(owners)}}


def taken(
    *owners: Json, allows: bool = False, has_work: bool = True, shows: bool = True
) -> ownership.TakeOver:
    return ownership.take_over(
        owned(*owners),
        OURS,
        lambda owner: has_work,
        allows_co_ownership=allows,
        shows_values=shows,
    )


@pytest.mark.rule("APPLY-12")
@pytest.mark.rule("APPLY-19")
def test_an_object_is_taken_over_where_its_owners_allow_it() -> None:
    assert taken().owners == (OURS,)
    assert taken(FOREIGN, allows=True).owners == (FOREIGN, OURS)
    assert taken(THEIRS, has_work=False).owners == (OURS,)
    assert taken(THEIRS, allows=True).error == (
        "failed to take over a pre-existing object: the object is already owned by another Fleet"
        " AppliedWork object"
    )


@pytest.mark.rule("APPLY-12")
def test_owners_are_told_without_memory_addresses() -> None:
    text = (
        "failed to take over a pre-existing object: the object is already owned by some other"
        " sources(s) and co-ownership is disallowed (existingOwnerRefs: [{APIVersion:placement."
        "kubernetes-fleet.io/v1beta1 Kind:AppliedWork Name:other UID:theirs Controller:<nil>"
        " BlockOwnerDeletion:%s}])"
    )
    assert taken(THEIRS).error == text % "true"
    assert taken(THEIRS, shows=False).error == text % "0xc000000000"


@pytest.mark.rule("APPLY-19")
def test_several_owners_are_refused_unless_that_is_allowed() -> None:
    both = owned(OURS, FOREIGN)
    told = "object is co-owned by multiple objects but co-ownership has been disallowed"
    assert ownership.co_ownership_error(both, allows_co_ownership=False) == told
    assert ownership.co_ownership_error(both, allows_co_ownership=True) == ""
    assert ownership.co_ownership_error(owned(OURS), allows_co_ownership=False) == ""


@pytest.mark.rule("APPLY-3")
def test_an_owner_stops_waiting_for_an_object() -> None:
    assert ownership.unblocked(owned(OURS, FOREIGN), OURS) == [
        {**OURS, "blockOwnerDeletion": False},
        FOREIGN,
    ]
    assert ownership.unblocked(owned({**OURS, "blockOwnerDeletion": False}), OURS) is None
    assert ownership.unblocked(owned(FOREIGN), OURS) is None
