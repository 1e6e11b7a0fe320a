"""What each kind says of itself: roles, ends, readiness, starts and stops."""

from typing import Any

import pytest
from tests.support import ray
from tests.support.job_looks import (
    KINDS,
    defaulted,
    job,
    pods,
    refusals,
    sight,
    thing,
    with_settings,
)
from tests.support.queued_kinds import EXAMPLES, Example

from fleetqueue.api.kueue import labels
from fleetqueue.jobs.infos import CannotStart, PodSetInfo
from fleetqueue.jobs.kind import NotYet
from fleetqueue.jobs.pod_sets import pod_sets_of
from fleetqueue.jobs.priorities import priority_of
from fleetqueue.kube.plan import Patch
from fleetqueue.kube.resources import Object

ELASTIC = ("batch/job", "ray.io/raycluster", "ray.io/rayjob", "ray.io/rayservice")
IDS = [each.framework for each in EXAMPLES]
K = "kueue.x-k8s.io"


@pytest.mark.rule("jobs A.17")
@pytest.mark.rule("jobs A.19")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_every_kind_has_an_operator_of_its_own(example: Example) -> None:
    kind = example.kind
    assert kind.managed_by.endswith("managedBy")
    assert kind.own_name
    assert kind.supports_slices == (kind.framework in ELASTIC)
    assert kind.supports_prebuilt


def job_set(**status: Any) -> Object:
    sizes = {"parallelism": 2, "completions": 3, "template": pods()}
    replicated = [
        {"name": "Driver", "template": {"spec": {"template": pods()}}},
        {"name": "worker", "replicas": 3, "template": {"spec": sizes}},
    ]
    return thing(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "s",
        spec={"replicatedJobs": replicated},
        status=status,
    )


@pytest.mark.rule("jobs A.11")
def test_a_jobset() -> None:
    kind = KINDS["jobset.x-k8s.io/jobset"]
    found = pod_sets_of(kind, sight(job_set()))
    assert [(each["name"], each["count"]) for each in found] == [("driver", 1), ("worker", 6)]
    assert found[1]["topologyRequest"] == {
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
        "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
        "subGroupCount": 3,
    }
    entries = [{"name": "Driver", "ready": 1}, {"name": "worker", "ready": 1, "succeeded": 2}]
    running = sight(job_set(replicatedJobsStatus=entries))
    assert kind.is_ready(running)
    assert kind.reclaimable is not None
    assert kind.reclaimable(running) == {"worker": 4}
    assert not kind.is_ready(sight(job_set(replicatedJobsStatus=entries[:1])))


@pytest.mark.rule("jobs A.11")
def test_a_class_of_the_scheduling_policy_comes_first() -> None:
    role = {"template": pods()}
    role["template"]["spec"]["priorityClassName"] = "of-pods"
    spec = {"pytorchReplicaSpecs": {"Worker": role}}
    policy = {"runPolicy": {"schedulingPolicy": {"priorityClass": "of-policy"}}}
    classes = [
        thing("scheduling.k8s.io/v1", "PriorityClass", name, cluster=True, value=value)
        for name, value in (("of-pods", 5), ("of-policy", 7))
    ]
    kind = KINDS["kubeflow.org/pytorchjob"]
    for extra, expected in ((policy, 7), ({}, 5)):
        made = thing("kubeflow.org/v1", "PyTorchJob", "p", spec={**spec, **extra})
        here = sight(made, *classes)
        found = priority_of(kind, here, pod_sets_of(kind, here))
        assert found.value == expected
        assert found.reference is not None
        assert found.reference["kind"] == "PriorityClass"


def mpi_job(**spec: Any) -> Object:
    roles = {"Launcher": {"template": pods()}, "Worker": {"replicas": 2, "template": pods()}}
    return thing("kubeflow.org/v2beta1", "MPIJob", "m", spec={"mpiReplicaSpecs": roles, **spec})


