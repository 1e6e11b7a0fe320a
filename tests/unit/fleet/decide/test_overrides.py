"""Overrides: whom they concern, on which clusters, and what they make of an object."""

from typing import Any

import pytest

from fleetqueue.fleet.decide.overrides import Applicable, OverrideFailed, Overrides, candidates

Json = dict[str, Any]
EAST, WEST = {"region": "east"}, {"region": "west"}
EVERYWHERE: Json = {"clusterSelectorTerms": []}


def cluster(name: str, **labels: str) -> Json:
    return {"metadata": {"name": name, "labels": labels}}


def where(**labels: str) -> Json:
    return {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": labels}}]}


def patch(op: str, path: str, *value: Any) -> Json:
    return {"op": op, "path": path, **({"value": value[0]} if value else {})}


def rule(selector: Json | None, *patches: Json, **more: Any) -> Json:
    told = {} if selector is None else {"clusterSelector": selector}
    return {**told, "jsonPatchOverrides": list(patches), **more}


def delete(selector: Json) -> Json:
    return {"clusterSelector": selector, "overrideType": "Delete"}


def wide(name: str, kind: str, about: str, *rules: Json, placement: Json | None = None) -> Json:
    return {
        "kind": "ClusterResourceOverrideSnapshot",
        "metadata": {"name": name},
        "spec": {
            "overrideSpec": {
                **({"placement": placement} if placement else {}),
                "clusterResourceSelectors": [
                    {"group": "", "version": "v1", "kind": kind, "name": about}
                ],
                "policy": {"overrideRules": list(rules)},
            }
        },
    }


def narrow(
    name: str, about: str, *rules: Json, placement: Json | None = None, namespace: str = "web"
) -> Json:
    made = wide(name, "ConfigMap", about, *rules, placement=placement)
    spec = made["spec"]["overrideSpec"]
    spec["resourceSelectors"] = spec.pop("clusterResourceSelectors")
    made["metadata"]["namespace"] = namespace
    return {**made, "kind": "ResourceOverrideSnapshot"}


def space(name: str = "web", **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def config(name: str = "conf", namespace: str = "web", **data: Any) -> Json:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def envelope(*inner: Json) -> Json:
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "env", "namespace": "web"},
        "data": {f"{at}.yaml": each for at, each in enumerate(inner)},
    }


CLUSTER_SCOPE = {"name": "p", "scope": "Cluster"}
OWN_NAMESPACE = {"name": "p", "scope": "Namespaced"}
# fmt: off
REFERENCES = {  #                     reference      placement     applies
    "none, a cluster-wide one":      (None,          ("", "p"),    True),
    "none, a namespaced one":        (None,          ("web", "p"), True),
    "that one":                      (CLUSTER_SCOPE, ("", "p"),    True),
    "another one":                   (CLUSTER_SCOPE, ("", "q"),    False),
    "a namesake in a namespace":     (CLUSTER_SCOPE, ("web", "p"), False),
    "the one of its namespace":      (OWN_NAMESPACE, ("web", "p"), True),
    "a cluster-wide namesake":       (OWN_NAMESPACE, ("", "p"),    False),
    "a namesake in another place":   (OWN_NAMESPACE, ("ops", "p"), False),
}
# fmt: on


@pytest.mark.rule("OVR-3")
@pytest.mark.parametrize(("reference", "placement", "applies"), REFERENCES.values(), ids=REFERENCES)
def test_an_override_is_for_the_placement_that_it_names_or_for_all(
    reference: Json | None, placement: tuple[str, str], applies: bool
) -> None:
    snapshot = narrow("ro-0", "conf", rule(EVERYWHERE), placement=reference)
    found = candidates(*placement, [config()], [], [snapshot]).on(cluster("a"))
    assert found.namespaced == ((("web", "ro-0"),) if applies else ())


# fmt: off
SELECTORS = {  #                  selector                    labels       matches
    "no selector":               (None,                       EAST,        False),
    "no terms":                  (EVERYWHERE,                 EAST,        True),
    "a term that matches":       (where(region="east"),       EAST,        True),
    "a term that does not":      (where(region="east"),       WEST,        False),
    "one of two terms": ({"clusterSelectorTerms": [*where(region="east")["clusterSelectorTerms"],
        *where(region="west")["clusterSelectorTerms"]]},      WEST,        True),
}
# fmt: on


