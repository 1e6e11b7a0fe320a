"""Ordinary manifests of every foreign kind are taken as they are; typical mistakes are not."""

import copy

import pytest
import yaml

SAMPLES = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: sweep, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  suspend: true
  network: {enableDNSHostnames: true, subdomain: peers}
  failurePolicy:
    maxRestarts: 3
    rules: [{name: give-up, action: RestartJob, onJobFailureReasons: [PodFailurePolicy]}]
  successPolicy: {operator: Any, targetReplicatedJobs: [driver]}
  coordinator: {replicatedJob: driver, jobIndex: 0, podIndex: 0}
  volumeClaimPolicies:
  - retentionPolicy: {whenDeleted: Retain}
    templates:
    - metadata: {name: scratch}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 20Gi}}}
  replicatedJobs:
  - name: driver
    template:
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: python}]}}}
  - name: workers
    replicas: 2
    dependsOn: [{name: driver, status: Ready}]
    template:
      spec:
        parallelism: 4
        completions: 4
        completionMode: Indexed
        podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}
        template: {spec: {restartPolicy: Never, containers: [{name: main, image: python}]}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  runtimeRef: {name: torch-distributed}
  suspend: true
  initializer:
    dataset: {storageUri: "hf://org/data", env: [{name: A, value: b}], secretRef: {name: token}}
  trainer:
    numNodes: 2
    numProcPerNode: 4
    command: [python, train.py]
    resourcesPerNode: {requests: {cpu: 4, memory: 8Gi, nvidia.com/gpu: "1"}}
  runtimePatches:
  - manager: kueue.x-k8s.io/manager
    time: "2026-01-02T03:04:05Z"
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              metadata: {labels: {a: b}}
              spec:
                template:
                  metadata: {annotations: {c: d}}
                  spec:
                    nodeSelector: {zone: a}
                    tolerations: [{key: gpu, operator: Exists}]
                    schedulingGates: [{name: wait}]
                    containers: [{name: node, volumeMounts: [{name: d, mountPath: /d}]}]
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: pytorch}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: mpi}
spec: {mlPolicy: {mpi: {mpiImplementation: OpenMPI, numProcPerNode: 2}}}
---
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: tf}
spec:
  runPolicy: {cleanPodPolicy: None, suspend: true}
  successPolicy: AllWorkers
  tfReplicaSpecs:
    PS:
      replicas: 1
      restartPolicy: Never
      template: {spec: {containers: [{name: tensorflow, image: tf}]}}
    Worker:
      replicas: 2
      restartPolicy: ExitCode
      template: {spec: {containers: [{name: tensorflow, image: tf}]}}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch}
spec:
  nprocPerNode: auto
  elasticPolicy: {minReplicas: 1, maxReplicas: 3, rdzvBackend: c10d, rdzvConf: [{key: a, value: b}]}
  runPolicy:
    managedBy: kueue.x-k8s.io/multikueue
    schedulingPolicy: {minAvailable: 2, minResources: {cpu: 2}, priorityClass: high, queue: q}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template: {spec: {containers: [{name: pytorch, image: torch}]}}
    Worker:
      replicas: 3
      restartPolicy: OnFailure
      template: {spec: {containers: [{name: pytorch, image: torch}]}}
---
apiVersion: kubeflow.org/v1
kind: XGBoostJob
metadata: {name: boost}
spec: {xgbReplicaSpecs: {Master: {replicas: 1, template: {spec: {containers: [{name: xgboost}]}}}}}
---
apiVersion: kubeflow.org/v1
kind: PaddleJob
metadata: {name: paddle}
spec:
  elasticPolicy:
    maxReplicas: 2
    metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}
  paddleReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: paddle}]}}}}
---
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: jax}
spec: {jaxReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: jax}]}}}}}
---
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  slotsPerWorker: 2
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {cleanPodPolicy: Running, ttlSecondsAfterFinished: 60}
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi, command: [mpirun]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: mpi}]}}}
---
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  rayVersion: 2.46.0
  enableInTreeAutoscaling: true
  autoscalerOptions:
    upscalingMode: Default
    version: v2
    env: [{name: A, value: b}]
    resources: {limits: {cpu: 1}}
  gcsFaultToleranceOptions:
    backend: redis
    redisAddress: redis:6379
    redisPassword: {valueFrom: {secretKeyRef: {name: s, key: k}}}
  networkPolicy:
    mode: DenyAll
    head:
      ingressRules: [{from: [{podSelector: {matchLabels: {a: b}}}], ports: [{port: 80}]}]
  headGroupSpec:
    rayStartParams: {dashboard-host: 0.0.0.0}
    headService: {spec: {type: NodePort, ports: [{name: dashboard, port: 8265}]}}
    template: {spec: {containers: [{name: ray-head, image: ray}]}}
  workerGroupSpecs:
  - groupName: small
    replicas: 1
    minReplicas: 0
    maxReplicas: 3
    template: {spec: {containers: [{name: ray-worker, image: ray}]}}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: job}
