"""One MPIJob with all it leaves out filled in, and what is wrong with it."""

from collections.abc import Iterator
from dataclasses import dataclass

from fleetqueue.api import field_errors as fields
from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.run_policies import RunPolicyJob

CONTROLLER_NAME = "kubeflow.org/mpi-operator"
IMPLEMENTATIONS = ("Intel", "MPICH", "OpenMPI")
CLEAN_POLICIES = ("All", "None", "Running")
RESTART_POLICIES = ("Never", "OnFailure")
MANAGERS = ("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue")
_NOT_NEGATIVE = "must be greater than or equal to 0"


@dataclass(frozen=True, slots=True)
class Replica:
    """The pods of one role."""

    count: int
    restart_policy: str
    template: Object

    @property
    def pod(self) -> Object:
        return self.template.get("spec") or {}


@dataclass(frozen=True, slots=True)
class MpiJob(RunPolicyJob):
    """An MPIJob as the operator reads it; none of its defaults are stored."""

    obj: Object

    @property
    def clean_policy(self) -> str:
        return str(self.run_policy.get("cleanPodPolicy") or "None")

    @property
    def slots(self) -> int:
        said = self.spec.get("slotsPerWorker")
        return 1 if said is None else int(said)

    @property
    def implementation(self) -> str:
        return str(self.spec.get("mpiImplementation") or "OpenMPI")

    @property
    def keys_path(self) -> str:
        return str(self.spec.get("sshAuthMountPath") or "/root/.ssh")

    @property
    def launcher_works(self) -> bool:
        return bool(self.spec.get("runLauncherAsWorker"))

    @property
    def waits_for_workers(self) -> bool:
        return self.spec.get("launcherCreationPolicy") == "WaitForWorkersReady"

    @property
    def launcher(self) -> Replica | None:
        return self._replica("Launcher", 1, "OnFailure")

    @property
    def worker(self) -> Replica | None:
        return self._replica("Worker", 0, "Never")

    @property
    def launcher_name(self) -> str:
        return f"{self.name}-launcher"

    @property
    def worker_names(self) -> list[str]:
        worker = self.worker
        return [f"{self.name}-worker-{index}" for index in range(worker.count if worker else 0)]

    def host(self, pod: str) -> str:
        """The name under which a pod of the job is found."""
        return f"{pod}.{self.name}.{self.namespace}.svc"

    def _replica(self, role: str, count: int, policy: str) -> Replica | None:
        said = (self.spec.get("mpiReplicaSpecs") or {}).get(role)
        if said is None:
            return None
        wanted = count if said.get("replicas") is None else int(said["replicas"])
        return Replica(wanted, said.get("restartPolicy") or policy, said.get("template") or {})


def check(job: MpiJob) -> list[FieldError]:
    """What keeps the operator from starting a job; nothing of it is refused when it is written."""
    errors = [*_check_name(job), *_check_replicas(job)]
    errors += _not_negative("spec.slotsPerWorker", job.slots)
    policy, path = job.run_policy, "spec.runPolicy"
    if job.clean_policy not in CLEAN_POLICIES:
        errors.append(
            fields.unsupported(f"{path}.cleanPodPolicy", job.clean_policy, CLEAN_POLICIES)
        )
    for part in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"):
        if policy.get(part) is not None:
            errors += _not_negative(f"{path}.{part}", policy[part])
    if policy.get("managedBy") is not None and policy["managedBy"] not in MANAGERS:
        errors.append(fields.unsupported(f"{path}.managedBy", policy["managedBy"], MANAGERS))
    if job.implementation not in IMPLEMENTATIONS:
        path = "spec.mpiImplementation"
        errors.append(fields.unsupported(path, job.implementation, IMPLEMENTATIONS))
    return errors


def _check_name(job: MpiJob) -> Iterator[FieldError]:
    """The host name of the last worker must be one."""
    longest = (job.worker_names or [f"{job.name}-worker-0"])[-1]
    wrong = names.dns1035_label(longest)
    if wrong:
        why = f'will not able to create pod and service with invalid DNS label "{longest}"'
        yield fields.wrong("metadata.name", job.name, f"{why}: {', '.join(wrong)}")


def _check_replicas(job: MpiJob) -> Iterator[FieldError]:
    path = "spec.mpiReplicaSpecs"
    if job.spec.get("mpiReplicaSpecs") is None:
        yield fields.required(path, "must have replica specs")
        return
    if job.launcher is None:
        yield fields.required(f"{path}[Launcher]", "must have Launcher replica spec")
    else:
        yield from _check_replica(f"{path}[Launcher]", job.launcher)
        if job.launcher.count != 1:
            yield fields.wrong(f"{path}[Launcher].replicas", job.launcher.count, "must be 1")
    if job.worker is not None:
        yield from _check_replica(f"{path}[Worker]", job.worker)
        if job.worker.count <= 0:
            why = "must be greater than or equal to 1"
            yield fields.wrong(f"{path}[Worker].replicas", job.worker.count, why)


def _check_replica(path: str, replica: Replica) -> Iterator[FieldError]:
    if replica.restart_policy not in RESTART_POLICIES:
        yield fields.unsupported(f"{path}.restartPolicy", replica.restart_policy, RESTART_POLICIES)
    if not replica.pod.get("containers"):
        where = f"{path}.template.spec.containers"
        yield fields.required(where, "must define at least one container")


def _not_negative(path: str, value: int) -> list[FieldError]:
    return [fields.wrong(path, value, _NOT_NEGATIVE)] if value < 0 else []
