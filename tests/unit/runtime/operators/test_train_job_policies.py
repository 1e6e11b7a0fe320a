"""ML policies: how many nodes there are, what their containers are told, and where they meet."""

from typing import Any

import pytest
from tests.support import train_jobs
from tests.support.train_jobs import built, environment, runtime

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ssh_keys, train_job_children
from fleetqueue.runtime.operators.train_job_policies import hostfile

pytestmark = pytest.mark.rule("jobs B.6.2")

INDEX = {
    "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
}
MEETING_POINT = "run-node-0-0.run"


def torch_environment(trainer: Object | None, source: Object | None = None) -> dict[str, Any]:
    parent = train_jobs.job(**({} if trainer is None else {"trainer": trainer}))
    return environment(built(parent, source or runtime()))


def test_torch_tells_nothing_to_a_job_that_says_nothing_of_its_trainer() -> None:
    assert torch_environment(None) == {}


def test_torch_tells_ranks_and_where_to_meet() -> None:
    trainer = {"numNodes": 3, "env": [{"name": "MINE", "value": "1"}], "numProcPerNode": 4}
    parent = train_jobs.job(trainer=trainer)
    pod = built(parent, runtime())
    assert environment(pod) == {
        "MINE": "1",
        "PET_NNODES": "3",
        "PET_NPROC_PER_NODE": "4",
        "PET_NODE_RANK": INDEX,
        "PET_MASTER_ADDR": MEETING_POINT,
        "PET_MASTER_PORT": "29500",
    }
    assert pod["containers"][0]["ports"] == [{"containerPort": 29500}]
    job = train_jobs.replicated(train_jobs.job_set(parent, runtime()), "node")
    assert (job["replicas"], job["template"]["spec"]["parallelism"]) == (1, 3)
    assert job["template"]["spec"]["completions"] == 3


# fmt: off
PROCESSES: dict[str, tuple[Object, str]] = {
    "nothing is known":                ({}, "1"),
    "the job says so":                 ({"numProcPerNode": 2}, "2"),
    "whole CPUs, rounded up":          ({"resourcesPerNode": {"requests": {"cpu": "2500m"}}}, "3"),
    "CPUs of limits":                  ({"resourcesPerNode": {"limits": {"cpu": 2.0}}}, "2"),
    "requests go before limits":       ({"resourcesPerNode": {"requests": {"cpu": "1"},
                                         "limits": {"cpu": "8"}}}, "1"),
    "devices are counted on the node": ({"resourcesPerNode": {"limits": {"acme.com/GPU-a": "4",
                                         "cpu": "3"}}}, "auto"),
}
# fmt: on


@pytest.mark.parametrize(("trainer", "processes"), PROCESSES.values(), ids=PROCESSES)
def test_processes_per_node(trainer: Object, processes: str) -> None:
    assert torch_environment(trainer)["PET_NPROC_PER_NODE"] == processes


def test_torch_variables_go_into_named_containers_even_without_a_trainer() -> None:
    source = runtime()
    target = {"jobName": "node", "containerNames": ["preflight"]}
    source["spec"]["mlPolicy"]["torch"] = {"envInjection": {"targets": [target]}}
    job = source["spec"]["template"]["spec"]["replicatedJobs"][0]
    job["template"]["spec"]["template"]["spec"]["initContainers"] = [{"name": "preflight"}]
    pod = built(train_jobs.job(), source)
    assert environment(pod) == {}
    names = [each["name"] for each in pod["initContainers"][0]["env"]]
    assert names == [
        "PET_NNODES",
        "PET_NPROC_PER_NODE",
        "PET_NODE_RANK",
        "PET_MASTER_ADDR",
        "PET_MASTER_PORT",
    ]


