"""Decisions about AppWrappers, phase by phase."""

import pytest
from tests.support import app_wrappers, operators
from tests.support.app_wrappers import component, in_phase, job, pods, see, service, thing, wrapper
from tests.support.operators import created, deleted_names, events, patches, status

from fleetqueue.kube.errors import Conflict, Invalid
from fleetqueue.kube.frame import is_ours
from fleetqueue.kube.plan import Create, Delete, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import app_wrapper
from fleetqueue.runtime.operators.app_wrapper_settings import Patience, Settings

pytestmark = [pytest.mark.rule("jobs B.9"), pytest.mark.rule("jobs B.10")]

PREFIX = "workload.codeflare.dev.appwrapper/"
LABEL = "workload.codeflare.dev/appwrapper"
INDEX = "batch.kubernetes.io/job-completion-index"


def conditions(plan: Plan) -> dict[str, tuple[str, str, str]]:
    return {each[0]: each[1:] for each in operators.conditions(plan)}


def test_a_new_wrapper_learns_its_pod_sets_and_waits() -> None:
    told = status(see(wrapper(job(pods=3), service())))
    assert told == {
        "phase": "Suspended",
        "componentStatus": [
            {
                "name": "",
                "kind": "",
                "apiVersion": "",
                "podSets": [
                    {
                        "path": "template.spec.template",
                        "replicas": 3,
                        "annotations": {f"{PREFIX}tas-pod-index-label": INDEX},
                    }
                ],
            },
            {"name": "", "kind": "", "apiVersion": "", "podSets": []},
        ],
    }


def test_a_suspended_wrapper_does_nothing_until_it_is_resumed() -> None:
    parent = wrapper(status={"phase": "Suspended"}, suspend=True)
    plan = see(parent)
    assert (created(plan), patches(plan)) == ([], [])
    assert status(plan)["phase"] == "Suspended"
    plan = see(wrapper(status={"phase": "Suspended"}))
    assert patches(plan) == [
        ("wrap", {"metadata": {"finalizers": ["workload.codeflare.dev/finalizer"]}})
    ]
    assert status(plan)["phase"] == "Resuming"
    assert conditions(plan) == {
        "QuotaReserved": ("True", "Resuming", "Suspend is false"),
        "ResourcesDeployed": ("True", "Resuming", "Suspend is false"),
        "PodsReady": ("False", "Resuming", "Suspend is false"),
        "Unhealthy": ("False", "Resuming", "Suspend is false"),
    }


def test_a_wrapper_never_makes_what_grants_access() -> None:
    binding = thing("rbac.authorization.k8s.io/v1", "RoleBinding", "gotcha")
    plan = see(in_phase(wrapper(job(), binding), "Resuming", "True", ""))
    assert created(plan) == []
    assert status(plan)["phase"] == "Failed"
    assert conditions(plan)["Unhealthy"] == (
        "True",
        "CreateFailed",
        "error creating components: AppWrappers cannot create objects that grant access",
    )


def test_components_are_made_one_after_the_other() -> None:
    parent = in_phase(wrapper(job(), service()), "Resuming", "", "")
    plan = see(parent)
    (made,) = created(plan)
    assert (made["kind"], made["metadata"]["labels"]) == ("Job", {LABEL: "wrap"})
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    assert made["spec"]["template"]["metadata"]["labels"] == {LABEL: "wrap"}
    (initiated,) = status(plan)["componentStatus"][0]["conditions"]
    assert (initiated["status"], initiated["reason"]) == ("Unknown", "ComponentCreationInitiated")
    after = app_wrapper.created(Settings(), app_wrappers.looked(parent), made)
    (deployed,) = status(after)["componentStatus"][0]["conditions"]
    assert (deployed["status"], deployed["reason"]) == ("True", "ComponentCreatedSuccessfully")
    second = see(in_phase(wrapper(job(), service()), "Resuming", "True", ""))
    assert [obj["kind"] for obj in created(second)] == ["Service"]
    done = see(in_phase(wrapper(job(), service()), "Resuming"))
    assert (created(done), status(done)["phase"]) == ([], "Running")


