"""Decisions about MPIJobs: children, status, suspension, clean-up."""

from typing import Any

import pytest
from tests.support import operators
from tests.support.mpi_jobs import ended, job, launcher_pod, others, see
from tests.support.operators import (
    conditions,
    created,
    created_names,
    deleted_names,
    events,
    patches,
    status,
)

from fleetqueue.kube.errors import Conflict
from fleetqueue.kube.frame import is_ours
from fleetqueue.kube.plan import Create
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import mpi_job, ssh_keys

pytestmark = [pytest.mark.rule("jobs B.5"), pytest.mark.rule("jobs B.10")]

RUNNING: Object = {"active": 1}


def by_name(plan: Any) -> dict[str, Object]:
    return {obj["metadata"]["name"]: obj for obj in created(plan)}


def environment(spec: Object) -> dict[str, str]:
    return {each["name"]: each["value"] for each in spec["containers"][0]["env"]}


def test_children_are_made_in_order() -> None:
    made = created(see(job()))
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in made] == [
        ("Service", "pi"),
        ("ConfigMap", "pi-config"),
        ("Secret", "pi-ssh"),
        ("Pod", "pi-worker-0"),
        ("Pod", "pi-worker-1"),
        ("Job", "pi-launcher"),
    ]
    assert all(obj["metadata"]["ownerReferences"][0]["uid"] == "uid-1" for obj in made)
    service = made[0]["spec"]
    assert service == {
        "clusterIP": "None",
        "selector": {
            "training.kubeflow.org/operator-name": "mpi-operator",
            "training.kubeflow.org/job-name": "pi",
        },
    }
    secret = ssh_keys.complete(made[2])
    assert secret["type"] == "kubernetes.io/ssh-auth"
    assert set(secret["data"]) == {"ssh-privatekey", "ssh-publickey"}


def test_nothing_is_made_twice() -> None:
    parent = job()
    around = others(parent, "Running", "Running", launcher=RUNNING)
    plan = see(parent, *around)
    assert (created(plan), patches(plan)) == ([], [])


def test_a_suspended_job_has_a_suspended_launcher_and_no_workers() -> None:
    plan = see(job(run_policy={"suspend": True}))
    assert created_names(plan, "Pod") == []
    assert by_name(plan)["pi-launcher"]["spec"]["suspend"] is True
    assert [each[:3] for each in conditions(plan)] == [
        ("Created", "True", "MPIJobCreated"),
        ("Suspended", "True", "MPIJobSuspended"),
        ("Running", "False", "MPIJobSuspended"),
    ]
    assert conditions(plan)[1][3] == "MPIJob suspended"
    assert conditions(plan)[2][3] == "MPIJob default/pi is suspended."
    assert "startTime" not in status(plan)


