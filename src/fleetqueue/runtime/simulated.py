"""Moves simulated pods through their lives: timers and status writes, and nothing else."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.api.times import parse_time
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.runtime import stages
from fleetqueue.runtime.addresses import AddressPool
from fleetqueue.runtime.kinds import NODE, POD
from fleetqueue.runtime.lives import Life
from fleetqueue.runtime.modes import is_down, is_simulated, is_simulated_node
from fleetqueue.runtime.pod_facts import is_terminal, node_name, phase
from fleetqueue.runtime.pod_status import PodFacts, build_status
from fleetqueue.runtime.pod_writes import delete_pod
from fleetqueue.runtime.stages import FAST, Profile

NETWORK = "10.244.0.0/16"
COMPONENT = "kubelet"
BY_NODE, BY_TASK = "node", "simulated task"
INDEXES = (
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
    "training.kubeflow.org/replica-index",
)


class SimulatedPods(Controller[Any]):
    """A node without processes, for all nodes that are simulated."""

    kind: ClassVar[Resource] = POD
    workers = 16

    def __init__(
        self, cluster: Cluster, profile: Profile = FAST, *, network: str = NETWORK
    ) -> None:
        self._cluster = cluster
        self._profile = profile
        self._addresses = AddressPool(network)
        self._began_at: dict[str, datetime] = {}
        self._attempts: dict[str, int] = {}
        self._failures: dict[tuple[str, str], set[str]] = {}
        """By owner and index: the uids of pods that failed, also of those that are gone since."""
        self._uids: dict[Key, str] = {}
        cluster.informer(POD, indexes={BY_NODE: lambda pod: (node_name(pod),), BY_TASK: _tasks})
        cluster.informer(NODE)
        self.watches = (Watch(NODE, wakes=self._pods_of, when=_changes_mode),)

    @property
    def name(self) -> str:
        return "simulated-pods"

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        pod = new if new is not None else old
        assert pod is not None
        if new is None and key_of(pod) in self._uids:
            return True  # Its node may have gone first.
        return bool(node_name(pod)) and self._is_ours(pod)

    async def reconcile(self, pod: Object, /) -> Result:
        node = self._cluster.cached(NODE, node_name(pod))
        if not node_name(pod) or not is_simulated(pod, node):
            return DONE
        self._meet(pod)
        if node is not None and is_down(node):
            return DONE
        now = self._cluster.clock.now()
        if is_deleting(pod):
            return await self._end(pod, node, now)
        if is_terminal(pod):
            return DONE
        moment = self._life(pod, now).at(now, was_running=phase(pod) == "Running")
        await self._write(pod, node, moment.facts, now)
        if moment.changes_at is None:
            return DONE
        return Result(max(moment.changes_at - now, timedelta()))

    async def gone(self, key: Key, /) -> Result:
        uid = self._uids.pop(key, None)
        if uid is not None:
            self._forget(uid)
        return DONE

    def _is_ours(self, pod: Object) -> bool:
        return is_simulated(pod, self._cluster.cached(NODE, node_name(pod)))

    def _pods_of(self, node: Object) -> list[Key]:
        name = str(node["metadata"]["name"])
        return [key_of(pod) for pod in self._cluster.cached_by(POD, BY_NODE, name)]

    # What is remembered of a pod

    def _meet(self, pod: Object) -> None:
        key, uid = key_of(pod), str(pod["metadata"]["uid"])
        before = self._uids.get(key)
        if before == uid:
            self._note_failure(pod)
            return
        if before is not None:
            self._forget(before)
        self._uids[key] = uid
        if address := (pod.get("status") or {}).get("podIP"):
            self._addresses.keep(uid, address)
        task = _task(pod)
        if stages.FAIL_ATTEMPTS in stages.annotations(pod) and task is not None:
            failed = self._failures.setdefault(task, set())
            failed |= {
                str(other["metadata"]["uid"])
                for other in self._cluster.cached_by(POD, BY_TASK, task)
                if phase(other) == "Failed"
            }
            self._attempts[uid] = len(failed - {uid})
        self._note_failure(pod)

    def _note_failure(self, pod: Object) -> None:
        task = _task(pod)
        if task in self._failures and phase(pod) == "Failed":
            self._failures[task].add(str(pod["metadata"]["uid"]))

    def _forget(self, uid: str) -> None:
        self._addresses.release(uid)
        self._began_at.pop(uid, None)
        self._attempts.pop(uid, None)

    def _life(self, pod: Object, now: datetime) -> Life:
        uid = str(pod["metadata"]["uid"])
        if uid not in self._began_at:
            said = (pod.get("status") or {}).get("startTime")
            self._began_at[uid] = parse_time(said) if said else now
        return Life(pod, self._began_at[uid], self._profile, self._attempts.get(uid, 0))

    # Writes

    async def _write(
        self, pod: Object, node: Object | None, facts: PodFacts, now: datetime
    ) -> None:
        """One write for all that changed; where somebody else wrote first, we look again."""
        is_shown = (pod.get("status") or {}).get("containerStatuses")
        if not facts.has_sandbox and not facts.is_over and not is_shown:
            return
        status = build_status(pod, self._with_addresses(pod, node, facts), now)
        if status == pod.get("status"):
            return
        try:
            written = await self._cluster.client.update(
                {**pod, "status": status},
                subresource="status",
                resource=POD,
                field_manager=COMPONENT,
            )
        except NotFound:
            return
        self._cluster.accept(written)

    def _with_addresses(self, pod: Object, node: Object | None, facts: PodFacts) -> PodFacts:
        host = _address(node)
        if not facts.has_sandbox:
            return facts
        own = host if pod["spec"].get("hostNetwork") else self._address_of(pod)
        return replace(facts, pod_ip=own, host_ip=host)

    def _address_of(self, pod: Object) -> str:
        return self._addresses.take(str(pod["metadata"]["uid"]))

    async def _end(self, pod: Object, node: Object | None, now: datetime) -> Result:
        metadata = pod["metadata"]
        due_at = _asked_at(pod) + timedelta(seconds=stages.delay(pod, "pod-delete", self._profile))
        if due_at > now:
            return Result(due_at - now)
        if metadata.get("finalizers") and not is_terminal(pod):
            # Whoever holds it back wants to know how it ended.
            await self._write(pod, node, self._life(pod, now).stopped(now), now)
        await delete_pod(self._cluster, pod, grace_seconds=0)
        return DONE


def _tasks(pod: Object) -> tuple[tuple[str, str], ...]:
    task = _task(pod) if stages.FAIL_ATTEMPTS in stages.annotations(pod) else None
    return () if task is None else (task,)


def _task(pod: Object) -> tuple[str, str] | None:
    """Pods that stand for the same piece of work, one after the other."""
    owner = controller_uid(pod)
    metadata = pod["metadata"]
    known = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
    index = next((known[name] for name in INDEXES if name in known), "")
    return (owner, index) if owner else None


def _asked_at(pod: Object) -> datetime:
    """When its deletion was asked for; its timestamp says when it must be over."""
    metadata = pod["metadata"]
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return parse_time(metadata["deletionTimestamp"]) - grace


def _address(node: Object | None) -> str:
    addresses = ((node or {}).get("status") or {}).get("addresses") or ()
    return next((str(a["address"]) for a in addresses if a.get("type") == "InternalIP"), "")


def _changes_mode(old: Object | None, new: Object | None) -> bool:
    """Whether a node came or went for the simulation."""
    seen = [(is_simulated_node(node), is_down(node)) if node else None for node in (old, new)]
    ready = [_is_well(node) for node in (old, new)]
    return seen[0] != seen[1] or ready[0] != ready[1]


def _is_well(node: Object | None) -> bool:
    conditions = ((node or {}).get("status") or {}).get("conditions") or ()
    return any((each.get("type"), each.get("status")) == ("Ready", "True") for each in conditions)
