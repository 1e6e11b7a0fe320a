"""The controllers of jobs beyond one for each kind: pods that go in groups or as a job
grows, and what serves.
"""

from collections.abc import Callable, Iterator, Sequence

from fleetqueue.jobs import ungating
from fleetqueue.jobs.kind import JobKind
from fleetqueue.jobs.pod_groups import controller as pod_groups
from fleetqueue.jobs.pods import states
from fleetqueue.jobs.resources import REPLICA_SET
from fleetqueue.jobs.serving import leader_worker_set, stateful_set
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.resources import Resource

SERVING: dict[str, Callable[[JobSettings], Operator]] = {
    "statefulset": stateful_set.operator,
    "leaderworkerset.x-k8s.io/leaderworkerset": leader_worker_set.operator,
}


def operators(kinds: Sequence[JobKind], settings: JobSettings) -> Iterator[Operator]:
    """`kinds`: those that are enabled and served."""
    enabled = {kind.framework for kind in kinds}
    if states.FRAMEWORK in enabled:
        yield pod_groups.operator(settings)
    if settings.gates.slices and any(kind.supports_slices for kind in kinds):
        yield ungating.operator(has_ray="ray.io/raycluster" in enabled)
    for job, make in SERVING.items():
        if job in enabled:
            yield make(settings)


def followed(kinds: Sequence[JobKind]) -> Iterator[Resource]:
    """What webhooks look at to find the owners of jobs, and no controller may need."""
    yield from (kind.resource for kind in kinds)
    if kinds:
        yield REPLICA_SET
