"""What an AppWrapper does in each of its phases, and when it goes on to the next."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from fleetqueue.api.owners import controller_uid
from fleetqueue.api.times import format_duration
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Note, Patch, Plan, Status
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.operators.app_wrapper_components import (
    Conflicting,
    Withheld,
    make_component,
)
from fleetqueue.runtime.operators.app_wrapper_pod_sets import BadPath
from fleetqueue.runtime.operators.app_wrapper_settings import PREFIX
from fleetqueue.runtime.operators.app_wrapper_sight import Sight, take_down
from fleetqueue.runtime.operators.app_wrapper_status import DEPLOYED, Draft, Pods, count

FINALIZER = "workload.codeflare.dev/finalizer"
_MAY_FAIL = ("batch/v1 Job", "kubeflow.org/v1 PyTorchJob", "jobset.x-k8s.io/v1alpha2 JobSet")
"""Components whose condition Failed says that nothing will get better by itself."""
_FAILED_RAY = {
    "ray.io/v1 RayJob": ("jobDeploymentStatus", "Failed"),
    "ray.io/v1 RayCluster": ("state", "failed"),
}
"""Where others say it, and how."""


def _begin(sight: Sight) -> None:
    sight.draft.know_components()
    sight.draft.move("Suspended")


def _wait(sight: Sight) -> None:
    if sight.is_suspended:
        return
    finalizers = sight.wrapper["metadata"].get("finalizers") or []
    if FINALIZER not in finalizers:
        patch = {"metadata": {"finalizers": [*finalizers, FINALIZER]}}
        sight.plan.add(Patch(sight.wrapper, patch))
    sight.draft.know_components()
    for type in ("QuotaReserved", DEPLOYED, "PodsReady", "Unhealthy"):
        is_true = type in ("QuotaReserved", DEPLOYED)
        sight.draft.set(type, is_true, "Resuming", "Suspend is false")
    sight.draft.move("Resuming")


def _resume(sight: Sight) -> None:
    """One component after the other; the wrapper is looked at again after each."""
    if _is_called_off(sight, "Resuming"):
        return
    index = next_component(sight.draft)
    if index is None:
        sight.draft.move("Running")
        return
    there = sight.component(index)
    if there is not None and controller_uid(there) != sight.look.uid:
        name = there["metadata"]["name"]
        why = f"resource {name} exists, but is not controlled by appwrapper"
        give_up_creation(sight, why, is_fatal=True)
    elif there is not None:
        sight.draft.mark(index, there, "True", "ComponentCreatedSuccessfully")
    else:
        _create(sight, index)


def _create(sight: Sight, index: int) -> None:
    pod_sets = sight.draft.components[index].get("podSets") or []
    try:
        made = make_component(sight.wrapper, index, pod_sets)
    except (Conflicting, Withheld, BadPath) as error:
        give_up_creation(sight, str(error), is_fatal=True)
        return
    if not sight.draft.component_is(index):
        sight.draft.mark(index, made, "Unknown", "ComponentCreationInitiated")
    sight.plan.add(Create(made))


def _run(sight: Sight) -> None:
    if _is_called_off(sight, "Running"):
        return
    draft = sight.draft
    pods = count(sight.pods(), sight.patience)
    trouble = _trouble(sight, pods)
    if trouble is not None:
        _bear(sight, pods, trouble)
    elif pods.succeeded >= draft.expected and not pods.pending + pods.running:
        text = f"{pods.succeeded} pods succeeded and no running, pending, or failed pods"
        draft.set("QuotaReserved", False, "Succeeded", text)
        draft.set(DEPLOYED, True, "Succeeded", text)
        draft.move("Succeeded")
    else:
        draft.clear("Unhealthy", "FoundNoFailedPods")
        _judge_readiness(sight, pods)


def _judge_readiness(sight: Sight, pods: Pods) -> None:
    draft, patience = sight.draft, sight.patience
    if pods.running + pods.succeeded >= draft.expected:
        text = f"{pods.running} pods running; {pods.succeeded} pods succeeded"
        draft.set("PodsReady", True, "SufficientPodsReady", text)
        return
    draft.set("PodsReady", False, "InsufficientPodsReady", str(pods))
    all_made = pods.pending + pods.running + pods.succeeded >= draft.expected
    grace = patience.warm_up if all_made else patience.admission
    if sight.wait_until(draft.since(DEPLOYED) + grace):
        return
    text = str(pods)
    draft.blame("InsufficientPodsReady", text, f"InsufficientPodsReady: {text}")
    draft.reset_or_fail(patience)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What ails a wrapper."""

    reason: str
    told: str
    """What the event says of it."""
    message: str = ""
    """The condition's."""


def _trouble(sight: Sight, pods: Pods) -> _Trouble | None:
    expected = len(sight.draft.components)
    found = [each for index in range(expected) if (each := sight.component(index)) is not None]
    deployed = sum(not is_deleting(each) for each in found)
    failed = sum(map(_has_failed, found))
    if deployed < expected:
        text = f"Only found {deployed} deployed components, but was expecting {expected}"
        return _Trouble("MissingComponent", text, text)
    if failed:
        text = f"Found {failed} failed components"
        return _Trouble("FailedComponent", text, text)
    if pods.failed:
        # No count in the condition: it may change while the grace period runs.
        return _Trouble("FoundFailedPods", f"{pods.failed} failed pods")
    return None


