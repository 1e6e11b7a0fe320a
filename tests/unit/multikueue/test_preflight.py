"""What keeps a worker from running a workload, told before it is sent there."""

from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.jobs.kinds.train_job import RUNTIMES
from fleetqueue.multikueue.preflight import Facts, Needed, Problems, needed_by, problems_of
from support.offered import cluster_queue, local_queue, workload

pytestmark = [pytest.mark.rule("LIM-2"), pytest.mark.rule("IMP-11")]
KIND = "kubeflow.org/v1, Kind=PyTorchJob"
TORCH = Needed(RUNTIMES["ClusterTrainingRuntime"], Key("", "torch-distributed"))
MINE = Needed(RUNTIMES["TrainingRuntime"], Key("team", "mine"))
QUEUES = {"local_queues": [local_queue()], "cluster_queues": [cluster_queue(default="cpu=4")]}


def found(obj: dict[str, Any] | None = None, **facts: Any) -> list[str]:
    return problems_of(obj or workload(), KIND, Facts("w1", **facts))


# fmt: off
PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "unreachable": (
        {"is_connected": False, "local_queues": []},
        'Worker "w1" cannot be reached: see the condition Active of MultiKueueCluster "w1".'),
    "no kind": (
        {"takes_kind": False},
        'The kind kubeflow.org/v1, Kind=PyTorchJob is not served on worker "w1": install its CRD'
        " and its operator there, and let the manager read it."),
    "no namespace": (
        {"has_namespace": False, "local_queues": []},
        'Namespace "team" does not exist on worker "w1": create it there.'),
    "no runtime": (
        {"absent": [TORCH]},
        'ClusterTrainingRuntime "torch-distributed" does not exist on worker "w1", and the job'
        " names it: create it there."),
    "no runtime in the namespace": (
        {"absent": [MINE]},
        'TrainingRuntime "team/mine" does not exist on worker "w1", and the job names it: create'
        " it there."),
    "no local queue": (
        {"local_queues": [local_queue(namespace="other"), local_queue(name="other")]},
        'LocalQueue "team/user-queue" does not exist on worker "w1": create it there.'),
    "no cluster queue": (
        {"local_queues": [local_queue()], "cluster_queues": [cluster_queue("other")]},
        'ClusterQueue "queue", which LocalQueue "team/user-queue" names, does not exist on worker'
        ' "w1": create it there.'),
    "an inactive cluster queue": (
        {**QUEUES, "cluster_queues": [cluster_queue(default="cpu=4", active=False)]},
        'ClusterQueue "queue" on worker "w1" is not active: Can\'t admit new workloads: is'
        " stopped."),
}
# fmt: on


@pytest.mark.parametrize(("facts", "text"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_problem_says_what_is_wrong_and_where_and_what_to_do(
    facts: dict[str, Any], text: str
) -> None:
    assert found(**facts) == [text]


def test_a_local_queue_that_is_stopped_is_told_of() -> None:
    stopped = local_queue()
    stopped["spec"]["stopPolicy"] = "Hold"

    assert found(**{**QUEUES, "local_queues": [stopped]}) == [
        'LocalQueue "team/user-queue" on worker "w1" is stopped: set its stopPolicy to None.'
    ]


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"local_queues": [local_queue()]},
        {"cluster_queues": []},
        {**QUEUES, "takes_kind": True, "has_namespace": True},
    ],
    ids=["nothing is known", "no cluster queues", "no local queues", "all is known and well"],
)
def test_what_is_not_known_is_no_problem(facts: dict[str, Any]) -> None:
    assert found(**facts) == []


def test_a_queue_that_says_nothing_of_itself_is_no_problem() -> None:
    silent = {**cluster_queue(default="cpu=4"), "status": {}}

    assert found(**{**QUEUES, "cluster_queues": [silent]}) == []


def asked(queue: dict[str, Any], obj: dict[str, Any]) -> list[str]:
    return found(obj, local_queues=[local_queue()], cluster_queues=[queue])


