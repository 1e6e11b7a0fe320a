"""MPIJobs as real processes: the launcher starts ranks in its workers, and there is no ssh."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from live.conftest import Live
from live.objects import (
    MPIRUN,
    REDUCE,
    TRAINER,
    WAIT,
    mpi_job,
    own_train_job,
    thing,
    training_runtime,
)

Object = dict[str, Any]
SHELL = '"$OMPI_MCA_plm_rsh_agent"'

pytestmark = pytest.mark.rule("jobs B.5", "jobs C.9", "jobs C.12")


def launcher(live: Live) -> str:
    (found,) = [pod for pod in live.pods() if "-launcher-" in pod and not pod.startswith("other")]
    return found


def succeeds(live: Live) -> list[str]:
    """What the launcher said, in order of lines."""
    live.until("the MPIJob succeeds", lambda: live.condition("MPIJob", "m", "Succeeded"))
    return sorted(live.logs(launcher(live)).splitlines())


def script(live: Live, *lines: str, **spec: Any) -> list[str]:
    live.create(mpi_job(["sh", "-c", "\n".join(lines)], **spec))
    return succeeds(live)


@pytest.mark.parametrize("implementation", ["OpenMPI", "Intel", "MPICH"])
def test_a_launcher_starts_ranks_in_all_workers(live: Live, implementation: str) -> None:
    command = [*MPIRUN, *REDUCE]
    live.create(mpi_job(command, mpiImplementation=implementation, slotsPerWorker=2))
    assert succeeds(live) == [f"rank {rank} of 4: sum 6" for rank in range(4)]
    live.until("its workers go on", lambda: live.pods("Running") == ["m-worker-0", "m-worker-1"])


def test_a_launcher_works_too_where_it_is_told(live: Live) -> None:
    policy = {"cleanPodPolicy": "Running"}
    live.create(mpi_job([*MPIRUN, *REDUCE], runLauncherAsWorker=True, runPolicy=policy))
    assert succeeds(live) == [f"rank {rank} of 3: sum 3" for rank in range(3)]
    live.until("its workers are gone", lambda: live.pods() == [launcher(live)])


def test_a_launcher_that_waits_for_its_workers_reaches_them(live: Live) -> None:
    live.create(mpi_job([*MPIRUN, *REDUCE], launcherCreationPolicy="WaitForWorkersReady"))
    assert succeeds(live) == ["rank 0 of 2: sum 1", "rank 1 of 2: sum 1"]


def test_a_rank_that_fails_makes_the_launcher_fail(live: Live, tmp_path: Path) -> None:
    env, policy = {"MARKS": str(tmp_path)}, {"backoffLimit": 0, "cleanPodPolicy": "All"}
    command = [*MPIRUN, "env", f"MARKS={tmp_path}", *REDUCE, "fail-at-1"]
    made = mpi_job(command, env=env, runPolicy=policy)
    made["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
    live.create(made)
    failed = live.until("the MPIJob fails", lambda: live.condition("MPIJob", "m", "Failed"))
    assert failed["reason"].startswith("BackoffLimitExceeded/")
    (status,) = live.get("Pod", launcher(live))["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3
    live.until("its workers are gone", lambda: live.pods() == [launcher(live)])


def test_a_launcher_is_started_again_until_its_ranks_succeed(live: Live, tmp_path: Path) -> None:
    live.create(mpi_job([*MPIRUN, "env", f"MARKS={tmp_path}", *REDUCE, "fail-once-at-1"]))
    assert succeeds(live) == ["rank 0 of 2: sum 1", "rank 1 of 2: sum 1"]
    (status,) = live.get("Pod", launcher(live))["status"]["containerStatuses"]
    assert status["restartCount"] == 1


def test_a_command_runs_where_its_worker_is(live: Live, tmp_path: Path) -> None:
    """In its environment, directory and volumes, under its name; quoting is the shell's."""
    worker = {
        "workingDir": str(tmp_path),
        "env": [{"name": "FLAVOR", "value": "of the worker"}],
        "volumeMounts": [{"name": "notes", "mountPath": "/notes"}],
    }
    made = mpi_job(
        ["sh", "-c", f"{SHELL} m-worker-1 'echo $(hostname): $FLAVOR, $(pwd), $(cat /notes/it)'"],
        worker,
    )
    live.create(thing("ConfigMap", "v1", "notes") | {"data": {"it": "a note"}})
    spec = made["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "notes", "configMap": {"name": "notes"}}]
    live.create(made)
    assert succeeds(live) == [f"m-worker-1: of the worker, {tmp_path}, a note"]


def test_streams_and_exit_codes_are_those_of_the_command(live: Live) -> None:
    host = f"user@m-worker-0.m.{live.namespace}.svc"
    said = script(
        live,
        f"printf 'three\\nlines\\nhere' | {SHELL} m-worker-0.m wc -l",
        f"{SHELL} -x -o ConnectionAttempts=10 {host} 'echo e >&2' 2>&1 | sed s/^/error:/",
        f"{SHELL} m-worker-0 'exit 7'; echo ended with $?",
        f"{SHELL} m-worker-0 'kill -9 $$$$'; echo ended with $?",
        f"{SHELL} m-worker-0 no-such-program 2>/dev/null; echo ended with $?",
        f"head -c 3000000 /dev/zero | {SHELL} m-worker-0 'cat; cat' | wc -c",
        f"{SHELL} -n m-worker-0 'cat; echo no input'",
    )
    assert said == sorted(
        ["2", "error:e", "ended with 7", "ended with 137", "ended with 127", "3000000", "no input"]
    )


def test_signals_reach_the_command(live: Live) -> None:
    inner = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    said = script(
        live,
        "mkfifo told",
        f"{SHELL} m-worker-0 {shlex.quote(inner)} > told 2> /dev/null &",
        "exec 3< told; read -r word <&3; echo $word; kill -TERM $!; wait $!; echo ended with $?",
        "cat <&3",
    )
    assert said == ["caught", "ended with 5", "ready"]


def test_what_a_launcher_began_ends_with_it(live: Live) -> None:
    command = shlex.join(WAIT)
    # A rank in a session of its own, as launchers start them.
    inner = f"setsid -w {command} & wait"
    live.create(mpi_job(["sh", "-c", f"{SHELL} m-worker-0 {shlex.quote(inner)} & wait"]))
    live.until("all run", lambda: len(live.pods("Running")) == 3)
    live.says(launcher(live), "here")
    worker = str(live.get("Pod", "m-worker-0")["metadata"]["uid"])
    assert len(live.processes([worker])) > 1
    live.patch("Job", "m-launcher", {"spec": {"suspend": True}})
    live.until("the worker is alone again", lambda: len(live.processes([worker])) == 1)
    live.delete("MPIJob", "m")


def test_only_pods_of_the_same_job_are_reached(live: Live) -> None:
    other = mpi_job(WAIT)
    other["metadata"]["name"] = "other"
    live.create(other)
    live.until("the other runs", lambda: len(live.pods("Running")) == 3)
    address = live.get("Pod", "other-worker-0")["status"]["podIP"]
    said = script(
        live,
        "exec 2>&1",
        f"{SHELL} other-worker-0.other echo in; echo $?",
        f"{SHELL} {address} echo in; echo $?",
        "export FLEETQUEUE_REMOTE_SHELL_KEY=${FLEETQUEUE_REMOTE_SHELL_KEY%?}",
        f"{SHELL} m-worker-0 echo in; echo $?",
        f"unset FLEETQUEUE_REMOTE_SHELL; {SHELL} m-worker-0 echo in; echo $?",
    )
    no = "remote-shell: Could not resolve hostname {}: no pod of this job has that name"
    assert said == sorted(
        ["255"] * 4
        + [no.format("other-worker-0.other"), no.format(address)]
        + ["remote-shell: Permission denied: only a pod of the same job can be reached"]
        + [
            "remote-shell: FLEETQUEUE_REMOTE_SHELL is not set: "
            "only pods of an MPI job can reach others"
        ]
    )


@pytest.mark.rule("jobs C.4", "jobs C.6")
def test_ranks_are_started_on_a_machine_without_namespaces(tmp_path: Path) -> None:
    """Host files and names are then replaced where containers are told them."""
    bare = Live(tmp_path / "cluster", "--no-namespaces")
    try:
        bare.create(mpi_job([*MPIRUN, *REDUCE], slotsPerWorker=2))
        assert succeeds(bare) == [f"rank {rank} of 4: sum 6" for rank in range(4)]
    finally:
        bare.stop()


@pytest.mark.rule("jobs B.6")
def test_the_launcher_of_a_train_job_starts_ranks_in_its_nodes(live: Live) -> None:
    live.create(launched_runtime())
    live.create(own_train_job([*MPIRUN, *REDUCE], nodes=3))
    live.until("the TrainJob completes", lambda: live.condition("TrainJob", "t", "Complete"))
    said = sorted(live.logs(launcher(live)).splitlines())
    assert said == [f"rank {rank} of 3: sum 3" for rank in range(3)]


def launched_runtime() -> Object:
    """Like those for DeepSpeed and MLX, without a user of its own."""
    image = {"name": "node", "image": "python:3"}
    serving = {"command": ["/usr/sbin/sshd"], "args": ["-De", "-f", "/home/mpiuser/.sshd_config"]}
    probe = {"readinessProbe": {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 5}}

    def inner(container: Object) -> Object:
        return {"spec": {"template": {"spec": {"containers": [container]}}}}

    node = {"name": "node", "template": inner({**image, **serving, **probe})}
    first = {
        "name": "launcher",
        "dependsOn": [{"name": "node", "status": "Ready"}],
        "template": {**inner(image), **TRAINER},
    }
    policy = {"numProcPerNode": 1, "mpiImplementation": "OpenMPI", "runLauncherAsNode": True}
    return training_runtime(
        {"mpi": policy}, node, first,
        network={"publishNotReadyAddresses": True},
        successPolicy={"operator": "All", "targetReplicatedJobs": ["launcher"]},
    )  # fmt: skip
