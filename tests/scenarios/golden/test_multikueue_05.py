"""Mistakes in setting up: what clusters, checks and queues say, and what is refused."""

import re
from typing import Any

import pytest
from tests.support import dispatching
from tests.support.dispatching import API, Dispatching, kubeconfig
from tests.support.kueue import cluster_queue, local_queue

from fleetqueue.kube.errors import Invalid
from fleetqueue.multikueue import kinds
from fleetqueue.testing import Fleet, named

pytestmark = [
    pytest.mark.rule("multikueue 2.1"),
    pytest.mark.rule("multikueue 2.2"),
    pytest.mark.rule("multikueue 2.3"),
    pytest.mark.rule("multikueue 2.4"),
    pytest.mark.rule("MKC-4"),
    pytest.mark.rule("MKCFG-1"),
    pytest.mark.rule("CQ-2"),
]

BAD = "False BadKubeConfig @1: load client config failed: "
UNSAFE = "False InsecureKubeConfig @1: load client config failed: "
REFUSED = (
    "False ClientConnectionFailed @1: failed to get server groups: the server has asked for the "
    "client to provide credentials; connection attempts: {}, next connection attempt: <t>"
)
UNLOADED = "False BadConfig @1: Cannot load the AdmissionChecks parameters: "
CLUSTERS = {
    "wrong-nosecret": [f'{BAD}Secret "wrong-nosecret-secret" not found'],
    "wrong-nokey": [f'{BAD}key "kubeconfig" not found in secret "wrong-nokey-secret"'],
    "wrong-garbage": [
        f"{UNSAFE}failed to parse kubeconfig(apiconfig): "
        "yaml: line 1: did not find expected ',' or ']'"
    ],
    "wrong-tokenfile": [f"{UNSAFE}tokenFile is not allowed"],
    "wrong-insecure": [f"{UNSAFE}insecure TLS verification is not allowed for cluster c"],
    "wrong-token": [REFUSED.format(1), REFUSED.format(2)],
}
CHECKS = {
    "wrong-noparams": f"{UNLOADED}missing parameters reference",
    "wrong-unknown-config": f'{UNLOADED}MultiKueueConfig.kueue.x-k8s.io "does-not-exist" not found',
    "wrong-wrong-kind": f'{UNLOADED}wrong group "example.com", expecting "kueue.x-k8s.io": '
    "bad parameters reference",
    "wrong-missing-clusters": "False NoUsableClusters @1: "
    "Missing clusters: [wrong-missing1 wrong-missing2]",
    "wrong-some-inactive": "True SomeActiveClusters @1: "
    "Missing clusters: [wrong-missing1], Inactive clusters: [wrong-nosecret]",
    "wrong-all-inactive": "False NoUsableClusters @1: "
    "Inactive clusters: [wrong-nosecret wrong-nokey]",
    "wrong-second": "True Active @1: The admission check is active",
}
CLOSED = "@1: Can't admit new workloads: "
QUEUES = {
    "wrong-two-checks": f"False MultipleMultiKueueAdmissionChecks {CLOSED}Cannot use multiple "
    "MultiKueue AdmissionChecks on the same ClusterQueue, found: multikueue,wrong-second.",
    "wrong-inactive-check": f"False AdmissionCheckInactive {CLOSED}"
    "references inactive AdmissionCheck(s): wrong-unknown-config.",
    "wrong-missing-check": f"False AdmissionCheckNotFound {CLOSED}"
    "references missing AdmissionCheck(s): does-not-exist.",
    "wrong-per-flavor": "True Ready @1: Can admit new workloads",
}
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation]"
)
ONE_OF = (
    'spec.clusterSource: Invalid value: "object": '
    "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"
)
CONFIG_KIND, CLUSTER_KIND = "MultiKueueConfig.kueue.x-k8s.io", "MultiKueueCluster.kueue.x-k8s.io"


def source(**of: Any) -> dict[str, Any]:
    return named("MultiKueueCluster", API, "wrong", spec={"clusterSource": of})


# fmt: off
REFUSALS = {
    "too many clusters":  (dispatching.config(*(f"c{n}" for n in range(21)), name="wrong"),
                           f'{CONFIG_KIND} "wrong" is invalid: [spec.clusters: Too many: 21: '
                           f"must have at most 20 items, {UNCHECKED}"),
    "no clusters":        (dispatching.config(name="wrong"),
                           f'{CONFIG_KIND} "wrong" is invalid: spec.clusters: Invalid value: 0: '
                           "spec.clusters in body should have at least 1 items"),
    "one twice":          (dispatching.config("a", "a", name="wrong"),
                           f'{CONFIG_KIND} "wrong" is invalid: spec.clusters: '
                           'Invalid value: "array": must be unique'),
    "two sources":        (source(kubeConfig={"location": "x"}, clusterProfileRef={"name": "p"}),
                           f'{CLUSTER_KIND} "wrong" is invalid: {ONE_OF}'),
    "no source":          (source(), f'{CLUSTER_KIND} "wrong" is invalid: {ONE_OF}'),
    "an unknown source":  (source(kubeConfig={"location": "x", "locationType": "Web"}),
                           f'{CLUSTER_KIND} "wrong" is invalid: '
                           "[spec.clusterSource.kubeConfig.locationType: Unsupported value: "
                           f'"Web": supported values: "Secret", "Path", {UNCHECKED}'),
}
# fmt: on


