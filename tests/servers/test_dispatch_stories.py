"""Jobs that one kube-apiserver sends to two others, each with `fleetqueue controller` beside it:
what people see of them here and there, and what is left behind, which is nothing.

`scripts/kueue-peers` tells the same stories where Kueue itself is on the workers, or the manager.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.jobs import registry
from fleetqueue.multikueue import worker_access
from live import objects
from live.queues import is_true, named, queued, told, workload_of
from support import dispatch_fleet
from support.dispatch_fleet import CHECK, CONTROLLER, FRAMEWORKS, QUEUE, Cluster, Fleet
from support.kueue_doors import Door
from support.kueue_stories import is_suspended, job
from support.upstream_kueue import UpstreamCluster

Object = dict[str, Any]
BOTH = ["worker1", "worker2"]
ORIGIN = "kueue.x-k8s.io/multikueue-origin"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
ENDED = ("True", "Succeeded", "Reached expected number of succeeded pods")
APPLY = "application/apply-patch+yaml"
NOW = "2026-01-01T00:00:00Z"
FLEETS = {
    "kube-apiserver": (Cluster, Cluster),
    "kueue-workers": (Cluster, UpstreamCluster),
    "kueue-manager": (UpstreamCluster, Cluster),
}
"""Who runs the manager, and who the workers."""
OURS_ALONE = (
    "test_a_worker_is_lost_and_comes_back",
    "test_a_job_that_is_deleted_leaves_nothing_but_what_others_have",
    "test_anybody_may_nominate_workers",
)
"""What Kueue 0.19 as a manager does not do: count attempts to connect, tell by an event that a name
is taken on a worker, and take nominations of whoever writes them.
"""
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--servers").split(",")
    names = [name for name in FLEETS if name in chosen]
    if metafunc.function.__name__ in OURS_ALONE:
        names = [name for name in names if FLEETS[name][0] is Cluster]
    metafunc.parametrize("fleet", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Fleet]:
    made = dispatch_fleet.start(tmp_path_factory.mktemp("fleet"), BOTH, *FLEETS[request.param])
    yield made
    for each in (made.manager, *made.workers.values()):
        each.stop()


# What people set up


@pytest.mark.rule("HAR-12", "RBAC-1", "RBAC-2")
def test_a_manager_asks_for_no_more_than_others_suites_grant(fleet: Fleet) -> None:
    kinds = {kind.framework: kind.resource for kind in registry.all_kinds()}
    asked = worker_access.rules([kinds[name] for name in FRAMEWORKS], reaches_pods=False)
    assert granted(asked) == granted(dispatch_fleet.rules())


@pytest.mark.rule("SETUP-1", "MKC-4", "AC-1", "AC-2", "MKCFG-1")
def test_what_is_missing_is_told_while_it_is_set_up(fleet: Fleet) -> None:
    manager, name = fleet.manager, "testing"

    def says(kind: str, status: str, reason: str, message: str) -> None:
        wanted = (status, reason, message)
        fleet.until(message, lambda: dispatch_fleet.told(manager, kind, name) == wanted)

    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name}
    check = named("AdmissionCheck", name, controllerName=CONTROLLER, parameters=parameters)
    manager.create(check)
    says("AdmissionCheck", "False", "BadConfig", "Cannot load the AdmissionChecks parameters: "
         'MultiKueueConfig.kueue.x-k8s.io "testing" not found')  # fmt: skip
    twice = named("MultiKueueConfig", name, clusters=[name, name])
    status, answer = manager.send("POST", manager.path("MultiKueueConfig"), twice)
    assert status == 422
    assert "must be unique" in answer["message"]
    manager.create(named("MultiKueueConfig", name, clusters=[name]))
    says("AdmissionCheck", "False", "NoUsableClusters", "Missing clusters: [testing]")
    manager.create(worker_access.cluster(name, name))
    says("MultiKueueCluster", "False", "BadKubeConfig",
         'load client config failed: Secret "testing" not found')  # fmt: skip
    says("AdmissionCheck", "False", "NoUsableClusters", "Inactive clusters: [testing]")
    text = dispatch_fleet.kubeconfig(fleet.workers["worker1"])
    secret = worker_access.secret(name, text)
    assert manager.send("POST", dispatch_fleet.SECRETS, secret)[0] == 201
    says("MultiKueueCluster", "True", "Active", "Connected")
    says("AdmissionCheck", "True", "Active", "The admission check is active")
    for kind in ("AdmissionCheck", "MultiKueueConfig", "MultiKueueCluster"):
        manager.delete(kind, name)


# What becomes of a job


@pytest.mark.rule("FLOW-21", "FLOW-30", "FLOW-34", "FLOW-35", "FLOW-39", "FLOW-52", "FLOW-54")
@pytest.mark.rule("MB-1", "WLF-1", "WLF-2", "WLF-3", "CONN-1", "HAR-11", "HAR-13", "HAR-15")
def test_a_job_runs_on_the_worker_that_admits_it_first(fleet: Fleet) -> None:
    fleet.use("first")
    fleet.offer(held=BOTH)
    made = fleet.manager.create(job("a", QUEUE))
    assert (made["spec"]["managedBy"], made["spec"]["suspend"]) == (CONTROLLER, True)
    fleet.until("copies on both", lambda: with_copies(fleet, "a") == BOTH)
    local = the_workload(fleet, "a")
    assert nominated(fleet, "a") == BOTH
    for worker in fleet.workers.values():
        copy = worker.get("Workload", local["metadata"]["name"])
        assert copy["spec"] == local["spec"]
        assert "ownerReferences" not in copy["metadata"]
    fleet.stop("worker1", "None")
    runs_on(fleet, "a", "worker1")
    fleet.until("the other copy goes", lambda: with_copies(fleet, "a") == ["worker1"])
    assert 'The workload was admitted on "worker1"' in fleet.manager.events("MultiKueue")
    worker = fleet.workers["worker1"]
    mirror = worker.get("Job", "a")
    assert mirror["metadata"]["labels"][ORIGIN] == "multikueue"
    assert mirror["metadata"]["annotations"][PREBUILT] == local["metadata"]["name"]
    assert "managedBy" not in mirror["spec"]
    pod = the_pod(fleet, worker, "a")
    worker.patch_status("Pod", pod, READY)
    fleet.until("it runs", lambda: fleet.manager.get("Job", "a")["status"].get("ready") == 1)
    seen = fleet.manager.get("Job", "a")
    assert seen["status"]["startTime"] == worker.get("Job", "a")["status"]["startTime"]
    assert "completionTime" not in seen["status"]
    assert seen["spec"]["suspend"] is False
    finishes(fleet, "a", "worker1")
    assert told(fleet.manager, "a", "Finished") == ENDED
    complete = fleet.manager.condition("Job", "a", "Complete")
    assert complete is not None
    assert complete["message"] == ENDED[2]
    assert not fleet.manager.pods()
    is_cleaned(fleet)


@pytest.mark.rule("FLOW-50", "FLOW-51", "FLOW-56", "FLOW-57", "FLOW-36", "WLF-5")
def test_a_job_that_a_worker_puts_out_goes_to_another(fleet: Fleet) -> None:
    fleet.use("put-out")
    fleet.offer(held=["worker2"])
    fleet.manager.create(job("a", QUEUE))
    runs_on(fleet, "a", "worker1")
    the_pod(fleet, fleet.workers["worker1"], "a")
    fleet.stop("worker1", "HoldAndDrain")
    again = 'Workload evicted on worker cluster: "worker1", resetting for re-admission. '
    again += 'Previously: "Ready"'
    fleet.until("it is told", lambda: again in fleet.manager.events("MultiKueue"))
    reset = ("Pending", "Reset to Pending after eviction. Previously: Retry")
    fleet.until("the check is reset", lambda: check_of(fleet, "a") == reset)
    assert the_check(fleet, "a")["retryCount"] == 1
    fleet.until("copies on both again", lambda: with_copies(fleet, "a") == BOTH)
    why = f'Previously: Evicted due to AdmissionCheck in Retry state: "{CHECK}" ({again})'
    assert told(fleet.manager, "a", "Evicted") == ("False", "QuotaReserved", why)
    fleet.stop("worker2", "None")
    runs_on(fleet, "a", "worker2")
    fleet.until("only there", lambda: with_copies(fleet, "a") == ["worker2"])
    finishes(fleet, "a", "worker2")
    is_cleaned(fleet)


@pytest.mark.rule("FLOW-31", "IMP-14", "IMP-17")
def test_a_job_that_is_preempted_here_stops_there_first(fleet: Fleet) -> None:
    fleet.use("preempted")
    fleet.offer("1", held=["worker2"], preemption={"withinClusterQueue": "LowerPriority"})
    for each in (fleet.manager, *fleet.workers.values()):
        body = named("WorkloadPriorityClass", "dispatched-high") | {"value": 10}
        each.create({key: value for key, value in body.items() if key != "spec"})
    fleet.manager.create(job("low", QUEUE))
    runs_on(fleet, "low", "worker1")
    worker = fleet.workers["worker1"]
    the_pod(fleet, worker, "low")
    fleet.until("it is active", lambda: fleet.manager.get("Job", "low")["status"].get("active"))
    fleet.manager.create(job("high", QUEUE, priority="dispatched-high"))
    runs_on(fleet, "high", "worker1")
    preempted = told(fleet.manager, "low", "Preempted")
    assert preempted is not None
    assert preempted[:2] == ("True", "InClusterQueue")
    assert is_suspended(fleet.manager, "low")
    assert fleet.manager.get("Job", "low")["status"].get("active", 0) == 0
    assert with_copies(fleet, "low") == []
    finishes(fleet, "high", "worker1")
    runs_on(fleet, "low", "worker1")
    finishes(fleet, "low", "worker1")
    is_cleaned(fleet)


@pytest.mark.rule("HAR-14", "CRED-1", "CRED-2", "CONN-3", "CONN-4", "LOST-2", "LOST-6", "GC-1")
def test_a_worker_is_lost_and_comes_back(fleet: Fleet) -> None:
    fleet.use("lost")
    fleet.offer(held=["worker1"])
    manager, worker = fleet.manager, fleet.workers["worker2"]
    for name in ("moved", "deleted"):
        manager.create(job(name, QUEUE))
        runs_on(fleet, name, "worker2")
    repair = fleet.break_connection("worker2")
    failed = ("False", "ClientConnectionFailed")
    fleet.until("it is told", lambda: cluster(fleet, "worker2")[:2] == failed)
    assert "connection attempts: " in cluster(fleet, "worker2")[2]
    some = ("True", "SomeActiveClusters", "Inactive clusters: [worker2]")
    fleet.until("so does the check",
                lambda: dispatch_fleet.told(manager, "AdmissionCheck", CHECK) == some)  # fmt: skip
    manager.delete("Job", "deleted")
    fleet.until("it is gone here", lambda: workload_of(manager, "deleted") is None)
    fleet.stop("worker1", "None")
    runs_on(fleet, "moved", "worker1")
    lost = f'Previously: Evicted due to AdmissionCheck in Retry state: "{CHECK}" (Admitting remote '
    lost += 'lost, Previously: "Ready")'
    assert told(manager, "moved", "Evicted") == ("False", "QuotaReserved", lost)
    assert sorted(each["metadata"]["name"] for each in worker.all("Job")) == ["deleted", "moved"]
    repair()
    fleet.until("it is back", lambda: dispatch_fleet.is_connected(manager, "worker2"))
    fleet.until("nothing is left there", lambda: not worker.all("Job") + worker.all("Workload"))
    assert claimed(fleet, "moved") == "worker1"
    finishes(fleet, "moved", "worker1")
    is_cleaned(fleet)


@pytest.mark.rule("FLOW-60", "FLOW-61", "FLOW-64", "FLOW-32")
def test_a_job_that_is_deleted_leaves_nothing_but_what_others_have(fleet: Fleet) -> None:
    fleet.use("deleted")
    fleet.offer(held=["worker2"])
    worker = fleet.workers["worker1"]
    own = worker.create(objects.job(["true"], "foreign", suspend=True))
    for name in ("a", "foreign"):
        fleet.manager.create(job(name, QUEUE))
    runs_on(fleet, "a", "worker1")
    the_pod(fleet, worker, "a")
    told = "remote object is not owned by MultiKueue"
    fleet.until("the name is taken", lambda: told in " ".join(fleet.manager.events("MultiKueue")))
    for name in ("a", "foreign"):
        fleet.manager.delete("Job", name)
    fleet.until("the Workloads go", lambda: not worker.all("Workload"))
    fleet.until("the mirror goes", lambda: len(worker.all("Job")) == 1)
    kept = worker.get("Job", "foreign")
    assert kept["metadata"]["uid"] == own["metadata"]["uid"]
    assert kept["spec"]["suspend"] is True
    worker.delete("Job", "foreign")
    is_cleaned(fleet)


# Other kinds of jobs; no operators run here, so their words are put into their mouths


@pytest.mark.rule("FLOW-33", "KIND-1", "KIND-3")
def test_a_job_set_is_followed_to_its_end(fleet: Fleet) -> None:
    fleet.use("sets")
    fleet.offer(held=["worker2"])
    made = fleet.manager.create(queued(objects.job_set(["true"]), "s", QUEUE))
    assert (made["spec"]["managedBy"], made["spec"]["suspend"]) == (CONTROLLER, True)
    worker = arrives_at(fleet, "JobSet", "s", "worker1")
    counts = {"ready": 1, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0}
    running = [{"name": "workers", **counts}]
    worker.patch_status("JobSet", "s", {"replicatedJobsStatus": running, "restarts": 0})
    fleet.until("it is seen here", lambda: says(fleet, "JobSet", "s").get("replicatedJobsStatus")
                == running)  # fmt: skip
    ended = condition("Completed", "AllJobsCompleted", "jobset completed successfully")
    worker.patch_status("JobSet", "s", {"conditions": [ended]})
    fleet.until("it finishes", lambda: is_true(fleet.manager, "s", "Finished"))
    expected = ("True", "Succeeded", "jobset completed successfully")
    assert told(fleet.manager, "s", "Finished") == expected
    assert ended in says(fleet, "JobSet", "s")["conditions"]
    is_cleaned(fleet, "JobSet")


@pytest.mark.rule("FLOW-33", "KIND-1", "MB-2", "FLOW-58")
def test_a_torch_job_is_followed_and_one_of_others_is_refused(fleet: Fleet) -> None:
    fleet.use("torch")
    fleet.offer(held=["worker2"])
    policy = {"runPolicy": {"managedBy": CONTROLLER}}
    job = queued(objects.training_job("PyTorchJob", ["true"], **policy), "t", QUEUE)
    fleet.manager.create(job)
    worker = arrives_at(fleet, "PyTorchJob", "t", "worker1")
    assert "managedBy" not in worker.get("PyTorchJob", "t")["spec"]["runPolicy"]
    running = {"Master": {"active": 1}, "Worker": {"active": 2}}
    worker.patch_status("PyTorchJob", "t", {"replicaStatuses": running})
    fleet.until("it is seen here", lambda: says(fleet, "PyTorchJob", "t").get("replicaStatuses")
                == running)  # fmt: skip
    ended = condition("Succeeded", "PyTorchJobSucceeded", "PyTorchJob t is successfully completed.")
    ended["lastUpdateTime"] = NOW
    none = {"Master": {"active": None, "succeeded": 1}, "Worker": {"active": None, "succeeded": 2}}
    worker.patch_status("PyTorchJob", "t", {"conditions": [ended], "replicaStatuses": none})
    fleet.until("it finishes", lambda: is_true(fleet.manager, "t", "Finished"))
    assert told(fleet.manager, "t", "Finished") == ("True", "Succeeded", ended["message"])
    is_cleaned(fleet, "PyTorchJob")
    operator = "kubeflow.org/other"
    other = {"runPolicy": {"managedBy": operator}}
    job = queued(objects.training_job("PyTorchJob", ["true"], **other), "other", QUEUE)
    fleet.manager.create(job)
    why = f'The owner is not managed by Kueue: Expecting spec.managedBy to be "{CONTROLLER}" not '
    why += f'"{operator}", Previously: "Pending"'
    # Where it had quota by then it is put out for that, and its check begins anew.
    fleet.until("it is refused", lambda: why in status_text(fleet, "other"))
    assert with_copies(fleet, "other") == []
    is_cleaned(fleet, "PyTorchJob")


@pytest.mark.rule("KIND-1", "FLOW-38")
def test_a_pod_stays_gated_here_and_ends_as_it_ends_there(fleet: Fleet) -> None:
    fleet.use("pods")
    fleet.offer(held=["worker2"])
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    labels = {"kueue.x-k8s.io/queue-name": QUEUE}
    spec = {"restartPolicy": "Never", "containers": [container]}
    metadata = {"name": "p", "labels": labels}
    fleet.manager.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    worker = arrives_at(fleet, "Pod", "p", "worker1")
    fleet.until("it may run there", lambda: "schedulingGates" not in worker.get("Pod", "p")["spec"])
    assert fleet.manager.get("Pod", "p")["spec"]["schedulingGates"]
    worker.patch_status("Pod", "p", {"phase": "Succeeded"})
    fleet.until("it ends here", lambda: fleet.manager.phase("p") == "Succeeded")
    fleet.until("it finishes", lambda: is_true(fleet.manager, "p", "Finished"))
    is_cleaned(fleet, "Pod")


# A manager of our own make


@pytest.mark.rule("ROLE-7", "FLOW-39")
def test_an_embedded_manager_sends_jobs_to_a_real_cluster(fleet: Fleet, tmp_path: Path) -> None:
    """And shares it with the other manager."""
    manager = dispatch_fleet.embedded_manager(tmp_path / "manager", origin="embedded")
    mixed = Fleet(manager, {"worker1": fleet.workers["worker1"]})
    try:
        if manager.send("GET", "/api/v1/namespaces/kueue-system")[0] == 404:
            manager.use("kueue-system")
        dispatch_fleet.connect(mixed)
        mixed.use("mixed")
        mixed.offer()
        manager.create(job("a", QUEUE))
        runs_on(mixed, "a", "worker1")
        mirror = mixed.workers["worker1"].get("Job", "a")
        assert mirror["metadata"]["labels"][ORIGIN] == "embedded"
        worker = mixed.workers["worker1"]
        worker.patch_status("Pod", the_pod(mixed, worker, "a"), READY)
        mixed.until("it runs", lambda: manager.get("Job", "a")["status"].get("ready") == 1)
        finishes(mixed, "a", "worker1")
        assert told(manager, "a", "Finished") == ENDED
        assert not manager.pods()
        is_cleaned(mixed)
    finally:
        manager.stop()


# Other dispatchers: the manager's controllers start again for each


@pytest.mark.rule("DISP-20", "DISP-21", "DISP-22", "DISP-35")
def test_incremental_offers_a_job_to_one_worker_at_a_time(fleet: Fleet) -> None:
    fleet.use("incremental")
    fleet.offer(held=BOTH)
    restart(
        fleet,
        dispatcherName="kueue.x-k8s.io/multikueue-dispatcher-incremental",
        incrementalDispatcherConfig={"stepSize": 1},
    )
    fleet.manager.create(job("a", QUEUE))
    fleet.until("one copy", lambda: with_copies(fleet, "a") == ["worker1"])
    assert nominated(fleet, "a") == ["worker1"]
    fleet.stop("worker2", "None")
    fleet.stop("worker1", "None")
    runs_on(fleet, "a", "worker1")
    assert nominated(fleet, "a") == []
    assert with_copies(fleet, "a") == ["worker1"]
    finishes(fleet, "a", "worker1")
    is_cleaned(fleet)


@pytest.mark.rule("DISP-30", "DISP-31", "DISP-32", "IMP-5", "WLF-2", "WLF-3", "WLF-5", "FLOW-22")
def test_anybody_may_nominate_workers(fleet: Fleet) -> None:
    fleet.use("external")
    fleet.offer(held=BOTH)
    restart(fleet, dispatcherName="example.com/dispatcher")
    fleet.manager.create(job("a", QUEUE))
    fleet.until("quota", lambda: is_true(fleet.manager, "a", "QuotaReserved"))
    assert with_copies(fleet, "a") == []
    nominate(fleet, "a", ["worker2"])
    fleet.until("a copy there", lambda: with_copies(fleet, "a") == ["worker2"])
    nominate(fleet, "a", ["worker1", "worker2", "nobody"])
    fleet.until("copies on both", lambda: with_copies(fleet, "a") == BOTH)
    nominate(fleet, "a", ["worker1"])
    fleet.until("one copy goes", lambda: with_copies(fleet, "a") == ["worker1"])
    put_out(fleet, "a")
    reset = ("Pending", "Reset to Pending after eviction. Previously: Retry")
    fleet.until("it is put out", lambda: check_of(fleet, "a") == reset)
    assert nominated(fleet, "a") == []
    is_cleaned(fleet)
    fleet.until("quota again", lambda: is_true(fleet.manager, "a", "QuotaReserved"))
    nominate(fleet, "a", ["worker2", "worker1"])
    fleet.until("copies on both", lambda: with_copies(fleet, "a") == BOTH)
    fleet.stop("worker2", "None")
    runs_on(fleet, "a", "worker2")
    assert nominated(fleet, "a") == []
    status, answer = send_nomination(fleet, "a", ["worker1"])
    assert status == 422
    assert "clusterName and nominatedClusterNames are mutually exclusive" in answer["message"]
    finishes(fleet, "a", "worker2")
    is_cleaned(fleet)


@pytest.mark.rule("HAR-12", "RBAC-2", "RBAC-3", "HAR-2")
def test_nobody_was_forbidden_anything(fleet: Fleet) -> None:
    """The last one: by now the controllers have done nearly all that they do."""
    lines = [line for each in doors(fleet) for line in each.log_text().splitlines()]
    assert not [line for line in lines if "forbidden" in line.lower()]
    assert not [line for line in lines if "Traceback" in line]


# What the stories look at


def granted(rules: list[Object]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def doors(fleet: Fleet) -> list[Door]:
    assert isinstance(fleet.manager, Door)
    return [fleet.manager, *fleet.workers.values()]


def restart(fleet: Fleet, **dispatching: Any) -> None:
    assert isinstance(fleet.manager, Cluster)
    fleet.manager.restart(**dispatching)
    path = f"{fleet.manager.path('Job')}?dryRun=All"

    def knows_queues() -> bool:
        _, made = fleet.manager.send("POST", path, job("first", QUEUE))
        return bool(made.get("spec", {}).get("managedBy") == CONTROLLER)

    fleet.until("its webhooks know the queues again", knows_queues)


def the_workload(fleet: Fleet, name: str) -> Object:
    found = workload_of(fleet.manager, name)
    assert found is not None
    return found


def status_text(fleet: Fleet, name: str) -> str:
    """All that its Workload says, with quotes as they are."""
    found = workload_of(fleet.manager, name) or {}
    return json.dumps(found.get("status")).replace('\\"', '"')


def the_check(fleet: Fleet, name: str) -> Object:
    found = workload_of(fleet.manager, name) or {}
    checks = (found.get("status") or {}).get("admissionChecks") or [{}]
    check: Object = checks[0]
    return check


def check_of(fleet: Fleet, name: str) -> tuple[str, str]:
    check = the_check(fleet, name)
    return check.get("state", ""), check.get("message", "")


def claimed(fleet: Fleet, name: str) -> str:
    found = workload_of(fleet.manager, name) or {}
    return str((found.get("status") or {}).get("clusterName") or "")


def nominated(fleet: Fleet, name: str) -> list[str]:
    """An empty list takes a field from whoever had it."""
    return list(the_workload(fleet, name)["status"].get("nominatedClusterNames") or ())


def cluster(fleet: Fleet, name: str) -> tuple[str, str, str]:
    return dispatch_fleet.told(fleet.manager, "MultiKueueCluster", name)


def says(fleet: Fleet, kind: str, name: str) -> Object:
    found: Object = fleet.manager.get(kind, name).get("status") or {}
    return found


def with_copies(fleet: Fleet, name: str) -> list[str]:
    """The workers that have a copy of the job's Workload."""
    found = workload_of(fleet.manager, name)
    if found is None:
        return []
    key = found["metadata"]["name"]
    return [
        each
        for each, worker in fleet.workers.items()
        if worker.send("GET", worker.path("Workload", key))[0] == 200
    ]