@pytest.mark.rule("OVR-2")
@pytest.mark.parametrize(("selector", "labels", "matches"), SELECTORS.values(), ids=SELECTORS)
def test_a_rule_is_for_the_clusters_that_its_selector_picks(
    selector: Json | None, labels: dict[str, str], matches: bool
) -> None:
    snapshot = narrow("ro-0", "conf", rule(selector))
    found = candidates("", "p", [config()], [], [snapshot]).on(cluster("a", **labels))
    assert bool(found.namespaced) is matches


@pytest.mark.rule("OVR-4")
def test_an_override_of_a_namespace_is_for_all_that_stands_in_it() -> None:
    snapshot = wide("cro-0", "Namespace", "web", rule(EVERYWHERE, patch("add", "/kept", 1)))
    only_objects = candidates("", "p", [config()], [snapshot], []).on(cluster("a"))
    elsewhere = candidates("", "p", [config(namespace="ops")], [snapshot], []).on(cluster("a"))
    overrides = Overrides(cluster("a"), cluster=[snapshot])
    assert only_objects.cluster == ("cro-0",)
    assert elsewhere == Applicable()
    assert [
        "kept" in (overrides.applied_to(each) or {})
        for each in (space(), config(), config(namespace="ops"))
    ] == [True, True, False]


@pytest.mark.rule("OVR-4")
def test_a_resource_override_is_for_the_object_of_its_own_namespace() -> None:
    snapshot = narrow("ro-0", "conf", rule(EVERYWHERE, patch("add", "/data/b", "2")))
    overrides = Overrides(cluster("a"), namespaced=[snapshot])
    assert overrides.applied_to(config(a="1")) == config(a="1", b="2")
    assert overrides.applied_to(config("other", a="1")) == config("other", a="1")
    assert overrides.applied_to(config(namespace="ops")) == config(namespace="ops")


@pytest.mark.rule("OVR-5")
def test_objects_in_envelopes_are_overridden_by_their_own_names() -> None:
    snapshot = narrow("ro-0", "conf", rule(EVERYWHERE))
    found = candidates("", "p", [envelope(config())], [], [snapshot]).on(cluster("a"))
    assert found.namespaced == (("web", "ro-0"),)


@pytest.mark.rule("OVR-5")
def test_an_enveloped_object_whose_metadata_is_a_text_is_nobodys() -> None:
    snapshot = narrow("ro-0", "conf", rule(EVERYWHERE))
    wrapped = envelope({**config(), "metadata": "oops"})
    found = candidates("", "p", [wrapped], [], [snapshot]).on(cluster("a"))
    assert found.namespaced == ()


@pytest.mark.rule("OVR-5")
def test_an_override_of_a_namespace_leaves_the_envelope_itself_alone() -> None:
    snapshot = wide(
        "cro-0", "Namespace", "web", rule(EVERYWHERE, patch("add", "/metadata/labels/x", "y"))
    )
    overrides = Overrides(cluster("a"), cluster=[snapshot])
    assert overrides.applied_to(envelope(config())) == envelope(config())


@pytest.mark.rule("OVR-6")
@pytest.mark.rule("OVR-11")
def test_overrides_are_listed_in_the_order_of_their_names() -> None:
    names = [narrow(name, "conf", rule(EVERYWHERE)) for name in ("b-0", "a-0")]
    other = narrow("z-0", "conf", rule(EVERYWHERE), namespace="ops")
    wides = [wide(name, "Namespace", "web", rule(EVERYWHERE)) for name in ("n-1", "m-0")]
    selected = [config(), config(namespace="ops")]
    found = candidates("", "p", selected, wides, [*names, other]).on(cluster("a"))
    assert found == Applicable(("m-0", "n-1"), (("ops", "z-0"), ("web", "a-0"), ("web", "b-0")))
    assert found.binding_fields == {
        "clusterResourceOverrideSnapshots": ["m-0", "n-1"],
        "resourceOverrideSnapshots": [
            {"name": "z-0", "namespace": "ops"},
            {"name": "a-0", "namespace": "web"},
            {"name": "b-0", "namespace": "web"},
        ],
    }