# fmt: off
TUNED: dict[str, tuple[Object, list[str]]] = {
    "two devices by the runtime": (
        {}, [f"--rdzv_endpoint={MEETING_POINT}:29500", "full_finetune_distributed",
             "--config", "llama3_2/1B_full"]),
    "one device": (
        {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}},
        ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"]),
    "one process with adapters": (
        {"numProcPerNode": 1, "args": ["model.lora_attn_modules=[q_proj]"]},
        ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"]),
    "quantized on many devices": (
        {"args": ["model.quantize_base=True"]},
        [f"--rdzv_endpoint={MEETING_POINT}:29500", "lora_finetune_distributed",
         "--config", "llama3_2/1B_qlora"]),
    "many nodes": (
        {"numNodes": 2, "args": ["model.lora_attn_modules=[q_proj]"]},
        [f"--rdzv_endpoint={MEETING_POINT}:29500", "full_finetune_distributed",
         "--config", "llama3_2/1B_full_multinode"]),
}
# fmt: on


@pytest.mark.parametrize(("trainer", "words"), TUNED.values(), ids=TUNED)
def test_a_bare_tune_run_becomes_a_whole_command(trainer: Object, words: list[str]) -> None:
    source = runtime("torchtune-llama3.2-1b")
    command = {"command": ["tune", "run"], **trainer}
    pod = built(train_jobs.job("torchtune-llama3.2-1b", trainer=command), source)
    assert pod["containers"][0]["command"] == [
        "tune",
        "run",
        *words,
        "output_dir=/workspace/output",
        "tokenizer.path=/workspace/model/original/tokenizer.model",
        "checkpointer.checkpoint_dir=/workspace/model",
    ]
    assert "PET_MASTER_ADDR" not in environment(pod)
    assert "PET_NNODES" in environment(pod)


def test_jax_tells_a_coordinator() -> None:
    parent = train_jobs.job("jax-distributed", trainer={"numNodes": 2})
    assert environment(built(parent, runtime("jax-distributed"))) == {
        "JAX_NUM_PROCESSES": "2",
        "JAX_PROCESS_ID": INDEX,
        "JAX_COORDINATOR_ADDRESS": f"{MEETING_POINT}:29500",
    }


def test_jax_and_xgboost_meet_even_where_the_job_says_nothing_of_its_trainer() -> None:
    jax = built(train_jobs.job("jax-distributed"), runtime("jax-distributed"))
    assert environment(jax) == {
        "JAX_NUM_PROCESSES": "1",
        "JAX_PROCESS_ID": INDEX,
        "JAX_COORDINATOR_ADDRESS": f"{MEETING_POINT}:29500",
    }
    xgboost = built(train_jobs.job("xgboost-distributed"), runtime("xgboost-distributed"))
    assert environment(xgboost) == {
        "DMLC_TRACKER_URI": MEETING_POINT,
        "DMLC_TRACKER_PORT": "29500",
        "DMLC_TASK_ID": INDEX,
        "DMLC_NUM_WORKER": "1",
    }
    for pod in (jax, xgboost):
        assert pod["containers"][0]["ports"] == [{"containerPort": 29500}]


@pytest.mark.parametrize(("gpus", "workers"), [(0, "3"), (4, "12")])
def test_xgboost_tells_a_tracker_and_counts_one_worker_per_device(gpus: int, workers: str) -> None:
    resources = {"limits": {"nvidia.com/gpu": gpus}}
    trainer = {"numNodes": 3, "resourcesPerNode": resources}
    parent = train_jobs.job("xgboost-distributed", trainer=trainer)
    assert environment(built(parent, runtime("xgboost-distributed"))) == {
        "DMLC_TRACKER_URI": MEETING_POINT,
        "DMLC_TRACKER_PORT": "29500",
        "DMLC_TASK_ID": INDEX,
        "DMLC_NUM_WORKER": workers,
    }


def test_a_plain_runtime_only_counts_nodes() -> None:
    trainer = {"numNodes": 4, "env": [{"name": "A", "value": "1"}]}
    parent = train_jobs.job("plain", trainer=trainer)
    made = train_jobs.job_set(parent, runtime("plain"))
    assert train_jobs.replicated(made, "node")["template"]["spec"]["parallelism"] == 4
    assert environment(train_jobs.pod_of(made, "node")) == {"A": "1"}


@pytest.mark.parametrize(
    ("nodes", "pods"), [(None, 1), (1, 1), (2, 1), (3, 2)], ids=["unsaid", "one", "two", "three"]
)
def test_a_launcher_that_works_is_one_of_the_nodes(nodes: int | None, pods: int) -> None:
    trainer = {} if nodes is None else {"numNodes": nodes}
    parent = train_jobs.job("deepspeed-distributed", trainer=trainer)
    made = train_jobs.job_set(parent, runtime("deepspeed-distributed"))
    counts = {
        each["name"]: each["template"]["spec"]["parallelism"]
        for each in made["spec"]["replicatedJobs"]
    }
    assert counts == {"node": pods, "launcher": 1}


@pytest.mark.parametrize(("works", "pods"), [(True, 2), (False, 3)])
def test_a_runtime_for_many_nodes_has_one_launcher(works: bool, pods: int) -> None:
    source = runtime("deepspeed-distributed")
    source["spec"]["mlPolicy"]["numNodes"] = 3
    source["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"] = works
    made = train_jobs.job_set(train_jobs.job("deepspeed-distributed"), source)
    counts = {
        each["name"]: each["template"]["spec"]["parallelism"]
        for each in made["spec"]["replicatedJobs"]
    }
    assert counts == {"node": pods, "launcher": 1}


# fmt: off
SLOTS: dict[str, tuple[Object, bool, str]] = {
    "launcher first": (
        {"numNodes": 3}, True,
        "run-launcher-0-0.run slots=1\nrun-node-0-0.run slots=1\nrun-node-0-1.run slots=1\n"),
    "a launcher that only launches": (
        {"numNodes": 2}, False, "run-node-0-0.run slots=1\nrun-node-0-1.run slots=1\n"),
    "one slot per device": (
        {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}, False,
        "run-node-0-0.run slots=4\n"),
    "as the job says": ({"numProcPerNode": 8}, False, "run-node-0-0.run slots=8\n"),
}
# fmt: on


@pytest.mark.parametrize(("trainer", "works", "text"), SLOTS.values(), ids=SLOTS)
def test_the_hostfile_names_every_node(trainer: Object, works: bool, text: str) -> None:
    source = runtime("deepspeed-distributed")
    source["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"] = works
    parent = train_jobs.job("deepspeed-distributed", trainer=trainer)
    assert hostfile(train_job_children.make_blueprint(parent, source)) == text


def test_mpi_mounts_keys_everywhere_and_hosts_in_the_launcher() -> None:
    trainer = {
        "env": [{"name": "A", "value": "1"}],
        "resourcesPerNode": {"requests": {"cpu": "2"}},
        "command": ["mpirun"],
    }
    parent = train_jobs.job("deepspeed-distributed", trainer=trainer)
    made = train_jobs.job_set(parent, runtime("deepspeed-distributed"))
    node, launcher = (train_jobs.pod_of(made, name) for name in ("node", "launcher"))
    keys = {
        "name": "mpi-ssh-auth",
        "secret": {
            "secretName": "run-mpi-ssh-auth",
            "defaultMode": 0o400,
            "items": [
                {"key": "ssh-privatekey", "path": "id_rsa", "mode": 0o640},
                {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": 0o644},
                {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
            ],
        },
    }
    assert node["volumes"] == [keys]
    assert launcher["volumes"][0] == keys
    mount = {"name": "mpi-ssh-auth", "mountPath": "/home/mpiuser/.ssh"}
    assert node["containers"][0]["volumeMounts"] == [mount]
    hosts = {"name": "mpi-hostfile", "mountPath": "/etc/mpi"}
    assert launcher["containers"][0]["volumeMounts"] == [mount, hosts]
    assert environment(node) == {"A": "1"}
    assert environment(launcher) == {
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_set_default_slots": "1",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "A": "1",
    }
    for pod in (node, launcher):
        assert pod["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert node["containers"][0]["command"] == ["/usr/sbin/sshd"]
    assert launcher["containers"][0]["command"] == ["mpirun"]


def test_the_secret_gets_its_keys_when_it_is_made() -> None:
    from base64 import b64decode

    parent = train_jobs.job("deepspeed-distributed")
    made = train_job_children.make_blueprint(parent, runtime("deepspeed-distributed"))
    planned = train_job_children.make_secret(made)
    assert "data" not in planned
    assert planned["immutable"] is True
    data = ssh_keys.complete(planned)["data"]
    assert b64decode(data["ssh-privatekey"]).startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert b64decode(data["ssh-publickey"]).startswith(b"ecdsa-sha2-nistp521 ")
    assert ssh_keys.complete({"kind": "ConfigMap"}) == {"kind": "ConfigMap"}
    whole = {**planned, "data": {"ssh-privatekey": "eA=="}}
    assert ssh_keys.complete(whole) is whole
