"""What keeps a foreign API server from asking us about a Workload: never something that would be
refused, and nearly always a status that our own controllers write.
"""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.admission import webhook_conditions
from fleetqueue.admission.webhooks import webhooks
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import gates, labels
from fleetqueue.api.kueue.defaults import defaulted
from fleetqueue.api.kueue.validation import Rules, validate
from fleetqueue.api.times import parse_time
from fleetqueue.apiserver import cel
from fleetqueue.base import codec
from fleetqueue.kube.webhook_serving import Reach, registrations

pytestmark = pytest.mark.rule("kueue 1.5", "kueue 10.4")

Json = dict[str, Any]
NOW = parse_time("2026-01-01T00:00:00Z")
ADMISSION: Json = {
    "clusterQueue": "queue",
    "podSetAssignments": [
        {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1500m"}}
    ],
}
CHECK = {"name": "check", "state": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}
UPDATES = [{"name": "main", "labels": {"a": "b"}}]
WAITING: Json = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "default", "uid": "u", "generation": 1},
    "spec": {
        "queueName": "queue",
        "podSets": [
            {
                "name": "main",
                "count": 4,
                "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
            }
        ],
    },
}
ALL_RULES = Rules(
    workload_validate_resources_are_non_negative=True,
    workload_validation_for_pod_set_metadata=True,
    tas_validate_workload_slice_size=True,
    elastic_jobs_via_workload_slices=True,
    admission_gated_by=True,
    priority_boost=True,
)
RESERVED = status.reserve(WAITING, ADMISSION, NOW)
EVICTED = status.preempt(RESERVED, "InClusterQueue", "to make room", NOW)


def used(count: int, **usage: Any) -> Json:
    """An admission of so many pods that use so much."""
    assignment = {"name": "main", "count": count, "resourceUsage": usage}
    return {"clusterQueue": "queue", "podSetAssignments": [assignment]}


def with_conditions(*names: str) -> Json:
    made = WAITING
    for name in names:
        made = status.with_condition(made, name, True, "Because", "", NOW)
    return made


OURS: list[tuple[str, Json, Json]] = [
    (
        "why it waits",
        WAITING,
        status.with_condition(WAITING, "QuotaReserved", False, "WaitingForQuota", "no room", NOW),
    ),
    ("reserved", WAITING, RESERVED),
    ("reserved for several", WAITING, status.reserve(WAITING, used(4, cpu="8"), NOW)),
    ("pods of no known number", WAITING, status.reserve(WAITING, used(0, cpu="3"), NOW)),
    ("evicted", RESERVED, EVICTED),
    ("given back", EVICTED, status.release_evicted(EVICTED, NOW)),
    ("finished", RESERVED, status.finish(RESERVED, "Succeeded", "done", NOW)),
    (
        "a check is ready",
        status.changed(RESERVED, admissionChecks=[{**CHECK, "state": "Pending"}]),
        status.changed(RESERVED, admissionChecks=[CHECK]),
    ),
    (
        "the same updates of pods",
        status.changed(RESERVED, admissionChecks=[{**CHECK, "podSetUpdates": UPDATES}]),
        status.finish(
            status.changed(RESERVED, admissionChecks=[{**CHECK, "podSetUpdates": UPDATES}]),
            "Succeeded",
            "done",
            NOW,
        ),
    ),
    (
        "the same reclaimable pods",
        status.changed(RESERVED, reclaimablePods=[{"name": "main", "count": 1}]),
        status.finish(
            status.changed(RESERVED, reclaimablePods=[{"name": "main", "count": 1}]),
            "Succeeded",
            "done",
            NOW,
        ),
    ),
    (
        "its cluster stays",
        status.changed(RESERVED, clusterName="c"),
        status.finish(status.changed(RESERVED, clusterName="c"), "Succeeded", "done", NOW),
    ),
    (
        "a cluster that was asked has it",
        status.changed(RESERVED, nominatedClusterNames=["b", "c"]),
        status.changed(RESERVED, clusterName="c"),
    ),
]
REFUSED: list[tuple[str, Json, Json]] = [
    ("a reservation of nothing", WAITING, with_conditions("QuotaReserved")),
    (
        "quota for pods that are not there",
        WAITING,
        status.reserve(
            WAITING, {"clusterQueue": "q", "podSetAssignments": [{"name": "other"}]}, NOW
        ),
    ),
    ("no multiple", WAITING, status.reserve(WAITING, used(3, cpu="1"), NOW)),
    ("no multiple, as a number", WAITING, status.reserve(WAITING, used(3, memory=4), NOW)),
    ("no multiple of bytes", WAITING, status.reserve(WAITING, used(3, memory="1Gi"), NOW)),
    (
        "a reservation that moves",
        RESERVED,
        status.changed(RESERVED, admission={**ADMISSION, "clusterQueue": "other"}),
    ),
    (
        "quota is there after what was noted for it",
        status.changed(WAITING, admission={"podSetAssignments": [{"name": "other"}]}),
        status.with_condition(
            status.changed(WAITING, admission={"podSetAssignments": [{"name": "other"}]}),
            "QuotaReserved", True, "QuotaReserved", "", NOW,
        ),
    ),
    ("a condition with a long name", WAITING, with_conditions("a" * 64)),
    (
        "too many pods to reclaim",
        RESERVED,
        status.changed(RESERVED, reclaimablePods=[{"name": "main", "count": 5}]),
    ),
    (
        "reclaimed pods are wanted back",
        status.changed(RESERVED, reclaimablePods=[{"name": "main", "count": 2}]),
        RESERVED,
    ),
    (
        "wrong updates of pods",
        RESERVED,
        status.changed(
            RESERVED, admissionChecks=[{**CHECK, "podSetUpdates": [{"name": "other"}]}]
        ),
    ),
    (
        "updates of pods go",
        status.changed(RESERVED, admissionChecks=[{**CHECK, "podSetUpdates": UPDATES}]),
        status.changed(RESERVED, admissionChecks=[CHECK]),
    ),
    ("a cluster that nobody named", RESERVED, status.changed(RESERVED, clusterName="c")),
    (
        "a cluster that was not asked",
        status.changed(RESERVED, nominatedClusterNames=["a", "b"]),
        status.changed(RESERVED, clusterName="c"),
    ),
]  # fmt: skip


