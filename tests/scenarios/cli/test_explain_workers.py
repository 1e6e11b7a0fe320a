"""What a job would miss on each worker, asked of a manager and its workers."""

from typing import Any

import pytest
from tests.support import dispatching
from tests.support import kueue as objects
from tests.support.dispatching import CLUSTER_QUEUE, LOCAL_QUEUE, Dispatching, job

from fleetqueue.apiserver.access.users import User
from fleetqueue.cli.commands.explain import told
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import CRDS
from fleetqueue.multikueue import kinds
from fleetqueue.testing import Fleet, named, namespace

pytestmark = [pytest.mark.rule("LIM-2"), pytest.mark.rule("S002-11")]
NO_QUEUE = '  LocalQueue "default/user-queue" does not exist on worker "worker1": create it there.'
TOO_MUCH = (
    '  The workload requests 3 of cpu, and ClusterQueue "cluster-queue" on worker "worker2" can'
    " never give more than 2: raise its quota, or ask for less."
)
READER = User("reader", groups=("system:authenticated",))
CLAIMED = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}]}
NAMED = [
    named("ConfigMap", "v1", "settings", "default"),
    named("Secret", "v1", "token", "default", data={"token": "aHVzaA=="}),
    named("ServiceAccount", "v1", "trainer", "default"),
    named("PriorityClass", "scheduling.k8s.io/v1", "urgent", value=10),
    named(
        "ResourceClaimTemplate",
        "resource.k8s.io/v1",
        "one-gpu",
        "default",
        spec={"spec": {"devices": CLAIMED}},
    ),
    named(
        "DeviceClass",
        "resource.k8s.io/v1",
        "gpu.example.com",
        spec={"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    ),
    named("WorkloadPriorityClass", objects.API, "high", value=10),
]
"""What `naming` needs."""


def naming() -> dict[str, Any]:
    made = job("one", cpu="2")
    made["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    made["spec"]["template"]["spec"] |= {
        "serviceAccountName": "trainer",
        "priorityClassName": "urgent",
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        "volumes": [
            {"name": "a", "configMap": {"name": "settings"}},
            {"name": "b", "secret": {"secretName": "token"}},
            {"name": "c", "configMap": {"name": "more", "optional": True}},
        ],
    }
    return made


async def world(fleet: Fleet, **quota: Any) -> Dispatching:
    made = await dispatching.start(fleet, install=dispatching.install_dispatch)
    await made.join()
    await made.set_up(**{"worker_quota": "2", **quota})
    return made


async def asked(made: Dispatching, space: str = "default") -> list[str]:
    return await told(made.manager.client, space, "job/one", "kueue-system", made.connect)


async def test_what_workers_that_were_offered_it_lack_is_told(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        await made.workers["worker1"].client.delete(kinds.LOCAL_QUEUE, LOCAL_QUEUE, "default")
        await made.manager.create(job("one", cpu="3"))
        await made.passes(seconds=5)

        lines = await asked(made)

    first, second = (
        lines.index(f"on {name} it waits in the queue user-queue") for name in made.workers
    )
    assert NO_QUEUE in lines[first:second]
    assert TOO_MUCH in lines[second:]


async def test_it_is_told_before_the_manager_has_quota_for_it(fleet: Fleet) -> None:
    async with await world(fleet, quota="1") as made:
        await made.workers["worker1"].client.delete(kinds.LOCAL_QUEUE, LOCAL_QUEUE, "default")
        await made.manager.create(job("one", cpu="3"))
        await made.passes(seconds=5)

        lines = await asked(made)

    assert lines[-4:] == [
        "on worker1: it cannot run there",
        NO_QUEUE,
        "on worker2: it cannot run there",
        TOO_MUCH,
    ]


async def test_a_worker_without_the_namespace_says_just_that(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        client = made.manager.client
        await client.create(namespace("team"))
        queue = objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE)
        queue["metadata"]["namespace"] = "team"
        await client.create(queue)
        elsewhere = job("one")
        elsewhere["metadata"]["namespace"] = "team"
        await client.create(elsewhere)
        await made.passes(seconds=5)

        lines = await asked(made, "team")
        [workload] = (await client.list(kinds.WORKLOAD, "team")).items
        events = await made.manager.events(workload["metadata"]["name"])

    text = 'Namespace "team" does not exist on worker "worker2": create it there.'
    assert lines[-2:] == ["on worker2: it has no copy", f"  {text}"]
    [told_of] = [text for _, reason, text in events if reason == "PendingOnWorkers"]
    assert f"worker2: CannotRun ({text})" in told_of


async def test_a_kind_that_the_manager_may_not_read_is_told_of(fleet: Fleet) -> None:
    async with await world(fleet, quota="1") as made:
        await made.manager.create(job("one", cpu="3"))
        await made.passes(seconds=5)
        made.links["worker2"].user = User("nobody")

        assert (await asked(made))[-2:] == [
            "on worker2: it cannot run there",
            '  The kind batch/v1, Kind=Job is not served on worker "worker2": install its CRD and'
            " its operator there, and let the manager read it.",
        ]


async def test_one_that_is_lost_or_does_not_answer_is_told_of(fleet: Fleet) -> None:
    async with await world(fleet, quota="1") as made:
        await made.manager.create(job("one", cpu="3"))
        made.cut("worker1")
        await made.passes(seconds=20)
        made.hang("worker2")

        lines = await asked(made)

    assert lines[-4:-2] == [
        "on worker1: it cannot run there",
        '  Worker "worker1" cannot be reached: see the condition Active of MultiKueueCluster'
        ' "worker1".',
    ]
    assert lines[-1] == "on worker2: it does not answer"


async def test_where_nothing_is_missing_nothing_is_told(fleet: Fleet) -> None:
    async with await world(fleet, quota="1", worker_quota="2") as made:
        await made.manager.create(job("one", cpu="2"))
        await made.passes(seconds=5)

        assert not [line for line in await asked(made) if "worker" in line]


async def test_workers_that_the_job_does_not_ask_for_are_left_out(fleet: Fleet) -> None:
    async with await world(fleet, quota="1") as made:
        patch = {"metadata": {"labels": {"region": "eu"}}}
        await made.manager.client.patch(kinds.CLUSTER, "worker2", patch)
        abroad = job("one", cpu="3")
        abroad["metadata"]["annotations"] = {"fleetqueue.dev/cluster-selector": "region=eu"}
        await made.manager.create(abroad)
        await made.passes(seconds=5)

        assert [line for line in await asked(made) if line.startswith("on ")] == [
            "on worker2: it cannot run there"
        ]


async def test_what_its_pods_name_is_looked_for_on_every_worker(fleet: Fleet) -> None:
    async with await world(fleet, quota="1") as made:
        for side in (made.manager, made.workers["worker2"]):
            await side.create(*NAMED)
        await made.manager.create(naming())
        await made.passes(seconds=5)
        before = len(made.links["worker2"].calls)

        lines = await asked(made)
        calls = made.links["worker2"].calls[before:]

    missing = [
        f'  {title} does not exist on worker "worker1", and the job names it: create it there.'
        for title in (
            'ConfigMap "default/settings"',
            'Secret "default/token"',
            'ServiceAccount "default/trainer"',
            'PriorityClass "urgent"',
            'ResourceClaimTemplate "default/one-gpu"',
            'WorkloadPriorityClass "high"',
            'DeviceClass "gpu.example.com"',
        )
    ]
    assert lines[lines.index("on worker1: it cannot run there") + 1 :] == missing
    [secret] = [call for call in calls if "/secrets" in call.path]
    assert "PartialObjectMetadata" in secret.headers["accept"]


async def test_what_its_pods_name_and_nobody_may_read_is_not_known(fleet: Fleet) -> None:
    async with await world(fleet, quota="1") as made:
        for side in (made.manager, *made.workers.values()):
            await side.create(*NAMED)
        await made.manager.create(naming())
        await made.passes(seconds=5)
        worker = made.workers["worker2"].client
        await worker.delete(CRDS, "workloadpriorityclasses.kueue.x-k8s.io")
        await let_read(worker)
        made.links["worker2"].user = READER

        silent = await asked(made)
        await worker.delete(kinds.LOCAL_QUEUE, LOCAL_QUEUE, "default")
        lines = await asked(made)

    assert not any("worker2" in line for line in silent), "nobody waits for it there yet"
    assert lines[-3:] == [
        "on worker2: it cannot run there",
        f'  LocalQueue "default/{LOCAL_QUEUE}" does not exist on worker "worker2":'
        " create it there.",
        '  It is not known whether worker "worker2" has Secret "default/token" (may not be read),'
        ' WorkloadPriorityClass "high" (kind not served).',
    ]


async def let_read(worker: Client) -> None:
    """All but Secrets."""
    group = "rbac.authorization.k8s.io"
    core = ["configmaps", "serviceaccounts", "namespaces"]
    others = ["batch", "kueue.x-k8s.io", "scheduling.k8s.io", "resource.k8s.io"]
    verbs = ["get", "list"]
    rules = [
        {"apiGroups": [""], "resources": core, "verbs": verbs},
        {"apiGroups": others, "resources": ["*"], "verbs": verbs},
    ]
    role = {"apiGroup": group, "kind": "ClusterRole", "name": READER.name}
    subject = {"apiGroup": group, "kind": "User", "name": READER.name}
    await worker.create(named("ClusterRole", f"{group}/v1", READER.name, rules=rules))
    await worker.create(
        named("ClusterRoleBinding", f"{group}/v1", READER.name, roleRef=role, subjects=[subject])
    )


async def test_what_would_be_in_a_missing_namespace_is_not_told_of(fleet: Fleet) -> None:
    async with await world(fleet, quota="1") as made:
        client = made.manager.client
        await client.create(namespace("team"))
        queue = objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE)
        elsewhere = naming()
        for each in (queue, elsewhere):
            each["metadata"]["namespace"] = "team"
        for each in NAMED:
            if not each["metadata"].get("namespace"):
                await client.create(each)
        await client.create(queue)
        await client.create(elsewhere)
        await made.passes(seconds=5)

        lines = await asked(made, "team")

    assert [line.split(" does")[0] for line in lines[-4:]] == [
        "on worker2: it cannot run there",
        '  Namespace "team"',
        '  PriorityClass "urgent"',
        '  WorkloadPriorityClass "high"',
    ]
