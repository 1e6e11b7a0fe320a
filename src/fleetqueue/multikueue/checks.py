"""AdmissionChecks of MultiKueue: which are ours, what they point to, and whose they are."""

from collections.abc import Iterable, Sequence

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.kube.resources import Object, key_of, uid_of
from fleetqueue.kube.sources import Index, Source
from fleetqueue.multikueue import kinds


def is_ours(check: Object) -> bool:
    return bool((check.get("spec") or {}).get("controllerName") == kinds.CONTROLLER)


def config_of(check: Object) -> str:
    """The MultiKueueConfig that a check of ours names; "" where it names none that may be one."""
    parameters = (check.get("spec") or {}).get("parameters") or {}
    kind = (parameters.get("apiGroup"), parameters.get("kind"))
    if not is_ours(check) or kind != (kinds.CONFIG.group, kinds.CONFIG.kind):
        return ""
    return str(parameters.get("name") or "")


def ours_of(workload: Object, source: Source) -> Object | None:
    """The state of the workload's MultiKueue check: of several the first that is listed."""
    for state in status.checks_of(workload):
        check = source.get(kinds.ADMISSION_CHECK, "", state["name"])
        if check is not None and is_ours(check):
            return state
    return None


def clusters_of(check: str, source: Source) -> Sequence[str] | None:
    """The workers that a check may use, in their order; None where nothing says that."""
    found = source.get(kinds.ADMISSION_CHECK, "", check)
    name = config_of(found) if found is not None else ""
    config = source.get(kinds.CONFIG, "", name) if name else None
    return None if config is None else list(config["spec"].get("clusters") or ())


def names_of(workload: Object) -> Iterable[str]:
    return [str(state["name"]) for state in status.checks_of(workload)]


def owners_of(workload: Object) -> Iterable[tuple[str, str]]:
    """Namespace and uid of each: whoever writes the uid of a job elsewhere owns nothing by it."""
    namespace = key_of(workload).namespace
    references = workload["metadata"].get("ownerReferences") or ()
    return [(namespace, str(each["uid"])) for each in references]


BY_CHECK = Index(kinds.WORKLOAD, "admission checks", names_of)
BY_OWNER = Index(kinds.WORKLOAD, "owners", owners_of)


def workloads_of(source: Source, job: Object) -> Sequence[Object]:
    return source.found(BY_OWNER, (key_of(job).namespace, uid_of(job)))


def is_there_too(source: Source, job: Object | None, workload: Key, worker: str) -> bool:
    """Whether a worker has another Workload of the job, such as a slice that took the place of
    this one.
    """
    found = () if job is None else workloads_of(source, job)
    others = [each for each in found if key_of(each) != workload and not status.is_finished(each)]
    return any(status.cluster_of(each) == worker for each in others)
