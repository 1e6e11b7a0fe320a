"""What a group's pods are to its Workload: composed, kept, too many, replaced, missing."""

from typing import Any

import pytest
from tests.support import operators
from tests.support.job_looks import NOW, sight, with_settings
from tests.support.queued_pods import K, member

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.base import paths
from fleetqueue.jobs.infos import CannotStart, PodSetInfo
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.pod_groups import composing, controller, replacement
from fleetqueue.jobs.pod_groups.excess import excess_of, removed
from fleetqueue.jobs.pod_groups.group import GROUP, as_job
from fleetqueue.jobs.pod_groups.matching import is_equivalent, sort_members
from fleetqueue.jobs.pods.stopping import stop
from fleetqueue.kube.plan import Apply, Create, Delete, Note, Patch, Plan
from fleetqueue.kube.resources import Object

pytestmark = [pytest.mark.rule("jobs A.12.4"), pytest.mark.rule("jobs A.12")]


MANAGED = f"{K}/managed"


def a(name: str, role: str = "a", phase: str = "Pending", *, total: int = 3, **more: Any) -> Object:
    metadata = {"uid": f"uid-{name}", "namespace": "ns", "resourceVersion": "1"}
    metadata |= more.pop("metadata", {})
    annotations = {"role-hash": role, **more.pop("annotations", {})}
    made = member(name, total, annotations=annotations, metadata={}, **more)
    made["metadata"] |= metadata
    return {**made, "status": {"phase": phase}}


def gated(pod: Object) -> Object:
    gates = [{"name": f"{K}/admission"}]
    return {**pod, "spec": {**pod["spec"], "schedulingGates": gates}}


def leaving(pod: Object, *, node: str = "") -> Object:
    metadata = {**pod["metadata"], "deletionTimestamp": "2026-01-01T12:00:00Z"}
    spec = {**pod["spec"], **({"nodeName": node} if node else {})}
    return {**pod, "metadata": metadata, "spec": spec}


def held(pod: Object) -> Object:
    return {**pod, "metadata": {**pod["metadata"], "finalizers": [f"{K}/managed"]}}


def created(pod: Object, at: str) -> Object:
    return {**pod, "metadata": {**pod["metadata"], "creationTimestamp": at}}


def seen(*pods: Object, **settings: Any) -> Sight:
    found = sight(as_job(pods), settings=with_settings(**settings))
    return Sight(found.job, found.source, found.settings, now=NOW)


def decide(found: Object | None, *pods: Object, **settings: Any) -> Plan:
    """What the controller does with a group, whose Workload may not be there."""
    parent: Object = found or {
        "apiVersion": f"{K}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "grp", "namespace": "ns"},
    }
    space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
    managed = [dict(paths.with_value(pod, ("metadata", "labels", MANAGED), "true")) for pod in pods]
    look = operators.look(parent, space, *managed)
    return controller.decide(with_settings(**settings), look)


def names(pods: list[Object]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def workload(**sizes: int) -> Object:
    sets = [{"name": name, "count": count, "template": {}} for name, count in sizes.items()]
    metadata = {"name": "grp", "namespace": "ns", "uid": "w", "generation": 1}
    return {
        "apiVersion": f"{K}/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"podSets": sets},
    }


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(
            [a("1"), a("2")],
            "'grp' group has fewer runnable pods than expected",
            id="one is missing",
        ),
        pytest.param(
            [a("1"), a("2"), a("3", phase="Failed")],
            "'grp' group has fewer runnable pods than expected",
            id="one has failed",
        ),
        pytest.param([a("1"), a("2"), a("3", phase="Succeeded")], "", id="one is done already"),
        pytest.param(
            [a("1", annotations={"pod-group-fast-admission": "true"})], "", id="in a hurry"
        ),
        pytest.param(
            [a("1"), a("2"), a("3", labels={"queue-name": "other"})],
            "pods '1' and '3' has different queue names: main!=other",
            id="queues",
        ),
        pytest.param(
            [a("1"), a("2"), a("3", total=4)],
            f"pods '1' and '3' has different '{K}/pod-group-total-count' values: 3!=4",
            id="totals",
        ),
    ],
)
def test_when_a_workload_can_be_made(pods: list[Object], expected: str) -> None:
    assert composing.problem_of(seen(*pods), "grp") == expected