@pytest.mark.rule("OVR-6")
def test_a_resource_override_wins_and_every_matching_rule_applies_in_order() -> None:
    first = wide("cro-0", "Namespace", "web", rule(EVERYWHERE, patch("add", "/data/a", "cluster")))
    second = narrow(
        "ro-0",
        "conf",
        rule(where(region="west"), patch("add", "/data/a", "never")),
        rule(EVERYWHERE, patch("add", "/data/a", "one")),
        rule(where(region="east"), patch("add", "/data/a", "two")),
    )
    overrides = Overrides(cluster("a", **EAST), [first], [second])
    assert overrides.applied_to(config()) == config(a="two")


@pytest.mark.rule("OVR-6")
def test_a_delete_rule_keeps_the_object_away_and_ends_it() -> None:
    snapshot = narrow(
        "ro-0", "conf", delete(where(region="west")), rule(EVERYWHERE, patch("remove", "/nothing"))
    )
    after = narrow("ro-1", "conf", rule(EVERYWHERE, patch("remove", "/nothing")))
    assert Overrides(cluster("b", **WEST), [], [snapshot, after]).applied_to(config()) is None
    with pytest.raises(OverrideFailed):
        Overrides(cluster("a", **EAST), [], [snapshot]).applied_to(config())


# fmt: off
FAILURES = {
    "a parent is missing": (patch("add", "/metadata/labels/where", "east"),
        'add operation does not apply: doc is missing path: "/metadata/labels/where":'
        " missing value"),
    "a path is missing": (patch("replace", "/data/missing/deep", "x"),
        "replace operation does not apply: doc is missing path: /data/missing/deep: missing value"),
    "a key is missing": (patch("replace", "/data/b", "x"),
        "replace operation does not apply: doc is missing key: /data/b: missing value"),
    "a key to remove is missing": (patch("remove", "/data/b"),
        "error in remove for path: '/data/b': Unable to remove nonexistent key: b: missing value"),
    "a label is missing": (patch("add", "/data/b", "${MEMBER-CLUSTER-LABEL-KEY-zone}"),
        "label key zone not found on cluster a"),
    "a bracket is missing": (patch("add", "/data/b", "${MEMBER-CLUSTER-LABEL-KEY-zone"),
        'input "${MEMBER-CLUSTER-LABEL-KEY-zone" is missing the closing bracket `}`'),
}
# fmt: on


@pytest.mark.rule("OVR-8")
@pytest.mark.rule("OVR-7")
@pytest.mark.parametrize(("step", "problem"), FAILURES.values(), ids=FAILURES)
def test_a_patch_that_does_not_fit_says_why(step: Json, problem: str) -> None:
    snapshot = narrow("ro-0", "conf", rule(EVERYWHERE, step))
    with pytest.raises(OverrideFailed) as failure:
        Overrides(cluster("a", **EAST), [], [snapshot]).applied_to(config(a="1"))
    told = 'ResourceOverrideSnapshot "ro-0" failed to apply on ConfigMap "conf" in namespace "web"'
    assert str(failure.value) == f"{told}: {problem}"


@pytest.mark.rule("OVR-7")
def test_placeholders_are_filled_in_at_any_depth() -> None:
    value = {
        "list": ["${MEMBER-CLUSTER-NAME}", 1, None],
        "both": "at ${MEMBER-CLUSTER-LABEL-KEY-region}-${MEMBER-CLUSTER-NAME}-x",
        "twice": "${MEMBER-CLUSTER-LABEL-KEY-region}${MEMBER-CLUSTER-LABEL-KEY-region}",
        "plain": "$HOME",
    }
    snapshot = narrow("ro-0", "conf", rule(EVERYWHERE, patch("add", "/data", value)))
    found = Overrides(cluster("a", **EAST), [], [snapshot]).applied_to(config())
    assert found is not None
    assert found["data"] == {
        "list": ["a", 1, None],
        "both": "at east-a-x",
        "twice": "easteast",
        "plain": "$HOME",
    }


def test_the_object_that_is_given_stays_as_it_is() -> None:
    given = config(a="1")
    snapshot = narrow("ro-0", "conf", rule(EVERYWHERE, patch("add", "/data/a", "2")))
    Overrides(cluster("a"), [], [snapshot]).applied_to(given)
    assert given == config(a="1")
