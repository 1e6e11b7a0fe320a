"""Queues and flavors are made from flags, or only shown."""

import pytest

from fleetqueue.base import documents
from fleetqueue.cli.kueuectl import kinds
from fleetqueue.kube.errors import NotFound
from support.ctl import Ctl, Ran
from support.kueue import Kueue

pytestmark = pytest.mark.rule("kueue 11.4", "kueue 13.9")


async def test_k_1_a_cluster_queue_without_options(cluster: Kueue, ctl: Ctl) -> None:
    assert await ctl("create", "clusterqueue", "one") == Ran(
        "clusterqueue.kueue.x-k8s.io/one created\n", ""
    )
    spec = (await cluster.get(kinds.CLUSTER_QUEUE, "one"))["spec"]
    assert spec["namespaceSelector"] == {}
    assert spec["queueingStrategy"] == "BestEffortFIFO"
    assert spec["preemption"]["reclaimWithinCohort"] == "Never"
    assert spec["preemption"]["withinClusterQueue"] == "Never"
    assert "cohortName" not in spec
    assert "resourceGroups" not in spec


async def test_k_1_a_cluster_queue_with_every_option(cluster: Kueue, ctl: Ctl) -> None:
    done = await ctl(
        "create", "cq", "two", "--cohort", "team", "--queuing-strategy=StrictFIFO",
        "--namespace-selector", "a=b,c=d", "--reclaim-within-cohort", "Any",
        "--preemption-within-cluster-queue", "LowerPriority",
        "--nominal-quota", "spot:cpu=2;memory=1Gi,large:memory=2Gi;cpu=4",
        "--nominal-quota", "gpus:nvidia.com/gpu=8",
        "--borrowing-limit", "spot:cpu=1", "--lending-limit", "large:memory=1Gi",
    )  # fmt: skip
    assert done == Ran("clusterqueue.kueue.x-k8s.io/two created\n", "")
    spec = (await cluster.get(kinds.CLUSTER_QUEUE, "two"))["spec"]
    assert spec["cohortName"] == "team"
    assert spec["queueingStrategy"] == "StrictFIFO"
    assert spec["namespaceSelector"] == {"matchLabels": {"a": "b", "c": "d"}}
    assert spec["preemption"]["reclaimWithinCohort"] == "Any"
    assert spec["preemption"]["withinClusterQueue"] == "LowerPriority"
    assert [each["coveredResources"] for each in spec["resourceGroups"]] == [
        ["cpu", "memory"],
        ["nvidia.com/gpu"],
    ]
    spot, large = spec["resourceGroups"][0]["flavors"]
    assert spot["resources"] == [
        {"name": "cpu", "nominalQuota": "2", "borrowingLimit": "1"},
        {"name": "memory", "nominalQuota": "1Gi"},
    ]
    assert large["resources"] == [
        {"name": "cpu", "nominalQuota": "4"},
        {"name": "memory", "nominalQuota": "2Gi", "lendingLimit": "1Gi"},
    ]


async def test_k_1_a_local_queue_needs_a_cluster_queue_that_is_known(
    cluster: Kueue, ctl: Ctl
) -> None:
    unknown = 'Error: clusterqueues.kueue.x-k8s.io "nowhere" not found\n'
    assert await ctl("create", "lq", "one", "-c", "nowhere") == Ran("", unknown, 1)
    made = "localqueue.kueue.x-k8s.io/one created\n"
    assert await ctl("create", "lq", "one", "-c", "nowhere", "-i") == Ran(made, "")
    assert (await cluster.get(kinds.LOCAL_QUEUE, "one"))["spec"]["clusterQueue"] == "nowhere"

    await ctl("create", "cq", "queue")
    made = "localqueue.kueue.x-k8s.io/two created\n"
    assert await ctl("create", "localqueue", "two", "--clusterqueue", "queue") == Ran(made, "")


async def test_k_1_a_flavor_with_and_without_options(cluster: Kueue, ctl: Ctl) -> None:
    plain = await ctl("create", "resourceflavor", "plain")
    assert plain == Ran("resourceflavor.kueue.x-k8s.io/plain created\n", "")
    done = await ctl(
        "create", "rf", "spot", "--node-labels", "a=b,c=d",
        "--node-taints", "spot=true:NoSchedule,old:NoExecute",
        "--tolerations", "spot=true:NoSchedule,old:NoExecute,any",
    )  # fmt: skip
    assert done == Ran("resourceflavor.kueue.x-k8s.io/spot created\n", "")
    assert (await cluster.get(kinds.RESOURCE_FLAVOR, "spot"))["spec"] == {
        "nodeLabels": {"a": "b", "c": "d"},
        "nodeTaints": [
            {"key": "spot", "value": "true", "effect": "NoSchedule"},
            {"key": "old", "effect": "NoExecute"},
        ],
        "tolerations": [
            {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
            {"key": "old", "operator": "Exists", "effect": "NoExecute"},
            {"key": "any", "operator": "Exists"},
        ],
    }


@pytest.mark.parametrize("how", ["client", "server"])
async def test_a_dry_run_makes_nothing(cluster: Kueue, ctl: Ctl, how: str) -> None:
    for kind, plural, more in (
        ("clusterqueue", kinds.CLUSTER_QUEUE, ()),
        ("localqueue", kinds.LOCAL_QUEUE, ("-c", "x", "-i")),
        ("resourceflavor", kinds.RESOURCE_FLAVOR, ()),
    ):
        done = await ctl("create", kind, "one", *more, "--dry-run", how)
        assert done == Ran(f"{kind}.kueue.x-k8s.io/one created ({how} dry run)\n", "")
        with pytest.raises(NotFound):
            await cluster.get(plural, "one")


async def test_what_was_made_can_be_printed(ctl: Ctl) -> None:
    done = await ctl("create", "cq", "one", "--dry-run=client", "-o", "yaml")
    assert documents.load(done.out) == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "one"},
        "spec": {
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
            "queueingStrategy": "BestEffortFIFO",
        },
    }
    done = await ctl("create", "rf", "two", "-o", "jsonpath={.metadata.name}")
    assert done == Ran("two\n", "")
    done = await ctl("create", "rf", "three", "-o", "json")
    assert "managedFields" not in done.out
    assert documents.load(done.out)["metadata"]["uid"]


async def test_what_the_cluster_refuses_is_told(ctl: Ctl) -> None:
    await ctl("create", "rf", "one")
    done = await ctl("create", "rf", "one")
    assert (done.code, done.out) == (1, "")
    assert done.err == 'Error: resourceflavors.kueue.x-k8s.io "one" already exists\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cq",), "accepts 1 arg(s), received 0"),
        (("cq", "a", "b"), "accepts 1 arg(s), received 2"),
        (("lq", "a"), 'required flag(s) "clusterqueue" not set'),
        (("cq", "a", "--nominal-quota", "flavor"), "invalid resources specification"),
        (("cq", "a", "--dry-run", "maybe"),
         'Invalid dry-run value (maybe). Must be "none", "server", or "client".'),
        (("rf", "a", "--node-taints", "a=b:Nope"),
         "invalid taint effect: Nope, unsupported taint effect"),
        (("rf", "a", "-o", "xml"),
         'unable to match a printer suitable for the output format "xml", allowed formats are:'
         " json,jsonpath,jsonpath-as-json,jsonpath-file,name,yaml"),
    ],
)  # fmt: skip
async def test_mistakes_are_told_in_a_line(
    ctl: Ctl, arguments: tuple[str, ...], message: str
) -> None:
    done = await ctl("create", *arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == f"Error: {message}"
