"""The order of selected objects."""

import random

import pytest

from fleetqueue.fleet.decide.order import ordered

WANTED = (
    "scheduling.k8s.io/v1 PriorityClass /high",
    "v1 Namespace /web",
    "v1 Secret a/x",
    "v1 ConfigMap a/b",
    "v1 ConfigMap b/a",
    "rbac.authorization.k8s.io/v1 ClusterRole /r",
    "rbac.authorization.k8s.io/v1 Role a/r",
    "v1 Service a/s",
    "apps/v1 Deployment a/d",
    "serving.example.com/v1 Deployment a/d",
    "batch/v1 Job a/j",
    "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration /v",
    "example.com/v1 Apple a/z",
    "kueue.x-k8s.io/v1beta1 ClusterQueue /cluster-queue",
    "kueue.x-k8s.io/v1beta1 ResourceFlavor /default-flavor",
)


@pytest.mark.rule("SEL-18")
def test_known_kinds_come_first_and_the_rest_by_its_name() -> None:
    shuffled = random.Random(1).sample(WANTED, len(WANTED))
    assert tuple(map(_shown, ordered(map(_parsed, shuffled)))) == WANTED


def _parsed(text: str) -> dict[str, object]:
    api_version, kind, name = text.split()
    namespace, _, own = name.partition("/")
    metadata = {"name": own, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _shown(obj: dict[str, object]) -> str:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return f"{obj['apiVersion']} {obj['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
