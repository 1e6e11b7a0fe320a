"""Whose an object on a member is: the owner references of AppliedWorks, and who may take over."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import text

Json = dict[str, Any]

APPLIED_WORK_KIND = "AppliedWork"
GROUP = "placement.kubernetes-fleet.io"
TAKING_OVER = "failed to take over a pre-existing object"
OWNED_BY_OTHERS = (
    f"{TAKING_OVER}: the object is already owned by some other sources(s) and co-ownership is"
    " disallowed (existingOwnerRefs: %s)"
)
OWNED_BY_PLACEMENT = (
    f"{TAKING_OVER}: the object is already owned by another Fleet AppliedWork object"
)
DIFFERS = (
    "cannot take over object: configuration differences are found between the manifest object and"
    " the corresponding object in the member cluster"
)
CO_OWNED = "object is co-owned by multiple objects but co-ownership has been disallowed"


@dataclass(frozen=True, slots=True)
class TakeOver:
    """How a take-over would leave the owners, or why it may not be."""

    owners: tuple[Json, ...] = ()
    error: str = ""


def reference(applied_work: Json) -> Json:
    """What every object of that AppliedWork carries."""
    metadata = applied_work["metadata"]
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": APPLIED_WORK_KIND,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": True,
    }


def owners_of(obj: Json) -> list[Json]:
    return list((obj.get("metadata") or {}).get("ownerReferences") or ())


def is_owned_by(obj: Json, owner: Json) -> bool:
    return any(each.get("uid") == owner["uid"] for each in owners_of(obj))


def is_applied_work(owner: Json) -> bool:
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    return group == GROUP and owner.get("kind") == APPLIED_WORK_KIND


def take_over(
    obj: Json,
    owner: Json,
    is_current: Callable[[Json], bool],
    *,
    allows_co_ownership: bool,
    shows_values: bool,
) -> TakeOver:
    """`is_current`: whether there is a Work behind the owner, which is an AppliedWork.

    `shows_values`: whether owners are printed with what they say, or as Go prints pointers.
    """
    owners = [each for each in owners_of(obj) if not is_applied_work(each) or is_current(each)]
    if owners and not allows_co_ownership:
        shown = _shown(owners) if shows_values else text.owner_references(owners)
        return TakeOver(error=OWNED_BY_OTHERS % shown)
    if any(is_applied_work(each) for each in owners):
        return TakeOver(error=OWNED_BY_PLACEMENT)
    return TakeOver(owners=(*owners, owner))


def co_ownership_error(obj: Json, *, allows_co_ownership: bool) -> str:
    """Asked again when an object is written."""
    return CO_OWNED if len(owners_of(obj)) > 1 and not allows_co_ownership else ""


def without(obj: Json, owner: Json) -> list[Json]:
    """The owners that are left once this one lets go."""
    return [each for each in owners_of(obj) if each.get("uid") != owner["uid"]]


def unblocked(obj: Json, owner: Json) -> list[Json] | None:
    """The owners, with this one no longer waiting for the object; None where it does not wait."""
    owners = owners_of(obj)
    changed = [
        {**each, "blockOwnerDeletion": False} if each.get("uid") == owner["uid"] else each
        for each in owners
    ]
    waits = any(each.get("blockOwnerDeletion") for each in owners if each["uid"] == owner["uid"])
    return changed if waits else None


def _shown(owners: Iterable[Json]) -> str:
    return f"[{' '.join(_owner(each) for each in owners)}]"


def _owner(one: Json) -> str:
    names = {
        "APIVersion": one.get("apiVersion", ""),
        "Kind": one.get("kind", ""),
        "Name": one.get("name", ""),
        "UID": one.get("uid", ""),
        "Controller": text.value(one.get("controller")),
        "BlockOwnerDeletion": text.value(one.get("blockOwnerDeletion")),
    }
    return f"{{{' '.join(f'{name}:{shown}' for name, shown in names.items())}}}"