def compiled(conditions: dict[str, str]) -> Callable[..., bool]:
    names = ("object", "oldObject", "request")
    programs = [cel.compile(text, dict.fromkeys(names, cel.DYN)) for text in conditions.values()]

    def holds(obj: Json, old: Json | None, request: Json) -> bool:
        values = {"object": obj, "oldObject": old, "request": request}
        return all(program.evaluate(values) is True for program in programs)

    return holds


is_validated = compiled(webhook_conditions.VALIDATED_WHEN)
is_defaulted = compiled(webhook_conditions.DEFAULTED_WHEN)
STATUS = {"operation": "UPDATE", "subResource": "status"}


@pytest.mark.parametrize(("name", "old", "new"), OURS, ids=[each[0] for each in OURS])
def test_a_status_that_cannot_be_refused_is_not_asked_about(
    name: str, old: Json, new: Json
) -> None:
    assert validate(new, old, Rules()) == []
    assert not is_validated(new, old, STATUS)


@pytest.mark.parametrize(("name", "old", "new"), REFUSED, ids=[each[0] for each in REFUSED])
def test_whatever_would_be_refused_is_asked_about(name: str, old: Json, new: Json) -> None:
    assert validate(new, old, Rules())
    assert is_validated(new, old, STATUS)


@pytest.mark.parametrize("part", ["spec", "status", "annotations"])
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_every_other_write_of_what_is_read_is_asked_about(operation: str, part: str) -> None:
    changed = codec.copy(RESERVED)
    if part == "annotations":
        changed["metadata"]["annotations"] = {labels.ADMISSION_GATED_BY: "example.com/gate"}
    else:
        changed[part]["more"] = True
    for request in ({"operation": operation}, {"operation": operation, "subResource": ""}):
        assert is_validated(changed, None if operation == "CREATE" else RESERVED, request)


@pytest.mark.parametrize("more", [{}, {"subResource": ""}])
@pytest.mark.parametrize("known", [WAITING, RESERVED])
def test_owners_and_finalizers_are_not_asked_about(known: Json, more: Json) -> None:
    changed = codec.copy(known)
    changed["metadata"] |= {"ownerReferences": [{"name": "job"}], "labels": {"a": "b"}}

    assert validate(changed, known, Rules()) == []
    assert not is_validated(changed, known, {"operation": "UPDATE", **more})


def with_pod_set(**changes: Any) -> Json:
    made = codec.copy(WAITING)
    made["spec"]["podSets"][0] |= changes
    return made


def with_template(**changes: Any) -> Json:
    template: Json = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return with_pod_set(template={**template, **changes})


def asking(list_name: str = "containers", **resources: Any) -> Json:
    return with_template(spec={list_name: [{"name": "c", "image": "i", "resources": resources}]})


