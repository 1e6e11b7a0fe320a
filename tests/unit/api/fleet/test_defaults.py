"""What is filled in where a placement says nothing."""

import pytest

from fleetqueue.api.fleet.defaults import defaulted

APPLY = {
    "type": "ClientSideApply",
    "comparisonOption": "PartialComparison",
    "whenToApply": "Always",
    "whenToTakeOver": "Always",
}
ROLLING = {"maxUnavailable": "25%", "maxSurge": "25%", "unavailablePeriodSeconds": 60}


def spec_of(**spec):
    return defaulted({"spec": spec})["spec"]


@pytest.mark.rule("SPEC-9")
def test_an_empty_placement_picks_all_and_rolls_out():
    assert spec_of() == {
        "policy": {"placementType": "PickAll"},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": ROLLING, "applyStrategy": APPLY},
        "revisionHistoryLimit": 10,
    }


@pytest.mark.rule("SPEC-9")
def test_constraints_and_tolerations_are_completed():
    policy = spec_of(
        policy={
            "placementType": "PickN",
            "topologySpreadConstraints": [{"topologyKey": "zone"}, {"maxSkew": 2}],
            "tolerations": [{"key": "a"}, {"key": "b", "operator": "Exists"}],
        }
    )["policy"]
    assert policy["placementType"] == "PickN"
    assert [one["maxSkew"] for one in policy["topologySpreadConstraints"]] == [1, 2]
    actions = {one["whenUnsatisfiable"] for one in policy["topologySpreadConstraints"]}
    assert actions == {"DoNotSchedule"}
    assert [one["operator"] for one in policy["tolerations"]] == ["Equal", "Exists"]


@pytest.mark.rule("SPEC-9")
def test_an_external_rollout_gets_no_rolling_update():
    assert "rollingUpdate" not in spec_of(strategy={"type": "External"})["strategy"]


@pytest.mark.rule("SPEC-9")
def test_server_side_apply_does_not_force():
    apply = spec_of(strategy={"applyStrategy": {"type": "ServerSideApply"}})["strategy"]
    assert apply["applyStrategy"]["serverSideApplyConfig"] == {"force": False}


def test_what_is_said_stays_and_the_given_object_does_too():
    rolling = {"maxSurge": 0, "unavailablePeriodSeconds": 0}
    given = {"spec": {"strategy": {"rollingUpdate": rolling}, "revisionHistoryLimit": 1}}
    spec = defaulted(given)["spec"]
    assert spec["strategy"]["rollingUpdate"] == {**rolling, "maxUnavailable": "25%"}
    assert spec["revisionHistoryLimit"] == 1
    assert given == {"spec": {"strategy": {"rollingUpdate": rolling}, "revisionHistoryLimit": 1}}


def test_completing_twice_changes_nothing():
    once = defaulted({"spec": {}})
    assert defaulted(once) == once
