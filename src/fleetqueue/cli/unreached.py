"""What `logs`, `exec` and `explain` say of a job that they do not reach."""

import re
from collections.abc import Sequence
from typing import Any

from fleetqueue.errors import ClusterError, UserError

Object = dict[str, Any]
_CALL = re.compile(r"^[A-Z]+ /\S*: ")


def refuse_switched_off(job: str, workloads: Sequence[Object]) -> None:
    """Raises where nothing of the job may run until somebody says so."""
    from fleetqueue.api.kueue import admission_status as status

    for each in workloads:
        sent = (each.get("status") or {}).get("clusterName")
        if status.is_active(each) or status.is_finished(each) or sent:
            return
    names = " ".join(str(each["metadata"]["name"]) for each in workloads)
    space = workloads[0]["metadata"]["namespace"]
    raise UserError(
        f"{job} is switched off: spec.active of its Workload is false, and nothing of it runs;"
        f" `fleetqueue kueue resume workload {names} -n {space}` puts it back into its queue"
    )


def refuse_finished(job: str, workloads: Sequence[Object]) -> None:
    """Raises where none of its processes is left."""
    if told := _finished(workloads):
        raise UserError(
            f"{job} has finished ({told}): no process of it is left;"
            f" `fleetqueue logs {job}` prints what it said"
        )


def has_no_pods(job: str, where: str, workloads: Sequence[Object]) -> str:
    if told := _finished(workloads):
        return f"{job} has finished ({told}): its pods on {where} are gone, and no logs were kept"
    return f"{job} has no pods on {where}: they do not exist yet, or were removed there"


def without_manager(job: str, error: Exception) -> ClusterError:
    return ClusterError(f"{_why(error)}; only the manager knows which worker has {job}")


def without_cluster(job: str, error: Exception) -> ClusterError:
    return ClusterError(f"{_why(error)}; nobody else knows what became of {job}")


def lost(
    job: str, worker: str, cluster: Object, workloads: Sequence[Object], error: Exception
) -> ClusterError:
    """`cluster`: the worker's MultiKueueCluster; {} where it could not be read."""
    from fleetqueue.kube.errors import NoAnswer

    is_silent = isinstance(error, NoAnswer | TimeoutError)
    why = "does not answer" if is_silent else f"cannot be reached: {_why(error)}"
    about = f'the worker "{worker}", which has {job}, {why}. {_managers_view(cluster)}'
    if _finished(workloads):
        return ClusterError(f"{about}. The job has finished, and the manager has no logs of it")
    return ClusterError(
        f"{about}. The manager moves a job to another worker when its worker is lost for"
        " workerLostTimeout (15m, unless the manager's configuration says otherwise)"
    )


def _managers_view(cluster: Object) -> str:
    from fleetqueue.cli.lost_workers import lost_by

    if (told := lost_by(cluster)) is None:
        return "The manager has not missed it yet"
    return f"It is lost to the manager too, since {told['lastTransitionTime']} ({told['message']})"


def _finished(workloads: Sequence[Object]) -> str:
    """How all of it ended; "" where something has not."""
    from fleetqueue.api.kueue import admission_status as status

    found = [status.find_condition(each, status.FINISHED) for each in workloads]
    ends = [each for each in found if each is not None and each["status"] == "True"]
    if len(ends) < len(workloads):
        return ""
    last = ends[-1]
    return f"{last['reason']}: {last['message']}" if last.get("message") else str(last["reason"])


def _why(error: Exception) -> str:
    """Without the call that failed."""
    return _CALL.sub("", str(error))