def runs_on(fleet: Fleet, name: str, worker: str) -> None:
    """The mirror may run on that worker, and people here are told so."""
    ready = ("Ready", f'The workload was admitted on "{worker}"')
    fleet.until(f"{name} is admitted on {worker}", lambda: check_of(fleet, name) == ready)
    fleet.until(f"{name} is admitted", lambda: is_true(fleet.manager, name, "Admitted"))
    fleet.until(f"{name} may run", lambda: not is_suspended(fleet.manager, name))
    assert claimed(fleet, name) == worker
    there = fleet.workers[worker]

    def runs() -> bool:
        status, found = there.send("GET", there.path("Job", name))
        return status == 200 and not found["spec"].get("suspend")

    fleet.until(f"{name} may run there", runs)


def arrives_at(fleet: Fleet, kind: str, name: str, worker: str) -> Door:
    ready = ("Ready", f'The workload was admitted on "{worker}"')
    fleet.until(f"{name} is admitted on {worker}", lambda: check_of(fleet, name) == ready)
    there = fleet.workers[worker]
    fleet.until(
        f"{name} is there", lambda: there.send("GET", there.path(kind, name))[0] == 200
    )  # fmt: skip
    return there


def the_pod(fleet: Fleet, worker: Door, prefix: str) -> str:
    """Its only pod, made by the real controller of Jobs; it knows that it came from afar."""

    def found() -> list[Object]:
        return [
            pod for pod in worker.all("Pod") if pod["metadata"]["name"].startswith(f"{prefix}-")
        ]

    (pod,) = fleet.until(f"{prefix} has a pod", found)
    labels = pod["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/multikueue-worker-workload-pod"] == "true"
    return str(pod["metadata"]["name"])