def with_annotation(name: str, value: str) -> Json:
    made = codec.copy(WAITING)
    made["metadata"]["annotations"] = {name: value}
    return made


PLAIN = {
    "nothing is asked for": WAITING,
    "as text and as numbers": asking(
        requests={"cpu": "500m", "memory": 1024, "nvidia.com/gpu": 1}, limits={"cpu": "1"}
    ),
    "by init containers": asking("initContainers", requests={"cpu": "0"}),
    "labels of pods": with_template(
        metadata={"labels": {"app": "a", "batch.kubernetes.io/job-name": "j-1", "empty": ""}},
    ),
    "an annotation of somebody": with_annotation("example.com/note", "x"),
}
UNUSUAL = {
    "a negative request": asking(requests={"cpu": "-1"}),
    "a negative number": asking(limits={"memory": -1}),
    "of an init container": asking("initContainers", requests={"cpu": "-1m"}),
    "the name of pods": asking(requests={"pods": "1"}),
    "of a whole pod": with_template(
        spec={"containers": [], "resources": {"requests": {"cpu": "-1"}}}
    ),
    "a bad label": with_template(metadata={"labels": {"-a": "b"}}),
    "a long label": with_template(metadata={"labels": {"a" * 64: "b"}}),
    "a label of a bad domain": with_template(metadata={"labels": {"A_b/c": "d"}}),
    "a label of nothing": with_template(metadata={"labels": {"example.com/": "d"}}),
    "a bad value": with_template(metadata={"labels": {"a": "b c"}}),
    "a long value": with_template(metadata={"labels": {"a": "b" * 64}}),
    "a value of two lines": with_template(metadata={"labels": {"a": "b\n"}}),
    "a bad annotation of pods": with_template(metadata={"annotations": {"-a": "b"}}),
    "slices without a size": with_pod_set(topologyRequest={"podSetSliceRequiredTopology": "rack"}),
    "a bad gate": with_annotation(labels.ADMISSION_GATED_BY, "no gate"),
    "a bad boost": with_annotation(labels.PRIORITY_BOOST, "much"),
}


@pytest.mark.parametrize("more", [{}, {"subResource": ""}])
@pytest.mark.parametrize("made", PLAIN.values(), ids=PLAIN)
def test_a_plain_new_workload_is_not_asked_about(made: Json, more: Json) -> None:
    assert validate(made, None, ALL_RULES) == []
    assert not is_validated(made, None, {"operation": "CREATE", **more})


@pytest.mark.parametrize("made", UNUSUAL.values(), ids=UNUSUAL)
def test_a_new_workload_that_would_be_refused_is_asked_about(made: Json) -> None:
    assert validate(made, None, ALL_RULES)
    assert is_validated(made, None, {"operation": "CREATE"})


def test_several_sets_that_may_shrink_are_asked_about() -> None:
    made = codec.copy(WAITING)
    pods = {**made["spec"]["podSets"][0], "minCount": 1}
    made["spec"]["podSets"] = [pods, {**pods, "name": "other"}]

    assert validate(made, None, ALL_RULES)
    assert is_validated(made, None, {"operation": "CREATE"})


def test_any_step_from_one_known_state_to_another_is_asked_about_or_let_pass() -> None:
    states = [state for _, *pair in (*OURS, *REFUSED) for state in pair]
    for old in (each for each in states if not validate(each, None, Rules())):
        for new in states:
            if not is_validated(codec.copy(new), codec.copy(old), STATUS):
                assert validate(new, old, Rules()) == []


def test_defaults_are_asked_for_where_there_may_be_any() -> None:
    partial = codec.copy(WAITING)
    partial["spec"]["podSets"][0]["minCount"] = 2

    assert not is_defaulted(WAITING, None, {"operation": "CREATE"})
    assert defaulted(WAITING, partial_admission=False) == WAITING
    assert is_defaulted(partial, None, {"operation": "CREATE"})
    assert defaulted(partial, partial_admission=False) == WAITING


def test_the_registered_webhooks_carry_the_conditions() -> None:
    on = gates.resolve({})
    mutating, validating = registrations("kueue", webhooks(on), Reach("https://here"), {})
    by_name = {each["name"]: each for made in (mutating, validating) for each in made["webhooks"]}

    assert [each["name"] for each in by_name["mworkload.kb.io"]["matchConditions"]] == [
        "may-be-defaulted"
    ]
    assert [each["name"] for each in by_name["vworkload.kb.io"]["matchConditions"]] == [
        "may-be-refused",
        "changes-what-is-read",
        "is-unusual",
    ]
    assert "matchConditions" not in by_name["vclusterqueue.kb.io"]