def test_a_generated_name_is_remembered() -> None:
    given = job()
    given["metadata"] = {"generateName": "work-"}
    parent = in_phase(wrapper(given), "Resuming", "")
    (made,) = created(see(parent))
    named = {**made, "metadata": {**made["metadata"], "name": "work-x7"}}
    after = app_wrapper.created(Settings(), app_wrappers.looked(parent), named)
    assert status(after)["componentStatus"][0]["name"] == "work-x7"


def test_a_component_that_is_there_already_is_taken_if_it_is_ours() -> None:
    parent = in_phase(wrapper(), "Resuming", "Unknown")
    plan = see(parent, component(parent))
    assert created(plan) == []
    assert status(plan)["componentStatus"][0]["conditions"][0]["status"] == "True"
    stranger = component(parent)
    stranger["metadata"]["ownerReferences"] = []
    plan = see(parent, stranger)
    assert status(plan)["phase"] == "Failed"
    text = "error creating components: resource work exists, but is not controlled by appwrapper"
    assert conditions(plan)["Unhealthy"] == ("True", "CreateFailed", text)
    assert events(plan) == [("Normal", "Unhealthy", f"CreateFailed: {text}")]


def test_what_admission_says_goes_into_the_pods() -> None:
    info = {
        "annotations": {"a": "1"},
        "labels": {"queue": "q"},
        "nodeSelector": {"pool": "x"},
        "tolerations": [{"key": "t"}],
        "schedulingGates": [{"name": "gate"}, {"name": "mine"}],
    }
    given = job()
    spec = given["spec"]["template"]["spec"]
    spec |= {"schedulingGates": [{"name": "mine"}], "nodeSelector": {"zone": "z"}}
    parent = wrapper(components=[{"template": given, "podSetInfos": [info]}])
    (made,) = created(see(in_phase(parent, "Resuming", "")))
    template = made["spec"]["template"]
    assert template["metadata"] == {
        "annotations": {"a": "1"},
        "labels": {LABEL: "wrap", "queue": "q"},
    }
    assert template["spec"]["nodeSelector"] == {"zone": "z", "pool": "x"}
    assert template["spec"]["tolerations"] == [{"key": "t"}]
    assert template["spec"]["schedulingGates"] == [{"name": "mine"}, {"name": "gate"}]


def test_a_contradiction_between_admission_and_component_is_fatal() -> None:
    given = job()
    given["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "b"}
    component = {"template": given, "podSetInfos": [{"nodeSelector": {"pool": "a"}}]}
    plan = see(in_phase(wrapper(components=[component]), "Resuming", ""))
    assert status(plan)["phase"] == "Failed"
    why = "conflict for key=pool, value1=b, value2=a"
    assert conditions(plan)["Unhealthy"][2] == (
        f"error creating components: conflict updating nodeSelector: {why}"
    )


# fmt: off
REFUSALS = {  # error, seconds since, phase, retries
    "be patient":                (Conflict, 10, "Resuming", None),
    "patience is over":          (Conflict, 61, "Resetting", 1),
    "it will never be accepted": (Invalid, 1, "Failed", None),
}
# fmt: on


@pytest.mark.parametrize(("error", "since", "phase", "retries"), REFUSALS.values(), ids=REFUSALS)
def test_a_refused_component(
    error: type[Conflict], since: int, phase: str, retries: int | None
) -> None:
    parent = in_phase(wrapper(), "Resuming", "", ResourcesDeployed="True 0")
    look = app_wrappers.looked(parent, after=since)
    step = Create(app_wrappers.job())
    plan = app_wrapper.refused(Settings(), look, step, error({"message": "no", "code": 409}))
    told = status(plan)
    assert (told["phase"], told.get("resettingCount")) == (phase, retries)
    (condition,) = told["componentStatus"][0]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "ComponentCreationErrored")
    if phase != "Resuming":
        text = "error creating components: no"
        assert conditions(plan)["Unhealthy"] == ("True", "CreateFailed", text)


