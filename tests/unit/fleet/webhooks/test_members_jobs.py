"""Which new Jobs of a hub no controller of the hub touches."""

from typing import Any

import pytest

from fleetqueue.api.fleet import labels
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import registry
from fleetqueue.fleet.webhooks.members_jobs import left_to_members
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_serving import Reach

pytestmark = pytest.mark.rule("KJ-6")
OWNED = {"ownerReferences": [{"kind": "CronJob", "name": "nightly", "controller": True}]}


def job(namespace: str = "training", metadata: Object | None = None, **spec: Any) -> Object:
    named = {"name": "train", "namespace": namespace, **(metadata or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": named, "spec": spec}


@pytest.mark.parametrize(
    ("made", "manager"),
    [
        pytest.param(job(), labels.JOB_MANAGER, id="one of a user"),
        pytest.param(job(managedBy="kueue.x-k8s.io/multikueue"), "kueue.x-k8s.io/multikueue",
                     id="one that has a manager"),
        pytest.param(job("kube-system"), None, id="one of the system"),
        pytest.param(job("fleet-system"), None, id="one of the fleet"),
        pytest.param(job(metadata=OWNED), None, id="one that another object controls"),
    ],
)  # fmt: skip
def test_jobs_of_users_are_left_to_members(made: Object, manager: str | None) -> None:
    assert left_to_members(made)["spec"].get("managedBy") == manager


def names(**settings: Any) -> list[str]:
    told = HubSettings(**settings)
    first = next(registry.configurations(told, Reach("https://hub", "", "")))
    assert first["kind"] == "MutatingWebhookConfiguration"
    return [each["name"] for each in first["webhooks"]]


def test_the_hub_asks_for_that_only_where_it_is_told_to() -> None:
    assert "fleet.job.mutating" not in names()
    assert names(leaves_jobs_to_members=True)[-1] == "fleet.job.mutating"