def finishes(fleet: Fleet, name: str, worker: str) -> None:
    there = fleet.workers[worker]
    there.patch_status("Pod", the_pod(fleet, there, name), {"phase": "Succeeded"})
    fleet.until(f"{name} finishes", lambda: is_true(fleet.manager, name, "Finished"))
    fleet.until(f"{name} is complete", lambda: fleet.manager.condition("Job", name, "Complete"))


def is_cleaned(fleet: Fleet, kind: str = "Job") -> None:
    """Nothing of the story is left on any worker."""
    for name, worker in fleet.workers.items():
        fleet.until(
            f"{name} is clean",
            lambda worker=worker: not worker.all("Workload") and not worker.all(kind),
        )


def condition(type: str, reason: str, message: str) -> Object:
    found = {"type": type, "status": "True", "reason": reason, "message": message}
    return {**found, "lastTransitionTime": NOW}


def nominate(fleet: Fleet, name: str, workers: list[str]) -> None:
    status, answer = send_nomination(fleet, name, workers)
    assert status == 200, answer


def send_nomination(fleet: Fleet, name: str, workers: list[str]) -> tuple[int, Any]:
    """As a program of somebody else does it: its own field, by its own name."""
    manager, key = fleet.manager, the_workload(fleet, name)["metadata"]["name"]
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": key},
        "status": {"nominatedClusterNames": workers},
    }
    path = f"{manager.path('Workload', key)}/status?fieldManager=somebody&force=true"
    return manager.send("PATCH", path, json.dumps(body).encode(), APPLY)


def put_out(fleet: Fleet, name: str) -> None:
    """Its check wants another try, whoever says so."""
    check = {**the_check(fleet, name), "state": "Retry", "message": "not there"}
    key, path = the_workload(fleet, name)["metadata"]["name"], {"admissionChecks": [check]}
    assert isinstance(fleet.manager, Door)
    fleet.manager.patch_status("Workload", key, path)
