"""What the autoscaler's answers mean for a check."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.api.times import format_time
from fleetqueue.provisioning import checks, requests
from fleetqueue.provisioning.requests import Needed

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def condition(type: str, value: str = "True", message: str = "said") -> Json:
    return {"type": type, "status": value, "message": message}


def check(state: str = "Pending", **more: Any) -> Json:
    made = {"name": "prov", "state": state, "lastTransitionTime": format_time(NOW), "message": ""}
    return {**made, **more}


def workload(**status: Any) -> Json:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team", "uid": "1"},
        "spec": {"podSets": []},
        "status": status,
    }


CONFIG: Json = {
    "spec": {
        "provisioningClassName": "queued",
        "retryStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 60},
        "podSetUpdates": {
            "nodeSelector": [{"key": "zone", "valueFromProvisioningClassDetail": "Zone"}]
        },
    }
}
SETS = [Needed("main", 2, {}, ("main", "twin"))]


def judged(*conditions: Json, attempt: int = 1, known: Json | None = None, **status: Any) -> Json:
    request = {
        "metadata": {"name": "w-prov-1"},
        "spec": {"provisioningClassName": "queued"},
        "status": {"conditions": list(conditions), "provisioningClassDetails": {"Zone": "a"}},
    }
    obj = workload(**status)
    return checks.judge(known or check(), obj, CONFIG, request, attempt, SETS, NOW)


@pytest.mark.rule("kueue 12.3")
def test_a_failure_is_tried_again_after_a_while_until_the_limit() -> None:
    found = judged(condition("Failed"))
    assert (found["state"], found["message"]) == ("Retry", "Retrying after failure: said")
    assert found["requeueAfterSeconds"] == 60

    found = judged(condition("Failed"), attempt=2, known=check(retryCount=1))
    assert (found["state"], found["message"]) == ("Rejected", "said")


@pytest.mark.rule("kueue 12.3")
def test_capacity_that_is_taken_back_rejects_what_runs() -> None:
    assert judged(condition("CapacityRevoked"))["state"] == "Rejected"

    done = [{"type": "Finished", "status": "True"}]
    assert judged(condition("CapacityRevoked"), conditions=done)["state"] == "Pending"


@pytest.mark.rule("kueue 12.3")
def test_a_booking_that_expired_matters_only_before_the_start() -> None:
    assert judged(condition("BookingExpired"))["message"].startswith("Retrying after booking")

    admitted = [{"type": "Admitted", "status": "True"}]
    ready = check("Ready")
    assert judged(condition("BookingExpired"), known=ready, conditions=admitted) == ready


@pytest.mark.rule("kueue 12.3", "kueue 12.4")
def test_capacity_makes_the_check_ready_and_marks_the_pods() -> None:
    found = judged(condition("Provisioned"))

    assert found["state"] == "Ready"
    assert found["podSetUpdates"] == [
        {
            "name": "main",
            "annotations": {
                "autoscaling.x-k8s.io/consume-provisioning-request": "w-prov-1",
                "autoscaling.x-k8s.io/provisioning-class-name": "queued",
            },
            "nodeSelector": {"zone": "a"},
        }
    ]


@pytest.mark.rule("kueue 12.3")
def test_until_then_it_waits_and_tells_what_is_known() -> None:
    assert judged()["message"] == ""
    soon = condition("Provisioned", "False", "in 5 minutes")
    assert judged(condition("Accepted"), soon)["message"] == "in 5 minutes"


# fmt: off
ACTIVITY = {
    "good": ({"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "c"},
             CONFIG, "The admission check is active"),
    "none": (None, None, "missing parameters reference"),
    "no name": ({"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig"}, None,
                "empty name: bad parameters reference"),
    "group": ({"apiGroup": "x", "kind": "ProvisioningRequestConfig", "name": "c"}, None,
              'wrong group "x", expecting "kueue.x-k8s.io": bad parameters reference'),
    "kind": ({"apiGroup": "kueue.x-k8s.io", "kind": "Y", "name": "c"}, None,
             'wrong kind "Y", expecting "ProvisioningRequestConfig": bad parameters reference'),
    "missing": ({"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "c"},
                None, 'ProvisioningRequestConfig.kueue.x-k8s.io "c" not found'),
}
# fmt: on


@pytest.mark.rule("kueue 12.1")
@pytest.mark.parametrize(("parameters", "config", "message"), ACTIVITY.values(), ids=ACTIVITY)
def test_a_check_is_active_with_a_configuration(
    parameters: Json | None, config: Json | None, message: str
) -> None:
    found = checks.activity({"spec": {"parameters": parameters}}, config)

    assert found[2] == message
    assert found[0] is (config is not None)


@pytest.mark.rule("kueue 12.2")
def test_names_that_are_too_long_are_cut_and_told_apart() -> None:
    long = requests.request_name("w" * 250, "prov", 1)

    assert len(long) == 247 + 6
    assert requests.request_name("w", "prov", 2) == "w-prov-2"
    assert requests.template_name("w-prov-2", "main") == "ppt-w-prov-2-main"


def template(cpu: str, **spec: Any) -> Json:
    resources = {"requests": {"cpu": cpu}}
    return {"spec": {"containers": [{"name": "c", "resources": resources}], **spec}}


@pytest.mark.rule("kueue 12.2")
@pytest.mark.parametrize(
    ("policy", "count"),
    [
        ("", 3),
        ("IdenticalPodTemplates", 3),
        ("IdenticalWorkloadSchedulingRequirements", 2),
    ],
)
def test_pod_sets_with_the_same_needs_may_share_an_entry(policy: str, count: int) -> None:
    sets = [
        Needed("a", 1, template("1"), ("a",)),
        Needed("b", 2, template("1", hostname="b"), ("b",)),
        Needed("c", 1, template("2"), ("c",)),
    ]
    found = requests.merged(sets, policy)

    assert len(found) == count
    assert sum(each.count for each in found) == 4
