"""How long a failed pod's successor waits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.api.times import format_time
from fleetqueue.runtime.controllers.job_backoff import Backoff, Failures, finished_at

pytestmark = pytest.mark.rule("jobs B.1")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def ended(name: str, phase: str, seconds: float) -> Any:
    state = {"terminated": {"exitCode": 1, "finishedAt": format_time(at(seconds))}}
    return {
        "metadata": {"uid": name, "name": name, "creationTimestamp": format_time(NOW)},
        "spec": {},
        "status": {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]},
    }


@pytest.mark.parametrize(
    ("failures", "delay"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (1000, 600)]
)
def test_delays_double_up_to_ten_minutes(failures: int, delay: float) -> None:
    assert Backoff().left(failures, NOW, NOW) == delay
    assert Backoff().left(failures, NOW, at(4)) == max(0, delay - 4)
    assert Backoff().left(failures, NOW, at(601)) == 0


def test_other_delays_may_be_asked_for() -> None:
    assert Backoff(base_seconds=0.1, seconds_max=0.3).left(3, NOW, NOW) == 0.3


def test_failures_add_up_until_a_success() -> None:
    failures = Failures()
    first, second = ended("a", "Failed", 1), ended("b", "Failed", 5)
    assert failures.look("job", [first], [], [first]) == (1, at(1))
    assert failures.look("job", [first], [], [first]) == (1, at(1))
    assert failures.look("job", [second], [], [second]) == (2, at(5))
    assert failures.look("job", [], [], []) == (2, at(5))
    success, third = ended("s", "Succeeded", 7), ended("c", "Failed", 9)
    assert failures.look("job", [], [success], [ended("d", "Failed", 6), third]) == (1, at(9))
    assert failures.look("job", [], [success], []) == (0, None)
    assert failures.look("other", [], [], []) == (0, None)


def test_after_a_restart_the_pods_that_are_left_tell() -> None:
    pods = [
        ended("a", "Failed", 1),
        ended("s", "Succeeded", 2),
        ended("b", "Failed", 3),
        ended("c", "Failed", 4),
    ]
    assert Failures().look("job", pods, [], []) == (2, at(4))


def test_the_end_of_a_pod_is_found_where_it_is_told() -> None:
    pod = ended("a", "Failed", 30)
    assert finished_at(pod) == at(30)
    sidecar = {"name": "s", "state": {"terminated": {"finishedAt": format_time(at(40))}}}
    pod["spec"] = {"initContainers": [{"name": "s", "restartPolicy": "Always"}]}
    pod["status"]["initContainerStatuses"] = [sidecar, {"name": "plain", "state": {}}]
    assert finished_at(pod) == at(40)

    del pod["status"]["containerStatuses"], pod["status"]["initContainerStatuses"]
    assert finished_at(pod) == NOW
    pod["metadata"] |= {
        "deletionTimestamp": format_time(at(50)),
        "deletionGracePeriodSeconds": 30,
    }
    assert finished_at(pod) == at(20)
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": format_time(at(10))}
    pod["status"]["conditions"] = [ready]
    assert finished_at(pod) == at(10)