def run(*phases: str, of: Object | None = None, after: float = 0.0, **more: str) -> Plan:
    parent = in_phase(of or wrapper(job(pods=2)), "Running", **more)
    return see(parent, component(parent), pods=pods(*phases), after=after)


def test_pods_are_counted() -> None:
    plan = run("Running", "Pending")
    assert conditions(plan)["PodsReady"] == (
        "False",
        "InsufficientPodsReady",
        "1 pods pending; 1 pods running; 0 pods succeeded",
    )
    assert plan.after == 5
    plan = run("Running", "Succeeded")
    assert conditions(plan)["PodsReady"] == (
        "True",
        "SufficientPodsReady",
        "1 pods running; 1 pods succeeded",
    )
    assert plan.after == 5


@pytest.mark.rule("jobs B.11")
def test_a_wrapper_is_looked_at_every_five_seconds_while_it_is_deployed() -> None:
    assert see(in_phase(wrapper(job(), service()), "Resuming", "", "")).after == 5
    assert run("Running", "Running").after == 5
    assert run("Failed 1", Unhealthy="True 0").after == 5
    assert see(in_phase(wrapper(), "Suspended")).after == 5
    assert see(in_phase(wrapper(suspend=True), "Suspended")).after is None


def test_a_wrapper_succeeds_when_all_its_pods_have() -> None:
    plan = run("Succeeded", "Succeeded")
    assert status(plan)["phase"] == "Succeeded"
    text = "2 pods succeeded and no running, pending, or failed pods"
    assert conditions(plan)["QuotaReserved"] == ("False", "Succeeded", text)
    assert conditions(plan)["ResourcesDeployed"] == ("True", "Succeeded", text)
    assert status(run("Succeeded", "Succeeded", "Running"))["phase"] == "Running"


# fmt: off
WARM_UPS = {  # pods, seconds since deployment, annotations, phase
    "pods are missing, for a while":       (["Pending"], 59, {}, "Running"),
    "pods are missing for too long":       (["Pending"], 61, {}, "Resetting"),
    "all there, warming up":               (["Pending", "Pending"], 299, {}, "Running"),
    "all there, too slow":                 (["Pending", "Pending"], 301, {}, "Resetting"),
    "the user wants less patience":        (["Pending", "Pending"], 31,
                                            {"warmupGracePeriodDuration": "30s"}, "Resetting"),
    "the user cannot be read":             (["Pending", "Pending"], 31,
                                            {"warmupGracePeriodDuration": "soon"}, "Running"),
    "no more tries":                       (["Pending"], 61, {"retryLimit": "0"}, "Failed"),
}
# fmt: on


@pytest.mark.parametrize(("phases", "since", "notes", "phase"), WARM_UPS.values(), ids=WARM_UPS)
def test_pods_that_do_not_get_ready(
    phases: list[str], since: int, notes: dict[str, str], phase: str
) -> None:
    annotations = {f"{PREFIX}{name}": text for name, text in notes.items()}
    plan = run(*phases, of=wrapper(job(pods=2), annotations=annotations), after=since)
    assert status(plan)["phase"] == phase
    if phase != "Running":
        assert conditions(plan)["Unhealthy"][:2] == ("True", "InsufficientPodsReady")


# fmt: off
FAILURES = {  # pods, seconds since it was found, annotations, phase
    "the controller may mend it":    (["Failed 1"], 59, {}, "Running"),
    "nobody mends it":               (["Failed 1"], 61, {}, "Resetting"),
    "no retry helps that":           (["Failed 9"], 0, {"terminalExitCodes": "3,9"}, "Failed"),
    "this may be mended":            (["Failed 4"], 59, {"terminalExitCodes": "3,9"}, "Running"),
    "only some codes are retried":   (["Failed 9"], 61, {"retryableExitCodes": "3"}, "Failed"),
    "others may be mended too":      (["Failed 9"], 59, {"retryableExitCodes": "3"}, "Running"),
    "this one is":                   (["Failed 3"], 61, {"retryableExitCodes": "3"}, "Resetting"),
    "a short grace":                 (["Failed 1"], 11, {"failureGracePeriodDuration": "10s"},
                                      "Resetting"),
}
# fmt: on


