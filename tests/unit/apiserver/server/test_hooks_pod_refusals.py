"""Pods that the server's own hooks refuse."""

from typing import Any

import pytest

from .conftest import Api
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]


def pod(**spec: Any) -> Object:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


REFUSALS = {
    "an unknown account": (
        {"serviceAccountName": "nope"},
        'error looking up service account {namespace}/nope: serviceaccount "nope" not found',
    ),
    "an unknown priority class": (
        {"priorityClassName": "nope"},
        "no PriorityClass with name nope was found",
    ),
    "a priority of its own": (
        {"priority": 5},
        "the integer value of priority (5) must not be provided in pod spec; priority admission "
        "controller computed 0 from the given PriorityClass name",
    ),
    "an unknown runtime class": (
        {"runtimeClassName": "nope"},
        'pod rejected: RuntimeClass "nope" not found',
    ),
    "an overhead nobody has": (
        {"overhead": {"cpu": "1"}},
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ),
}


@pytest.mark.parametrize(("spec", "why"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_pod_is_refused(shared: Api, home: str, spec: Object, why: str) -> None:
    answer = await shared.post(f"{home}/pods", pod(**spec))
    why = why.format(namespace=home.rpartition("/")[2])
    assert (shared.status, answer["message"]) == (403, f'pods "p" is forbidden: {why}')
