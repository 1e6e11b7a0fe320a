"""Which statuses go back to the original objects."""

from typing import Any

import pytest

from fleetqueue.fleet.decide import back_reporting
from fleetqueue.fleet.decide.back_reporting import Report

Json = dict[str, Any]
pytestmark = pytest.mark.rule("KJ-6")
MIRROR = {"type": "Mirror", "destination": "OriginalResource"}


def placement(policy: Json | None, report: Json | None = MIRROR) -> Json:
    return {"spec": {"policy": policy, "strategy": {"reportBackStrategy": report}}}


# fmt: off
POLICIES = {
    "one cluster": ({"placementType": "PickN", "numberOfClusters": 1}, True),
    "two clusters": ({"placementType": "PickN", "numberOfClusters": 2}, False),
    "one name": ({"placementType": "PickFixed", "clusterNames": ["a"]}, True),
    "two names": ({"placementType": "PickFixed", "clusterNames": ["a", "b"]}, False),
    "all": ({"placementType": "PickAll"}, False),
    "no policy": (None, False),
}
REPORTS = {
    "mirrored to the original": (MIRROR, True),
    "mirrored to the Work": ({"type": "Mirror", "destination": "WorkAPI"}, False),
    "disabled": ({"type": "Disabled"}, False),
    "nothing": (None, False),
}
# fmt: on


@pytest.mark.parametrize(("policy", "is_fine"), POLICIES.values(), ids=POLICIES)
def test_only_placements_on_a_single_cluster_may(policy: Json | None, is_fine: bool) -> None:
    assert (back_reporting.refusal(placement(policy)) == "") is is_fine


@pytest.mark.parametrize(("report", "is_wanted"), REPORTS.values(), ids=REPORTS)
def test_only_those_that_ask_for_it_do(report: Json | None, is_wanted: bool) -> None:
    assert back_reporting.is_wanted(placement(None, report)) is is_wanted


def test_reports_name_the_original() -> None:
    told = {"apiVersion": "batch/v1", "kind": "Job", "status": {"active": 1}}
    identifier = {"name": "j", "namespace": "web"}
    manifests = [
        {"identifier": identifier, "backReportedStatus": {"observedStatus": told}},
        {"identifier": {"name": "k"}},
        {"identifier": {"name": "l"}, "backReportedStatus": {"observedStatus": {"kind": "X"}}},
    ]
    work: Json = {"metadata": {}, "status": {"manifestConditions": manifests}}
    assert list(back_reporting.reports([work])) == [
        Report("batch/v1", "Job", "web", "j", {"active": 1})
    ]
    work["metadata"] = {"labels": {"kubernetes-fleet.io/envelope-work": "ResourceEnvelope"}}
    assert list(back_reporting.reports([work])) == []
