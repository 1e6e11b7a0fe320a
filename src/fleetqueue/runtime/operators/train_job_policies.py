"""What a framework needs of a TrainJob's pods: how many there are, and how they find each other."""

from collections.abc import Callable

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ssh_keys, torchtune
from fleetqueue.runtime.operators.train_job_blueprint import (
    PORT,
    Blueprint,
    PodSet,
    gpus,
    launcher_works,
    processes_per_node,
    put,
)
from fleetqueue.runtime.operators.training_runtimes import LAUNCHER, NODE, TRAINER

HOSTFILE_DIRECTORY = "/etc/mpi"
_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"

TORCH_VARIABLES = (
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_NODE_RANK",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
)
XGBOOST_VARIABLES = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")
MPI_VARIABLES = (
    "OMPI_MCA_orte_default_hostfile",
    "OMPI_MCA_orte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_set_default_slots",
    "OMPI_MCA_plm_rsh_args",
)


def enforce(made: Blueprint) -> None:
    """Write into the blueprint what the policy of its runtime asks for."""
    chosen = next((name for name in _POLICIES if made.policy.get(name) is not None), "")
    _POLICIES.get(chosen, _plain)(made)
    for pods in made.pod_sets:
        pods.job["template"]["spec"] |= {"parallelism": pods.count, "completions": pods.count}


def slots(made: Blueprint) -> int:
    """How many processes MPI may start on a node; a runtime's 1 stands for one per device."""
    said = (made.trainer or {}).get("numProcPerNode")
    if said is not None:
        return int(said)
    own = int((made.policy.get("mpi") or {}).get("numProcPerNode") or 1)
    return max(gpus(made.resources_per_node), 1) if own == 1 else own


def hostfile(made: Blueprint) -> str:
    """One line for each node."""
    count = slots(made)
    return "".join(
        f"{address} slots={count}\n" for pods in _hosts(made) for address in made.addresses(pods)
    )


def _hosts(made: Blueprint) -> list[PodSet]:
    """The launcher comes first where it is a host too, for it gets rank 0."""
    wanted = (LAUNCHER, NODE) if launcher_works(made.policy) else (NODE,)
    return [pods for name in wanted if (pods := made.called(name)) is not None]


def _plain(made: Blueprint) -> None:
    _count_nodes(made)
    _give_own_variables(made)


def _torch(made: Blueprint) -> None:
    nodes = _count_nodes(made)
    processes = processes_per_node(made)
    ranks = [
        _variable("PET_NNODES", nodes),
        _variable("PET_NPROC_PER_NODE", processes),
        _index_variable("PET_NODE_RANK"),
    ]
    master = [
        _variable("PET_MASTER_ADDR", made.first_address),
        _variable("PET_MASTER_PORT", PORT),
    ]
    container = _give_own_variables(made)
    if container is not None:
        assert made.trainer is not None
        tunes = made.trainer.get("command") == torchtune.COMMAND
        _add_variables(container, ranks if tunes else [*ranks, *master])
        _add_port(container)
    for target in _injection_targets(made):
        _add_variables(target, [*ranks, *master])


def _jax(made: Blueprint) -> None:
    nodes = _count_nodes(made)
    container = made.trainer_container()
    if container is None:
        return
    address = _variable("JAX_COORDINATOR_ADDRESS", f"{made.first_address}:{PORT}")
    counts = [_variable("JAX_NUM_PROCESSES", nodes), _index_variable("JAX_PROCESS_ID")]
    _add_variables(container, [*counts, address])
    _add_port(container)


def _xgboost(made: Blueprint) -> None:
    nodes = _count_nodes(made)
    _give_own_variables(made)
    container = made.trainer_container()
    if container is None:
        return
    workers = nodes * (gpus(made.resources_per_node) or 1)
    tracker = [
        _variable("DMLC_TRACKER_URI", made.first_address),
        _variable("DMLC_TRACKER_PORT", PORT),
    ]
    ranks = [_index_variable("DMLC_TASK_ID"), _variable("DMLC_NUM_WORKER", workers)]
    _add_variables(container, [*tracker, *ranks])
    _add_port(container)


