"""The volume claims of a StatefulSet's pods, and whose they are: what removes them, and when."""

from collections.abc import Iterator

from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Look, Note, Patch, Step, owner_reference
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import stateful_pods as pods
from fleetqueue.runtime.kinds import CLAIM

_CONFLICT = (
    "PersistentVolumeClaim {} has a conflicting OwnerReference that acts as a manging controller, "
    "the retention policy is ignored for this claim"
)


def missing(look: Look, number: int) -> list[Step]:
    """Creates the claims of one pod that are not there."""
    return [
        Create(new_claim(look.parent, template, number))
        for template, found in _claims(look, number)
        if found is None
    ]


def new_claim(parent: Object, template: Object, number: int) -> Object:
    given = template.get("metadata") or {}
    matched = parent["spec"]["selector"].get("matchLabels") or {}
    metadata = {
        **{key: value for key, value in given.items() if key in ("annotations", "finalizers")},
        "name": pods.claim_name(parent, template, number),
        "namespace": parent["metadata"].get("namespace"),
        "labels": {**(given.get("labels") or {}), **matched},
    }
    if _deletes(parent, "whenDeleted"):
        metadata["ownerReferences"] = [owner_reference(parent)]
    return {
        "apiVersion": CLAIM.api_version,
        "kind": CLAIM.kind,
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }


def is_stale(look: Look, number: int) -> bool:
    """A claim still belongs to the pod before, and will go with it: not the time for a new one."""
    if not _deletes(look.parent, "whenScaled"):
        return False
    name = pods.pod_name(look.parent, number)
    return any(
        _refers(reference, "v1", "Pod", name)
        for _, found in _claims(look, number)
        if found is not None
        for reference in found["metadata"].get("ownerReferences") or ()
    )


def going(look: Look, number: int) -> list[str]:
    """The names of claims of one pod that are being deleted."""
    found = [each for _, each in _claims(look, number) if each is not None]
    return [each["metadata"]["name"] for each in found if is_deleting(each)]


def retained(look: Look, pod: Object) -> list[Step]:
    """Brings the owners of a pod's claims in line with the retention policy."""
    steps: list[Step] = []
    for _, found in _claims(look, pods.ordinal(pod)):
        if found is None:
            continue
        present = found["metadata"].get("ownerReferences") or []
        if _is_conflicting(look.parent, pod, present):
            message = _CONFLICT.format(found["metadata"]["name"])
            steps.append(Note("ConflictingController", message, "Warning"))
        wanted = owners(look.parent, pod, present)
        if wanted != present:
            steps.append(Patch(found, {"metadata": {"ownerReferences": wanted}}))
    return steps


def owners(parent: Object, pod: Object, present: list[Object]) -> list[Object]:
    """The owners that the claim should have: the set's or the pod's, by the policy."""
    ours = ((parent, "apps/v1", "StatefulSet"), (pod, "v1", "Pod"))
    if any(_is_stale(reference, *each) for reference in present for each in ours):
        return present
    others = [
        reference for reference in present if not any(_names(reference, *each) for each in ours)
    ]
    if _is_conflicting(parent, pod, present):
        return others
    is_scaled_down = not pods.is_in_range(parent, pods.ordinal(pod))
    with_set, with_pod = _deletes(parent, "whenDeleted"), _deletes(parent, "whenScaled")
    if with_pod and is_scaled_down:
        return [*others, owner_reference(pod)]
    if with_set:
        return [*others, owner_reference(parent)]
    return others


def _claims(look: Look, number: int) -> Iterator[tuple[Object, Object | None]]:
    for template in look.parent["spec"].get("volumeClaimTemplates") or ():
        name = pods.claim_name(look.parent, template, number)
        yield template, look.find(CLAIM, name)


def _deletes(parent: Object, when: str) -> bool:
    policy = parent["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get(when) == "Delete"


def _is_conflicting(parent: Object, pod: Object, present: list[Object]) -> bool:
    if not (_deletes(parent, "whenDeleted") or _deletes(parent, "whenScaled")):
        return False
    ours = ((parent, "apps/v1", "StatefulSet"), (pod, "v1", "Pod"))
    return any(
        reference.get("controller") and not any(_names(reference, *each) for each in ours)
        for reference in present
    )


def _names(reference: Object, owner: Object, api_version: str, kind: str) -> bool:
    return _refers(reference, api_version, kind, owner["metadata"]["name"])


def _is_stale(reference: Object, owner: Object, api_version: str, kind: str) -> bool:
    is_namesake = _names(reference, owner, api_version, kind)
    return is_namesake and reference.get("uid") != owner["metadata"].get("uid")


def _refers(reference: Object, api_version: str, kind: str, name: str) -> bool:
    told = reference.get("apiVersion"), reference.get("kind"), reference.get("name")
    return told == (api_version, kind, name)