spec:
  entrypoint: python main.py
  entrypointNumCpus: 0.5
  shutdownAfterJobFinishes: true
  suspend: true
  deletionStrategy:
    deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}}]
  rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: ray-head}]}}}}
---
apiVersion: ray.io/v1
kind: RayService
metadata: {name: service}
spec:
  serveConfigV2: "applications: []"
  upgradeStrategy: {type: NewCluster}
  rayClusterConfig: {headGroupSpec: {template: {spec: {containers: [{name: ray-head}]}}}}
---
apiVersion: ray.io/v1alpha1
kind: RayJob
metadata: {name: old}
spec:
  entrypoint: python main.py
  rayClusterSpec:
    headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: ray-head}]}}}
---
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: wrap}
spec:
  suspend: true
  components:
  - podSets: [{path: template.spec.template, replicas: 2}]
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: inner}, spec: {anything: goes}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    restartPolicy: RecreateGroupOnPodRestart
    subGroupPolicy: {subGroupSize: 2}
    leaderTemplate: {spec: {containers: [{name: leader}]}}
    workerTemplate: {spec: {containers: [{name: worker}]}}
  rolloutStrategy: {rollingUpdateConfiguration: {maxUnavailable: 50%, maxSurge: 1}}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: east}
spec: {displayName: East, clusterManager: {name: KubeFleet}}
status:
  version: {kubernetes: v1.34.4}
  properties: [{name: region, value: east}]
  accessProviders:
  - {name: KubeFleet, cluster: {server: "https://east", certificate-authority-data: Y2E=}}
