"""Which hooks a write runs through: those that name its resource, and those that name none."""

from typing import Any

import pytest

from fleetqueue.apiserver.hooks import Hook, Operation

from .conftest import Api

MAPS = "/api/v1/namespaces/default/configmaps"


class Noting(Hook):
    """Writes down what it is shown."""

    def __init__(self, resources: Any) -> None:
        self.resources = resources
        self.seen: list[str] = []

    def mutate(self, operation: Operation) -> None:
        self.seen.append(f"mutate {operation.resource}")

    def validate(self, operation: Operation) -> None:
        self.seen.append(f"validate {operation.resource}")


BOTH = ["mutate configmaps", "validate configmaps"]


@pytest.mark.parametrize(
    ("resources", "seen"),
    [
        (None, BOTH),
        ([("", "configmaps")], BOTH),
        ([("", "secrets"), ("apps", "configmaps")], []),
    ],
)
async def test_a_hook_is_shown_what_it_looks_at(api: Api, resources: Any, seen: list[str]) -> None:
    await api.post(MAPS, {"metadata": {"name": "earlier"}})
    hook = Noting(resources)
    api.instance.core.hooks.add(hook)
    await api.post(MAPS, {"metadata": {"name": "a"}})
    assert hook.seen == seen
