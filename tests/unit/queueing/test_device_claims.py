"""Devices that pods claim: how many of which logical resource, or why nobody can tell."""

from typing import Any

import pytest

from fleetqueue.queueing import device_claims
from fleetqueue.queueing.device_claims import FIXED_CLAIMS, NO_CLAIMS, OFF, DeviceRules
from fleetqueue.queueing.requests import RequestRules, quota_requests

pytestmark = pytest.mark.rule("kueue 10.3")

Json = dict[str, Any]
MAPPED = DeviceRules(
    resources={"gpu.example.com": "gpus", "mig.example.com": "gpus", "nic": "nics"}
)
AT = "spec.podSets[0].template.spec.resourceClaims[0]"


def request(device_class: str, count: int | None = 1, **more: Any) -> Json:
    counted = {} if count is None else {"count": count}
    return {"name": "r", "exactly": {"deviceClassName": device_class, **counted, **more}}


def template(*requests: Json) -> Json:
    return {"spec": {"spec": {"devices": {"requests": list(requests)}}}}


def workload(*sets: list[Json]) -> Json:
    return {
        "spec": {
            "podSets": [
                {"name": f"set{at}", "template": {"spec": {"resourceClaims": claims}}}
                for at, claims in enumerate(sets)
            ]
        }
    }


def by_template(name: str) -> Json:
    return {"name": "claim", "resourceClaimTemplateName": name}


def claims(obj: Json, rules: DeviceRules = MAPPED, **templates: Json) -> device_claims.Claims:
    return device_claims.claims_of(obj, rules, templates.get)


@pytest.mark.rule("kueue 6.7")
def test_devices_are_counted_by_the_resource_of_their_class() -> None:
    found = claims(
        workload([by_template("one"), by_template("two")], [by_template("two")]),
        one=template(request("gpu.example.com", 2), request("nic")),
        two=template(request("mig.example.com", 3)),
    )
    assert found.refusal is None
    assert found.requests == {"set0": {"gpus": 5, "nics": 1}, "set1": {"gpus": 3}}


def test_a_count_that_is_not_given_is_one() -> None:
    found = claims(workload([by_template("one")]), one=template(request("nic", None)))
    assert found.requests == {"set0": {"nics": 1}}


def test_who_claims_nothing_is_not_concerned() -> None:
    assert claims(workload([]), DeviceRules(is_on=False)) is NO_CLAIMS


FIXED = workload([{"name": "claim", "resourceClaimName": "mine"}])


@pytest.mark.parametrize("obj", [FIXED, workload([by_template("one")])])
def test_without_the_integration_claims_are_refused(obj: Json) -> None:
    assert claims(obj, DeviceRules(is_on=False)).refusal is OFF
    text = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
    assert OFF.message == text


def test_without_the_integration_they_may_be_overlooked() -> None:
    found = claims(FIXED, DeviceRules(is_on=False, refuses_when_off=False))
    assert (found.requests, found.refusal) == ({}, None)


def test_claims_by_name_are_refused() -> None:
    assert claims(FIXED).refusal is FIXED_CLAIMS
    text = "KueueDRAIntegration feature does not support use of resource claims"
    assert FIXED_CLAIMS.message == text
    assert FIXED_CLAIMS.requeued == "DRA resource claims not supported"


REFUSED = {
    "unmapped": (
        request("other"),
        'exactly.deviceClassName: Invalid value: "other": '
        "is not mapped by resources.deviceClassMappings",
    ),
    "all devices": (
        request("nic", None, allocationMode="All"),
        'exactly.allocationMode: Invalid value: "All": only ExactCount is supported',
    ),
    "for administrators": (
        request("nic", adminAccess=True),
        "exactly.adminAccess: Forbidden: is not supported",
    ),
    "one of several": (
        {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "nic"}]},
        "firstAvailable: Forbidden: is not supported",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_counted_is_refused(case: str) -> None:
    asked, text = REFUSED[case]
    found = claims(workload([by_template("one")]), one=template(asked)).refusal
    assert found is not None
    assert found.message == f"{AT}.devices.requests[0].{text}"
    assert found.requeued == found.message


def test_all_errors_are_told_together() -> None:
    found = claims(
        workload([by_template("one"), by_template("none")]),
        one=template(request("x"), request("nic"), request("y")),
    ).refusal
    assert found is not None
    detail = "is not mapped by resources.deviceClassMappings"
    start = AT.removesuffix("[0]")
    assert found.message == (
        f'[{AT}.devices.requests[0].exactly.deviceClassName: Invalid value: "x": {detail}, '
        f'{AT}.devices.requests[2].exactly.deviceClassName: Invalid value: "y": {detail}, '
        f'{start}[1].resourceClaimTemplateName: Not found: "none"]'
    )


def test_without_mappings_no_claim_can_be_counted() -> None:
    found = claims(workload([by_template("one")]), DeviceRules()).refusal
    assert found is not None
    assert found.message == (
        f'{AT}.resourceClaimTemplateName: Invalid value: "one": '
        "no device class is mapped by resources.deviceClassMappings"
    )


@pytest.mark.rule("kueue 6.7")
def test_extended_resources_of_mapped_classes_count_as_their_devices() -> None:
    classes = {"gpu.example.com": "example.com/gpu", "nic": "", "other": "example.com/other"}
    rules = RequestRules(transformations=device_claims.extended_rules(MAPPED, classes))
    asked = {
        "example.com/gpu": "2",
        "example.com/other": "1",
        "deviceclass.resource.kubernetes.io/nic": "3",
        "cpu": "1",
    }
    spec = {"containers": [{"name": "main", "resources": {"requests": asked}}]}
    assert quota_requests(spec, rules) == {
        "cpu": 1000, "example.com/other": 1, "gpus": 2, "nics": 3
    }  # fmt: skip


@pytest.mark.parametrize(
    "rules",
    [
        DeviceRules(resources=MAPPED.resources, counts_extended=False),
        DeviceRules(resources=MAPPED.resources, is_on=False),
        DeviceRules(),
    ],
)
def test_extended_resources_may_be_left_alone(rules: DeviceRules) -> None:
    assert device_claims.extended_rules(rules, {"gpu.example.com": "example.com/gpu"}) == {}
