"""The hash and the annotation are those that KubeFleet writes; the hashes were recorded from it."""

from typing import Any

import pytest

from fleetqueue.api.fleet import labels
from fleetqueue.fleet.decide.delivery import forms

OWNER = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "AppliedWork", "name": "w",
         "uid": "u", "blockOwnerDeletion": True}  # fmt: skip


def config_map(**data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "conf", "namespace": "c1"},
        "data": data,
    }


@pytest.mark.rule("APPLY-22")
@pytest.mark.parametrize(
    ("manifest", "recorded"),
    [
        (config_map(a="1"), "0cb3c50b8f4b477bc2be73c0bed8762a8acb5cf1d829e11cfc7c247f3016c18a"),
        (config_map(a="2"), "a6fb130df96eecf7f3acc8d10b1b2c797d2e577d72360036808a22d9bdf35968"),
        (
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "c5", "labels": {"kubernetes.io/metadata.name": "c5"}},
                "spec": {"finalizers": ["kubernetes"]},
            },
            "07a0abe3d66e0da0c58ee7977e6856f66274bc85b5cb5b55215ee677b300b29d",
        ),
    ],
)
def test_the_hash_is_the_one_that_was_recorded(manifest: dict[str, Any], recorded: str) -> None:
    assert forms.spec_hash(manifest) == recorded


@pytest.mark.rule("APPLY-20")
def test_what_was_applied_is_kept_as_it_was_recorded() -> None:
    made, fits = forms.with_last_applied(forms.prepared(config_map(a="1"), OWNER))
    assert fits
    assert made["metadata"]["annotations"][labels.LAST_APPLIED_CONFIGURATION] == (
        '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"annotations":'
        '{"kubernetes-fleet.io/spec-hash":'
        '"0cb3c50b8f4b477bc2be73c0bed8762a8acb5cf1d829e11cfc7c247f3016c18a"},"name":"conf",'
        '"namespace":"c1","ownerReferences":[{"apiVersion":"placement.kubernetes-fleet.io/v1beta1",'
        '"blockOwnerDeletion":true,"kind":"AppliedWork","name":"w","uid":"u"}]}}\n'
    )


@pytest.mark.rule("APPLY-20")
def test_what_does_not_fit_into_an_annotation_is_kept_as_nothing() -> None:
    made, fits = forms.with_last_applied(forms.prepared(config_map(a="x" * 262_144), OWNER))
    assert not fits
    assert made["metadata"]["annotations"][labels.LAST_APPLIED_CONFIGURATION] == ""


def test_marks_of_html_are_written_as_go_writes_them() -> None:
    assert forms.go_json({"b": "<&>\u2028\u2029", "a": "é"}) == (
        '{"a":"é","b":"\\u003c\\u0026\\u003e\\u2028\\u2029"}'
    )


@pytest.mark.rule("DRIFT-2")
def test_only_what_a_user_says_counts_in_a_comparison() -> None:
    stamps = {"uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "t",
              "deletionTimestamp": "t", "deletionGracePeriodSeconds": 3, "selfLink": "/x",
              "managedFields": [{}], "ownerReferences": [{}], "finalizers": ["f"],
              "name": "n", "namespace": "s", "generateName": "g"}  # fmt: skip
    template = {"metadata": {"creationTimestamp": None, "labels": {"k8s.io/kept": "1"}}}
    obj = {
        "kind": "CronJob",
        "metadata": {
            **stamps,
            "labels": {"app": "a", "kueue.x-k8s.io/queue-name": "q"},
            "annotations": {"kubernetes-fleet.io/spec-hash": "h", "mine": "1"},
        },
        "spec": {"template": template, "jobTemplate": {"spec": {"template": template}}},
        "status": {"phase": "Active"},
    }
    kept = {"metadata": {"labels": {"k8s.io/kept": "1"}}}
    assert forms.comparable(obj) == {
        "kind": "CronJob",
        "metadata": {"labels": {"app": "a"}, "annotations": {"mine": "1"}},
        "spec": {"template": kept, "jobTemplate": {"spec": {"template": kept}}},
    }
    assert obj["spec"]["template"] is template, "what is shared was changed"


@pytest.mark.parametrize(
    ("text", "expected"), [("", {}), ("{", {}), ("[1]", {}), ('{"a":1}', {"a": 1})]
)
def test_a_spoilt_annotation_tells_nothing(text: str, expected: Any) -> None:
    assert forms.decoded(text) == expected
