"""A StatefulSet whose size is written as a Scale, as a foreign server asks about it."""

import json
from typing import Any

import pytest
from tests.support.job_looks import KINDS, NAMESPACE, QUEUE, SETTINGS, defaulted, pods, thing

from fleetqueue.base import codec
from fleetqueue.base.clock import SystemClock
from fleetqueue.jobs.webhook import webhooks
from fleetqueue.kube.sources import Listed
from fleetqueue.kube.webhook import Webhooks
from fleetqueue.kube.webhook_serving import Reach, registrations, serve

pytestmark = [pytest.mark.rule("jobs A.13.2")]

DECLARED = list(webhooks([KINDS["statefulset"]], SETTINGS))
IMMUTABLE = "spec.replicas: Invalid value: {}: field is immutable"


async def ask(name: str, replicas: int) -> dict[str, Any]:
    """Of a set of two there is, or one that there is not."""
    spec = {"replicas": 2, "template": pods()}
    made = thing("apps/v1", "StatefulSet", "web", labels=QUEUE, spec=spec)
    source = Listed([NAMESPACE, defaulted(made, framework="statefulset")])
    served = Webhooks()
    serve(served, DECLARED, source, SystemClock())
    scale = thing("autoscaling/v1", "Scale", name, spec={"replicas": replicas})
    request = {
        "uid": "review-1",
        "operation": "UPDATE",
        "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"},
        "subResource": "scale",
        "name": name,
        "namespace": "ns",
        "object": scale,
        "oldObject": scale,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    _, answer = await served.answer("/validate-apps-v1-statefulset", codec.encode(review))
    return dict(json.loads(answer)["response"])


def test_it_is_asked_for() -> None:
    [hook] = registrations("kueue", DECLARED, Reach(url="https://here"), {})[1]["webhooks"]
    assert hook["rules"][0]["resources"] == ["statefulsets", "statefulsets/scale"]


@pytest.mark.parametrize("replicas", [1, 3])
async def test_another_size_is_refused(replicas: int) -> None:
    answer = await ask("web", replicas)
    assert not answer["allowed"]
    assert answer["status"]["message"] == IMMUTABLE.format(replicas)


@pytest.mark.parametrize(("name", "replicas"), [("web", 0), ("web", 2), ("other", 3)])
async def test_nothing_else_is(name: str, replicas: int) -> None:
    assert (await ask(name, replicas))["allowed"]