@pytest.mark.parametrize(("roles", "is_fine"), [(18, True), (19, False)])
def test_how_many_roles_a_group_has(roles: int, is_fine: bool) -> None:
    pods = [a(str(number), role=str(number), total=roles) for number in range(roles)]
    told = "pod group can't include more than 18 roles"
    assert composing.misfit_of(seen(*pods)) == ("" if is_fine else told)


@pytest.mark.parametrize("index", ["x", "3", "-1"])
def test_an_index_is_a_number_below_the_total(index: str) -> None:
    pods = [a("1"), a("2"), a("3", labels={"pod-group-pod-index": index})]
    assert f"'{index}' is no number from 0 to 2" in composing.problem_of(seen(*pods), "grp")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("x", "x", None), {"team": "x"}),
        (("x", "y", None), None),
        ((None, None, None), {}),
    ],
)
def test_labels_that_are_copied(values: tuple[str | None, ...], expected: Any) -> None:
    pods = [a(str(number)) for number in range(3)]
    for made, value in zip(pods, values, strict=True):
        if value is not None:
            made["metadata"]["labels"]["team"] = value
    group = seen(*pods, label_keys_to_copy=("team",))
    problem = composing.misfit_of(group)
    if expected is None:
        assert problem == "constructing workload: pods have different label values"
    else:
        assert problem == ""
        assert composing.build(group, "grp")["metadata"].get("labels", {}) == expected


def test_annotations_that_are_copied() -> None:
    pods = [a(str(number)) for number in range(2)]
    for made in pods:
        made["metadata"]["annotations"]["team"] = "x"
    group = seen(*pods, annotation_keys_to_copy=("team", "missing"))
    assert composing.misfit_of(group) == ""
    assert composing.build(group, "grp")["metadata"]["annotations"]["team"] == "x"

    pods[1]["metadata"]["annotations"]["team"] = "y"
    text = "constructing workload: pods have different annotation values"
    assert composing.misfit_of(seen(*pods, annotation_keys_to_copy=("team",))) == text


def test_a_workload_of_several_roles() -> None:
    made = composing.build(seen(a("1", "b"), a("2", "a"), a("3", "b")), "grp")
    assert [(each["name"], each["count"]) for each in made["spec"]["podSets"]] == [
        ("a", 1),
        ("b", 2),
    ]
    assert all(each["template"]["metadata"] == {} for each in made["spec"]["podSets"])


def test_a_group_in_a_hurry_is_all_of_one_role() -> None:
    fast = {"pod-group-fast-admission": "true"}
    made = composing.build(seen(a("1", "b", annotations=fast)), "grp")
    assert [(each["name"], each["count"]) for each in made["spec"]["podSets"]] == [("b", 3)]


def test_which_pods_are_too_many() -> None:
    pods = [
        created(held(gated(a("young"))), "2026-01-01T00:00:09Z"),
        created(held(gated(a("old"))), "2026-01-01T00:00:01Z"),
        created(held(a("going")), "2026-01-01T00:00:05Z"),
        created(a("let-go"), "2026-01-01T00:00:00Z"),
    ]
    assert names(excess_of(pods, 0)) == ["going", "old", "young", "let-go"]
    assert names(excess_of(pods, 3)) == ["let-go"]
    steps = removed([pods[0], leaving(pods[1])])
    assert [type(step) for step in steps] == [Patch, Delete, Note]


@pytest.mark.parametrize(
    ("pods", "kept", "excess", "replaced", "missing"),
    [
        pytest.param([a("1"), a("2")], ["1", "2"], [], [], 0, id="whole"),
        pytest.param([a("1")], ["1"], [], [], 1, id="one is missing"),
        pytest.param([a("1"), a("2", phase="Failed")], ["1", "2"], [], [], 1, id="one has failed"),
        pytest.param(
            [a("1"), a("2", phase="Failed"), a("3")], ["1", "3"], [], ["2"], 0, id="replaced"
        ),
        pytest.param(
            [a("1"), leaving(a("2"))], ["1", "2"], [], [], 1, id="deleted before it had a node"
        ),
        pytest.param(
            [a("1"), leaving(a("2"), node="n")], ["1", "2"], [], [], 0, id="deleted while it runs"
        ),
        pytest.param([a("1"), a("2"), a("3")], ["1", "2"], ["3"], [], 0, id="one too many"),
        pytest.param([a("1"), a("2"), a("3", "b")], ["1", "2", "3"], [], [], 0, id="a stranger"),
    ],
)
def test_members(
    pods: list[Object], kept: list[str], excess: list[str], replaced: list[str], missing: int
) -> None:
    found = sort_members(seen(*pods), workload(a=2))
    assert (names(found.kept), names(found.excess)) == (kept, excess)
    assert (names(found.replaced), found.missing) == (replaced, missing)


