"""One look at an AppWrapper with all its phases need, and how its components are taken down."""

from dataclasses import dataclass
from datetime import datetime

from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Delete, Look, Plan, title
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.operators.app_wrapper_components import LABEL, stub_of
from fleetqueue.runtime.operators.app_wrapper_settings import Patience
from fleetqueue.runtime.operators.app_wrapper_status import Draft


@dataclass(slots=True)
class Sight:
    """One look at a wrapper, and what comes of it."""

    look: Look
    patience: Patience
    draft: Draft
    plan: Plan

    @property
    def wrapper(self) -> Object:
        return self.look.parent

    @property
    def is_suspended(self) -> bool:
        return bool(self.wrapper["spec"].get("suspend"))

    def pods(self) -> list[Object]:
        return self.look.selected(POD, {"matchLabels": {LABEL: self.look.name}})

    def component(self, index: int) -> Object | None:
        """The object of a component, if it is there."""
        stub = stub_of(self.wrapper, index)
        found: Object | None = self.look.observed.get(title(stub)) if stub else None
        return found

    def wait_until(self, moment: datetime) -> bool:
        """Whether that is still to come; if so, the wrapper is looked at again then."""
        left = (moment - self.look.now).total_seconds()
        if left > 0:
            self.plan.look_again(left)
        return left > 0


def take_down(sight: Sight) -> bool:
    """Whether all components and pods are gone; those that stay too long are forced to go."""
    draft, plan = sight.draft, sight.plan
    if not draft.is_true("DeletingResources"):
        draft.set("DeletingResources", True, "DeletionInitiated")
    left = _delete_components(sight)
    pods = sight.pods()
    started = draft.since("DeletingResources")
    is_late = sight.look.now > started + sight.patience.forceful_deletion
    if not left and not pods:
        draft.clear("DeletingResources", "DeletionComplete")
        return True
    if is_late:
        plan.add(*(Delete(each, grace_seconds=0) for each in pods or left))
    plan.look_again(sight.patience.poll_seconds)
    return False


def _delete_components(sight: Sight) -> list[Object]:
    """Those that are still there, which are told to go."""
    left = []
    for index in range(len(sight.draft.components)):
        if sight.draft.component_is(index) not in ("True", "Unknown"):
            continue
        found = sight.component(index)
        if found is not None and controller_uid(found) == sight.look.uid:
            left.append(found)
            if not is_deleting(found):
                sight.plan.add(Delete(found))
        else:
            template = sight.wrapper["spec"]["components"][index]["template"]
            sight.draft.mark(index, {**template, "metadata": {}}, "False", "CompononetDeleted")
    return left
