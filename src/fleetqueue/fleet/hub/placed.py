"""Knows what placements of this hub select, for those who ask while an object is written."""

from fleetqueue.api.meta import Key
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import selection
from fleetqueue.fleet.decide.interests import Interests
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import NAMESPACES, Object, Resource, key_of


class Placed:
    """Made before the manager of the cluster runs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._scopes = [_listening(cluster, scope.placement) for scope in kinds.SCOPES]
        cluster.informer(NAMESPACES)

    def selects(self, kind: Resource, obj: Object) -> bool:
        """Whether a placement takes it to members; it may be about to be made."""
        metadata = {"name": "", **obj["metadata"]}
        home = metadata.get("namespace")
        namespace = self._cluster.cached(NAMESPACES, home) if home else None
        asked = {"metadata": metadata}
        return any(each.of(kind.group, kind.kind, asked, namespace) for each in self._scopes)


def _listening(cluster: Cluster, kind: Resource) -> Interests:
    interests = Interests()

    def changed(old: Object | None, new: Object | None) -> None:
        key: Key = key_of(new or old or {})
        if new is not None and selection.is_placing(new):
            interests.put(key, new["spec"].get("resourceSelectors") or ())
        else:
            interests.drop(key)

    cluster.informer(kind).listen(changed)
    return interests