@pytest.mark.parametrize(
    ("pods", "sizes", "expected"),
    [
        ([a("1")], {"a": 1}, True),
        ([a("1")], {"a": 2, "b": 1}, True),
        ([a("1"), a("2")], {"a": 1}, False),
        ([a("1", "b")], {"a": 1}, False),
        ([a("1", labels={"max-exec-time-seconds": "5"})], {"a": 1}, False),
    ],
    ids=["equal", "fewer", "more", "another role", "another limit"],
)
def test_what_a_workload_can_stand_for(
    pods: list[Object], sizes: dict[str, int], expected: bool
) -> None:
    assert is_equivalent(seen(*pods), pods, workload(**sizes)) == expected


def test_the_condition_of_missing_pods() -> None:
    plain = workload(a=1)
    assert replacement.told(plain, 0, NOW) is None
    waiting = replacement.told(plain, 1, NOW)
    assert isinstance(waiting, Apply)
    [told] = waiting.obj["status"]["conditions"]
    assert (told["status"], told["reason"], told["message"]) == (
        "True",
        "PodsFailed",
        "Some Failed pods need replacement",
    )
    after = {**plain, "status": {"conditions": [told]}}
    assert replacement.told(after, 1, NOW) is None
    evicted = status_of.evict(after, "Preempted", "make room", NOW)
    renewed = replacement.told(evicted, 1, NOW)
    assert renewed is not None
    [told] = renewed.obj["status"]["conditions"]
    assert (told["reason"], told["message"]) == ("Preempted", "make room")
    whole = replacement.told(after, 0, NOW)
    assert whole is not None
    [told] = whole.obj["status"]["conditions"]
    assert (told["status"], told["reason"], told["message"]) == (
        "False",
        "PodsReady",
        "No pods need replacement",
    )


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([a(str(n), phase="Succeeded") for n in range(3)], "Pods succeeded: 3/3."),
        ([a("1", phase="Succeeded"), a("2", phase="Failed")], None),
        (
            [
                a("1", phase="Succeeded"),
                a("2", phase="Failed", annotations={"retriable-in-group": "false"}),
            ],
            "Pods succeeded: 1/3.",
        ),
        ([a("1", phase="Failed", annotations={"retriable-in-group": "false"}), a("2")], None),
        (
            [a(str(n), phase="Succeeded", annotations={"pod-group-serving": "true"})
             for n in range(3)],
            None,
        ),
    ],
    ids=["all", "some may yet come", "none may come", "one goes on", "it serves"],
)  # fmt: skip
def test_when_a_group_is_over(pods: list[Object], expected: str | None) -> None:
    verdict = GROUP.verdict(seen(*pods))
    assert (None if verdict is None else verdict.message) == expected
    assert verdict is None or verdict.is_success


def test_a_pod_of_an_unknown_role_cannot_start() -> None:
    assert GROUP.start is not None
    with pytest.raises(CannotStart, match="podSetInfo with the name 'b' is not found"):
        GROUP.start(seen(gated(a("1", "b"))), [PodSetInfo(name="a", count=1)])


