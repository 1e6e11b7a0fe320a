"""How long a container that ended waits before it is started again."""

import pytest

from fleetqueue.runtime.surroundings import RestartBackoff

pytestmark = pytest.mark.rule("jobs C.5")

BASE, CAP = "fleetqueue.io/restart-backoff-base", "fleetqueue.io/restart-backoff-cap"


@pytest.mark.parametrize(
    ("notes", "waits"),
    [
        ({}, [0, 10, 20, 40, 80, 160, 300, 300]),
        ({BASE: "500ms"}, [0, 0.5, 1, 2, 4, 8, 16, 32]),
        ({BASE: "1m", CAP: "90s"}, [0, 60, 90, 90]),
        ({CAP: "15s"}, [0, 10, 15, 15]),
        ({BASE: "0s"}, [0, 0, 0]),
        ({BASE: "-1s"}, [0, 0, 0]),
        ({BASE: "soon", CAP: "7"}, [0, 10, 20]),
    ],
)
def test_each_restart_waits_twice_as_long_up_to_a_cap(
    notes: dict[str, str], waits: list[float]
) -> None:
    backoff = RestartBackoff().as_said_by({"metadata": {"annotations": notes}})
    assert [backoff.seconds(restarts) for restarts in range(len(waits))] == waits


def test_a_pod_without_annotations_waits_as_usual() -> None:
    assert RestartBackoff().as_said_by({"metadata": {}}) == RestartBackoff()
