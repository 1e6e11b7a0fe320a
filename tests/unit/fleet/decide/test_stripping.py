"""What of an object stays on the hub."""

from typing import Any

import pytest

from fleetqueue.fleet.decide.stripping import strip

pytestmark = pytest.mark.rule("SEL-20")
Json = dict[str, Any]
CONTROLLER = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"}


def obj(api_version: str, kind: str, metadata: Json | None = None, **rest: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata or {"name": "a"}, **rest}


def job(**spec: Any) -> Json:
    return obj("batch/v1", "Job", spec=spec)


def generated(**labels: str) -> Json:
    """A Job as the API server fills it in."""
    return job(
        selector={"matchLabels": CONTROLLER},
        suspend=True,
        template={
            "metadata": {"labels": {**CONTROLLER, **labels}, "creationTimestamp": None},
            "spec": {"restartPolicy": "Never"},
        },
    )


def test_what_the_server_wrote_goes_and_what_users_wrote_stays() -> None:
    metadata = {
        "name": "a",
        "namespace": "web",
        "labels": {"app": "web"},
        "finalizers": ["example.com/mine"],
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "deployment.kubernetes.io/revision": "3",
            "note": "kept",
        },
        "resourceVersion": "5",
        "generation": 2,
        "uid": "u",
        "selfLink": "/x",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{}],
        "ownerReferences": [{"name": "owner"}],
    }
    found = obj("v1", "ConfigMap", metadata, data={"a": "1"}, status={"x": 1})
    assert strip(found, is_job_aware=True) == obj(
        "v1",
        "ConfigMap",
        {
            "name": "a",
            "namespace": "web",
            "labels": {"app": "web"},
            "finalizers": ["example.com/mine"],
            "annotations": {"note": "kept"},
        },
        data={"a": "1"},
    )
    assert "resourceVersion" in found["metadata"], "what was handed in stays as it is"


def test_annotations_that_become_empty_go_entirely() -> None:
    metadata = {"name": "a", "annotations": {"deployment.kubernetes.io/revision": "1"}}
    assert strip(obj("v1", "Secret", metadata), is_job_aware=True)["metadata"] == {"name": "a"}


SERVICES = {
    "addresses and ports that the hub chose": (
        {
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "healthCheckNodePort": 30000,
            "ports": [{"port": 80, "nodePort": 31000}],
            "type": "LoadBalancer",
        },
        {"ports": [{"port": 80}], "type": "LoadBalancer"},
    ),
    "a headless one": (
        {"clusterIP": "None", "clusterIPs": ["None"]},
        {"clusterIP": "None", "clusterIPs": ["None"]},
    ),
}


@pytest.mark.parametrize(("spec", "kept"), SERVICES.values(), ids=SERVICES.keys())
def test_a_service_loses_what_only_holds_on_the_hub(spec: Json, kept: Json) -> None:
    assert strip(obj("v1", "Service", spec=spec), is_job_aware=True)["spec"] == kept


def test_a_job_keeps_emptied_maps_in_the_compatible_mode() -> None:
    assert strip(generated(), is_job_aware=False)["spec"] == {
        "selector": {"matchLabels": {}},
        "suspend": True,
        "template": {"metadata": {"labels": {}}, "spec": {"restartPolicy": "Never"}},
    }


@pytest.mark.rule("KJ-1")
def test_a_job_loses_emptied_maps() -> None:
    assert strip(generated(), is_job_aware=True)["spec"] == {
        "suspend": True,
        "template": {"spec": {"restartPolicy": "Never"}},
    }
    assert strip(generated(app="web"), is_job_aware=True)["spec"]["template"]["metadata"] == {
        "labels": {"app": "web"}
    }


def test_a_job_with_a_selector_of_its_own_keeps_it() -> None:
    spec = {"manualSelector": True, "selector": {"matchLabels": CONTROLLER}, "template": {}}
    assert strip(job(**spec), is_job_aware=True)["spec"] == spec


@pytest.mark.rule("KJ-6")
@pytest.mark.parametrize("is_job_aware", [True, False])
@pytest.mark.parametrize("manual", [{}, {"manualSelector": True}])
def test_members_run_a_job_that_the_hub_must_not_touch(manual: Json, *, is_job_aware: bool) -> None:
    spec = {**manual, "managedBy": "fleetqueue.io/placement", "suspend": True}
    assert strip(job(**spec), is_job_aware=is_job_aware)["spec"] == {**manual, "suspend": True}
    others = {**manual, "managedBy": "example.com/mine"}
    assert strip(job(**others), is_job_aware=is_job_aware)["spec"] == others


@pytest.mark.rule("KJ-3")
def test_what_the_hubs_queue_wrote_into_a_job_it_had_started_stays_on_the_hub() -> None:
    own, label = "kueue.x-k8s.io/workload", "kueue.x-k8s.io/podset"
    metadata = {"annotations": {own: "job-a-1234", "mine": "x"}, "labels": {label: "main"}}
    started = job(template={"metadata": metadata, "spec": {}})
    assert strip(started, is_job_aware=True)["spec"]["template"] == {
        "metadata": {"annotations": {"mine": "x"}},
        "spec": {},
    }
    assert strip(started, is_job_aware=False)["spec"]["template"]["metadata"] == metadata
