"""CEL rules of the foreign kinds: what may not be said together, and what may not change."""

import pytest

TEMPLATE = {"spec": {"containers": [{"name": "main"}]}}


def obj(api_version, kind, spec, name="x"):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def job_set(**spec):
    return obj("jobset.x-k8s.io/v1alpha2", "JobSet", spec)


def replicated_job(name, **more):
    return {"name": name, "template": {"spec": {"template": TEMPLATE}}, **more}


def train_job(name="x", **spec):
    spec = {"runtimeRef": {"name": "r"}} | spec
    return obj("trainer.kubeflow.org/v1alpha1", "TrainJob", spec, name)


def runtime(**policy):
    return obj("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", {"mlPolicy": policy})


def ray_cluster(**spec):
    return obj("ray.io/v1", "RayCluster", {"headGroupSpec": {"template": TEMPLATE}} | spec)


def ray_job(**deletion):
    return obj("ray.io/v1", "RayJob", {"deletionStrategy": deletion})


def pytorch_job(queue):
    policy = {"schedulingPolicy": {"queue": queue} if queue else {}}
    spec = {"pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}, "runPolicy": policy}
    return obj("kubeflow.org/v1", "PyTorchJob", spec)


def cluster_profile(manager):
    spec = {"clusterManager": {"name": manager}}
    return obj("multicluster.x-k8s.io/v1alpha1", "ClusterProfile", spec)


WAITS = [replicated_job("a"), replicated_job("b", dependsOn=[{"name": "a", "status": "Ready"}])]
ONE_RULE = [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}]
DELETE_SELF = {"policy": "DeleteSelf"}
NAME_FORMAT = "metadata.name must match RFC 1035 DNS label format"

REFUSED = [
    (
        job_set(replicatedJobs=WAITS, startupPolicy={"startupPolicyOrder": "InOrder"}),
        "StartupPolicy and DependsOn APIs are mutually exclusive",
    ),
    (
        job_set(volumeClaimPolicies=[{"templates": [{"metadata": {"namespace": "other"}}]}]),
        "namespace cannot be set for VolumeClaimPolicies templates",
    ),
    (train_job("1st"), NAME_FORMAT),
    (train_job("a.b"), NAME_FORMAT),
    (train_job("a" * 64), "metadata.name must be no more than 63 characters"),
    (
        train_job(managedBy="me"),
        "ManagedBy must be trainer.kubeflow.org/trainjob-controller"
        " or kueue.x-k8s.io/multikueue if set",
    ),
    (runtime(torch={}, mpi={}), "Only one of the policy can be configured"),
    (
        runtime(flux={"numProcPerNode": 0}),
        "NumProcPerNode in fluxPolicy must be >= 1",
    ),
    (
        ray_cluster(managedBy="me"),
        "the managedBy field value must be either 'ray.io/kuberay-operator'"
        " or 'kueue.x-k8s.io/multikueue'",
    ),
    (
        ray_job(onSuccess=DELETE_SELF),
        "deletionStrategy requires either BOTH onSuccess and onFailure,"
        " OR the deletionRules field (cannot be empty)",
    ),
    (
        ray_job(onSuccess=DELETE_SELF, onFailure=DELETE_SELF, deletionRules=ONE_RULE),
        "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together"
        " within the same deletionStrategy",
    ),
    (
        ray_job(deletionRules=[{"policy": "DeleteSelf", "condition": {}}]),
        "the deletion condition requires either the JobStatus or the JobDeploymentStatus field.",
    ),
]


@pytest.mark.rule("jobs D.1", "jobs D.2", "jobs D.3", "jobs D.6", "jobs B.6")
@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_does_not_go_together_is_refused(server, given, message):
    errors = server.write(given).errors
    assert [error for error in errors if error.endswith(f": {message}")], errors


