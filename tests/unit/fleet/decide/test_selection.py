"""What comes of the objects that a placement's selectors found."""

from typing import Any

import pytest

from fleetqueue.errors import UserError
from fleetqueue.fleet.decide import selection

Json = dict[str, Any]


def obj(kind: str, name: str, namespace: str = "", api_version: str = "v1", **rest: Any) -> Json:
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        **({"namespace": namespace} if namespace else {}),
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def test_objects_are_ordered_stripped_listed_and_hashed() -> None:
    found = selection.selected(
        [obj("ConfigMap", "conf", "web", data={"a": "1"}), obj("Namespace", "web")],
        is_job_aware=True,
    )
    assert found.identities == [
        {"version": "v1", "kind": "Namespace", "name": "web"},
        {"version": "v1", "kind": "ConfigMap", "namespace": "web", "name": "conf"},
    ]
    assert [each["metadata"].get("uid") for each in found.manifests] == [None, None]
    assert found.envelopes == 0
    assert found.hash == selection.manifests_hash(found.manifests)


def test_the_hash_is_that_of_kube_fleet() -> None:
    manifests = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"labels": {"kubernetes.io/metadata.name": "c1"}, "name": "c1"},
            "spec": {"finalizers": ["kubernetes"]},
        },
        {
            "apiVersion": "v1",
            "data": {"a": "1"},
            "kind": "ConfigMap",
            "metadata": {"name": "conf", "namespace": "c1"},
        },
    ]
    recorded = "ac2e1ae7734e068259d64211ee97911505d6984961e8196367f6fef16e7fa4fe"
    assert selection.manifests_hash(manifests) == recorded


def test_envelopes_are_counted() -> None:
    group = "placement.kubernetes-fleet.io/v1beta1"
    found = selection.selected(
        [
            obj("ResourceEnvelope", "e", "web", group),
            obj("ClusterResourceEnvelope", "c", "", group),
        ],
        is_job_aware=True,
    )
    assert found.envelopes == 2


def test_an_object_that_is_selected_twice_is_a_mistake() -> None:
    with pytest.raises(UserError) as error:
        selection.selected(
            [obj("ConfigMap", "c", "n"), obj("ConfigMap", "c", "n")], is_job_aware=True
        )
    assert str(error.value) == (
        "found duplicate resource"
        " {Group: Version:v1 Kind:ConfigMap Name:c Namespace:n Envelope:<nil>}"
    )


JOBS = {
    "a Job": ({"managedBy": "kueue.x-k8s.io/multikueue"}, True),
    "a Kubeflow job": ({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}, True),
    "a Job of another controller": ({"managedBy": "example.com/x"}, False),
    "a plain Job": ({}, False),
}


@pytest.mark.rule("KJ-9")
@pytest.mark.parametrize(("spec", "is_theirs"), JOBS.values(), ids=JOBS.keys())
def test_a_job_of_multikueue_is_not_placed(spec: Json, is_theirs: bool) -> None:
    job = obj("Job", "j", "web", "batch/v1", spec=spec)
    found = selection.selected([job], is_job_aware=True)
    assert (list(found.dispatched), len(found.manifests)) == (([job], 0) if is_theirs else ([], 1))
    assert len(selection.selected([job], is_job_aware=False).manifests) == 1


LABELLED = obj("ConfigMap", "conf")
LABELLED["metadata"]["labels"] = {"app": "web"}
TERMS = {
    "its name": ({"name": "conf"}, True),
    "another name": ({"name": "other"}, False),
    "its label": ({"labelSelector": {"matchLabels": {"app": "web"}}}, True),
    "another label": ({"labelSelector": {"matchLabels": {"app": "db"}}}, False),
    "an expression": (
        {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
        True,
    ),
    "all of the kind": ({}, True),
}


@pytest.mark.parametrize(("term", "picks"), TERMS.values(), ids=TERMS.keys())
def test_a_selector_picks_by_name_by_label_or_everything(term: Json, picks: bool) -> None:
    assert selection.matches(term, LABELLED) is picks


def test_a_placement_is_named_with_its_namespace() -> None:
    assert selection.display_name(obj("x", "rp", "web")) == "web/rp"
    assert selection.display_name(obj("x", "crp")) == "crp"