# fmt: off
LIMITS = {  #                                    queue                       asks     problem
    "all of it":                                ({"default": "cpu=4"},       "4",     ""),
    "too much":                                 ({"default": "cpu=4"},       "5",     "cpu=5>4"),
    "too much for the largest flavor":          ({"a": "cpu=4", "b": "cpu=3"}, "5",   "cpu=5>4"),
    "in use now, but not for ever":  ({"default": "cpu=4", "used": "default: cpu=4"}, "4", ""),
    "what the limit lets it borrow":
        ({"default": "cpu=4", "cohort": "all", "borrow": "2"},               "6",     ""),
    "more than the limit lets it borrow":
        ({"default": "cpu=4", "cohort": "all", "borrow": "2"},               "7",     "cpu=7>6"),
    "what a cohort has nobody knows":
        ({"default": "cpu=4", "cohort": "all"},                              "400",   ""),
    "a limit without a cohort gives nothing":
        ({"default": "cpu=4", "borrow": "2"},                                "5",     "cpu=5>4"),
    "a resource that it does not know":         ({"default": "memory=4Gi"},  "1",     "cpu"),
}
# fmt: on


@pytest.mark.parametrize(("queue", "cpu", "problem"), LIMITS.values(), ids=LIMITS.keys())
def test_requests_that_a_queue_can_never_meet(
    queue: dict[str, Any], cpu: str, problem: str
) -> None:
    texts = asked(cluster_queue(**queue), workload(cpu=cpu))

    if "=" in problem:
        wanted, limit = problem.removeprefix("cpu=").split(">")
        assert texts == [
            f'The workload requests {wanted} of cpu, and ClusterQueue "queue" on worker "w1" can'
            f" never give more than {limit}: raise its quota, or ask for less."
        ]
    elif problem:
        assert texts == [
            'ClusterQueue "queue" on worker "w1" has no quota for cpu, which the workload requests:'
            " add the resource."
        ]
    else:
        assert texts == []


def many(count: int, **more: Any) -> dict[str, Any]:
    made = workload(cpu="1")
    made["spec"]["podSets"][0] |= {"count": count, **more}
    made["status"] = {}
    return made


def test_before_quota_is_counted_the_templates_tell_what_is_needed() -> None:
    [text] = asked(cluster_queue(default="cpu=4"), many(5))

    assert "requests 5 of cpu" in text
    assert asked(cluster_queue(default="cpu=4"), many(4)) == []


def test_a_job_that_may_run_with_fewer_pods_needs_only_those() -> None:
    assert asked(cluster_queue(default="cpu=4"), many(5, minCount=2)) == []


def test_pods_are_counted_where_the_queue_counts_them() -> None:
    [text] = asked(cluster_queue(default="cpu=9 pods=4"), many(5))

    assert "requests 5 of pods" in text


def test_several_pod_sets_may_take_from_several_flavors_but_not_more_than_there_is() -> None:
    two = workload(cpu="3")
    two["spec"]["podSets"] += [{**two["spec"]["podSets"][0], "name": "more"}]
    two["status"] = {}

    assert asked(cluster_queue(a="cpu=4", b="cpu=4"), two) == []
    [text] = asked(cluster_queue(a="cpu=4"), two)
    assert "requests 6 of cpu" in text


@pytest.mark.parametrize(
    ("reference", "needed"),
    [
        ({"name": "torch-distributed"}, [TORCH]),
        ({"name": "torch-distributed", "kind": "ClusterTrainingRuntime"}, [TORCH]),
        ({"name": "mine", "kind": "TrainingRuntime"}, [MINE]),
        ({"name": "x", "kind": "Other"}, []),
        ({}, []),
    ],
)
def test_a_train_job_needs_its_runtime(reference: dict[str, str], needed: list[Needed]) -> None:
    metadata = {"name": "train", "namespace": "team"}
    job = {"kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": reference}}

    assert needed_by(job) == needed
    assert needed_by({**job, "kind": "Job"}) == []


def test_problems_are_looked_for_once_and_only_if_somebody_asks() -> None:
    looks = []

    def find() -> list[str]:
        looks.append("looked")
        return ["one", "two"]

    made = Problems(find)
    assert looks == []
    assert made
    assert list(made) == ["one", "two"]
    assert made[0:1] == ["one"]
    assert looks == ["looked"]
