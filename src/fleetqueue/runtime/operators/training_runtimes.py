"""The ClusterTrainingRuntimes that every cluster has from the start, as data."""

from typing import Any

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import CLUSTER_TRAINING_RUNTIME

SYSTEM_NAMESPACE = "kubeflow-system"
TRAINER_VERSION = "v2.3.0"
FRAMEWORK_KEY = "trainer.kubeflow.org/framework"
STEP_KEY = "trainer.kubeflow.org/trainjob-ancestor-step"
DATASET, MODEL, TRAINER = "dataset-initializer", "model-initializer", "trainer"
NODE, LAUNCHER = "node", "launcher"

_PUBLIC = "kubeflow-trainer-public"
_IMAGES = "ghcr.io/kubeflow/trainer"
_WORKSPACE = {"name": "initializer", "mountPath": "/workspace"}
_MPI_USER = 1000


def preinstalled() -> list[Object]:
    """All that a cluster with TrainJobs is born with, in an order in which it can be created."""
    return [*_version_note(), *runtimes()]


def runtimes() -> list[Object]:
    return [
        _single("torch-distributed", "torch", "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"),
        _single("jax-distributed", "jax", "nvcr.io/nvidia/jax:25.10-py3"),
        _single("xgboost-distributed", "xgboost", f"{_IMAGES}/xgboost-runtime"),
        _single("plain", "plain", "python:3"),
        _launched("deepspeed-distributed", "deepspeed", f"{_IMAGES}/deepspeed-runtime"),
        _launched("mlx-distributed", "mlx", f"{_IMAGES}/mlx-runtime"),
        _tuned("torchtune-llama3.2-1b", "meta-llama/Llama-3.2-1B-Instruct", "llama3_2/1B"),
        _tuned("torchtune-llama3.2-3b", "meta-llama/Llama-3.2-3B-Instruct", "llama3_2/3B"),
        _tuned("torchtune-qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct", "qwen2_5/1.5B"),
    ]


def _version_note() -> list[Object]:
    """What the SDK asks for its version, readable for everybody who is somebody."""
    home = {"name": _PUBLIC, "namespace": SYSTEM_NAMESPACE}
    rule = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [_PUBLIC],
        "verbs": ["get", "list", "watch"],
    }
    access = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": home,
            "data": {"kubeflow_trainer_version": TRAINER_VERSION},
        },
        {"apiVersion": f"{access}/v1", "kind": "Role", "metadata": home, "rules": [rule]},
        {
            "apiVersion": f"{access}/v1",
            "kind": "RoleBinding",
            "metadata": home,
            "roleRef": {"apiGroup": access, "kind": "Role", "name": _PUBLIC},
            "subjects": [{"apiGroup": access, "kind": "Group", "name": "system:authenticated"}],
        },
    ]


def _single(name: str, framework: str, image: str) -> Object:
    """One replicated job whose pods are all alike."""
    policy: Object = {"numNodes": 1}
    if framework != "plain":
        policy[framework] = {}
    return _runtime(name, framework, policy, [_job(NODE, {"image": image}, step=TRAINER)])


def _launched(name: str, framework: str, image: str) -> Object:
    """A launcher that reaches the nodes by ssh, and works as one of them."""
    policy = {
        "numNodes": 1,
        "mpi": {
            "numProcPerNode": 1,
            "mpiImplementation": "OpenMPI",
            "sshAuthMountPath": "/home/mpiuser/.ssh",
            "runLauncherAsNode": True,
        },
    }
    container = {"image": image, "securityContext": {"runAsUser": _MPI_USER}}
    server = {
        "command": ["/usr/sbin/sshd"],
        "args": ["-De", "-f", "/home/mpiuser/.sshd_config"],
        "readinessProbe": {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 5},
    }
    group = {"securityContext": {"fsGroup": _MPI_USER}}
    node = _job(NODE, {**container, **server}, pod=group)
    launcher = _job(LAUNCHER, container, pod=group, step=TRAINER, after={NODE: "Ready"})
    return _runtime(
        name,
        framework,
        policy,
        [node, launcher],
        network={"publishNotReadyAddresses": True},
        successPolicy={"operator": "All", "targetReplicatedJobs": [LAUNCHER]},
    )


def _tuned(name: str, source: str, recipe: str) -> Object:
    """Data and model are fetched into a claim, then one node fine-tunes the model."""
    tokenizer = ["tokenizer.path=/workspace/model/original/tokenizer.model"]
    if recipe.startswith("qwen"):
        tokenizer = [
            "tokenizer.path=/workspace/model/vocab.json",
            "tokenizer.merges_file=/workspace/model/merges.txt",
        ]
    command = [
        "tune",
        "run",
        "--rdzv_endpoint=localhost:29500",
        "full_finetune_distributed",
        "--config",
        f"{recipe}_full",
        "dataset=torchtune.datasets.instruct_dataset",
        "dataset.source=parquet",
        "dataset.data_dir=/workspace/dataset/data",
        "output_dir=/workspace/output",
        *tokenizer,
        "checkpointer.checkpoint_dir=/workspace/model",
    ]
    trainer = {
        "image": f"{_IMAGES}/torchtune-trainer",
        "command": command,
        "resources": {"limits": {"nvidia.com/gpu": 2}},
        "volumeMounts": [_WORKSPACE],
    }
    claim = {
        "metadata": {"name": "initializer"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "20Gi"}},
        },
    }
    jobs = [
        _fetcher(DATASET, "hf://tatsu-lab/alpaca"),
        _fetcher(MODEL, f"hf://{source}"),
        _job(NODE, trainer, step=TRAINER, after={DATASET: "Complete", MODEL: "Complete"}),
    ]
    policy: Object = {"numNodes": 1, "torch": {}}
    claims = [{"templates": [claim]}]
    return _runtime(name, "torchtune", policy, jobs, volumeClaimPolicies=claims)


def _fetcher(step: str, source: str) -> Object:
    container = {
        "image": f"{_IMAGES}/{step}",
        "env": [{"name": "STORAGE_URI", "value": source}],
        "volumeMounts": [_WORKSPACE],
    }
    return _job(step, container, step=step, container_name=step)


def _job(
    name: str,
    container: Object,
    *,
    pod: Object | None = None,
    step: str = "",
    after: dict[str, str] | None = None,
    container_name: str = NODE,
) -> Object:
    spec = {**(pod or {}), "containers": [{"name": container_name, **container}]}
    template: Object = {"spec": {"template": {"spec": spec}}}
    if step:
        template = {"metadata": {"labels": {STEP_KEY: step}}, **template}
    job: Object = {"name": name, "template": template}
    if after:
        waits = [{"name": other, "status": status} for other, status in after.items()]
        job["dependsOn"] = waits
    return job


def _runtime(name: str, framework: str, policy: Object, jobs: list[Object], **rest: Any) -> Object:
    return {
        "apiVersion": CLUSTER_TRAINING_RUNTIME.api_version,
        "kind": CLUSTER_TRAINING_RUNTIME.kind,
        "metadata": {"name": name, "labels": {FRAMEWORK_KEY: framework}},
        "spec": {
            "mlPolicy": policy,
            "template": {"spec": {**rest, "replicatedJobs": jobs}},
        },
    }
