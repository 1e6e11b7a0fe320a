"""Lets as many pods of an elastic job go as its newest admitted slice grants."""

from collections.abc import Iterable

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.jobs import identity
from fleetqueue.jobs.pod_sets import counts_of
from fleetqueue.jobs.resources import POD, WORKLOAD
from fleetqueue.jobs.slices import by_age
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import NOTHING, Look, Patch, Plan, Step
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of, version_of
from fleetqueue.kube.sources import Source

RAY_CLUSTER = Resource("ray.io", "v1", "rayclusters", "RayCluster")
_ABOVE_CLUSTERS = ("RayJob", "RayService")
"""Kinds whose pods belong to a RayCluster of theirs."""


def operator(has_ray: bool) -> Operator:
    """`has_ray`: whether RayClusters are looked at too."""
    kinds = (WORKLOAD, POD, RAY_CLUSTER) if has_ray else (WORKLOAD, POD)
    return Operator(
        "kueue-workload-slice-ungater",
        WORKLOAD,
        decide,
        owns=kinds,
        follows=(Follow(POD, _slices_of, when=_is_gated),),
        manager="kueue",
    )


def decide(look: Look) -> Plan:
    workload = look.parent
    owner = _controller(workload)
    if owner is None or not _grants(workload) or look.uid != _newest_uid(look, owner):
        return NOTHING
    pods = sorted(_pods(look, owner), key=_name)
    steps: list[Step] = []
    for name, count in counts_of(workload["spec"]["podSets"]).items():
        mine = [pod for pod in pods if identity.labels_of(pod).get(labels.PODSET) == name]
        gated = [pod for pod in mine if is_gated(pod)]
        steps += [ungated(pod) for pod in gated[: max(count - (len(mine) - len(gated)), 0)]]
    return Plan(steps)


def is_gated(pod: Object) -> bool:
    gates = pod["spec"].get("schedulingGates") or ()
    return any(gate["name"] == labels.ELASTIC_JOB_GATE for gate in gates)


def ungated(pod: Object) -> Patch:
    gates = pod["spec"]["schedulingGates"]
    left = [gate for gate in gates if gate["name"] != labels.ELASTIC_JOB_GATE]
    version = {"resourceVersion": version_of(pod)}
    return Patch(pod, {"metadata": version, "spec": {"schedulingGates": left or None}})


def _grants(workload: Object) -> bool:
    elastic = identity.annotations_of(workload).get(labels.ELASTIC_JOB) == "true"
    is_over = status_of.is_finished(workload) or status_of.is_evicted(workload)
    return elastic and status_of.is_admitted(workload) and not is_over


def _newest_uid(look: Look, owner: Object) -> str:
    known = look.source.controlled(WORKLOAD, owner["uid"], look.namespace)
    found = [each for each in known if _grants(each)]
    return uid_of(by_age(found)[-1]) if found else ""


def _pods(look: Look, owner: Object) -> Iterable[Object]:
    """Those that have not ended."""
    above = [owner["uid"]]
    if owner["kind"] in _ABOVE_CLUSTERS:
        clusters = look.source.controlled(RAY_CLUSTER, owner["uid"], look.namespace)
        above = [each["metadata"]["uid"] for each in clusters]
    for uid in above:
        for pod in look.source.controlled(POD, uid, look.namespace):
            if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                yield pod


def _slices_of(source: Source, pod: Object) -> list[Key]:
    """The Workloads of the job that a pod is of."""
    uid = controller_uid(pod)
    if not uid or labels.WORKLOAD_SLICE_NAME not in identity.annotations_of(pod):
        return []
    namespace = key_of(pod).namespace
    found = list(source.controlled(WORKLOAD, uid, namespace))
    reference = _controller(pod) or {}
    if reference.get("kind") == RAY_CLUSTER.kind:
        cluster = source.get(RAY_CLUSTER, namespace, str(reference.get("name")))
        if cluster is not None and controller_uid(cluster):
            found += source.controlled(WORKLOAD, controller_uid(cluster), namespace)
    return [key_of(each) for each in found if _grants(each)]


def _is_gated(old: Object | None, new: Object | None) -> bool:
    """A pod that waits, or one that makes room for another."""
    return new is None or is_gated(new) or bool(new["metadata"].get("deletionTimestamp"))


def _controller(obj: Object) -> Object | None:
    references = obj["metadata"].get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
