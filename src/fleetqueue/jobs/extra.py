"""The controllers of jobs beyond one for each kind: groups of pods, and what serves."""

from collections.abc import Iterator, Sequence

from fleetqueue.jobs.kind import JobKind
from fleetqueue.jobs.pod_groups import controller as pod_groups
from fleetqueue.jobs.pods import states
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.frame import Operator


def operators(kinds: Sequence[JobKind], settings: JobSettings) -> Iterator[Operator]:
    """`kinds`: those that are enabled and served."""
    enabled = {kind.framework for kind in kinds}
    if states.FRAMEWORK in enabled:
        yield pod_groups.operator(settings)