@pytest.mark.rule("jobs A.11")
def test_workers_are_counted_from_one_where_the_launcher_works() -> None:
    def offset(made: Object, **more: Any) -> str | None:
        found = defaulted(made, framework="kubeflow.org/mpijob", **more)
        metadata = found["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"]
        return (metadata.get("annotations") or {}).get(labels.POD_INDEX_OFFSET)

    assert offset(mpi_job(runLauncherAsWorker=True)) == "1"
    assert offset(mpi_job()) is None
    grouped = mpi_job(runLauncherAsWorker=True)
    launcher = grouped["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["metadata"]
    launcher["annotations"] = {labels.PODSET_GROUP_NAME: "g"}
    assert offset(grouped) is None
    off = with_settings(topology=False)
    assert offset(mpi_job(runLauncherAsWorker=True), settings=off) is None


@pytest.mark.rule("jobs A.11")
def test_refusals_of_an_mpijob_are_in_order() -> None:
    made = mpi_job()
    for role in ("Worker", "Launcher"):
        template = made["spec"]["mpiReplicaSpecs"][role]["template"]
        template["metadata"]["annotations"] = {labels.PODSET_UNCONSTRAINED_TOPOLOGY: "maybe"}
    made["metadata"]["labels"] = {f"{K}/queue-name": "Bad"}
    found = refusals(made, framework="kubeflow.org/mpijob")
    assert [text.partition(":")[0] for text in found] == sorted(
        text.partition(":")[0] for text in found
    )
    assert len(found) == 3


# Ray


def ray_job(*groups: Object, **spec: Any) -> Object:
    cluster = spec.pop("cluster", {})
    whole = {
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": ray.cluster_spec(*groups, **cluster),
        **spec,
    }
    annotations = whole.pop("annotations", {})
    return thing(
        "ray.io/v1", "RayJob", "r", spec=whole, labels={f"{K}/queue-name": "lq"},
        annotations=annotations, status=whole.pop("status", {}),
    )  # fmt: skip


def sizes(made: Object, framework: str = "ray.io/rayjob") -> list[tuple[str, int]]:
    found = pod_sets_of(KINDS[framework], sight(made))
    return [(each["name"], each["count"]) for each in found]


@pytest.mark.rule("jobs A.14")
def test_the_pods_of_a_rayjob() -> None:
    small = ray.worker_group("Small", 2, numOfHosts=3)
    assert sizes(ray_job(small)) == [("head", 1), ("small", 6), ("submitter", 1)]
    assert sizes(ray_job(submissionMode="HTTPMode")) == [("head", 1)]
    found = pod_sets_of(KINDS["ray.io/rayjob"], sight(ray_job()))
    [submitter] = found[-1]["template"]["spec"]["containers"]
    assert submitter["name"] == "ray-job-submitter"
    assert submitter["image"] == ray.IMAGE
    assert submitter["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}
    assert submitter["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}
    sidecar = pod_sets_of(KINDS["ray.io/rayjob"], sight(ray_job(submissionMode="SidecarMode")))
    assert [each["name"] for each in sidecar] == ["head"]
    names = [each["name"] for each in sidecar[0]["template"]["spec"]["containers"]]
    assert names == ["ray", "ray-job-submitter"]


@pytest.mark.rule("jobs A.14")
def test_what_a_head_needs_beyond_its_template() -> None:
    made = ray_job(
        cluster={"enableInTreeAutoscaling": True, "gcsFaultToleranceOptions": {}},
        annotations={f"{K}/elastic-job": "true"},
    )
    head = pod_sets_of(KINDS["ray.io/rayjob"], sight(made))[0]["template"]["spec"]["containers"]
    assert head[0]["resources"]["requests"] == {"cpu": "200m", "memory": "256Mi"}
    amount = {"cpu": "500m", "memory": "512Mi"}
    assert head[1] == {"name": "autoscaler", "resources": {"requests": amount, "limits": amount}}
    large = {"requests": {"cpu": "4", "memory": "1Gi"}}
    tolerant = ray_job(annotations={"ray.io/ft-enabled": "true"})
    container = tolerant["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    container["containers"][0]["resources"] = large
    head = pod_sets_of(KINDS["ray.io/rayjob"], sight(tolerant))[0]["template"]["spec"]["containers"]
    assert head[0]["resources"] == large
    assert len(container["containers"]) == 1


@pytest.mark.rule("jobs A.14")
def test_an_elastic_rayjob_is_as_large_as_its_cluster() -> None:
    made = ray_job(
        ray.worker_group("small", 1),
        cluster={"enableInTreeAutoscaling": True},
        annotations={f"{K}/elastic-job": "true"},
        status={"rayClusterName": "c"},
    )
    live = thing(
        "ray.io/v1", "RayCluster", "c", spec=ray.cluster_spec(ray.worker_group("small", 4))
    )
    live["metadata"]["generation"] = 9
    kind, here = KINDS["ray.io/rayjob"], sight(made, live)
    found = pod_sets_of(kind, here)
    assert [(each["name"], each["count"]) for each in found][1] == ("small", 4)
    assert kind.prepare is not None
    [step] = kind.prepare(here)
    assert isinstance(step, Patch)
    noted = {f"{K}/raycluster-generation": "9"}
    assert step.patch == {"metadata": {"annotations": noted}}
    made["metadata"]["annotations"] |= noted
    assert kind.prepare(sight(made, live)) == []
    assert kind.name_extra(made) == "1_9"


@pytest.mark.rule("jobs A.14")
@pytest.mark.parametrize(
    ("status", "active", "held", "verdict"),
    [
        ({}, False, False, None),
        ({"jobDeploymentStatus": "Suspended"}, False, False, None),
        ({"jobDeploymentStatus": "Running"}, True, False, None),
        ({"jobDeploymentStatus": "ValidationFailed"}, True, True, None),
        ({"jobDeploymentStatus": "Failed", "message": "no"}, True, False, ("no", False)),
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "yes"},
            True,
            False,
            ("yes", True),
        ),
        ({"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}, True, False, ("", False)),
    ],
)
def test_the_states_of_a_rayjob(
    status: Object, active: bool, held: bool, verdict: tuple[str, bool] | None
) -> None:
    kind, here = KINDS["ray.io/rayjob"], sight(ray_job(status=status))
    assert kind.is_active(here) is active
    assert kind.on_hold is not None
    assert kind.on_hold(here) is held
    found = kind.verdict(here)
    assert (found and (found.message, found.is_success)) == verdict


@pytest.mark.rule("kueue 10.3")
def test_changes_of_ray_kinds_are_looked_at_where_that_is_wanted() -> None:
    old, new = ray_job(), ray_job(shutdownAfterJobFinishes=False)
    off = with_settings(validate_ray_updates=False)
    assert refusals(new, old=old, framework="ray.io/rayjob") != []
    assert refusals(new, old=old, framework="ray.io/rayjob", settings=off) == []
    assert refusals(new, framework="ray.io/rayjob", settings=off) != []


HEAD_GROUP = ray.worker_group("head")
MANY = [ray.worker_group(f"g{number}") for number in range(18)]
SLICING = "a kueue managed job should only use autoscaling when workload slicing is enabled"
RAY_REFUSALS = {
    "the cluster stays": (
        ray_job(shutdownAfterJobFinishes=False),
        ["spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed job should delete"
         " the cluster after finishing"],
    ),
    "another cluster as well": (
        ray_job(clusterSelector={"a": "b"}),
        ['spec.clusterSelector: Invalid value: {"a":"b"}: a kueue managed job should not use an'
         " existing cluster"],
    ),
    "another cluster": (ray_job(clusterSelector={"a": "b"}, rayClusterSpec=None), []),
    "no cluster": (
        ray_job(rayClusterSpec=None),
        ["spec.rayClusterSpec: Required value: rayClusterSpec is required for Kueue-managed jobs"
         " that don't use clusterSelector"],
    ),
    "scales itself": (
        ray_job(cluster={"enableInTreeAutoscaling": True}),
        [f"spec.rayClusterSpec.enableInTreeAutoscaling: Invalid value: true: {SLICING}"],
    ),
    "a group called head": (
        ray_job(HEAD_GROUP),
        ["spec.rayClusterSpec.workerGroupSpecs[0].groupName: Forbidden: \"head\" is reserved for"
         " the head group"],
    ),
    "too many groups": (
        ray_job(*MANY),
        ["spec.rayClusterSpec.workerGroupSpecs: Too many: 18: must have at most 18 items"],
    ),
}  # fmt: skip


@pytest.mark.rule("jobs A.14")
@pytest.mark.rule("jobs A.18")
@pytest.mark.parametrize(("made", "expected"), RAY_REFUSALS.values(), ids=RAY_REFUSALS.keys())
def test_what_is_refused_of_a_queued_rayjob(made: Object, expected: list[str]) -> None:
    assert refusals(made, framework="ray.io/rayjob") == expected
    made["metadata"]["labels"] = {}
    assert refusals(made, framework="ray.io/rayjob") == []


def ray_cluster(**spec: Any) -> Object:
    annotations = spec.pop("annotations", {})
    return thing(
        "ray.io/v1",
        "RayCluster",
        "c",
        labels={f"{K}/queue-name": "lq"},
        annotations=annotations,
        spec=ray.cluster_spec(ray.worker_group("small"), **spec),
    )


@pytest.mark.rule("jobs A.14")
def test_what_is_refused_of_a_queued_raycluster() -> None:
    elastic = {f"{K}/elastic-job": "true"}
    found = refusals(ray_cluster(enableInTreeAutoscaling=True), framework="ray.io/raycluster")
    assert found == [
        "spec.enableInTreeAutoscaling: Invalid value: true: a kueue-managed RayCluster can use"
        " autoscaling only as an elastic job: enable the ElasticJobsViaWorkloadSlices feature gate"
        f' and set the "{K}/elastic-job": "true" annotation'
    ]
    ungated = refusals(ray_cluster(annotations=elastic), framework="ray.io/raycluster")
    assert len(ungated) == 2
    assert all("an elastic job must have the ElasticJobSchedulingGate" in text for text in ungated)
    gated = defaulted(ray_cluster(annotations=elastic), framework="ray.io/raycluster")
    assert refusals(gated, framework="ray.io/raycluster") == []
    away = defaulted(
        ray_cluster(annotations=elastic, enableInTreeAutoscaling=True, managedBy=f"{K}/multikueue"),
        framework="ray.io/raycluster",
    )
    assert refusals(away, framework="ray.io/raycluster") == [
        "spec.enableInTreeAutoscaling: Forbidden: in-tree autoscaling is not supported for a"
        " MultiKueue-managed elastic RayCluster"
    ]


@pytest.mark.rule("jobs A.14")
def test_a_rayservice_names_its_spec_as_upstream_does() -> None:
    config = ray.cluster_spec(HEAD_GROUP, enableInTreeAutoscaling=True)
    made = thing(
        "ray.io/v1",
        "RayService",
        "s",
        labels={f"{K}/queue-name": "lq"},
        spec={"rayClusterConfig": config},
    )
    found = refusals(made, framework="ray.io/rayservice")
    assert f"spec.rayClusterSpec.enableInTreeAutoscaling: Invalid value: true: {SLICING}" in found
    assert defaulted(made, framework="ray.io/rayservice")["spec"]["rayClusterConfig"]["suspend"]


@pytest.mark.rule("jobs A.14")
def test_a_rayservice_that_cleans_up_is_left_alone() -> None:
    skip = KINDS["ray.io/rayservice"].skip
    assert skip is not None
    for options, deleting, expected in (({}, "now", True), (None, "now", False), ({}, None, False)):
        config = {"gcsFaultToleranceOptions": options}
        made = thing(
            "ray.io/v1", "RayService", "s", spec={"rayClusterConfig": config},
            deletionTimestamp=deleting,
        )  # fmt: skip
        assert skip(sight(made)) is expected
        assert not skip(sight(made, settings=with_settings(defer_ray_service=False)))


# TrainJob and AppWrapper


@pytest.mark.rule("jobs A.15")
def test_a_runtime_that_is_unknown_or_missing() -> None:
    kind = KINDS["trainer.kubeflow.org/trainjob"]
    reference = {"name": "r", "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime"}
    made = thing("trainer.kubeflow.org/v1alpha1", "TrainJob", "t", spec={"runtimeRef": reference})
    with pytest.raises(NotYet, match="runtime 'r' not found"):
        kind.roles_of(sight(made))
    reference["kind"] = "Other"
    with pytest.raises(NotYet, match=r"unsupported runtime: Other\.trainer\.kubeflow\.org"):
        kind.roles_of(sight(made))


def wrapper(**more: Any) -> Object:
    hints = {
        "workload.codeflare.dev.appwrapper/tas-pod-index-label": "index",
        "workload.codeflare.dev.appwrapper/tas-sub-group-index-label": "group",
        "workload.codeflare.dev.appwrapper/tas-sub-group-count": "2",
    }
    inner = job("inner", queue="")
    declared = [{"path": "template.spec.template", "replicas": 4, "annotations": hints}]
    components = [
        {"template": inner, "podSets": declared},
        {"template": inner, "podSets": declared},
    ]
    return thing(
        "workload.codeflare.dev/v1beta2", "AppWrapper", "w", spec={"components": components, **more}
    )


@pytest.mark.rule("jobs A.16")
def test_an_appwrapper_starts_and_stops() -> None:
    kind = KINDS["workload.codeflare.dev/appwrapper"]
    found = pod_sets_of(kind, sight(wrapper()))
    assert [(each["name"], each["count"]) for each in found] == [("w-0", 4), ("w-1", 4)]
    assert found[0]["topologyRequest"] == {
        "podIndexLabel": "index",
        "subGroupIndexLabel": "group",
        "subGroupCount": 2,
    }
    assert kind.start is not None
    assert kind.stop is not None
    infos = [PodSetInfo("w-0", labels={"a": "1"}), PodSetInfo("w-1", node_selector={"b": "2"})]
    [step] = kind.start(sight(wrapper(suspend=True)), infos)
    assert isinstance(step, Patch)
    given = [each["podSetInfos"] for each in step.patch["spec"]["components"]]
    assert given == [[{"labels": {"a": "1"}}], [{"nodeSelector": {"b": "2"}}]]
    assert step.patch["spec"]["suspend"] is False
    with pytest.raises(CannotStart, match="expecting 2 podset, got 1"):
        kind.start(sight(wrapper(suspend=True)), infos[:1])
    running = wrapper(suspend=False)
    for component in running["spec"]["components"]:
        component["podSetInfos"] = [{}]
    [step] = kind.stop(sight(running), None)
    assert isinstance(step, Patch)
    assert all("podSetInfos" not in each for each in step.patch["spec"]["components"])


@pytest.mark.rule("jobs A.16")
@pytest.mark.parametrize(
    ("phase", "deployed", "expected"),
    [
        ("Running", "True", None),
        ("Succeeded", "True", ("AppWrapper finished successfully", True)),
        ("Failed", "True", None),
        ("Failed", "False", ("AppWrapper failed", False)),
    ],
)
def test_the_end_of_an_appwrapper(phase: str, deployed: str, expected: Any) -> None:
    made = wrapper()
    made["status"] = {
        "phase": phase,
        "conditions": [{"type": "ResourcesDeployed", "status": deployed}],
    }
    found = KINDS["workload.codeflare.dev/appwrapper"].verdict(sight(made))
    assert (found and (found.message, found.is_success)) == expected
