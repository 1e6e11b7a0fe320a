"""Pod (v1), queued by itself; one of a group is queued with the others."""

from collections.abc import Sequence

from fleetqueue.api.kueue.pod_groups import group_of
from fleetqueue.api.owners import controller_uid
from fleetqueue.jobs import managing
from fleetqueue.jobs.infos import PodSetInfo, check_number
from fleetqueue.jobs.kind import JobKind, Role, Sight, Verdict
from fleetqueue.jobs.pods import checks, gates, states, stopping
from fleetqueue.jobs.resources import ADMISSION_CHECK, POD
from fleetqueue.jobs.settings import SYSTEM_NAMESPACES
from fleetqueue.kube.plan import Step
from fleetqueue.kube.resources import Object


def roles(sight: Sight) -> list[Role]:
    return [Role("main", "", 1, sight.job)]


def is_skipped(sight: Sight) -> bool:
    return not states.is_managed(sight.job, sight.settings) or bool(group_of(sight.job))


def is_part(sight: Sight) -> bool:
    """Of a group, or of what its owner made it for."""
    return bool(group_of(sight.job)) or bool(controller_uid(sight.job))


def is_held(sight: Sight) -> bool:
    return states.has_parent(sight.job) and sight.namespace not in SYSTEM_NAMESPACES


def verdict(sight: Sight) -> Verdict | None:
    if not states.is_terminated(sight.job):
        return None
    message = str(sight.status.get("message") or "")
    return Verdict(message, states.phase_of(sight.job) == "Succeeded")


def start(sight: Sight, infos: Sequence[PodSetInfo]) -> list[Step]:
    check_number(1, infos)
    return gates.let_go(sight.job, infos[0]) if states.is_gated(sight.job) else []


def halt(sight: Sight, reason: str, message: str) -> list[Step]:
    assert sight.now is not None
    return stopping.stop([sight.job], reason, message, sight.now)


def stays_out(sight: Sight, workload: Object) -> bool:
    """It was deleted; but one that ran elsewhere is still here, and waits."""
    skips = sight.settings.gates.skip_reassignment
    return skips and not managing.is_dispatched(sight, workload)


JOB = JobKind(
    framework=states.FRAMEWORK,
    resource=POD,
    suspend="",
    roles=roles,
    pod_index_label="kueue.x-k8s.io/pod-group-pod-index",
    template_title=lambda role: "",
    copies_metadata=False,
    active=lambda sight: False,
    ready="Ready",
    finished=verdict,
    is_suspended=states.is_suspended,
    start=start,
    halt=halt,
    finalize=lambda sight: gates.released([sight.job]),
    runs_elsewhere=managing.is_dispatched,
    skip=is_skipped,
    stays_out=stays_out,
    checks_ancestors=False,
    hold=gates.hold,
    is_held=is_held,
    stays_in_scope=True,
    warns_of_owner=True,
    is_part=is_part,
    validate=checks.check,
    reads=(ADMISSION_CHECK,),
)
