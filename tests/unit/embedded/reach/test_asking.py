"""Only those who want to reach into pods are shown pods of other clusters."""

from typing import Any

import pytest

from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.request import Request
from fleetqueue.apiserver.routes import find_route
from fleetqueue.embedded.reach import asking

Object = dict[str, Any]
PODS = "/api/v1/namespaces/ns/pods"


class Kind:
    """As much of a resource as is asked for."""

    def __init__(self, group: str, plural: str) -> None:
        self.group, self.plural = group, plural


def call(path: str, command: str = "", method: str = "GET", **query: str) -> Call:
    headers = {"kubectl-command": command} if command else {}
    request = Request(method, path, {name: [text] for name, text in query.items()}, headers)
    route = find_route(request)
    resource: Any = Kind(route.group, route.resource)
    nobody: Any = None
    return Call(request, route, nobody, resource, nobody)


@pytest.mark.parametrize("verb", ["logs", "exec", "attach", "cp", "port-forward"])
def test_whoever_reaches_into_pods_is_shown_those_elsewhere(verb: str) -> None:
    command = f"kubectl {verb}"
    assert asking.shows(call(PODS, command))
    assert asking.shows(call(f"{PODS}/x", command))
    assert asking.shows(call(PODS, command, watch="true"))


STEPS = "jobset.sigs.k8s.io/jobset-name=x,jobset.sigs.k8s.io/replicatedjob-name in (node, launcher)"


@pytest.mark.rule("jobs E.8")
def test_the_kubeflow_sdk_is_shown_the_pods_of_its_job() -> None:
    assert asking.shows(call(PODS, labelSelector=STEPS))


@pytest.mark.parametrize(
    "asked",
    [
        call(PODS, labelSelector="jobset.sigs.k8s.io/jobset-name=x"),
        call(PODS, labelSelector="jobset.sigs.k8s.io/jobset-name,app in (a)"),
        call(PODS, labelSelector=STEPS.replace("=x", " in (x, y)")),
        call(PODS, labelSelector=f"{STEPS},app=a"),
        call(PODS, labelSelector=STEPS, watch="true"),
        call("/api/v1/pods", labelSelector=STEPS),
        call(PODS, "kubectl get", labelSelector=STEPS),
        call(PODS),
        call(f"{PODS}/x"),
        call(PODS, "kubectl get"),
        call(PODS, "kubectl delete"),
        call(PODS, "logs"),
        call("/api/v1/pods", "kubectl logs"),
        call("/api/v1/namespaces/ns/services", "kubectl logs"),
        call("/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods", "kubectl logs"),
        call(f"{PODS}/x/log", "kubectl logs"),
        call(f"{PODS}/x", "kubectl exec", method="DELETE"),
        call(PODS, "kubectl cp", method="POST"),
    ],
)
def test_for_all_others_there_are_none(asked: Call) -> None:
    assert not asking.shows(asked)


def pod(name: str, node: str = "", **more: Any) -> Object:
    metadata = {"name": name, "namespace": "ns"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"nodeName": node},
            **more}  # fmt: skip


def test_a_list_is_completed_and_pods_that_wait_give_way() -> None:
    here = [pod("runs", "node"), pod("waits"), pod("alone")]
    listed = {"kind": "PodList", "metadata": {"resourceVersion": "3"}, "items": here}
    there = [pod("runs", "there"), pod("waits", "there"), pod("new", "there")]
    made = asking.completed(listed, there)
    places = [(each["metadata"]["name"], each["spec"]["nodeName"]) for each in made["items"]]
    assert places == [("runs", "node"), ("waits", "there"), ("alone", ""), ("new", "there")]
    assert made["metadata"] == {"resourceVersion": "3"}
    assert "kind" not in made["items"][-1]
    assert listed["items"] == here


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("metadata.name=x", True),
        ("metadata.name=y", False),
        ("status.phase!=Failed,spec.nodeName=n", True),
        ("metadata.namespace=other", False),
    ],
)
def test_fields_of_a_pod_that_is_gone_are_selected_here(text: str, matches: bool) -> None:
    assert asking.fields_match(pod("x", "n", status={"phase": "Succeeded"}), text) is matches


def test_a_selector_that_cannot_be_read_is_refused() -> None:
    assert asking.label_selector(call(PODS, labelSelector="a=b")).matches({"a": "b"})
    with pytest.raises(ApiError) as refused:
        asking.label_selector(call(PODS, labelSelector="a in"))
    assert refused.value.code == 400