async def test_mistakes_are_told_where_they_are(fleet: Fleet) -> None:
    async with await dispatching.start(fleet) as world:
        await world.join()
        await world.set_up()
        await _make_wrong_clusters(world)
        await _make_wrong_checks(world)
        await _make_wrong_queues(world)
        await world.passes(seconds=6)

        seen = world.manager.seen
        for name, told in CLUSTERS.items():
            lines = seen.track("MultiKueueCluster", name, "Active")
            assert [_timeless(line) for line in lines if line] == told, name
        for name, line in CHECKS.items():
            assert seen.track("AdmissionCheck", name, "Active")[-1] == line, name
        for name, line in QUEUES.items():
            assert seen.track("ClusterQueue", name, "Active")[-1] == line, name
        local = "False ClusterQueueIsInactive @1: Can't submit new workloads to clusterQueue"
        assert seen.track("LocalQueue", "q-two-checks", "Active")[-1] == local
        assert seen.events("MultiKueueCluster") == []


@pytest.mark.parametrize(("obj", "message"), REFUSALS.values(), ids=REFUSALS)
async def test_what_is_refused(fleet: Fleet, obj: dict[str, Any], message: str) -> None:
    world = await dispatching.start(fleet, workers=())
    with pytest.raises(Invalid) as refused:
        await world.manager.client.create(obj)
    assert str(refused.value) == message


async def test_the_controller_of_a_check_is_for_good(fleet: Fleet) -> None:
    world = await dispatching.start(fleet, workers=())
    await world.manager.create(dispatching.admission_check("wrong-second"))
    patch = {"spec": {"controllerName": "example.com/other"}}
    with pytest.raises(Invalid) as refused:
        await world.manager.patch(kinds.ADMISSION_CHECK, "wrong-second", patch)
    assert str(refused.value) == (
        'AdmissionCheck.kueue.x-k8s.io "wrong-second" is invalid: '
        'spec.controllerName: Invalid value: "string": field is immutable'
    )


async def _make_wrong_clusters(world: Dispatching) -> None:
    texts = {
        "wrong-garbage": "this is: [not yaml",
        "wrong-tokenfile": kubeconfig("worker1").replace("token: ", "tokenFile: /x/"),
        "wrong-insecure": kubeconfig("worker1")
        .replace("name: default-cluster", "name: c")
        .replace("certificate-authority-data: YW4gYXV0aG9yaXR5", "insecure-skip-tls-verify: true"),
        "wrong-token": kubeconfig("worker1", token="wrong"),
    }
    for name in CLUSTERS:
        secret = dispatching.kubeconfig_secret(name, texts.get(name, "x"))
        if name == "wrong-nokey":
            secret["data"] = {"other": secret["data"].pop("kubeconfig")}
        if name != "wrong-nosecret":
            await world.manager.client.create(secret)
        await world.manager.create(dispatching.cluster(name))


async def _make_wrong_checks(world: Dispatching) -> None:
    bare = dispatching.admission_check("wrong-noparams")
    del bare["spec"]["parameters"]
    other = dispatching.admission_check("wrong-wrong-kind")
    other["spec"]["parameters"] |= {"apiGroup": "example.com", "kind": "ConfigMap"}
    configs = {
        "wrong-missing-clusters": ["wrong-missing1", "wrong-missing2"],
        "wrong-some-inactive": ["worker1", "wrong-nosecret", "wrong-missing1"],
        "wrong-all-inactive": ["wrong-nosecret", "wrong-nokey"],
    }
    await world.manager.create(
        bare, dispatching.admission_check("wrong-unknown-config", "does-not-exist"), other
    )
    for name, clusters in configs.items():
        await world.manager.create(dispatching.config(*clusters, name=name))
        await world.manager.create(dispatching.admission_check(name, name))
    await world.manager.create(dispatching.admission_check("wrong-second"))


async def _make_wrong_queues(world: Dispatching) -> None:
    checks: dict[str, list[dict[str, Any]]] = {
        "wrong-two-checks": [{"name": "multikueue"}, {"name": "wrong-second"}],
        "wrong-inactive-check": [{"name": "wrong-unknown-config"}],
        "wrong-missing-check": [{"name": "does-not-exist"}],
        "wrong-per-flavor": [{"name": "multikueue", "onFlavors": ["default"]}],
    }
    for name, listed in checks.items():
        strategy = {"admissionChecks": listed}
        await world.manager.create(cluster_queue(name, admissionChecksStrategy=strategy))
    await world.manager.create(local_queue("q-two-checks", "wrong-two-checks"))


def _timeless(line: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "<t>", line)
