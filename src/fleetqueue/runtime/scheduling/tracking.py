"""Turns what happens in a cluster into the scheduler's state and the pods that wait: the one place
where events change them.
"""

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.pending import PendingPods
from fleetqueue.runtime.scheduling.pods import PodInfo, takes_room, waits
from fleetqueue.runtime.scheduling.state import ClusterState


class Tracker:
    """Told of changes as an informer tells them: what was, and what is."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self.pending = PendingPods()
        self._assumed: set[str] = set()
        """Uids of pods that we have put on a node, of which the cluster does not know yet."""
        self._held: dict[str, tuple[PodInfo, str]] = {}
        """Assumed pods whose volumes are being made."""

    # What the cluster tells

    def pod_changed(self, old: Object | None, new: Object | None) -> None:
        pod = new if new is not None else old
        assert pod is not None
        uid = str(pod["metadata"]["uid"])
        if new is not None and takes_room(new):
            self._is_placed(uid, old, new)
        elif new is not None and waits(new):
            self._is_waiting(uid, old, new)
        else:
            self._is_gone(uid)

    def node_changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self.state.drop_node(str(old["metadata"]["name"]))
            self.pending.wake(lambda info: _is_social(info) or bool(info.nominated))
        elif old is None or _offer(old) != _offer(new):
            self.state.set_node(new)
            self.pending.wake()

    def namespace_changed(self, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        assert obj is not None
        labels = None if new is None else new["metadata"].get("labels") or {}
        if self.state.set_namespace(str(obj["metadata"]["name"]), labels):
            self.pending.wake(_is_social)

    def volumes_changed(self, old: Object | None, new: Object | None) -> None:
        for info, _ in list(self._held.values()):
            self.give_up(info, comes_back=True)
        self.pending.wake(lambda info: bool(info.claims))

    # What the scheduler does

    def assume(self, info: PodInfo, node: str) -> None:
        """The pod is as good as there; the cluster will say so."""
        self.pending.remove(info.uid)
        self.state.forget_nomination(info.uid)
        self._assumed.add(info.uid)
        self.state.place(info, node)

    def hold(self, info: PodInfo, node: str) -> None:
        """It keeps its place until its volumes are there, and is then tried again."""
        self._held[info.uid] = (info, node)

    def give_up(self, info: PodInfo, *, comes_back: bool) -> None:
        """It is not there after all; where it does not come back, the cluster says why."""
        self._held.pop(info.uid, None)
        if info.uid in self._assumed:
            self._assumed.discard(info.uid)
            self.state.take_away(info.uid)
            if comes_back:
                self.pending.put(info)
            self.pending.wake()

    def wait_for_room(self, info: PodInfo, node: str) -> None:
        """Others leave that node for it; the first that is gone wakes it."""
        self.state.nominate(info, node)
        self.pending.remove(info.uid)
        info.nominate(node)
        self.pending.put(info, is_news=False)

    def lower_nominated(self, info: PodInfo, node: str) -> list[PodInfo]:
        """Less important pods that wait for the same node: they must look for another."""
        waiting = self.state.nominated.get(node, {}).values()
        return [other for other in waiting if other.priority < info.priority]

    def _is_placed(self, uid: str, old: Object | None, new: Object) -> None:
        node = str(new["spec"]["nodeName"])
        is_known = self.state.home_of(uid) == node
        self.pending.remove(uid)
        self.state.forget_nomination(uid)
        self._assumed.discard(uid)
        self._held.pop(uid, None)
        if is_known and old is not None and _identity(old) == _identity(new):
            self.state.nodes[node].pods[uid].object = new
            return
        self.state.place(PodInfo(new), node)
        self.pending.wake(_is_social)

    def _is_waiting(self, uid: str, old: Object | None, new: Object) -> None:
        if uid in self._assumed:
            return
        is_news = old is None or not waits(old) or _identity(old) != _identity(new)
        info = PodInfo(new)
        self.pending.put(info, is_news=is_news)
        if info.nominated:
            self.state.nominate(info, info.nominated)
        elif old is not None and (old.get("status") or {}).get("nominatedNodeName"):
            self.state.forget_nomination(uid)
            self.pending.put(info)

    def _is_gone(self, uid: str) -> None:
        self._assumed.discard(uid)
        self._held.pop(uid, None)
        self.pending.remove(uid)
        self.state.forget_nomination(uid)
        if self.state.take_away(uid) is not None:
            self.pending.wake()


def _is_social(info: PodInfo) -> bool:
    """Whether other pods decide where it may run."""
    return info.has_pod_affinity or bool(info.spec.get("topologySpreadConstraints"))


def _identity(pod: Object) -> tuple[object, ...]:
    """What placement depends on and what may change in a pod that exists."""
    metadata = pod["metadata"]
    return (
        metadata.get("generation"),
        metadata.get("labels"),
        metadata.get("deletionTimestamp"),
        pod["spec"].get("nodeName"),
    )


def _offer(node: Object) -> tuple[object, ...]:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return (
        node["metadata"].get("labels"),
        spec.get("taints"),
        spec.get("unschedulable"),
        status.get("allocatable") or status.get("capacity"),
    )
