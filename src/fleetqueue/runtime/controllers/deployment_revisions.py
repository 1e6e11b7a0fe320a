"""The revisions of a Deployment: which ReplicaSet is the new one, and what their numbers are."""

from collections.abc import Sequence

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import templates
from fleetqueue.runtime.controllers.rollout_sizes import (
    DESIRED,
    MAX,
    oldest_first,
    size_annotations,
)
from fleetqueue.runtime.hashing import content_hash
from fleetqueue.runtime.kinds import REPLICA_SET

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
HISTORY_LENGTH_MAX = 2000
NAME_LENGTH_MAX = 253
_NOT_COPIED = {
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
    ROLLBACK_TO,
}


def find_new(deployment: Object, sets: Sequence[Object]) -> Object | None:
    """The oldest ReplicaSet with the template that the Deployment has now."""
    template = deployment["spec"]["template"]
    for each in oldest_first(sets):
        if templates.same(each["spec"]["template"], template, but_label=HASH_LABEL):
            return each
    return None


def revision(obj: Object) -> int | None:
    """The number it bears, 0 where none; None where it is no number."""
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "")
    try:
        return int(text or "0")
    except ValueError:
        return None


def newest_revision(sets: Sequence[Object]) -> int:
    return max([0, *(revision(each) or 0 for each in sets)])


def last_revision(sets: Sequence[Object]) -> int:
    """The second highest; 0 where there is none to go back to."""
    numbers = sorted({revision(each) or 0 for each in sets}, reverse=True)
    return numbers[1] if len(numbers) > 1 else 0


def by_revision(sets: Sequence[Object]) -> list[Object]:
    return sorted(oldest_first(sets), key=lambda each: revision(each) or 0)


def annotations_of_new(deployment: Object, new: Object, number: int) -> dict[str, str]:
    """What the new ReplicaSet's annotations should be: the Deployment's, and its own number."""
    made = dict(new["metadata"].get("annotations") or {})
    made.update(copied(deployment))
    known = revision(new)
    if known is None or known >= number:
        return made
    if REVISION in made:
        _remember(made, made[REVISION])
    made[REVISION] = str(number)
    return made


def copied(obj: Object) -> dict[str, str]:
    """The annotations that Deployment and ReplicaSet share."""
    found = obj["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if key not in _NOT_COPIED}


def kept(deployment: Object) -> dict[str, str]:
    """The annotations that a rollback leaves alone."""
    found = deployment["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if key in _NOT_COPIED}


def new_replica_set(deployment: Object, number: int, replicas: int, collisions: int) -> Object:
    spec, metadata = deployment["spec"], deployment["metadata"]
    hashed = content_hash(spec["template"], collisions)
    template = spec["template"]
    ours = template.get("metadata") or {}
    labels = {**(ours.get("labels") or {}), HASH_LABEL: hashed}
    matched = {**(spec["selector"].get("matchLabels") or {}), HASH_LABEL: hashed}
    name = f"{metadata['name'][: NAME_LENGTH_MAX - 1 - len(hashed)]}-{hashed}"
    annotations = {**copied(deployment), REVISION: str(number), **size_annotations(deployment)}
    return child(
        REPLICA_SET,
        deployment,
        {"name": name, "labels": labels, "annotations": annotations},
        spec={
            "replicas": replicas,
            "minReadySeconds": spec.get("minReadySeconds") or 0,
            "selector": {**spec["selector"], "matchLabels": matched},
            "template": {**template, "metadata": {**ours, "labels": labels}},
        },
    )


def _remember(annotations: dict[str, str], number: str) -> None:
    """A ReplicaSet that is used again keeps the numbers it had, the oldest dropped for room."""
    numbers = [each for each in annotations.get(HISTORY, "").split(",") if each]
    numbers.append(number)
    while len(numbers) > 1 and len(",".join(numbers)) > HISTORY_LENGTH_MAX:
        numbers.pop(0)
    annotations[HISTORY] = ",".join(numbers)
