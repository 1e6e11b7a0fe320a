"""A pod group as one job: the metadata of its first pod, and all its pods as members."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from fleetqueue.api.kueue import labels
from fleetqueue.jobs import managing
from fleetqueue.jobs.infos import CannotStart, PodSetInfo
from fleetqueue.jobs.kind import JobKind, Role, Sight, Verdict
from fleetqueue.jobs.pods import gates, states, stopping
from fleetqueue.jobs.resources import POD
from fleetqueue.kube.plan import Step
from fleetqueue.kube.resources import Object

MEMBERS = "members"


def as_job(pods: Sequence[Object]) -> Object:
    """Events and metadata of the group are those of its first pod."""
    first = pods[0]
    return {
        "apiVersion": "v1",
        "kind": POD.kind,
        "metadata": first["metadata"],
        MEMBERS: list(pods),
    }


def members_of(job: Object) -> list[Object]:
    found: list[Object] = job[MEMBERS]
    return found


def is_serving(job: Object) -> bool:
    return states.says(job, labels.POD_GROUP_SERVING)


def is_fast(job: Object) -> bool:
    """Whether it is admitted before all its pods are there."""
    return states.says(job, labels.POD_GROUP_FAST_ADMISSION)


def by_role(pods: Iterable[Object]) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for pod in pods:
        found.setdefault(states.role_of(pod), []).append(pod)
    return dict(sorted(found.items()))


def roles(sight: Sight) -> list[Role]:
    """One by hash; where it is not waited for all of them, all are like the first."""
    pods = [pod for pod in members_of(sight.job) if states.counts(pod)]
    total = states.total_of(sight.job) or 0
    if is_fast(sight.job):
        return [Role(states.role_of(pods[0]), "", total, pods[0])] if pods else []
    return [Role(name, "", len(each), each[0]) for name, each in by_role(pods).items()]


def verdict(sight: Sight) -> Verdict | None:
    """Over when all have succeeded, or none goes on and none may be replaced."""
    if is_serving(sight.job):
        return None
    pods, total = members_of(sight.job), states.total_of(sight.job) or 0
    succeeded = sum(states.phase_of(pod) == "Succeeded" for pod in pods)
    key = labels.RETRIABLE_IN_GROUP
    is_final = any((pod["metadata"].get("annotations") or {}).get(key) == "false" for pod in pods)
    goes_on = any(not states.is_terminated(pod) for pod in pods)
    if succeeded != total and (goes_on or not is_final):
        return None
    return Verdict(f"Pods succeeded: {succeeded}/{total}.", is_success=True)


def is_active(sight: Sight) -> bool:
    assert sight.now is not None
    return any(_holds_resources(pod, sight, sight.now) for pod in members_of(sight.job))


def _holds_resources(pod: Object, sight: Sight, now: datetime) -> bool:
    if states.phase_of(pod) != "Running":
        return False
    ends = states.ends_at(pod)
    return ends is None or (not sight.settings.gates.fast_quota_release and now < ends)


def is_ready(sight: Sight) -> bool:
    """One that has succeeded need not be ready any more."""
    pods = members_of(sight.job)
    are_ready = all(states.is_ready(pod) or states.phase_of(pod) == "Succeeded" for pod in pods)
    return are_ready and len(pods) >= (states.total_of(sight.job) or 0)


def reclaimable(sight: Sight) -> dict[str, int]:
    if is_serving(sight.job):
        return {}
    done = [pod for pod in members_of(sight.job) if states.phase_of(pod) == "Succeeded"]
    return {name: len(pods) for name, pods in by_role(done).items()}


def start(sight: Sight, infos: Sequence[PodSetInfo]) -> list[Step]:
    """Every pod that waits, with what the pod set of its role got."""
    by_name = {info.name: info for info in infos}
    steps: list[Step] = []
    for pod in members_of(sight.job):
        if not states.is_gated(pod):
            continue
        info = by_name.get(states.role_of(pod))
        if info is None:
            name = states.role_of(pod)
            raise CannotStart(f"podSetInfo with the name '{name}' is not found")
        steps += gates.let_go(pod, info)
    return steps


def halt(sight: Sight, reason: str, message: str) -> list[Step]:
    assert sight.now is not None
    return stopping.stop(members_of(sight.job), reason, message, sight.now)


def is_suspended(job: Object) -> bool:
    return any(states.is_suspended(pod) for pod in members_of(job))


GROUP = JobKind(
    framework=states.FRAMEWORK,
    resource=POD,
    suspend="",
    roles=roles,
    pod_index_label=labels.POD_GROUP_POD_INDEX,
    copies_metadata=False,
    active=is_active,
    ready=is_ready,
    finished=verdict,
    reclaimable=reclaimable,
    is_suspended=is_suspended,
    start=start,
    halt=halt,
    finalize=lambda sight: gates.released(members_of(sight.job)),
    runs_elsewhere=managing.is_dispatched,
    follows_queue=lambda sight: not is_serving(sight.job),
    checks_ancestors=False,
)