@pytest.mark.rule("jobs D.7")
def test_the_values_of_a_restart_policy_are_listed_in_their_order(server):
    template = {"workerTemplate": TEMPLATE, "restartPolicy": "x"}
    given = obj(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": template}
    )
    known = '"Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"'
    assert server.write(given).errors == [
        "spec.leaderWorkerTemplate.restartPolicy: Unsupported value: "
        f'"x": supported values: {known}'
    ]


ALLOWED = [
    job_set(replicatedJobs=WAITS, startupPolicy={"startupPolicyOrder": "AnyOrder"}),
    job_set(volumeClaimPolicies=[{"templates": [{"metadata": {"name": "a"}}]}]),
    train_job(managedBy="kueue.x-k8s.io/multikueue"),
    runtime(torch={}),
    ray_cluster(managedBy="kueue.x-k8s.io/multikueue"),
    ray_job(onSuccess=DELETE_SELF, onFailure=DELETE_SELF),
    ray_job(deletionRules=ONE_RULE),
]


@pytest.mark.parametrize("given", ALLOWED)
def test_what_goes_together_is_taken(server, given):
    assert server.write(given).errors == []


FIXED = "Value is immutable"
FIELD_FIXED = "field is immutable"

CHANGES = [
    (job_set(network={"subdomain": "a"}), job_set(network={"subdomain": "b"}), FIXED),
    (job_set(), job_set(network={"subdomain": "b"}), None),
    (job_set(network={"subdomain": "a"}), job_set(), None),
    (job_set(suspend=True), job_set(suspend=False), None),
    (train_job(trainer={"numNodes": 1}), train_job(trainer={"numNodes": 2}), FIELD_FIXED),
    (train_job(), train_job(runtimeRef={"name": "other"}), FIELD_FIXED),
    (train_job(), train_job(managedBy="kueue.x-k8s.io/multikueue"), FIELD_FIXED),
    (train_job(suspend=True), train_job(suspend=False), None),
    (
        ray_cluster(managedBy="ray.io/kuberay-operator"),
        ray_cluster(managedBy="kueue.x-k8s.io/multikueue"),
        "the managedBy field is immutable",
    ),
    (ray_cluster(managedBy="ray.io/kuberay-operator"), ray_cluster(), None),
    (
        pytorch_job("a"),
        pytorch_job("b"),
        "spec.runPolicy.schedulingPolicy.queue is immutable",
    ),
    (pytorch_job("a"), pytorch_job(""), None),
    (cluster_profile("a"), cluster_profile("b"), "ClusterManager is immutable"),
]


@pytest.mark.rule("jobs D.0", "jobs D.1", "jobs D.2", "jobs D.4", "jobs D.6")
@pytest.mark.parametrize(("before", "after", "message"), CHANGES)
def test_what_is_fixed_may_come_and_go_but_not_change(server, before, after, message):
    errors = server.write(after, server.write(before).obj).errors
    assert [error.rsplit(": ", 1)[1] for error in errors] == ([message] if message else [])


def patched(**pod):
    patch = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    runtime_spec = {"template": {"spec": {"replicatedJobs": [patch]}}}
    return train_job(runtimePatches=[{"manager": "a.b/c", "trainingRuntimeSpec": runtime_spec}])


@pytest.mark.rule("jobs D.2")
@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "c"}}, True),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, True),
        ({"schedulingGates": [{"name": "a"}]}, {"schedulingGates": []}, True),
        ({"serviceAccountName": "a"}, {"serviceAccountName": "b"}, False),
        ({"imagePullSecrets": [{"name": "a"}]}, {"imagePullSecrets": [{"name": "b"}]}, False),
        ({"securityContext": {"runAsUser": 1}}, {"securityContext": {"runAsUser": 2}}, False),
    ],
)
def test_a_patch_may_steer_pods_and_change_nothing_else(server, before, after, changes):
    errors = server.write(patched(**after), server.write(patched(**before)).obj).errors
    assert (errors == []) is changes
