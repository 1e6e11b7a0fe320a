"""When a finished Job is deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Delete, Look, Plan
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime.controllers.ttl_after_finished import decide

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def job(ttl: int | None, finished: str = "", seconds_ago: int = 0) -> Any:
    at = format_time(NOW - timedelta(seconds=seconds_ago))
    told = [{"type": finished, "status": "True", "lastTransitionTime": at}] if finished else []
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    return {"metadata": {"name": "a", "uid": "u"}, "spec": spec, "status": {"conditions": told}}


CASES: dict[str, Any] = {
    "still at work": (job(0), "nothing"),
    "no limit": (job(None, "Complete", 99), "nothing"),
    "at once": (job(0, "Complete"), "delete"),
    "failed ones too": (job(5, "Failed", 5), "delete"),
    "not yet": (job(60, "Complete", 20), 40.0),
    "suspended is not finished": (job(0, "Suspended"), "nothing"),
}


@pytest.mark.rule("jobs B.1")
@pytest.mark.parametrize(("parent", "answer"), CASES.values(), ids=CASES.keys())
def test_a_finished_job_goes_when_its_time_is_over(parent: Any, answer: Any) -> None:
    plan = decide(Look(parent, NOW, Listed([])))
    expected = {"nothing": Plan(), "delete": Plan([Delete(parent, "Foreground")])}
    assert plan == expected.get(answer, Plan(after=answer))