@pytest.mark.parametrize(
    ("reason", "stopped"),
    [("NotAdmitted", ["runs"]), ("WorkloadDeleted", ["waits", "done", "runs"])],
)
def test_whom_a_stop_meets(reason: str, stopped: list[str]) -> None:
    pods = [
        gated(a("waits")),
        a("done", phase="Succeeded"),
        a("runs", phase="Running"),
        leaving(a("leaves", phase="Running"), node="n"),
    ]
    steps = stop(pods, reason, "message", NOW)
    deleted = [step.obj["metadata"]["name"] for step in steps if isinstance(step, Delete)]
    assert deleted == stopped
    told = [step for step in steps if isinstance(step, Apply)]
    for step in told:
        [condition] = step.obj["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("TerminationTarget", reason)


@pytest.mark.rule("POD-5")
def test_pods_that_ended_without_their_prebuilt_workload_are_not_kept_for_successors() -> None:
    """As those of a manager, which took the Workload away when they were put out here."""
    known = {"metadata": {"namespace": "ns"}, "labels": {"prebuilt-workload-name": "grp"}}
    ended = [held(leaving(a(name, phase="Failed", **known), node="n")) for name in ("1", "2")]
    running = held(leaving(a("3", phase="Running", **known), node="n"))
    plan = decide(None, *ended, running)
    released = [step.obj["metadata"]["name"] for step in plan.steps if isinstance(step, Patch)]
    assert released == ["1", "2"]


@pytest.mark.rule("jobs A.12")
def test_a_total_may_have_a_sign() -> None:
    pods = [gated(held(a(name, total=2))) for name in ("1", "2")]
    for pod in pods:
        pod["metadata"]["annotations"][f"{K}/pod-group-total-count"] = "+2"
    [made] = [step for step in decide(None, *pods).steps if type(step) is Create]
    assert made.obj["spec"]["podSets"][0]["count"] == 2


def test_pods_too_many_go_before_all_must_agree() -> None:
    pods = [gated(held(a(name, total=2))) for name in ("1", "2", "3")]
    for pod, team in zip(pods, "xxy", strict=True):
        pod["metadata"]["labels"]["team"] = team
        pod["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{pod['metadata']['name']}Z"
    settings = {"label_keys_to_copy": ("team",)}
    plan = decide(None, *pods, **settings)
    assert [step.obj["metadata"]["name"] for step in plan.steps if isinstance(step, Delete)] == [
        "3"
    ]
    assert [step.reason for step in plan.steps if isinstance(step, Note)] == ["ExcessPodDeleted"]
    [made] = [step for step in decide(None, *pods[:2], **settings).steps if type(step) is Create]
    assert made.obj["metadata"]["labels"] == {"team": "x"}
    plan = decide(None, pods[0], pods[2], **settings)
    [told] = [step for step in plan.steps if isinstance(step, Note)]
    assert told.message == "constructing workload: pods have different label values"


@pytest.mark.rule("jobs A.5")
@pytest.mark.parametrize("is_of_set", [True, False])
def test_whoever_made_the_workload_tells_its_gates_and_class(is_of_set: bool) -> None:
    """A set that serves says what its pods do not know, or not yet."""
    notes = {"pod-group-serving": "true", "prebuilt-workload-name": "grp"} if is_of_set else {}
    pods = [gated(a(name, annotations=notes, labels={"priority-class": "low"})) for name in "123"]
    found = workload(a=3)
    found["metadata"] |= {
        "resourceVersion": "1",
        "annotations": {f"{K}/is-group-workload": "true", f"{K}/admission-gated-by": "a.io/b"},
        "ownerReferences": [composing.reference(pod) for pod in pods],
    }
    found["spec"] |= {
        "queueName": "main",
        "priority": 2,
        "priorityClassRef": {"kind": "WorkloadPriorityClass", "name": "high"},
    }
    plan = decide(found, *pods)
    patched = [step.obj["kind"] for step in plan.steps if isinstance(step, Patch)]
    assert patched == ([] if is_of_set else ["Workload"])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param("2026-01-01T12:00:01Z", ["1", "2", "3"], id="all were going by then"),
        pytest.param("2026-01-01T11:59:59Z", [], id="they had successors to wait for"),
    ],
)
def test_pods_that_never_ran_do_not_wait_for_a_workload_that_came_after_they_were_deleted(
    made: str, expected: list[str]
) -> None:
    """Who deletes both may be overtaken by a Workload that is made of pods as they were before."""
    found = workload(a=3)
    found["metadata"] |= {
        "creationTimestamp": made,
        "annotations": {f"{K}/is-group-workload": "true"},
        "ownerReferences": [composing.reference(a(name)) for name in ("1", "2", "3")],
    }
    pods = [leaving(held(gated(a(name)))) for name in ("1", "2", "3")]
    steps = [step for step in decide(found, *pods).steps if isinstance(step, Patch)]
    assert names([step.obj for step in steps]) == expected
    assert all(step.patch["metadata"]["finalizers"] is None for step in steps)
    started = [{**pod, "spec": a("x")["spec"]} for pod in pods]
    assert not [step for step in decide(found, *started).steps if isinstance(step, Patch)]
