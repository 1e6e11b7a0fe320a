"""Which pods of a RayCluster go and which are made: the head, and each group of workers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleetqueue.api.times import parse_time
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Delete, Note, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.hashing import content_hash
from fleetqueue.runtime.operators import ray_cluster_status as states
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_pods as made


@dataclass(slots=True)
class Work:
    """What is to do with the pods; not settled: there is more to do once this is done."""

    steps: list[Step] = field(default_factory=list)
    is_settled: bool = True

    def remove(self, pods: Iterable[Object], note: Note | None = None) -> None:
        chosen = [Delete(pod) for pod in pods if not is_deleting(pod)]
        self.steps += chosen
        if chosen and note is not None:
            self.steps.append(note)


def plan_pods(cluster: Object, pods: list[Object]) -> Work:
    work = Work()
    if states.suspension(cluster) == states.SUSPENDING:
        work.remove(pods, _note_all(cluster, "Deleted Pods for RayCluster {} due to suspension"))
        return work
    if states.suspension(cluster) == states.SUSPENDED or cluster["spec"].get("suspend"):
        return work
    heads = names.of_type(pods, names.HEAD)
    if _is_outdated(cluster, heads):
        text = "Deleted all Pods for RayCluster {} due to spec change with Recreate upgradeStrategy"
        work.remove(pods, _note_all(cluster, text))
        return work
    _plan_head(cluster, heads, work)
    for group in names.worker_groups(cluster) if work.is_settled else ():
        ours = [
            pod for pod in pods if names.labels_of(pod).get(names.GROUP_KEY) == group["groupName"]
        ]
        _plan_group(cluster, group, names.of_type(ours, names.WORKER), work)
        if not work.is_settled:
            break
    return work


def spec_hash(spec: Object) -> str:
    """The same for cluster specs that differ in nothing that needs other pods."""
    essence = {
        key: value for key, value in spec.items() if key not in ("upgradeStrategy", "suspend")
    }
    essence["headGroupSpec"] = _essence(spec.get("headGroupSpec") or {})
    essence["workerGroupSpecs"] = [_essence(each) for each in spec.get("workerGroupSpecs") or ()]
    return content_hash(essence)


def _essence(group: Object) -> Object:
    scaling = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")
    kept = {key: value for key, value in group.items() if key not in scaling}
    template = dict(kept.get("template") or {})
    spec = template.get("spec") or {}
    placed = ("tolerations", "schedulingGates")
    template["spec"] = {key: value for key, value in spec.items() if key not in placed}
    return {**kept, "template": template}


def _is_outdated(cluster: Object, heads: list[Object]) -> bool:
    strategy = cluster["spec"].get("upgradeStrategy") or {}
    if strategy.get("type") != "Recreate" or not heads:
        return False
    known = names.annotations_of(heads[0])
    if known.get(names.VERSION_KEY) not in (None, names.OPERATOR_VERSION):
        return False
    hashed = known.get(made.SPEC_HASH_KEY)
    return bool(hashed) and hashed != spec_hash(cluster["spec"])


def _plan_head(cluster: Object, heads: list[Object], work: Work) -> None:
    if len(heads) > 1:
        # Somebody made another one by hand; which of them to keep is not ours to guess.
        work.is_settled = False
    elif heads and _has_ended(heads[0]):
        _remove_ended(cluster, heads, names.HEAD, work)
    elif not heads and not _keeps_head_gone(cluster):
        work.steps.append(Create(made.make_head(cluster, spec_hash(cluster["spec"]))))


def _keeps_head_gone(cluster: Object) -> bool:
    asked = names.annotations_of(cluster).get(names.NO_HEAD_RESTART_KEY) == "true"
    return asked and states.is_true(cluster, states.PROVISIONED)


def _plan_group(cluster: Object, group: Object, pods: list[Object], work: Work) -> None:
    if group.get("suspend"):
        what = f"Deleted all pods for suspended worker group {group['groupName']} in RayCluster"
        work.remove(pods, Note("DeletedWorkerPod", f"{what} {names.full_name(cluster)}"))
    elif names.hosts_of(group) > 1:
        _plan_replicas_of_hosts(cluster, group, pods, work)
    else:
        _plan_workers(cluster, group, pods, work)


def _plan_workers(cluster: Object, group: Object, pods: list[Object], work: Work) -> None:
    ended = [pod for pod in pods if _has_ended(pod)]
    if ended:
        _remove_ended(cluster, ended, names.WORKER, work)
        return
    named = (group.get("scaleStrategy") or {}).get("workersToDelete") or ()
    chosen = [pod for pod in pods if pod["metadata"]["name"] in named and not is_deleting(pod)]
    for pod in chosen:
        work.remove([pod], Note("DeletedWorkerPod", f"Deleted pod {names.full_name(pod)}"))
    left = [pod for pod in pods if pod not in chosen]
    missing = names.replicas_of(group) - len(left)
    if missing > 0:
        for index in _free_indexes(left, missing):
            work.steps.append(Create(made.make_worker(cluster, group, index)))
    elif missing < 0 and not names.is_autoscaled(cluster["spec"]):
        for pod in left[:-missing]:
            work.remove([pod], Note("DeletedWorkerPod", f"Deleted Pod {names.full_name(pod)}"))


def _plan_replicas_of_hosts(cluster: Object, group: Object, pods: list[Object], work: Work) -> None:
    """The pods of one replica live and die together."""
    hosts = names.hosts_of(group)
    replicas: dict[str, list[Object]] = {}
    for pod in pods:
        replicas.setdefault(str(names.labels_of(pod).get(made.REPLICA_NAME_KEY) or ""), []).append(
            pod
        )
    named = (group.get("scaleStrategy") or {}).get("workersToDelete") or ()
    kept: dict[str, list[Object]] = {}
    for name, members in replicas.items():
        if len(members) < hosts:
            why = "cleanup of incomplete multi-host group"
        elif any(map(_has_ended, members)):
            why = "a Pod of the group has ended"
        elif any(pod["metadata"]["name"] in named for pod in members):
            why = "autoscaler scale-down request"
        else:
            kept[name] = members
            continue
        _remove_replica(group, members, why, work)
        work.is_settled = False
    if not work.is_settled:
        return
    missing = names.replicas_of(group) - len(kept)
    if missing > 0:
        _add_replicas(cluster, group, kept, missing, work)
    elif missing < 0 and not names.is_autoscaled(cluster["spec"]):
        for name in sorted(kept)[:-missing]:
            _remove_replica(group, kept[name], "scaling down", work)


def _add_replicas(
    cluster: Object, group: Object, kept: dict[str, list[Object]], missing: int, work: Work
) -> None:
    version = cluster["metadata"].get("resourceVersion")
    for index in _free_indexes([members[0] for members in kept.values()], missing):
        seed = (cluster["metadata"]["uid"], version, group["groupName"], index)
        name = names.generated(group["groupName"], *seed)
        for host in range(names.hosts_of(group)):
            work.steps.append(Create(made.make_worker(cluster, group, index, name, host)))


def _remove_replica(group: Object, members: list[Object], why: str, work: Work) -> None:
    for pod in members:
        text = f"Deleted worker Pod {names.full_name(pod)} for group {group['groupName']}: {why}"
        work.remove([pod], Note("DeletedWorkerPod", text))


def _free_indexes(pods: list[Object], count: int) -> list[int]:
    """The lowest replica indexes that none of the pods has."""
    taken = {names.labels_of(pod).get(made.REPLICA_INDEX_KEY) for pod in pods}
    return [index for index in range(count + len(pods)) if str(index) not in taken][:count]


def _has_ended(pod: Object) -> bool:
    """Whether it cannot come back by itself."""
    if pod_facts.is_terminal(pod):
        return True
    is_stuck = pod["spec"].get("restartPolicy") == "Never" and _ray_ending(pod) is not None
    return is_stuck and pod_facts.phase(pod) == "Running"


def _ray_ending(pod: Object) -> Object | None:
    name = pod["spec"]["containers"][0]["name"]
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if status["name"] == name:
            return (status.get("state") or {}).get("terminated")
    return None


def _remove_ended(cluster: Object, pods: list[Object], node_type: str, work: Work) -> None:
    """They are replaced at a later look, when they are gone."""
    work.is_settled = False
    for pod in pods:
        text = (
            f"Deleted {node_type} Pod {names.full_name(pod)}; Pod status: {pod_facts.phase(pod)};"
            f" Pod restart policy: {pod['spec'].get('restartPolicy') or ''};"
            f" Ray container terminated status: {_told(_ray_ending(pod))}"
        )
        work.remove([pod], Note(f"Deleted{node_type.capitalize()}Pod", text))


def _told(ending: Object | None) -> str:
    """As Go prints the state."""
    if ending is None:
        return "nil"
    started, finished = (_moment(ending.get(key)) for key in ("startedAt", "finishedAt"))
    return (
        f"&ContainerStateTerminated{{ExitCode:{ending.get('exitCode', 0)},"
        f"Signal:{ending.get('signal', 0)},Reason:{ending.get('reason', '')},"
        f"Message:{ending.get('message', '')},StartedAt:{started},FinishedAt:{finished},"
        f"ContainerID:{ending.get('containerID', '')},}}"
    )


def _moment(text: str | None) -> str:
    if not text:
        return "0001-01-01 00:00:00 +0000 UTC"
    return f"{parse_time(text):%Y-%m-%d %H:%M:%S} +0000 UTC"


def _note_all(cluster: Object, text: str) -> Note:
    return Note("DeletedPod", text.format(names.full_name(cluster)))
