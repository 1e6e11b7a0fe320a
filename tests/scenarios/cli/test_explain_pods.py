"""Why the pods of a job are not ready, or failed, asked of a manager, its workers and a cluster of
its own.
"""

from typing import Any

import pytest
from tests.support import apps, dispatching
from tests.support.dispatching import LOCAL_QUEUE, SYSTEM, Dispatching, Side, job

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import format_time
from fleetqueue.apiserver.access.users import User
from fleetqueue.cli.commands.explain import told
from fleetqueue.installation import CONFIG_KEY, CONFIG_MAP
from fleetqueue.jobs import registry
from fleetqueue.kube.resources import PODS
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.worker_access import rules
from fleetqueue.runtime.controllers import stateful_set
from fleetqueue.runtime.kinds import JOB
from fleetqueue.runtime.stages import EXIT_CODE, READY_SECONDS, RUN_SECONDS
from fleetqueue.testing import Fleet, named

pytestmark = pytest.mark.rule("kueue 11.1")
WAITS = "\nwaitForPodsReady: {timeout: 1h}\n"
NOT_READY = "  Not all pods are ready or succeeded"
QUEUE = "kueue.x-k8s.io/queue-name"
MANAGER = User("manager", groups=("system:authenticated",))
NOWHERE = {"example.com/no": "node"}
MISSING = 'configmap "settings" not found'


async def world(fleet: Fleet, **options: Any) -> Dispatching:
    """One worker; everybody tells whether pods are ready."""
    made = await dispatching.start(
        fleet,
        workers=["worker1"],
        **{
            "install": dispatching.install_dispatch,
            "config": WAITS,
            "worker_config": WAITS,
            **options,
        },
    )
    await made.join()
    await made.set_up()
    return made


async def asked(made: Dispatching, name: str = "job/one", space: str = "default") -> list[str]:
    return await told(made.manager.client, space, name, SYSTEM, made.connect)


def unplaced(**spec: Any) -> dict[str, Any]:
    """A job whose pods no node takes, so that a test can be their kubelet."""
    made = job("one", **spec)
    made["spec"]["template"]["spec"]["nodeSelector"] = NOWHERE
    return made


async def pod_of(side: Side) -> dict[str, Any]:
    [pod] = await side.all(PODS)
    return pod


async def say(side: Side, state: dict[str, Any], **status: Any) -> str:
    """The container of the only pod is in that state; the name of the pod."""
    name = str((await pod_of(side))["metadata"]["name"])
    container = {"name": "main", "image": "busybox", "imageID": "", "ready": False}
    shown = [{**container, "restartCount": 0, "state": state}]
    patch = {"status": {"containerStatuses": shown, **status}}
    await side.client.patch(PODS, name, patch, side.space, subresource="status")
    return name


def warning(made: Dispatching, pod: str, message: str, number: int = 0) -> dict[str, Any]:
    at = format_time(made.fleet.clock.now())
    about = {"apiVersion": "v1", "kind": "Pod", "name": pod, "namespace": "default"}
    return named(
        "Event", "v1", f"{pod}.{number}", "default",
        involvedObject=about, type="Warning", reason="Failed", message=message,
        firstTimestamp=at, lastTimestamp=at, source={"component": "kubelet"},
    )  # fmt: skip