@pytest.mark.parametrize(("phases", "since", "notes", "phase"), FAILURES.values(), ids=FAILURES)
def test_failed_pods(phases: list[str], since: int, notes: dict[str, str], phase: str) -> None:
    annotations = {f"{PREFIX}{name}": text for name, text in notes.items()}
    of = wrapper(job(pods=2), annotations=annotations)
    plan = run(*phases, of=of, after=since, Unhealthy="True 0")
    assert status(plan)["phase"] == phase
    assert conditions(plan)["Unhealthy"] == ("True", "FoundFailedPods", "")
    if phase == "Running":
        assert plan.after == 1
    else:
        assert events(plan) == [("Normal", "Unhealthy", "FoundFailedPods: 1 failed pods")]


def test_failed_pods_that_go_are_forgiven() -> None:
    plan = run("Running", "Running", Unhealthy="True 30")
    assert conditions(plan)["Unhealthy"][:2] == ("False", "FoundNoFailedPods")


# fmt: off
AILMENTS = {  # whether the component is there, seconds since it was found, retries, phase
    "gone, for a while":      (False, 59, 0, "Running"),
    "gone for good":          (False, 60, 0, "Resetting"),
    "gone once too often":    (False, 60, 3, "Failed"),
    "failed, for a while":    (True, 59, 0, "Running"),
    "failed for good":        (True, 60, 0, "Resetting"),
    "failed once too often":  (True, 60, 3, "Failed"),
}
# fmt: on


@pytest.mark.parametrize(("there", "since", "retries", "phase"), AILMENTS.values(), ids=AILMENTS)
def test_components_that_vanish_or_fail(there: bool, since: int, retries: int, phase: str) -> None:
    parent = in_phase(wrapper(job(pods=2)), "Running", Unhealthy="False 500")
    parent["status"]["resettingCount"] = retries
    failed = component(parent, conditions=[{"type": "Failed", "status": "True"}])
    around = [failed] if there else []
    reason = "FailedComponent" if there else "MissingComponent"
    text = "Only found 0 deployed components, but was expecting 1"
    told = ("True", reason, "Found 1 failed components" if there else text)
    first = see(parent, *around, pods=pods("Failed 1"))
    assert (status(first)["phase"], conditions(first)["Unhealthy"]) == ("Running", told)
    assert events(first) == []
    later = {**parent, "status": status(first)}
    plan = see(later, *around, pods=pods("Failed 1"), after=since)
    assert (status(plan)["phase"], conditions(plan)["Unhealthy"]) == (phase, told)
    assert status(plan)["resettingCount"] == retries + (phase == "Resetting")
    ended = [("Normal", "Unhealthy", f"{reason}: {told[2]}")]
    assert events(plan) == (ended if phase != "Running" else [])


