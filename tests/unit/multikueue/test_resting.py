"""Workloads that come back from workers again and again are offered later and later."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api.times import format_time
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.multikueue.dispatcher import Nomination
from fleetqueue.multikueue.flow import deciding
from fleetqueue.multikueue.flow import steps as flow
from fleetqueue.multikueue.flow.situation import Site, Situation
from fleetqueue.multikueue.settings import DispatchSettings

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("times", "ago", "after"),
    [(0, 0, None), (1, 0, None), (2, 0, 1), (3, 0, 2), (3, 2, None), (20, 0, 60), (20, 59, 1)],
)
def test_the_rest_grows_with_every_return(times: int, ago: int, after: int | None) -> None:
    check = {
        "name": "mk",
        "state": "Pending",
        "message": "",
        "lastTransitionTime": format_time(NOW - timedelta(seconds=ago)),
    }
    if times:
        check["retryCount"] = times  # type: ignore[assignment]
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"podSets": []},
        "status": {"conditions": [reserved], "admissionChecks": [check]},
    }
    seen = Situation(
        workload,
        check,
        [Site("w1")],
        NOW,
        settings=DispatchSettings(jobs=JobSettings()),
        nominate=lambda: Nomination(["w1"]),
    )
    made = deciding.decide(seen)
    assert made.after == after
    assert any(isinstance(each, flow.MakeCopy) for each in made.steps) is (after is None)
