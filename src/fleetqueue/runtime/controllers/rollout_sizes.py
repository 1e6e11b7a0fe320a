"""How large the ReplicaSets of a Deployment may be: pure arithmetic of a roll-out."""

from collections.abc import Sequence

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.amounts import number, scaled

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"


def wanted(deployment: Object) -> int:
    return int(deployment["spec"].get("replicas", 1))


def size(replica_set: Object) -> int:
    return int(replica_set["spec"].get("replicas", 1))


def available(replica_set: Object) -> int:
    return number(replica_set, "status", "availableReplicas")


def is_rolling(deployment: Object) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate"


def surge_max(deployment: Object) -> int:
    return _fence_posts(deployment)[0] if is_rolling(deployment) else 0


def unavailable_max(deployment: Object) -> int:
    if not is_rolling(deployment) or not wanted(deployment):
        return 0
    return min(_fence_posts(deployment)[1], wanted(deployment))


def new_size(deployment: Object, others: Sequence[Object], size_now: int) -> int:
    """What the new ReplicaSet may grow to beside the others."""
    if not is_rolling(deployment):
        return wanted(deployment)
    room = wanted(deployment) + surge_max(deployment) - size_now - sum(map(size, others))
    if room <= 0:
        return size_now
    return size_now + min(room, wanted(deployment) - size_now)


def shrunk(deployment: Object, new: Object, old: Sequence[Object]) -> dict[str, int]:
    """The sizes of old ReplicaSets, by name, that this step of a roll-out allows.

    Sick replicas go first, since they serve nobody; healthy ones as availability allows.
    """
    sizes = {each["metadata"]["name"]: size(each) for each in old}
    ordered = oldest_first([each for each in old if size(each) > 0])
    floor = wanted(deployment) - unavailable_max(deployment)
    new_unavailable = size(new) - _sure(new)
    spare = sum(map(size, ordered)) + size(new) - floor - new_unavailable
    if spare <= 0 or not ordered:
        return sizes
    for each in ordered:
        gone = min(spare, size(each) - _sure(each))
        sizes[each["metadata"]["name"]] -= gone
        spare -= gone
    surplus = sum(map(_sure, [*ordered, new])) - floor
    for each in ordered:
        gone = min(sizes[each["metadata"]["name"]], max(surplus, 0))
        sizes[each["metadata"]["name"]] -= gone
        surplus -= gone
    return sizes


def proportional(deployment: Object, active: Sequence[Object]) -> dict[str, int]:
    """The sizes, by name, when a Deployment is resized in the middle of a roll-out."""
    allowed = wanted(deployment) + surge_max(deployment) if wanted(deployment) else 0
    change = allowed - sum(map(size, active))
    ordered = largest_first(active, newer_first=change > 0)
    sizes = {each["metadata"]["name"]: size(each) for each in ordered}
    left = change
    for each in ordered:
        if left == 0:
            break
        share = _share(deployment, each)
        share = min(share, left) if change > 0 else max(share, left)
        sizes[each["metadata"]["name"]] += share
        left -= share
    if ordered and change:
        first = ordered[0]["metadata"]["name"]
        sizes[first] = max(sizes[first] + left, 0)
    return sizes


def is_saturated(deployment: Object, new: Object | None) -> bool:
    """The new ReplicaSet carries the whole Deployment, and all of it is available."""
    if new is None:
        return False
    count = wanted(deployment)
    return size(new) == count == annotated(new, DESIRED) == available(new)


def annotated(replica_set: Object, key: str) -> int | None:
    """A count that was left as an annotation; None where there is none that can be read."""
    text = (replica_set["metadata"].get("annotations") or {}).get(key, "")
    if not (text.isascii() and text.isdecimal()) or int(text) >= 2**31:
        return None
    return int(text)


def size_annotations(deployment: Object) -> dict[str, str]:
    count = wanted(deployment)
    return {DESIRED: str(count), MAX: str(count + surge_max(deployment))}


def oldest_first(sets: Sequence[Object]) -> list[Object]:
    return sorted(sets, key=_age)


def largest_first(sets: Sequence[Object], *, newer_first: bool) -> list[Object]:
    ordered = sorted(sets, key=_age, reverse=newer_first)
    return sorted(ordered, key=size, reverse=True) if ordered else []


def _sure(replica_set: Object) -> int:
    """How many are available for sure: a status from before it was shrunk tells of more."""
    return min(available(replica_set), size(replica_set))


def _share(deployment: Object, replica_set: Object) -> int:
    """How much of the change falls to one ReplicaSet, by its part of the whole before it."""
    if not wanted(deployment):
        return -size(replica_set)
    before = annotated(replica_set, MAX) or number(deployment, "status", "replicas")
    if not before:
        return 0
    after = wanted(deployment) + surge_max(deployment)
    # Half is rounded up, which Python's round does not do.
    return (2 * size(replica_set) * after + before) // (2 * before) - size(replica_set)


def _fence_posts(deployment: Object) -> tuple[int, int]:
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge"), wanted(deployment), up=True)
    unavailable = scaled(rolling.get("maxUnavailable"), wanted(deployment), up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _age(replica_set: Object) -> tuple[str, str]:
    metadata = replica_set["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["name"]
