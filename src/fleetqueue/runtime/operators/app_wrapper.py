"""AppWrappers: any objects as one job, which is deployed, watched over, retried and taken down.

A wrapper goes from phase to phase, one at a look:

    "" → Suspended → Resuming → Running → Succeeded
                         ↑         ├→ Resetting → Resuming
                         │         └→ Failed
                     Suspended ← Suspending
"""

from collections.abc import Iterable
from functools import partial

from fleetqueue.api.meta import Key
from fleetqueue.kube.errors import Invalid, KubeError, UnknownKind
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, by_name
from fleetqueue.kube.plan import Create, Look, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import APP_WRAPPER, POD
from fleetqueue.runtime.operators.app_wrapper_components import LABEL, stub_of
from fleetqueue.runtime.operators.app_wrapper_phases import (
    PHASES,
    give_up_creation,
    next_component,
    terminate,
)
from fleetqueue.runtime.operators.app_wrapper_settings import Patience, Settings
from fleetqueue.runtime.operators.app_wrapper_sight import Sight
from fleetqueue.runtime.operators.app_wrapper_status import DEPLOYED, Draft
from fleetqueue.runtime.operators.app_wrapper_webhook import WEBHOOK

__all__ = ["OPERATOR", "WEBHOOK", "app_wrapper_operator", "decide"]

CONTROLLER_NAME = "workload.codeflare.dev/appwrapper-controller"
POLLED = ("Resuming", "Running")
"""Phases in which it is looked at every so often: of its components, only pods are watched."""


def decide(settings: Settings, look: Look) -> Plan:
    sight = _sight(settings, look)
    if is_deleting(look.parent):
        return terminate(sight)
    act = PHASES.get(sight.draft.phase)
    if act is not None:
        act(sight)
        if sight.draft.phase in POLLED:
            sight.plan.look_again(sight.patience.poll_seconds)
        sight.plan.add(Status(sight.draft.status), *sight.draft.notes)
        # A creation may be refused, and then nothing after it is done.
        sight.plan.steps.sort(key=lambda step: isinstance(step, Create))
    return sight.plan


def created(settings: Settings, look: Look, made: Object) -> Plan:
    """A component is there, and has a name now."""
    draft = _sight(settings, look).draft
    index = next_component(draft)
    assert index is not None
    draft.mark(index, made, "True", "ComponentCreatedSuccessfully")
    return Plan([Status(draft.status)])


def refused(settings: Settings, look: Look, step: Step, error: KubeError) -> Plan:
    """A component cannot be made: never, or not yet."""
    sight = _sight(settings, look)
    index = next_component(sight.draft)
    if not isinstance(step, Create) or index is None:
        return Plan()
    sight.draft.mark(index, step.obj, "False", "ComponentCreationErrored")
    is_fatal = isinstance(error, Invalid | UnknownKind)
    deadline = sight.draft.since(DEPLOYED) + sight.patience.admission
    if is_fatal or look.now >= deadline:
        give_up_creation(sight, str(error), is_fatal=is_fatal)
    return Plan([Status(sight.draft.status), *sight.draft.notes])


def components_to_fetch(wrapper: Object) -> Iterable[Object]:
    """What the decision asks of the cluster: the components, while there may be any."""
    phase = (wrapper.get("status") or {}).get("phase") or ""
    if phase in ("", "Suspended"):
        return []
    stubs = (stub_of(wrapper, index) for index in range(len(wrapper["spec"]["components"])))
    return [stub for stub in stubs if stub is not None]


def _sight(settings: Settings, look: Look) -> Sight:
    patience = Patience(look.parent, settings)
    return Sight(look, patience, Draft(look.parent, look.now), Plan())


def _wrapper_of(pod: Object) -> list[Key]:
    name = (pod["metadata"].get("labels") or {}).get(LABEL)
    return [Key(str(pod["metadata"].get("namespace") or ""), str(name))] if name else []


def app_wrapper_operator(settings: Settings | None = None) -> Operator:
    chosen = settings or Settings()
    return Operator(
        "appwrappers",
        APP_WRAPPER,
        partial(decide, chosen),
        reads=(by_name(POD, _wrapper_of),),
        managed_by=("spec", "managedBy"),
        own_name=CONTROLLER_NAME,
        decides_deletion=True,
        created=partial(created, chosen),
        refused=partial(refused, chosen),
        fetches=components_to_fetch,
    )


OPERATOR = app_wrapper_operator()
