"""How pods are held when they are made, and what they get when they are let go."""

import pytest
from tests.support.job_looks import defaulted, sight, thing, with_settings
from tests.support.queued_pods import K, gates_of, pod

from fleetqueue.jobs.infos import PodSetInfo
from fleetqueue.jobs.kinds.pod import JOB
from fleetqueue.jobs.pods import gates
from fleetqueue.kube.plan import Patch
from fleetqueue.kube.resources import Object

pytestmark = pytest.mark.rule("jobs A.12.1")


def here(made: Object, namespace: str = "ns") -> Object:
    return {**made, "metadata": {**made["metadata"], "namespace": namespace, "uid": "u"}}


def test_a_pod_of_a_queue_is_ours() -> None:
    made = defaulted(here(pod("p")), framework="pod")
    assert gates_of(made) == ["admission", "topology"]
    assert made["metadata"]["finalizers"] == [f"{K}/managed"]
    assert made["metadata"]["labels"][f"{K}/managed"] == "true"
    assert made["metadata"]["annotations"] == {f"{K}/role-hash": "dc85db45"}


def test_a_pod_of_a_parent_only_waits() -> None:
    parent = {"pod-suspending-parent": "statefulset", "role-hash": "main"}
    made = defaulted(here(pod("p", annotations=parent, labels={"queue-name": ""})), framework="pod")
    assert gates_of(made) == ["admission", "topology"]
    assert "finalizers" not in made["metadata"]
    assert made["metadata"]["labels"] == {}
    assert made["metadata"]["annotations"][f"{K}/role-hash"] == "main"


def test_system_pods_never_wait() -> None:
    parent = {"pod-suspending-parent": "deployment"}
    made = here(pod("p", annotations=parent), namespace="kube-system")
    assert gates_of(defaulted(made, framework="pod")) == []


def test_without_topologies_there_is_one_gate() -> None:
    settings = with_settings(topology=False)
    made = defaulted(here(pod("p")), framework="pod", settings=settings)
    assert gates_of(made) == ["admission"]


def test_the_index_of_a_pod_comes_from_the_label_that_it_names() -> None:
    annotations = {"pod-group-pod-index-label": "index", "pod-suspending-parent": "statefulset"}
    made = here(pod("p", annotations=annotations))
    made["metadata"]["labels"]["index"] = "7"
    labels = defaulted(made, framework="pod")["metadata"]["labels"]
    assert labels[f"{K}/pod-group-pod-index"] == "7"


@pytest.mark.rule("jobs A.2")
def test_a_pod_without_a_queue_takes_the_default_one() -> None:
    queue = thing(f"{K}/v1beta2", "LocalQueue", "default", spec={"clusterQueue": "cq"})
    made = defaulted(here(pod("p", labels={"queue-name": ""})), queue, framework="pod")
    assert made["metadata"]["labels"][f"{K}/queue-name"] == "default"
    assert gates_of(made) == ["admission", "topology"]


@pytest.mark.parametrize(("placed", "left"), [(False, []), (True, ["topology"])])
def test_a_pod_that_goes(placed: bool, left: list[str]) -> None:
    waiting = defaulted(here(pod("p")), framework="pod")
    waiting["metadata"]["resourceVersion"] = "3"
    info = PodSetInfo(
        name="main",
        count=1,
        labels={"l": "1"},
        node_selector={"pool": "a"},
        scheduling_gates=[{"name": f"{K}/topology"}] if placed else (),
    )
    going = gates.started(waiting, info)
    assert gates_of(going) == left
    assert going["spec"]["nodeSelector"] == {"pool": "a"}
    assert going["metadata"]["labels"]["l"] == "1"
    assert JOB.start is not None
    [step] = JOB.start(sight(waiting), [info])
    assert isinstance(step, Patch)
    assert step.patch["metadata"]["resourceVersion"] == "3"