def _bear(sight: Sight, pods: Pods, trouble: _Trouble) -> None:
    """For a while, in which others may mend it; then there is another try, if any is left."""
    draft, patience = sight.draft, sight.patience
    draft.set("Unhealthy", True, trouble.reason, trouble.message)
    grace_ends_at = draft.since("Unhealthy") + patience.failure
    if not pods.is_terminal and sight.wait_until(grace_ends_at):
        return
    draft.notes.append(Note("Unhealthy", f"{trouble.reason}: {trouble.told}"))
    may_be_retried = pods.may_be_retried and not pods.is_terminal
    draft.reset_or_fail(patience, may_be_retried=may_be_retried)


def _suspend(sight: Sight) -> None:
    """Taken down whether it is to run again by now or not."""
    draft = sight.draft
    if draft.is_true(DEPLOYED):
        if not take_down(sight):
            return
        draft.set(DEPLOYED, False, "Suspended", "Suspend is true")
    draft.set("QuotaReserved", False, "Suspended", "Suspend is true")
    draft.clear("PodsReady", "Suspended")
    draft.clear("Unhealthy", "Suspended")
    draft.move("Suspended")


def _reset(sight: Sight) -> None:
    draft = sight.draft
    if _is_called_off(sight, "Resetting"):
        return
    draft.clear("PodsReady", "Resetting")
    if draft.is_true(DEPLOYED):
        if not take_down(sight):
            return
        draft.set(DEPLOYED, False, "Resetting", "Resources deleted for resetting AppWrapper")
    # A while for what went wrong to pass.
    if sight.wait_until(draft.since("Unhealthy") + sight.patience.retry_pause):
        return
    draft.set(DEPLOYED, True, "Resuming", "Reset complete; resuming")
    draft.move("Resuming")


def _fail(sight: Sight) -> None:
    """The components stay for a while if the user wants to look at them."""
    draft, delay = sight.draft, sight.patience.deletion_on_failure
    if delay > timedelta(0) and not sight.is_suspended and draft.is_true(DEPLOYED):
        note = f"{PREFIX}deletionOnFailureGracePeriodDuration"
        text = f"{note} has value {format_duration(delay)}"
        if not draft.is_true("DeletingResources"):
            draft.set("DeletingResources", False, "DeletionPaused", text)
            if sight.wait_until(draft.since("DeletingResources") + delay):
                return
    if draft.is_true(DEPLOYED):
        if not take_down(sight):
            return
        text = "Resources deleted for failed AppWrapper"
        if delay > timedelta(0) and sight.is_suspended:
            text = "Kueue forced resource deletion by suspending AppWrapper"
        draft.set(DEPLOYED, False, "Failed", text)
    draft.set("QuotaReserved", False, "Failed", "No resources deployed")


def _rest(sight: Sight) -> None:
    """Succeeded: the components are kept for some days."""
    draft, lifetime = sight.draft, sight.patience.success_lifetime
    if not draft.is_true(DEPLOYED) or sight.wait_until(draft.since(DEPLOYED) + lifetime):
        return
    if take_down(sight):
        text = f"Time to live after success of {format_duration(lifetime)} expired"
        draft.set(DEPLOYED, False, "Succeeded", text)


PHASES: dict[str, Callable[[Sight], None]] = {
    "": _begin,
    "Suspended": _wait,
    "Resuming": _resume,
    "Running": _run,
    "Suspending": _suspend,
    "Resetting": _reset,
    "Failed": _fail,
    "Succeeded": _rest,
}


def terminate(sight: Sight) -> Plan:
    finalizers = sight.wrapper["metadata"].get("finalizers") or []
    if FINALIZER not in finalizers:
        return sight.plan
    draft = sight.draft
    if draft.is_true(DEPLOYED):
        if not take_down(sight):
            draft.move("Terminating")
            sight.plan.add(Status(draft.status))
            return sight.plan
        draft.set(DEPLOYED, False, "Terminating", "Resources successfully deleted")
    if draft.is_true("QuotaReserved"):
        draft.set("QuotaReserved", False, "Terminating", "No resources deployed")
    left = [each for each in finalizers if each != FINALIZER]
    patch = {"metadata": {"finalizers": left or None}}
    sight.plan.add(Status(draft.status), Patch(sight.wrapper, patch))
    return sight.plan


def _is_called_off(sight: Sight, phase: str) -> bool:
    if not sight.is_suspended:
        return False
    text = f"Externally suspended while in the {phase} phase"
    sight.draft.notes.append(Note("Suspending", text))
    sight.draft.move("Suspending")
    return True


def give_up_creation(sight: Sight, error: str, *, is_fatal: bool) -> None:
    text = f"error creating components: {error}"
    sight.draft.blame("CreateFailed", text, f"CreateFailed: {text}")
    if is_fatal:
        sight.draft.move("Failed")
    else:
        sight.draft.reset_or_fail(sight.patience)


def next_component(draft: Draft) -> int | None:
    """The first that is not deployed."""
    places = range(len(draft.components))
    return next((index for index in places if draft.component_is(index) != "True"), None)


def _has_failed(component: Object) -> bool:
    kind = f"{component['apiVersion']} {component['kind']}"
    status = component.get("status") or {}
    if kind in _FAILED_RAY:
        name, value = _FAILED_RAY[kind]
        return bool(status.get(name) == value)
    if kind not in _MAY_FAIL:
        return False
    found = conditions.find(status.get("conditions"), "Failed")
    return found is not None and found.get("status") == "True"