def test_the_launcher_is_one_pod_with_the_limits_of_the_run_policy() -> None:
    policy = {"backoffLimit": 2, "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 5}
    spec = by_name(see(job(run_policy=policy)))["pi-launcher"]["spec"]
    template = spec.pop("template")
    assert spec == {**policy, "podReplacementPolicy": "Failed"}
    assert template["spec"]["restartPolicy"] == "OnFailure"
    assert (template["spec"]["hostname"], template["spec"]["subdomain"]) == ("pi-launcher", "pi")
    assert template["metadata"]["labels"] == {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "pi",
        "training.kubeflow.org/job-role": "launcher",
    }
    assert template["spec"]["volumes"][1] == {
        "name": "mpi-job-config",
        "configMap": {
            "name": "pi-config",
            "items": [
                {"key": "hostfile", "path": "hostfile", "mode": 0o444},
                {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
            ],
        },
    }
    assert template["spec"]["containers"][0]["volumeMounts"] == [
        {"name": "ssh-auth", "mountPath": "/root/.ssh"},
        {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
    ]


def test_a_worker_has_its_name_its_keys_and_waits_for_ssh() -> None:
    pod = by_name(see(job()))["pi-worker-1"]
    assert pod["metadata"]["labels"]["training.kubeflow.org/replica-index"] == "1"
    assert pod["metadata"]["labels"]["training.kubeflow.org/job-role"] == "worker"
    spec = pod["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("pi-worker-1", "pi")
    assert spec["dnsConfig"] == {"searches": ["pi.default.svc.cluster.local"]}
    assert spec["restartPolicy"] == "Never"
    assert spec["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]
    assert environment(spec) == {"K_MPI_JOB_ROLE": "worker"}
    assert spec["volumes"] == [
        {
            "name": "ssh-auth",
            "secret": {
                "secretName": "pi-ssh",
                "defaultMode": 0o600,
                "items": [
                    {"key": "ssh-privatekey", "path": "id_rsa"},
                    {"key": "ssh-publickey", "path": "id_rsa.pub"},
                    {"key": "ssh-publickey", "path": "authorized_keys"},
                ],
            },
        }
    ]


def test_a_worker_keeps_a_command_of_its_own_and_keys_elsewhere_their_mode() -> None:
    container = {"name": "mpi", "image": "mpi", "args": ["serve"]}
    template = {
        "spec": {
            "containers": [container],
            "hostNetwork": True,
            "dnsConfig": {"searches": ["x"]},
        }
    }
    parent = job(worker={"template": template}, sshAuthMountPath="/home/mpi/.ssh")
    spec = by_name(see(parent))["pi-worker-0"]["spec"]
    assert "command" not in spec["containers"][0]
    assert "defaultMode" not in spec["volumes"][0]["secret"]
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert spec["dnsConfig"]["searches"] == ["x", "pi.default.svc.cluster.local"]


# fmt: off
COMMON = {"K_MPI_JOB_ROLE": "launcher"}
NO_DEVICES = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
IMPLEMENTATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "OpenMPI": ("pi-worker-0.pi.default.svc slots=3\n", {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "OMPI_MCA_orte_set_default_slots": "3"}),
    "Intel": ("pi-worker-0.pi.default.svc:3\n", {
        "I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
        "I_MPI_PERHOST": "3"}),
    "MPICH": ("pi-worker-0.pi.default.svc:3\n", {
        "HYDRA_HOST_FILE": "/etc/mpi/hostfile",
        "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10"}),
}
# fmt: on


@pytest.mark.parametrize(
    ("implementation", "hosts", "variables"),
    [(name, *case) for name, case in IMPLEMENTATIONS.items()],
    ids=IMPLEMENTATIONS,
)
def test_each_implementation_has_its_hosts_and_variables(
    implementation: str, hosts: str, variables: dict[str, str]
) -> None:
    made = by_name(see(job(1, mpiImplementation=implementation, slotsPerWorker=3)))
    assert made["pi-config"]["data"]["hostfile"] == hosts
    launcher = made["pi-launcher"]["spec"]["template"]["spec"]
    assert environment(launcher) == {**COMMON, **variables, **NO_DEVICES}


def test_a_launcher_that_works_is_the_first_host_and_has_index_zero() -> None:
    made = by_name(see(job(1, runLauncherAsWorker=True)))
    assert made["pi-config"]["data"] == {
        "hostfile": "pi-launcher.pi.default.svc slots=1\npi-worker-0.pi.default.svc slots=1\n",
        "discover_hosts.sh": "#!/bin/sh\necho pi-launcher.pi.default.svc:1\n",
    }
    template = made["pi-launcher"]["spec"]["template"]
    index = "training.kubeflow.org/replica-index"
    assert template["metadata"]["labels"][index] == "0"
    assert made["pi-worker-0"]["metadata"]["labels"][index] == "1"
    assert "NVIDIA_VISIBLE_DEVICES" not in environment(template["spec"])
    assert made["pi"]["spec"]["publishNotReadyAddresses"] is True


def test_the_script_names_the_workers_that_run() -> None:
    parent = job(3)
    before = others(parent, "Pending", "Pending", "Pending")[:3]
    after = others(parent, "Running", "Pending", "Running")[3:]
    assert patches(see(parent, *before, *after)) == [
        (
            "pi-config",
            {
                "data": {
                    "hostfile": before[1]["data"]["hostfile"],
                    "discover_hosts.sh": "#!/bin/sh\necho pi-worker-0.pi.default.svc:1\n"
                    "echo pi-worker-2.pi.default.svc:1\n",
                }
            },
        )
    ]


def test_a_job_without_workers_is_a_launcher_alone() -> None:
    plan = see(job(None))
    assert created_names(plan, "Pod") == []
    assert by_name(plan)["pi-config"]["data"]["hostfile"] == ""
    parent = job(None)
    plan = see(parent, *others(parent, launcher=RUNNING), launcher_pod())
    assert conditions(plan)[-1] == (
        "Running",
        "True",
        "MPIJobRunning",
        "MPIJob default/pi is running.",
    )


@pytest.mark.parametrize(
    ("states", "is_made"), [(("Ready", "Running"), False), (("Ready", "Ready"), True)]
)
def test_a_launcher_may_wait_until_all_workers_are_ready(
    states: tuple[str, ...], is_made: bool
) -> None:
    parent = job(launcherCreationPolicy="WaitForWorkersReady")
    plan = see(parent, *others(parent, *states))
    assert (created_names(plan, "Job") == ["pi-launcher"]) is is_made
    at_once = job()
    assert created_names(see(at_once, *others(at_once, *states)), "Job") == ["pi-launcher"]


def test_workers_that_vanish_come_back_and_surplus_ones_go() -> None:
    parent = job(2)
    around = others(parent, "Running", "Failed", launcher=RUNNING)
    gone = [obj for obj in around if obj["metadata"]["name"] != "pi-worker-0"]
    assert created_names(see(parent, *gone), "Pod") == ["pi-worker-0"]
    assert created_names(see(parent, *around), "Pod") == []
    fewer = job(1)
    assert deleted_names(see(fewer, *around), "Pod") == ["pi-worker-1"]


# fmt: off
RUNS: dict[str, tuple[tuple[str, ...], list[Object], bool]] = {
    "all run":                (("Running", "Running"), [launcher_pod()], True),
    "a worker is pending":    (("Running", "Pending"), [launcher_pod()], False),
    "a worker failed":        (("Running", "Failed"),  [launcher_pod()], False),
    "the launcher waits":     (("Running", "Running"), [launcher_pod(phase="Pending")], False),
    "there is no launcher":   (("Running", "Running"), [], False),
}
# fmt: on


@pytest.mark.parametrize(("states", "pods", "runs"), RUNS.values(), ids=RUNS)
def test_running_means_launcher_and_all_workers(
    states: tuple[str, ...], pods: list[Object], runs: bool
) -> None:
    parent = job()
    plan = see(parent, *others(parent, *states, launcher=RUNNING), *pods)
    found = [each for each in conditions(plan) if each[0] == "Running"]
    assert bool(found) is runs
    if runs:
        assert found == [("Running", "True", "MPIJobRunning", "MPIJob default/pi is running.")]
        assert ("Normal", "MPIJobRunning", "MPIJob default/pi is running") in events(plan)


def test_replicas_are_counted_by_role() -> None:
    parent = job(3)
    around = others(parent, "Running", "Succeeded", "Failed", launcher={"failed": 1})
    told = status(see(parent, *around, launcher_pod()))
    assert told["replicaStatuses"] == {
        "Launcher": {"failed": 1, "active": 1},
        "Worker": {"active": 1, "succeeded": 1, "failed": 1},
    }
    assert told["startTime"] == operators.TIME


def test_a_job_is_created_once() -> None:
    plan = see(job())
    text = "MPIJob default/pi is created."
    assert conditions(plan) == [("Created", "True", "MPIJobCreated", text)]
    assert events(plan) == [("Normal", "MPIJobCreated", text)]
    again = job(status=status(plan))
    assert events(see(again, *others(again, "Pending", "Pending", launcher={}))) == []


def test_the_job_succeeds_with_its_launcher() -> None:
    parent = job(status={"conditions": [_condition("Created"), _condition("Running")]})
    around = others(parent, "Running", "Running", launcher=ended("Complete"))
    plan = see(parent, *around)
    assert [(each[0], each[1]) for each in conditions(plan)] == [
        ("Created", "True"),
        ("Running", "False"),
        ("Succeeded", "True"),
    ]
    text = "MPIJob default/pi successfully completed."
    assert conditions(plan)[-1][2:] == ("MPIJobSucceeded", text)
    assert status(plan)["completionTime"] == "2026-01-01T11:59:00Z"
    assert status(plan)["replicaStatuses"]["Launcher"] == {"succeeded": 1}
    assert created(plan) == []


# fmt: off
FAILURES: dict[str, tuple[Object, list[Object], str, str]] = {
    "as the Job says": (
        {"reason": "DeadlineExceeded", "message": "too late"}, [], "DeadlineExceeded", "too late"),
    "nothing is said": ({}, [], "MPIJobFailed", "MPIJob default/pi has failed"),
    "the last pod tells why": (
        {"reason": "BackoffLimitExceeded", "message": "often"},
        [launcher_pod(1, "Failed", reason="OOM", message="no memory"),
         launcher_pod(0, "Failed", reason="Old", message="old"),
         launcher_pod(2)],
        "BackoffLimitExceeded/OOM", "often: no memory"),
    "a pod that says nothing": (
        {"reason": "BackoffLimitExceeded", "message": "often"}, [launcher_pod(0, "Failed")],
        "BackoffLimitExceeded/", "often: "),
}
# fmt: on


@pytest.mark.parametrize(("end", "pods", "reason", "text"), FAILURES.values(), ids=FAILURES)
def test_the_job_fails_with_its_launcher(
    end: Object, pods: list[Object], reason: str, text: str
) -> None:
    parent = job()
    launcher = {"conditions": [{"type": "Failed", "status": "True", **end}], "failed": 2}
    plan = see(parent, *others(parent, "Running", "Running", launcher=launcher), *pods)
    assert conditions(plan)[-1] == ("Failed", "True", reason, text)
    assert ("Warning", reason, text) in events(plan)
    assert status(plan)["completionTime"] == operators.TIME
    assert status(plan)["replicaStatuses"]["Launcher"] == {"failed": 2}


def test_evicted_workers_are_told_but_do_not_end_the_job() -> None:
    parent = job()
    around = others(parent, "Running", "Evicted", launcher=RUNNING)
    plan = see(parent, *around)
    text = "1/2 workers are evicted"
    assert conditions(plan)[-1] == ("Failed", "True", "MPIJobEvicted", text)
    assert events(plan)[-1] == ("Warning", "MPIJobEvicted", text)
    assert "completionTime" not in status(plan)
    again = job(status=status(plan))
    later = see(again, *others(again, "Running", "Evicted", launcher=ended("Complete")))
    assert [each[:2] for each in conditions(later)][1:] == [
        ("Failed", "False"),
        ("Succeeded", "True"),
    ]


@pytest.mark.parametrize(
    ("policy", "deleted"),
    [("None", []), ("Running", ["pi-worker-0", "pi-worker-1"]), ("All", None)],
)
def test_workers_of_a_finished_job_are_cleaned_by_policy(
    policy: str, deleted: list[str] | None
) -> None:
    over = {
        "conditions": [_condition("Succeeded")],
        "completionTime": operators.TIME,
        "replicaStatuses": {"Launcher": {"succeeded": 1}, "Worker": {"active": 2}},
    }
    parent = job(3, run_policy={"cleanPodPolicy": policy}, status=over)
    plan = see(parent, *others(parent, "Running", "Pending", "Succeeded"))
    everyone = ["pi-worker-0", "pi-worker-1", "pi-worker-2"]
    assert deleted_names(plan, "Pod") == (everyone if deleted is None else deleted)
    left = {"active": 2} if policy == "None" else {}
    assert status(plan)["replicaStatuses"]["Worker"] == left
    assert created(plan) == []


def test_suspension_takes_the_workers_and_suspends_the_launcher() -> None:
    told = {"conditions": [_condition("Created"), _condition("Running")]}
    parent = job(run_policy={"suspend": True, "cleanPodPolicy": "Running"}, status=told)
    running = job()
    around = others(running, "Running", "Succeeded", launcher=RUNNING)
    plan = see(parent, *around)
    assert deleted_names(plan, "Pod") == ["pi-worker-0", "pi-worker-1"]
    assert ("pi-launcher", {"spec": {"suspend": True}}) in patches(plan)
    assert ("Running", "False", "MPIJobSuspended", "MPIJob default/pi is suspended.") in (
        conditions(plan)
    )
    assert events(plan) == [("Normal", "MPIJobSuspended", "MPIJob suspended")]


def test_resumption_takes_over_the_template_and_starts_the_clock_anew() -> None:
    suspended = job(run_policy={"suspend": True})
    suspended["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["nodeSelector"] = {
        "a": "1"
    }
    around = others(suspended, launcher={"startTime": "2026-01-01T10:00:00Z"})
    told = status(see(suspended, *around))
    told["startTime"] = "2026-01-01T10:00:00Z"
    template = {
        "metadata": {"labels": {"queue": "q"}},
        "spec": {
            "containers": [{"name": "mpi", "image": "mpi"}],
            "nodeSelector": {"pool": "b"},
            "tolerations": [{"key": "x"}],
        },
    }
    parent = job(launcher={"template": template}, status=told)
    plan = see(parent, *around, after=60)
    first, second = patches(plan)[-2:]
    assert first == ("pi-launcher", {"status": {"startTime": None}})
    assert second[1]["spec"]["suspend"] is False
    patch = second[1]["spec"]["template"]
    assert patch["metadata"]["labels"]["queue"] == "q"
    assert patch["spec"] == {
        "nodeSelector": {"a": None, "pool": "b"},
        "tolerations": [{"key": "x"}],
        "schedulingGates": None,
    }
    assert ("Suspended", "False", "MPIJobResumed", "MPIJob resumed") in conditions(plan)
    assert status(plan)["startTime"] == "2026-01-01T12:01:00Z"
    assert created_names(plan, "Pod") == ["pi-worker-0", "pi-worker-1"]


LONG = "m" * 60
# fmt: off
BAD: dict[str, tuple[Object, str]] = {
    "no launcher": (
        {**job(), "spec": {"mpiReplicaSpecs": {}}},
        "spec.mpiReplicaSpecs[Launcher]: Required value: must have Launcher replica spec"),
    "two launchers": (
        job(launcher={"replicas": 2}),
        "spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: must be 1"),
    "no number of workers": (
        job(worker={"replicas": None}),
        "spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 0: must be greater than or equal "
        "to 1"),
    "a policy of pods": (
        job(worker={"restartPolicy": "Always"}),
        'spec.mpiReplicaSpecs[Worker].restartPolicy: Unsupported value: "Always": supported '
        'values: "Never", "OnFailure"'),
    "no container": (
        job(launcher={"template": {}}),
        "spec.mpiReplicaSpecs[Launcher].template.spec.containers: Required value: must define at "
        "least one container"),
    "a strange clean policy": (
        job(run_policy={"cleanPodPolicy": "Some"}),
        'spec.runPolicy.cleanPodPolicy: Unsupported value: "Some": supported values: "All", '
        '"None", "Running"'),
    "a negative limit": (
        job(run_policy={"backoffLimit": -1}),
        "spec.runPolicy.backoffLimit: Invalid value: -1: must be greater than or equal to 0"),
    "a long name": (
        job(name=LONG),
        f'metadata.name: Invalid value: "{LONG}": will not able to create pod and service with '
        f'invalid DNS label "{LONG}-worker-1": must be no more than 63 characters'),
}
# fmt: on


@pytest.mark.parametrize(("parent", "text"), BAD.values(), ids=BAD)
def test_a_bad_job_is_told_and_nothing_is_made(parent: Object, text: str) -> None:
    plan = see(parent)
    assert events(plan) == [("Warning", "ValidationError", f"Found validation errors: {text}")]
    assert len(plan.steps) == 1


def test_a_name_that_is_taken_is_told() -> None:
    parent = job()
    taken = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "pi", "namespace": "default"},
    }
    plan = see(parent, taken)
    text = 'Resource "pi" of Kind "Service" already exists and is not managed by MPIJob'
    assert events(plan)[-1] == ("Warning", "ErrResourceExists", text)
    assert created(plan) == []
    assert plan.after


def test_refused_pods_are_told() -> None:
    look = operators.look(job())
    error = Conflict({"message": "quota", "code": 409})
    for kind, role in (("Pod", "worker"), ("Job", "launcher")):
        plan = mpi_job.refused(look, Create({"kind": kind}), error)
        assert events(plan) == [("Warning", "MPIJobFailed", f"{role} pod created failed: quota")]
    assert events(mpi_job.refused(look, Create({"kind": "Secret"}), error)) == []


def test_a_restart_policy_in_the_template_is_warned_of() -> None:
    template = {
        "spec": {"restartPolicy": "Always", "containers": [{"name": "mpi", "image": "mpi"}]}
    }
    plan = see(job(launcher={"template": template}))
    assert events(plan)[0][1] == "SetPodTemplateRestartPolicy"
    launcher = by_name(plan)["pi-launcher"]["spec"]["template"]["spec"]
    assert launcher["restartPolicy"] == "OnFailure"


def test_a_job_that_another_controller_manages_is_left_alone() -> None:
    for manager, ours in (
        ("kubeflow.org/mpi-operator", True),
        ("kueue.x-k8s.io/multikueue", False),
    ):
        assert is_ours(mpi_job.OPERATOR, job(run_policy={"managedBy": manager})) is ours


def _condition(type: str) -> Object:
    return {
        "type": type,
        "status": "True",
        "reason": f"MPIJob{type}",
        "message": "",
        "lastUpdateTime": operators.TIME,
        "lastTransitionTime": operators.TIME,
    }
