"""What must never be seen while workloads are sent to workers, looked for in every state that any
API server stores; and what must not be left when all is over.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.support.fault_jobs import Wish
from tests.support.fault_story import Story

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.apiserver.log import Row
from fleetqueue.base import codec, paths
from fleetqueue.kube.resources import Object

MANAGER = "manager"
SUSPEND = {
    **dict.fromkeys(
        ("Job", "JobSet", "TrainJob", "AppWrapper", "RayJob", "RayCluster", "Errand"),
        "spec.suspend",
    ),
    **dict.fromkeys(
        ("MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"),
        "spec.runPolicy.suspend",
    ),
    "RayService": "spec.rayClusterConfig.suspend",
}
PODS_HERE = ("Pod", "Deployment", "StatefulSet", "LeaderWorkerSet")
"""Kinds whose pods are on the manager too, where they wait."""
ENDS = {"Complete", "Completed", "Succeeded", "Failed"}
NAME = re.compile(r"j-\d{3}")
Place = tuple[str, str]
"""A cluster, and the name of a job."""


class Rows(dict[int, Row]):
    """The rows of one server's log; whatever is stored is looked at."""

    def __init__(self, rows: Mapping[int, Row], cluster: str, seen: "Seen") -> None:
        super().__init__(rows)
        self._cluster = cluster
        self._seen = seen

    def __setitem__(self, revision: int, row: Row) -> None:
        super().__setitem__(revision, row)
        kind = row.resource.partition(".")[0]
        if kind in WATCHED:
            obj = codec.decode(row.value)
            self._seen.story.saw(job_of(obj), self._cluster, row.value, row.is_delete)
            self._seen.saw(self._cluster, obj, is_gone=row.is_delete)

    def objects(self) -> list[Object]:
        """All that exist of the kinds that are looked at."""
        found: dict[tuple[str, str], Row] = {}
        for revision in sorted(self):
            row = self[revision]
            if row.resource.partition(".")[0] in WATCHED:
                found[row.resource, row.key] = row
        return [codec.decode(row.value) for row in found.values() if not row.is_delete]


WATCHED = {f"{kind.lower()}s" for kind in ("Workload", "ReplicaSet", *PODS_HERE, *SUSPEND)}


