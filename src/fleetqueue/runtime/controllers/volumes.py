"""PersistentVolumes: free, bound or released, and gone with their claim where that is asked for."""

from collections.abc import Iterable

from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Delete, Look, Patch, Plan, Status
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.runtime.controllers.volume_matching import is_bound_to
from fleetqueue.runtime.kinds import CLAIM, VOLUME
from fleetqueue.runtime.ownership import without_finalizer

PROTECTION = "kubernetes.io/pv-protection"


def decide(look: Look) -> Plan:
    volume = look.parent
    phase, is_over = judge(look)
    plan = Plan([Status({**(volume.get("status") or {}), "phase": phase})])
    if is_deleting(volume):
        finalizers = volume["metadata"].get("finalizers") or []
        if phase == "Bound" or PROTECTION not in finalizers:
            return plan
        return Plan([Patch(volume, without_finalizer(PROTECTION), type=PatchType.STRATEGIC)])
    if is_over and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        plan.add(Delete(volume))
    return plan


def judge(look: Look) -> tuple[str, bool]:
    """Its phase, and whether its claim is gone for good."""
    volume = look.parent
    reference = volume["spec"].get("claimRef")
    if not reference or not reference.get("uid"):
        return "Available", False
    claim = look.find(CLAIM, reference["name"], reference.get("namespace") or "")
    if claim is None or not is_bound_to(volume, claim):
        return "Released", True
    is_mutual = claim["spec"].get("volumeName") == look.name
    known = str((volume.get("status") or {}).get("phase") or "Pending")
    return ("Bound" if is_mutual else known), False


def _volumes_of_claim(source: Source, claim: Object) -> Iterable[Key]:
    name = claim["spec"].get("volumeName")
    return [Key("", name)] if name else []


OPERATOR = Operator(
    "persistentvolume-controller",
    VOLUME,
    decide,
    follows=(Follow(CLAIM, _volumes_of_claim),),
    manager="kube-controller-manager",
    decides_deletion=True,
)
