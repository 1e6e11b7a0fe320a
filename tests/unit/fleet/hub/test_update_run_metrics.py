"""What the metrics of update runs say."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.fleet.hub.update_run_metrics import RunMetrics, standing
from fleetqueue.metrics.registry import Metrics

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
USER = "x: failed to process the request due to a client error: y"


def run(*conditions: tuple[str, str, str, str]) -> Json:
    told = [
        {"type": type, "status": status, "reason": reason, "message": message}
        for type, status, reason, message in conditions
    ]
    metadata = {"name": "r", "namespace": "web"}
    return {"metadata": metadata, "spec": {"state": "Run"}, "status": {"conditions": told}}


BEGUN = ("Initialized", "True", "a", "")
# fmt: off
STANDINGS = {
    "just begun": ([BEGUN], ("Initialized", "True", "a", "none")),
    "not begun": ([("Initialized", "False", "b", USER)],
        ("Initialized", "False", "b", "user_error")),
    "under way": ([BEGUN, ("Progressing", "False", "c", "")],
        ("Progressing", "False", "c", "none")),
    "failed": ([BEGUN, ("Progressing", "False", "c", ""), ("Succeeded", "False", "d", "why")],
        ("Succeeded", "False", "d", "internal_error")),
}
# fmt: on


@pytest.mark.rule("kubefleet 10.1")
@pytest.mark.parametrize(("conditions", "told"), STANDINGS.values(), ids=STANDINGS)
def test_the_furthest_condition_tells_how_a_run_stands(conditions: Any, told: Any) -> None:
    assert standing(run(*conditions)) == ("web", "r", "Run", *told)


@pytest.mark.rule("kubefleet 10.1")
def test_a_run_that_is_gone_is_not_told_of() -> None:
    metrics = Metrics()
    runs = RunMetrics(metrics)
    runs.tell(run(), NOW)
    runs.tell(run(BEGUN), NOW)
    runs.updated(run(), [20.0])
    text = metrics.text().decode()
    line = next(each for each in text.splitlines() if "status_last_timestamp_seconds{" in each)
    assert line.endswith(" 1.7672256e+09")
    assert 'duration_seconds_bucket{le="30.0",name="r",namespace="web"} 1.0' in text
    runs.forget(Key("web", "r"))
    assert "status_last_timestamp_seconds{" not in metrics.text().decode()