@dataclass
class Seen:
    """All that was seen on all clusters, and what was wrong with it."""

    wishes: Mapping[str, Wish]
    quota: Mapping[str, int]
    """Cpu, by cluster."""
    is_given_up: Callable[[str], bool]
    """Whether a worker is out of the manager's reach for longer than it may be."""
    story: Story = field(default_factory=Story)
    deleted: set[str] = field(default_factory=set)
    """Jobs that were taken away from the manager."""
    withdrawn: set[str] = field(default_factory=set)
    """Jobs whose Workload was deleted: one that has ended by then gets no other."""
    problems: list[str] = field(default_factory=list)
    finished: dict[str, str] = field(default_factory=dict)
    """By job: with which reason its Workload finished on the manager."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often things happened that this is all about."""
    _active: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    """By job: the worker and the name of every mirror that runs."""
    _present: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    """The same of all mirrors, also of those that are stopped: they may run again."""
    _claimed: dict[str, str] = field(default_factory=dict)
    """By Workload: the worker that has it, as it says."""
    _workloads: dict[str, str] = field(default_factory=dict)
    """By name: the uid of the last Workload on the manager."""
    _given_up: set[Place] = field(default_factory=set)
    """Workers that were lost for longer than they may be, and what ran there."""
    _succeeded: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    _failed: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    _held: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _switched_off: set[tuple[str, str]] = field(default_factory=set)
    """By cluster and uid: the quota of a workload."""
    _running: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    """By job: the worker and the name of every pod that runs."""
    _leaving: set[str] = field(default_factory=set)
    """Pods that are deleted on the manager."""
    _pods: dict[Place, str] = field(default_factory=dict)
    """By cluster and name: the uid of the last pod that a manager made there."""
    _ended: set[str] = field(default_factory=set)
    """Jobs that have ended as they say themselves."""
    _mirrors: dict[Place, str] = field(default_factory=dict)
    """By worker and job: the uid of the last mirror."""
    _sizes: dict[str, int] = field(default_factory=dict)
    """By job that can be scaled: how many pods it is to have."""

    @property
    def over(self) -> set[str]:
        """Jobs of which nothing more is to come."""
        return {*self.finished, *self.deleted, *(self._ended & self.withdrawn)}

    def saw(self, cluster: str, obj: Object, *, is_gone: bool) -> None:
        if obj["kind"] == "Workload":
            self._saw_quota(cluster, obj, is_gone)
            if cluster == MANAGER:
                self._saw_workload(obj, is_gone)
        elif cluster == MANAGER:
            self._saw_local(obj, is_gone)
        else:
            self._saw_there(cluster, obj, is_gone)

    def _saw_local(self, obj: Object, is_gone: bool) -> None:
        name = str(obj["metadata"]["name"])
        wish = self.wishes[job_name(name)]
        if obj["kind"] == wish.kind and wish.serves:
            self._sizes[wish.name] = int(obj["spec"].get("replicas") or 0)
        if obj["kind"] == wish.kind and has_ended(obj):
            self._ended.add(wish.name)
        if obj["kind"] != "Pod":
            return
        is_leaving = is_gone or bool(obj["metadata"].get("deletionTimestamp"))
        if is_leaving:
            self._leaving.add(name)
        if obj["spec"].get("nodeName"):
            self.problems.append(f"{name} has a node on the manager")
        if wish.kind not in PODS_HERE:
            self.problems.append(f"{name} is a pod on the manager")
        if not is_leaving and wish.name not in self.deleted and not is_gated(obj):
            self.problems.append(f"{name} has no gate on the manager")

    def _saw_there(self, cluster: str, obj: Object, is_gone: bool) -> None:
        name = job_name(obj["metadata"]["name"])
        if obj["kind"] == "Pod":
            self._saw_pod(cluster, name, obj, is_gone)
        if is_ours(obj):
            self._saw_mirror(cluster, self._unit(obj), obj, is_gone)

    def _saw_pod(self, cluster: str, name: str, obj: Object, is_gone: bool) -> None:
        phase = str((obj.get("status") or {}).get("phase"))
        place = (cluster, str(obj["metadata"]["name"]))
        if phase == "Running" and not is_gone and not obj["metadata"].get("deletionTimestamp"):
            self._running[name].add(place)
        else:
            self._running[name].discard(place)
        if is_ours(obj):
            self._forget_former((cluster, name), place, str(obj["metadata"]["uid"]))
        ended = {"Succeeded": self._succeeded, "Failed": self._failed}.get(phase)
        if ended is not None and not is_gone:
            ended[cluster, name].add(obj["metadata"]["uid"])

    def _unit(self, obj: Object) -> str:
        """What is on one worker at most: a job, but of a Deployment each pod."""
        name = str(obj["metadata"]["name"])
        wish = self.wishes.get(job_name(name))
        return name if wish is not None and wish.kind == "Deployment" else job_name(name)

    def _saw_mirror(self, cluster: str, name: str, obj: Object, is_gone: bool) -> None:
        mirror = (cluster, str(obj["metadata"]["name"]))
        if is_gone:
            self._present[name].discard(mirror)
            if not any(worker == cluster for worker, _ in self._present[name]):
                self._given_up.discard((cluster, name))
        else:
            self._present[name].add(mirror)
            self._forget_pods((cluster, name), obj)
        if is_gone or not is_active(obj):
            self._active[name].discard(mirror)
            return
        self._active[name].add(mirror)
        running = {worker for worker, _ in self._active[name]}
        counted = sorted(worker for worker in running if (worker, name) not in self._given_up)
        if len(running) > 1:
            self.counts["twice, one of them given up"] += 1
        if len(counted) > 1:
            self.problems.append(f"{name} runs on {counted}")

    def _forget_former(self, job: Place, pod: Place, uid: str) -> None:
        """How a pod ended counts until there is another of its name: it may be gone before it is
        told.
        """
        before, self._pods[pod] = self._pods.get(pod, uid), uid
        if before != uid:
            self._succeeded[job].discard(before)
            self._failed[job].discard(before)

    def _forget_pods(self, place: Place, mirror: Object) -> None:
        """What ran for a mirror that is gone counts until there is another: its copy may still
        tell of it.
        """
        uid = str(mirror["metadata"]["uid"])
        before, self._mirrors[place] = self._mirrors.get(place, uid), uid
        if before != uid and mirror["kind"] != "Pod":
            self._succeeded[place].clear()
            self._failed[place].clear()

    # Workloads

    def _saw_workload(self, obj: Object, is_gone: bool) -> None:
        name = owner_job(obj)
        if status.is_evicted(obj):
            self.counts["evicted"] += 1
        self._saw_claim(obj, str((obj.get("status") or {}).get("clusterName") or ""))
        if self.wishes[name].serves:
            self._saw_serving(name, obj)
            return
        if name in self.finished and not status.is_finished(obj) and not is_gone:
            self.problems.append(f"{name} was finished and is no more")
        if status.is_finished(obj) and name not in self.finished:
            self._saw_end(name, obj)

    def _saw_serving(self, name: str, obj: Object) -> None:
        """It never ends, but with what it is made for."""
        is_over = name in self.deleted or owner_name(obj) in self._leaving
        if status.is_finished(obj) and not is_over:
            self.problems.append(f"{name} serves, and is finished")

    def _saw_claim(self, obj: Object, worker: str) -> None:
        """Whoever gets it, those that are lost for too long cannot be waited for: what they run of
        it counts no more. Those that are only lost have to be. A job that lost its Workload gets
        another when its worker is given up, whatever a manager that starts again knows of that.
        """
        key, owner = str(obj["metadata"]["name"]), owner_name(obj)
        wish = self.wishes[job_name(owner)]
        name = owner if wish.kind == "Deployment" else wish.name
        uid = str(obj["metadata"]["uid"])
        is_next = self._workloads.get(key, uid) != uid
        self._workloads[key] = uid
        before, self._claimed[key] = self._claimed.get(key, ""), worker
        if is_next or (worker and worker != before):
            for other in {place for place, _ in self._present[name]} - {worker}:
                if self.is_given_up(other):
                    self.counts["given up"] += 1
                    self._given_up.add((other, name))

    def _saw_end(self, name: str, obj: Object) -> None:
        condition = status.find_condition(obj, status.FINISHED)
        assert condition is not None
        reason, wish = str(condition["reason"]), self.wishes[name]
        self.finished[name] = reason
        if name in self.deleted:
            return
        # One that no worker has any more, or yet, may end where it was before: what has come to its
        # end before it was put out, or on a worker that was lost meanwhile, has come to its end.
        worker = str((obj.get("status") or {}).get("clusterName") or "")
        places = [(each, name) for each in ([worker] if worker else self.quota)]
        if reason == "Succeeded":
            done = max(len(self._succeeded[place]) for place in places)
            if wish.fails or done < wish.pods_to_end:
                self.problems.append(f"{name} succeeded with {done} pods on {worker!r}")
        elif not wish.fails or not any(self._failed[place] for place in places):
            message = condition.get("message")
            self.problems.append(f"{name} ended as {reason} on {worker!r}: {message}")

    def _saw_quota(self, cluster: str, obj: Object, is_gone: bool) -> None:
        held, uid = self._held[cluster], str(obj["metadata"]["uid"])
        if is_gone or status.is_finished(obj) or not status.has_quota(obj):
            held.pop(uid, None)
            self._switched_off.discard((cluster, uid))
            return
        if not status.is_active(obj):
            self._switched_off.add((cluster, uid))
        if (cluster, uid) in self._switched_off:
            # Its quota is free at once, whatever becomes of it before it has given it back.
            held.pop(uid, None)
            return
        held[uid] = cpu_of(obj)
        if sum(held.values()) > self.quota[cluster]:
            self.problems.append(f"{cluster} is oversold: {sum(held.values())}")

    # What serves

    def serves(self, name: str) -> bool:
        """Whether all that it is made of runs, once, and on one worker; pods of a Deployment on
        any.
        """
        wish, running = self.wishes[name], self._running[name]
        wanted = self._sizes[name] if wish.kind in SCALED else wish.pods_to_end
        if len(running) != wanted or len({pod for _, pod in running}) != wanted:
            return False
        if wish.kind == "Deployment":
            return all(len(self._present[pod]) == 1 for _, pod in running)
        places = {worker for worker, _ in self._present[name]}
        return not wanted or (places == {worker for worker, _ in running} and len(places) == 1)