def _mpi(made: Blueprint) -> None:
    said, node = (made.trainer or {}).get("numNodes"), made.called(NODE)
    if said is None:
        said = made.policy.get("numNodes")
    if said is not None and node is not None:
        node.count = max(said - 1, 1) if launcher_works(made.policy) else said
    for pods in made.pod_sets:
        if pods.name == LAUNCHER:
            pods.count = 1
        if pods.name in (NODE, LAUNCHER):
            _mount_keys(made, pods)
        if pods.name == LAUNCHER:
            _tell_hosts(made, pods)


def _mount_keys(made: Blueprint, pods: PodSet) -> None:
    secret = {
        "secretName": f"{made.name}-mpi-ssh-auth",
        "defaultMode": 0o400,
        "items": ssh_keys.volume_items(private_mode=0o640, public_mode=0o644),
    }
    _add_volume(pods, {"name": "mpi-ssh-auth", "secret": secret})
    path = made.policy["mpi"].get("sshAuthMountPath") or "/root/.ssh"
    for container in _nodes_of(pods):
        _mount(container, "mpi-ssh-auth", path)


def _tell_hosts(made: Blueprint, launcher: PodSet) -> None:
    source = {
        "name": f"{made.name}-mpi-hostfile",
        "items": [{"key": "hostfile", "path": "hostfile", "mode": 0o444}],
    }
    _add_volume(launcher, {"name": "mpi-hostfile", "configMap": source})
    file, count = f"{HOSTFILE_DIRECTORY}/hostfile", slots(made)
    values = (file, "true", str(count), "-o ConnectionAttempts=10")
    for container in _nodes_of(launcher):
        _mount(container, "mpi-hostfile", HOSTFILE_DIRECTORY)
        _add_variables(container, [*map(_variable, MPI_VARIABLES, values)])


def _count_nodes(made: Blueprint) -> int:
    pods, said = made.of_step(TRAINER), (made.trainer or {}).get("numNodes")
    if pods is not None and said is not None:
        pods.count = said
    return pods.count if pods is not None else 1


def _give_own_variables(made: Blueprint) -> Object | None:
    """The trainer's container where the job says anything of it; its variables go first."""
    container = made.trainer_container() if made.trainer is not None else None
    if container is not None and made.trainer is not None:
        _add_variables(container, made.trainer.get("env") or [])
    return container


def _injection_targets(made: Blueprint) -> list[Object]:
    injection = made.policy["torch"].get("envInjection") or {}
    found = []
    for target in injection.get("targets") or ():
        pods = made.called(target["jobName"])
        for name in target.get("containerNames") or ():
            container = pods.container(name) if pods else None
            if container is not None:
                found.append(container)
    return found


def _nodes_of(pods: PodSet) -> list[Object]:
    return [each for each in pods.pod.get("containers") or () if each.get("name") == NODE]


def _add_variables(container: Object, variables: list[Object]) -> None:
    container["env"] = put(container.get("env") or [], variables)


def _add_port(container: Object) -> None:
    port = {"containerPort": PORT}
    container["ports"] = put(container.get("ports") or [], [port], key="containerPort")


def _add_volume(pods: PodSet, volume: Object) -> None:
    pods.pod["volumes"] = put(pods.pod.get("volumes") or [], [volume])


def _mount(container: Object, volume: str, path: str) -> None:
    mount = {"name": volume, "mountPath": path}
    container["volumeMounts"] = put(container.get("volumeMounts") or [], [mount], key="mountPath")


def _variable(name: str, value: str | int) -> Object:
    return {"name": name, "value": str(value)}


def _index_variable(name: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": _INDEX}}}


_POLICIES: dict[str, Callable[[Blueprint], None]] = {
    "torch": _torch,
    "jax": _jax,
    "xgboost": _xgboost,
    "mpi": _mpi,
}
