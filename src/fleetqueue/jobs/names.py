"""The names of Workloads, which anybody can compute from the job."""

from fleetqueue.api.kueue import workload_names


def workload_name(
    kind: str, group: str, name: str, uid: str, *, extra: str = "", length_max: int = 253
) -> str:
    """`extra` tells the Workloads of one elastic job apart."""
    told = [kind, group, name, uid, *([extra] if extra else [])]
    return workload_names.hashed(f"{kind.lower()}-{name}", *told, length_max=length_max)