"""

MANIFESTS = {f"{one['apiVersion']} {one['kind']}": one for one in yaml.safe_load_all(SAMPLES)}
JOB_SET = "jobset.x-k8s.io/v1alpha2 JobSet"
TRAIN_JOB = "trainer.kubeflow.org/v1alpha1 TrainJob"
RUNTIME = "trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime"
PYTORCH = "kubeflow.org/v1 PyTorchJob"
RAY = "ray.io/v1 RayCluster"
RAY_JOB = "ray.io/v1 RayJob"
LEADERS = "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet"
WRAPPER = "workload.codeflare.dev/v1beta2 AppWrapper"


@pytest.mark.rule("jobs D.1", "jobs D.2", "jobs D.3", "jobs D.4", "jobs D.5", "jobs D.6")
@pytest.mark.rule("jobs D.7", "jobs D.8")
@pytest.mark.parametrize("manifest", MANIFESTS)
def test_an_ordinary_manifest_is_taken_whole(server, manifest):
    given = MANIFESTS[manifest]
    result = server.write(given)
    assert (result.errors, result.dropped) == ([], [])
    assert contains(result.obj, given)


def contains(whole, part):
    """Whether nothing of `part` is lost in `whole`, which may say more."""
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return whole == part


WRONG = [
    # manifest, where, what (None takes it away), part of the answer
    (JOB_SET, "spec.replicatedJobs.0.name", None, "Required value"),
    (JOB_SET, "spec.replicatedJobs.1.name", "driver", "Duplicate value"),
    (JOB_SET, "spec.replicatedJobs.1.replicas", -1, "greater than or equal to 0"),
    (JOB_SET, "spec.replicatedJobs.1.dependsOn.0.status", "Running", '"Ready", "Complete"'),
    (JOB_SET, "spec.successPolicy.operator", "Some", '"All", "Any"'),
    (JOB_SET, "spec.failurePolicy.rules.0.action", "Shrug", "Unsupported value"),
    (JOB_SET, "spec.replicatedJobs.0.template", None, "Required value"),
    (TRAIN_JOB, "spec.runtimeRef.name", "", "at least 1 chars long"),
    (TRAIN_JOB, "spec.trainer.numProcPerNode", "auto", "must be of type integer"),
    (TRAIN_JOB, "spec.activeDeadlineSeconds", 0, "greater than or equal to 1"),
    (TRAIN_JOB, "spec.runtimeRef", None, "Required value"),
    (TRAIN_JOB, "status", {}, "at least 1 properties"),
    (TRAIN_JOB, "status", {"jobsStatus": [{"name": "node", "ready": 1}]}, "Required value"),
    (RUNTIME, "spec.mlPolicy.mpi", {"mpiImplementation": "MPICH"}, "Unsupported value"),
    (PYTORCH, "spec.pytorchReplicaSpecs", None, "Required value"),
    (PYTORCH, "spec.pytorchReplicaSpecs.Worker.replicas", "3", "must be of type integer"),
    (RAY, "spec.headGroupSpec", None, "Required value"),
    (RAY, "spec.autoscalerOptions.upscalingMode", "Wild", "Unsupported value"),
    (RAY, "spec.workerGroupSpecs.0.groupName", None, "Required value"),
    (RAY_JOB, "spec.deletionStrategy.deletionRules", [], "at least 1 items"),
    (RAY_JOB, "spec.preRunningDeadlineSeconds", 0, "greater than or equal to 1"),
    (LEADERS, "spec.replicas", 1000001, "less than or equal to 1000000"),
    (LEADERS, "spec.rolloutStrategy.type", "Recreate", "Unsupported value"),
    (WRAPPER, "spec.components.0.template", None, "Required value"),
    (WRAPPER, "spec.components.0.template.kind", None, "Required value"),
    (WRAPPER, "status.componentStatus", [{"name": "a", "kind": "b", "apiVersion": "c"}], "podSets"),
]


@pytest.mark.rule("jobs D.0", "jobs D.1", "jobs D.2", "jobs D.6")
@pytest.mark.parametrize(("manifest", "path", "value", "answer"), WRONG)
def test_a_mistake_is_refused(server, manifest, path, value, answer):
    obj = copy.deepcopy(MANIFESTS[manifest])
    put(obj, path.split("."), value)
    errors = server.write(obj).errors
    assert any(answer in error for error in errors), errors


def put(obj, path, value):
    """Set the value at the path, or with None take it away."""
    head, *rest = path
    key = int(head) if isinstance(obj, list) else head
    if rest:
        if isinstance(obj, dict):
            obj.setdefault(key, {})
        put(obj[key], rest, value)
    elif value is None:
        del obj[key]
    else:
        obj[key] = value


DEFAULTS = [
    (JOB_SET, "spec.replicatedJobs.0.replicas", 1),
    (JOB_SET, "spec.replicatedJobs.0.groupName", "default"),
    (JOB_SET, "spec.failurePolicy.restartStrategy", "Recreate"),
    (TRAIN_JOB, "spec.runtimeRef.kind", "ClusterTrainingRuntime"),
    (TRAIN_JOB, "spec.runtimeRef.apiGroup", "trainer.kubeflow.org"),
    (TRAIN_JOB, "spec.managedBy", "trainer.kubeflow.org/trainjob-controller"),
    (PYTORCH, "spec.runPolicy.suspend", False),
    ("kubeflow.org/v2beta1 MPIJob", "spec.sshAuthMountPath", "/root/.ssh"),
    ("kubeflow.org/v2beta1 MPIJob", "spec.mpiImplementation", "OpenMPI"),
    ("kubeflow.org/v2beta1 MPIJob", "spec.runLauncherAsWorker", False),
    (
        "trainer.kubeflow.org/v1alpha1 TrainingRuntime",
        "spec.mlPolicy.mpi.sshAuthMountPath",
        "/root/.ssh",
    ),
    (RAY, "spec.workerGroupSpecs.0.numOfHosts", 1),
    (RAY_JOB, "spec.submissionMode", "K8sJobMode"),
    (RAY_JOB, "spec.backoffLimit", 0),
    (LEADERS, "spec.startupPolicy", "LeaderCreated"),
    (LEADERS, "spec.rolloutStrategy.type", "RollingUpdate"),
]


@pytest.mark.parametrize(("manifest", "path", "value"), DEFAULTS)
def test_what_is_not_said_is_filled_in(server, manifest, path, value):
    found = server.write(MANIFESTS[manifest]).obj
    for step in path.split("."):
        found = found[int(step) if isinstance(found, list) else step]
    assert found == value


@pytest.mark.rule("jobs D.0")
def test_only_some_kinds_always_say_whether_they_are_suspended(server):
    template = {"spec": {"containers": [{"name": "c"}]}}
    bare = {
        "trainer.kubeflow.org/v1alpha1 TrainJob": {"runtimeRef": {"name": "r"}},
        "jobset.x-k8s.io/v1alpha2 JobSet": {},
        "ray.io/v1 RayCluster": {"headGroupSpec": {"template": template}},
    }
    found = {}
    for name, spec in bare.items():
        api_version, kind = name.split()
        obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        found[kind] = server.write(obj).obj["spec"].get("suspend")
    assert found == {"TrainJob": False, "JobSet": None, "RayCluster": None}


@pytest.mark.rule("jobs D.0", "jobs D.4", "jobs D.5")
def test_conditions_merge_by_type_but_for_training_jobs(server):
    def keys(name):
        return server.schema(*name.split()).at("status", "conditions").list_keys

    assert keys(PYTORCH) == ()
    by_type = ("kubeflow.org/v2beta1 MPIJob", JOB_SET, TRAIN_JOB, RAY, LEADERS, WRAPPER)
    assert {keys(name) for name in by_type} == {("type",)}


@pytest.mark.rule("jobs D.3")
def test_an_empty_framework_policy_is_not_lost(server):
    result = server.write(MANIFESTS[RUNTIME])
    assert result.obj["spec"]["mlPolicy"]["torch"] == {}


def test_runtimes_know_fewer_ways_to_fail_than_job_sets(server):
    runtime = copy.deepcopy(MANIFESTS[RUNTIME])
    rules = [{"name": "r", "action": "RestartJob"}]
    runtime["spec"]["template"]["spec"]["failurePolicy"] = {"rules": rules}
    assert any("Unsupported value" in error for error in server.write(runtime).errors)


@pytest.mark.rule("jobs D.6")
def test_the_older_ray_version_needs_start_parameters(server):
    old = copy.deepcopy(MANIFESTS["ray.io/v1alpha1 RayJob"])
    del old["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]
    assert any("rayStartParams" in error for error in server.write(old).errors)
