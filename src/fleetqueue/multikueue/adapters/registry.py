"""Which adapters there are, which of them a Workload needs, and whether its job was handed over."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fleetqueue.base import paths
from fleetqueue.jobs.kind import JobKind
from fleetqueue.jobs.registry import enabled_kinds
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters import (
    app_wrapper,
    batch_job,
    external,
    leader_worker_set,
    mpi_job,
    pod,
    ray_cluster,
    ray_job,
    ray_service,
    stateful_set,
    train_job,
)
from fleetqueue.multikueue.adapters.managed import managed
from fleetqueue.multikueue.adapters.owners import noted_owner, owners_of
from fleetqueue.multikueue.kinds import CONTROLLER
from fleetqueue.multikueue.settings import DispatchSettings

NO_OWNER = "No multikueue adapter found"

Adapters: TypeAlias = Mapping[tuple[str, str], Adapter]
"""By group and kind."""

OWN_WAYS: dict[str, Callable[[], Adapter]] = {
    "batch/job": batch_job.adapter,
    "kubeflow.org/mpijob": mpi_job.adapter,
    "trainer.kubeflow.org/trainjob": train_job.adapter,
    "ray.io/raycluster": ray_cluster.adapter,
    "ray.io/rayjob": ray_job.adapter,
    "ray.io/rayservice": ray_service.adapter,
    "workload.codeflare.dev/appwrapper": app_wrapper.adapter,
    "pod": pod.adapter,
    "statefulset": stateful_set.adapter,
    "leaderworkerset.x-k8s.io/leaderworkerset": leader_worker_set.adapter,
}
"""By framework, those for which the declaration of the kind does not say it all."""


def adapters(settings: DispatchSettings) -> Adapters:
    """Of all kinds that are enabled, also where another kind alone asks for them; then those of
    the configuration.
    """
    made = [each for kind in enabled_kinds(settings.jobs) if (each := _adapter(kind)) is not None]
    others = [external.adapter(each, settings) for each in settings.external]
    return {(each.resource.group, each.resource.kind): each for each in (*others, *made)}


def has_adapter(kind: JobKind) -> bool:
    """Whether jobs of a kind that is known can be sent to workers."""
    return _adapter(kind) is not None


def adapter_for(workload: Object, known: Adapters) -> Adapter | str:
    """The adapter of its job, or why there is none."""
    noted = noted_owner(workload)
    if noted is not None and noted.group_kind in known:
        return known[noted.group_kind]
    owners = owners_of(workload)
    if not owners:
        return NO_OWNER
    found = known.get(owners[0].group_kind)
    return f'{NO_OWNER} for owner kind "{owners[0].title}"' if found is None else found


def handed_over(adapter: Adapter, job: Object) -> str | None:
    """Why a job is not ours to send away; None where it is."""
    if adapter.disabled:
        return adapter.disabled
    if not adapter.managed_by:
        return None
    said = paths.get(job, adapter.managed_by) or ""
    if said == CONTROLLER:
        return None
    return f'Expecting {adapter.managed_by_title} to be "{CONTROLLER}" not "{said}"'


def _adapter(kind: JobKind) -> Adapter | None:
    if kind.framework in OWN_WAYS:
        return OWN_WAYS[kind.framework]()
    return managed(kind) if kind.managed_by else None
