"""Measures update runs: where each stands and since when, and how long clusters and people took."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from fleetqueue.api.fleet.text import client_error
from fleetqueue.api.meta import Key
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.update_runs import marks
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.metrics.registry import Metrics, Reading

STATUS = "fleet_workload_update_run_status_last_timestamp_seconds"
DURATION = "fleet_workload_update_run_stage_cluster_updating_duration_seconds"
LATENCY = "fleet_workload_update_run_approval_request_latency_seconds"
Labels = tuple[str, ...]


class RunMetrics:
    """Those of the runs of one scope."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._told: dict[Key, dict[Labels, float]] = {}
        """By run: each standing that it had, and when it was last seen so."""
        metrics.sources.append(self._readings)

    def tell(self, run: Object, now: datetime) -> None:
        labels = standing(run)
        if labels is not None:
            self._told.setdefault(key_of(run), {})[labels] = now.timestamp()

    def updated(self, run: Object, seconds: Iterable[float]) -> None:
        key = key_of(run)
        for each in seconds:
            self._metrics.observe(DURATION, each, key.namespace, key.name)

    def approved(self, run: Object, task: str, seconds: float) -> None:
        """`seconds`: how long a task of this type waited for people."""
        key = key_of(run)
        self._metrics.observe(LATENCY, seconds, key.namespace, key.name, task)

    def forget(self, key: Key) -> None:
        """The run is no more."""
        self._told.pop(key, None)
        for metric in (DURATION, LATENCY):
            self._metrics.remove(metric, namespace=key.namespace, name=key.name)

    def _readings(self) -> Iterator[Reading]:
        for told in self._told.values():
            for labels, value in told.items():
                yield STATUS, labels, value


def standing(run: Object) -> Labels | None:
    """The labels that tell how a run stands; None where it has not said anything yet."""
    found = (run.get("status") or {}).get("conditions")
    for type in (marks.SUCCEEDED, marks.PROGRESSING, marks.INITIALIZED):
        told = conditions.find(found, type)
        if told is not None:
            key, state = key_of(run), str(run["spec"].get("state") or "")
            reason = str(told.get("reason") or "")
            return key.namespace, key.name, state, type, told["status"], reason, _failure(told)
    return None


def _failure(told: Object) -> str:
    is_bad = told["type"] != marks.PROGRESSING and told["status"] == conditions.FALSE
    if not is_bad:
        return "none"
    lead = client_error("")
    return "user_error" if lead in str(told.get("message") or "") else "internal_error"