FAILURES: dict[str, tuple[str, Object]] = {
    "RayJob": ("ray.io/v1", {"jobDeploymentStatus": "Failed"}),
    "RayCluster": ("ray.io/v1", {"state": "failed"}),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", {"conditions": [{"type": "Failed", "status": "True"}]}),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_component_says_in_its_own_way_that_it_failed(kind: str) -> None:
    version, told = FAILURES[kind]
    declared = [{"replicas": 1, "path": "template.spec.template"}]
    template = {"spec": {"containers": app_wrappers.CONTAINERS}}
    made = app_wrappers.thing(version, kind, "x", spec={"template": template})
    whole = {"template": made, "podSets": declared}
    parent = in_phase(wrapper(components=[whole]), "Running", Unhealthy="False 500")
    failed = see(parent, component(parent, **told), pods=pods("Running"))
    assert conditions(failed)["Unhealthy"][:2] == ("True", "FailedComponent")
    runs = see(parent, component(parent), pods=pods("Running"))
    assert conditions(runs)["Unhealthy"][0] == "False"


def test_retries_are_limited() -> None:
    parent = in_phase(wrapper(job(pods=2)), "Running", Unhealthy="True 61")
    for retries, phase in ((2, "Resetting"), (3, "Failed")):
        parent["status"]["resettingCount"] = retries
        plan = see(parent, component(parent), pods=pods("Failed 1"))
        assert status(plan)["phase"] == phase


@pytest.mark.parametrize("phase", ["Resuming", "Running", "Resetting"])
def test_suspension_takes_the_components_down(phase: str) -> None:
    parent = in_phase(wrapper(job(), suspend=True), phase, Unhealthy="True 0")
    plan = see(parent, component(parent), pods=pods("Running"))
    assert status(plan)["phase"] == "Suspending"
    text = f"Externally suspended while in the {phase} phase"
    assert events(plan) == [("Normal", "Suspending", text)]


def test_suspending_waits_until_everything_is_gone() -> None:
    parent = in_phase(
        wrapper(job(), suspend=True), "Suspending", PodsReady="True", Unhealthy="True"
    )
    plan = see(parent, component(parent), pods=pods("Running"))
    assert deleted_names(plan, "Job") == ["work"]
    assert conditions(plan)["DeletingResources"][:2] == ("True", "DeletionInitiated")
    assert conditions(plan)["QuotaReserved"][0] == "True"
    assert (status(plan)["phase"], plan.after) == ("Suspending", 5)
    later = {**parent, "status": status(plan)}
    plan = see(later, pods=pods("Running"))
    assert status(plan)["phase"] == "Suspending"
    plan = see({**parent, "status": status(plan)})
    assert status(plan)["phase"] == "Suspended"
    assert conditions(plan) == {
        "QuotaReserved": ("False", "Suspended", "Suspend is true"),
        "ResourcesDeployed": ("False", "Suspended", "Suspend is true"),
        "PodsReady": ("False", "Suspended", ""),
        "Unhealthy": ("False", "Suspended", ""),
        "DeletingResources": ("False", "DeletionComplete", ""),
    }
    assert status(plan)["componentStatus"][0]["conditions"][0]["status"] == "False"


def test_what_does_not_go_is_forced_to() -> None:
    parent = in_phase(wrapper(), "Suspending", DeletingResources="True 0")
    first = see(parent, component(parent), pods=pods("Running"), after=601)
    forced = [step for step in first.steps if isinstance(step, Delete) and step.grace_seconds == 0]
    assert [step.obj["kind"] for step in forced] == ["Pod"]
    second = see(parent, component(parent), after=601)
    forced = [step for step in second.steps if isinstance(step, Delete) and step.grace_seconds == 0]
    assert [step.obj["kind"] for step in forced] == ["Job"]


def test_a_reset_deletes_pauses_and_resumes() -> None:
    parent = in_phase(wrapper(), "Resetting", Unhealthy="True 0", PodsReady="True")
    plan = see(parent, component(parent))
    assert deleted_names(plan, "Job") == ["work"]
    assert conditions(plan)["PodsReady"][:2] == ("False", "Resetting")
    gone = {**parent, "status": status(plan)}
    plan = see(gone, after=10)
    assert (status(plan)["phase"], plan.after) == ("Resetting", 80)
    assert conditions(plan)["ResourcesDeployed"][2] == "Resources deleted for resetting AppWrapper"
    plan = see({**parent, "status": status(plan)}, after=90)
    assert status(plan)["phase"] == "Resuming"
    assert conditions(plan)["ResourcesDeployed"] == (
        "True",
        "Resuming",
        "Reset complete; resuming",
    )


def test_a_failed_wrapper_keeps_its_components_as_long_as_the_user_says() -> None:
    notes = {f"{PREFIX}deletionOnFailureGracePeriodDuration": "1h"}
    parent = in_phase(wrapper(annotations=notes), "Failed")
    plan = see(parent, component(parent))
    assert deleted_names(plan, "Job") == []
    text = f"{PREFIX}deletionOnFailureGracePeriodDuration has value 1h0m0s"
    assert conditions(plan)["DeletingResources"] == ("False", "DeletionPaused", text)
    assert plan.after == 3600
    waiting = {**parent, "status": status(plan)}
    assert deleted_names(see(waiting, component(parent), after=3601), "Job") == ["work"]
    preempted = {**waiting, "spec": {**parent["spec"], "suspend": True}}
    assert deleted_names(see(preempted, component(parent), after=1), "Job") == ["work"]


def test_a_failed_wrapper_gives_its_quota_back_when_all_is_gone() -> None:
    parent = in_phase(wrapper(), "Failed")
    plan = see(parent, component(parent))
    assert conditions(plan)["QuotaReserved"][0] == "True"
    assert conditions(plan)["ResourcesDeployed"][0] == "True"
    plan = see({**parent, "status": status(plan)})
    assert conditions(plan)["ResourcesDeployed"] == (
        "False",
        "Failed",
        "Resources deleted for failed AppWrapper",
    )
    assert conditions(plan)["QuotaReserved"] == ("False", "Failed", "No resources deployed")
    assert status(plan)["phase"] == "Failed"


def test_a_successful_wrapper_keeps_its_components_for_a_week() -> None:
    parent = in_phase(wrapper(), "Succeeded")
    week = 7 * 24 * 3600
    assert see(parent, component(parent)).after == week
    plan = see(parent, component(parent), after=week)
    assert deleted_names(plan, "Job") == ["work"]
    plan = see({**parent, "status": status(plan)}, after=week + 5)
    assert conditions(plan)["ResourcesDeployed"] == (
        "False",
        "Succeeded",
        "Time to live after success of 168h0m0s expired",
    )
    short = in_phase(wrapper(annotations={f"{PREFIX}successTTLDuration": "1m"}), "Succeeded")
    assert see(short, component(short)).after == 60


def test_a_deleted_wrapper_takes_its_components_along() -> None:
    finalizer = "workload.codeflare.dev/finalizer"
    parent = in_phase(wrapper(finalizers=["other", finalizer]), "Running")
    parent["metadata"]["deletionTimestamp"] = operators.TIME
    plan = see(parent, component(parent))
    assert deleted_names(plan, "Job") == ["work"]
    assert (status(plan)["phase"], plan.after) == ("Terminating", 5)
    plan = see({**parent, "status": status(plan)})
    assert patches(plan) == [("wrap", {"metadata": {"finalizers": ["other"]}})]
    assert conditions(plan)["ResourcesDeployed"][2] == "Resources successfully deleted"
    assert conditions(plan)["QuotaReserved"] == ("False", "Terminating", "No resources deployed")
    parent["metadata"]["finalizers"] = ["other"]
    assert see(parent).steps == []


def test_only_components_that_may_be_there_are_asked_for() -> None:
    named = app_wrapper.components_to_fetch
    assert list(named(wrapper())) == []
    assert list(named(in_phase(wrapper(), "Suspended"))) == []
    (stub,) = named(in_phase(wrapper(), "Running"))
    assert stub == {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}}


# fmt: off
PERIODS = {
    "nothing": ("", 60), "more": ("2h", 7200), "too much": ("48h", 86400), "less": ("-5s", 0),
}
# fmt: on


@pytest.mark.parametrize(("said", "seconds"), PERIODS.values(), ids=PERIODS)
def test_grace_periods_have_limits(said: str, seconds: int) -> None:
    notes = {f"{PREFIX}failureGracePeriodDuration": said} if said else {}
    patience = Patience(wrapper(annotations=notes), Settings())
    assert patience.failure.total_seconds() == seconds


def test_a_wrapper_that_another_controller_manages_is_left_alone() -> None:
    ours = "workload.codeflare.dev/appwrapper-controller"
    assert is_ours(app_wrapper.OPERATOR, wrapper(managedBy=ours))
    assert not is_ours(app_wrapper.OPERATOR, wrapper(managedBy="kueue.x-k8s.io/multikueue"))