async def test_a_pod_that_no_node_takes_says_so(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        await made.manager.create(unplaced())
        await made.passes(seconds=10)
        name = (await pod_of(made.workers["worker1"]))["metadata"]["name"]

        lines = await asked(made)

    assert lines[:3] == [
        "job/one is admitted on worker1",
        "on worker1 it is admitted in cluster-queue",
        NOT_READY,
    ]
    assert lines[3].startswith(f"  pod {name}: it is on no node: 0/2 nodes are available")


async def test_a_container_that_waits_says_why(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        await made.manager.create(unplaced())
        await made.passes(seconds=10)
        waiting = {"reason": "CreateContainerConfigError", "message": MISSING}
        name = await say(made.workers["worker1"], {"waiting": waiting})

        assert (await asked(made))[3:] == [
            f"  pod {name}: container main waits: CreateContainerConfigError: {MISSING}"
        ]


def never_ready() -> dict[str, Any]:
    made = job("one")
    made["spec"]["template"]["metadata"]["annotations"][READY_SECONDS] = "never"
    return made


async def test_an_event_says_it_where_the_pod_does_not(fleet: Fleet) -> None:
    """With no more rights on the worker than `join` gives the manager."""
    async with await world(fleet) as made:
        await made.manager.create(never_ready())
        await made.passes(seconds=10)
        worker = made.workers["worker1"]
        await give_rights(worker, rules([each.resource for each in registry.all_kinds()]))
        made.links["worker1"].user = MANAGER
        name = (await pod_of(worker))["metadata"]["name"]
        silent = await asked(made)
        await worker.create(warning(made, name, 'secret "token" not found'))

        lines = await asked(made)

    assert silent[3:] == [f"  pod {name}: it is not ready, and nothing says why yet"]
    assert lines[3:] == [f'  pod {name}: Failed: secret "token" not found']


async def test_who_may_not_read_the_pods_is_told_so(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        await made.manager.create(never_ready())
        await made.passes(seconds=10)
        await give_rights(made.workers["worker1"], rules([JOB], reaches_pods=False))
        made.links["worker1"].user = MANAGER

        lines = await asked(made)

    assert lines[3].startswith("  what its pods say may not be read: pods is forbidden")


async def give_rights(worker: Side, granted: list[dict[str, Any]]) -> None:
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": MANAGER.name}
    subject = {"apiGroup": group, "kind": "User", "name": MANAGER.name}
    await worker.client.create(named("ClusterRole", f"{group}/v1", MANAGER.name, rules=granted))
    await worker.client.create(
        named("ClusterRoleBinding", f"{group}/v1", MANAGER.name, roleRef=role, subjects=[subject])
    )


async def test_a_job_without_a_worker_is_asked_for_its_pods_here(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        worker = made.workers["worker1"]
        await worker.create(unplaced())
        await made.passes(seconds=10)
        waiting = {"reason": "ErrImagePull", "message": "no/such:image is not there"}
        name = await say(worker, {"waiting": waiting})

        lines = await told(worker.client, "default", "one", SYSTEM, made.connect)

    assert lines == [
        "one is admitted in cluster-queue",
        NOT_READY,
        f"  pod {name}: container main waits: ErrImagePull: no/such:image is not there",
    ]


async def test_a_job_that_failed_repeats_what_its_last_pod_said(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        worker = made.workers["worker1"]
        await worker.create(failing())
        await made.passes(seconds=20)
        name = (await pod_of(worker))["metadata"]["name"]

        lines = await told(worker.client, "default", "job/one", SYSTEM, made.connect)

    assert lines == [
        "job/one has failed: Job has reached the specified backoff limit",
        f"  pod {name}: container main ended: Error, exit code 7",
    ]


async def test_where_its_pods_are_gone_events_on_the_worker_say_why_it_failed(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        worker = made.workers["worker1"]
        await made.manager.create(failing())
        await made.passes(seconds=1)
        name = (await pod_of(worker))["metadata"]["name"]
        message = 'exec: "/no/such/binary": stat /no/such/binary: no such file or directory'
        await worker.create(warning(made, name, message), warning(made, "one-more-x", "not ours"))
        await made.passes(minutes=2)
        assert not await worker.all(PODS)

        lines = await asked(made)

    assert lines == [
        "job/one has failed on worker1: Job has reached the specified backoff limit",
        f"  on worker1, pod {name}: Failed: {message}",
    ]


def failing() -> dict[str, Any]:
    made = job("one", run_seconds="5", backoffLimit=0)
    made["spec"]["template"]["metadata"]["annotations"][EXIT_CODE] = "7"
    return made


async def test_the_word_of_the_worker_counts_for_a_set_whose_pods_wait_here(fleet: Fleet) -> None:
    operators, frameworks = [stateful_set.OPERATOR], ["batch/job", "pod", "statefulset"]
    async with await world(fleet, operators=operators, frameworks=frameworks) as made:
        web = apps.workload("StatefulSet", replicas=1)
        web["metadata"]["labels"] = {QUEUE: LOCAL_QUEUE}
        web["spec"]["template"]["metadata"]["annotations"] = {RUN_SECONDS: "never"}
        requests = {"requests": {"cpu": "1"}}
        web["spec"]["template"]["spec"]["containers"][0]["resources"] = requests
        await made.manager.create(web)
        await made.passes(seconds=30)
        [workload] = await made.manager.workloads()
        assert not status.is_true(workload, status.PODS_READY)

        assert await asked(made, "statefulset/web") == [
            "statefulset/web is admitted on worker1",
            "on worker1 it is admitted in cluster-queue",
        ]


async def test_a_worker_that_is_lost_is_told_with_the_time_it_has(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        await made.manager.create(job("one"))
        await made.passes(seconds=10)
        made.cut("worker1")
        await made.passes(seconds=60)
        cluster = await made.manager.get(kinds.CLUSTER, "worker1")
        since = status.find_condition(cluster, "Active")["lastTransitionTime"]  # type: ignore[index]

        unknown = await asked(made)
        configured = "multiKueue: {workerLostTimeout: 7m}\n"
        text = f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{configured}"
        config = named("ConfigMap", "v1", CONFIG_MAP, SYSTEM, data={CONFIG_KEY: text})
        await made.manager.client.create(config)
        known = await asked(made)

    assert unknown[-3:] == [
        "on worker1: it cannot be reached",
        f'  The manager has lost worker "worker1" since {since}: see the condition Active of'
        ' MultiKueueCluster "worker1".',
        "  Unless it comes back, the job is moved after workerLostTimeout (15 minutes unless"
        " configured otherwise).",
    ]
    assert known[-1].endswith("after workerLostTimeout (7m).")
