"""Conditions of plain objects: found, renewed at the end of the list, or settled in their place."""

from collections.abc import Iterable, Sequence

from fleetqueue.kube.resources import Object


def find(conditions: Iterable[Object] | None, type: str) -> Object | None:
    return next((each for each in conditions or () if each.get("type") == type), None)


def is_true(conditions: Iterable[Object] | None, type: str) -> bool:
    found = find(conditions, type)
    return found is not None and found.get("status") == "True"


def without(conditions: Iterable[Object] | None, type: str) -> list[Object]:
    return [each for each in conditions or () if each.get("type") != type]


def renewed(conditions: Sequence[Object] | None, new: Object) -> list[Object]:
    """As the kinds of apps/v1 do: the same status and reason stay as they are, message and all;
    another one goes to the end, with the old transition time where the status is the same.
    """
    old = find(conditions, new["type"])
    if old is not None and old.get("status") == new["status"]:
        if old.get("reason") == new.get("reason"):
            return list(conditions or ())
        if "lastTransitionTime" in old:
            new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return [*without(conditions, new["type"]), new]


def settled(conditions: Sequence[Object] | None, new: Object) -> list[Object]:
    """As `metav1.Condition` is kept: in its place, the time moves with the status alone."""
    made = []
    for each in conditions or ():
        if each.get("type") == new["type"]:
            if each.get("status") == new["status"] and each.get("lastTransitionTime"):
                new = {**new, "lastTransitionTime": each["lastTransitionTime"]}
            made.append(new)
        else:
            made.append(each)
    return made if find(conditions, new["type"]) is not None else [*made, new]