SCALED = ("Deployment", "StatefulSet")
"""Kinds that users make larger and smaller."""


def is_ours(obj: Object) -> bool:
    """Whether a manager made it; what a mirror makes may have its labels."""
    owners = obj["metadata"].get("ownerReferences") or ()
    is_made = any(each.get("controller") for each in owners)
    return labels.MULTIKUEUE_ORIGIN in (obj["metadata"].get("labels") or {}) and not is_made


def is_gated(pod: Object) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def is_active(obj: Object) -> bool:
    """Unsuspended, unfinished, and not told to go."""
    if obj["metadata"].get("deletionTimestamp") or has_ended(obj):
        return False
    if obj["kind"] == "Pod":
        return not is_gated(obj)
    return not (obj["kind"] in SUSPEND and paths.get(obj, SUSPEND[obj["kind"]]))


def has_ended(obj: Object) -> bool:
    state = obj.get("status") or {}
    phases = {state.get("phase"), state.get("jobDeploymentStatus")}
    if obj["kind"] == "Pod" or phases & ENDS:
        return bool(phases & ENDS)
    conditions = state.get("conditions") or ()
    return any(each["type"] in ENDS and each["status"] == "True" for each in conditions)


def job_of(obj: Object) -> str:
    """The job that an object is, or belongs to."""
    return owner_job(obj) if obj["kind"] == "Workload" else job_name(obj["metadata"]["name"])


def job_name(name: str) -> str:
    """Everything that is made of a job has its name in its own."""
    found = NAME.search(name)
    return found.group() if found else name


def owner_job(workload: Object) -> str:
    return job_name(owner_name(workload))


def owner_name(workload: Object) -> str:
    owners = workload["metadata"].get("ownerReferences") or ()
    return str(owners[0]["name"] if owners else workload["metadata"]["name"])


def cpu_of(workload: Object) -> int:
    """Without that of pods that have ended before the others; each has one."""
    state = workload["status"]
    ended = {each["name"]: int(each["count"]) for each in state.get("reclaimablePods") or ()}
    return sum(
        int(each["resourceUsage"]["cpu"]) - ended.get(each["name"], 0)
        for each in state["admission"]["podSetAssignments"]
    )
