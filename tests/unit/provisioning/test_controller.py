"""What wakes the workloads that wait for capacity."""

from typing import Any

import pytest

from fleetqueue.provisioning import kinds
from fleetqueue.provisioning.controller import operators

Json = dict[str, Any]


def check(generation: int = 1, active: str = "True", **more: Any) -> Json:
    conditions = [{"type": "Active", "status": active, **more}] if active else []
    return {
        "metadata": {"name": "prov", "generation": generation},
        "status": {"conditions": conditions},
    }


# fmt: off
CHANGES = {  #                    what was              what is                          wakes
    "it came":                   (None,                 check(),                         True),
    "it went":                   (check(),              None,                            True),
    "its spec changed":          (check(),              check(2),                        True),
    "it may be used":            (check(active="False"), check(),                        True),
    "that was said first":       (check(active=""),     check(),                         True),
    "that was said otherwise":   (check(),              check(message="in other words"), False),
    "nothing changed":           (check(),              check(),                         False),
}
# fmt: on


@pytest.mark.parametrize(("old", "new", "wakes"), CHANGES.values(), ids=CHANGES.keys())
def test_a_check_wakes_workloads_where_it_is_used_otherwise(
    old: Json | None, new: Json | None, wakes: bool
) -> None:
    followed = {follow.kind: follow for follow in next(iter(operators())).follows}
    when = followed[kinds.ADMISSION_CHECK].when

    assert (when is None or when(old, new)) is wakes
