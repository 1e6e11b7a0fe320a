"""The guide that schedules jobs with placements and queues, typed with kubectl from its first line
to its last, on a fleet of `fleetqueue up` whose workers stand for its clusters.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from clients.test_kubectl_fleet import Kubectl
from support import placement_guide as guide
from support.kueue_release import DEFINITIONS, RELEASE
from support.local_fleet import LocalFleet
from support.server import wait_until

Object = dict[str, Any]
WORKERS = ("worker-1", "worker-2", "worker-3")
IN_NAMESPACE = ("-n", "compute-jobs")
HEADER = ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
EVENT_HEADER = "  Type    Reason                        Age   From                  Message\n"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    made = LocalFleet(tmp_path_factory.mktemp("fleet") / "dir")
    made.up()
    yield made
    made.down()


@pytest.fixture(scope="module")
def kubectl(fleet: LocalFleet, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    made = Kubectl(fleet, tmp_path_factory.mktemp("home"))
    for name in WORKERS:
        made.wait("condition=Joined", f"membercluster/{name}")
    return made


@pytest.fixture(scope="module")
def queues(kubectl: Kubectl) -> Kubectl:
    """Steps 1 to 4."""
    for text in (*guide.STEPS, guide.CLUSTER_PLACEMENT):
        assert "created\n" in kubectl("apply", "-f", "-", given=text)
    kubectl.wait("condition=ClusterResourcePlacementAvailable", "crp/sample-kueue")
    return kubectl


@pytest.fixture(scope="module")
def jobs(queues: Kubectl) -> Kubectl:
    """Steps 5 to 7."""
    for text in (guide.LOCAL_QUEUE, guide.JOBS, guide.PLACEMENTS):
        assert "created\n" in queues("apply", "-f", "-", given=text)
    return queues


@pytest.mark.rule("G-1")
def test_kueue_may_be_installed_on_members_that_have_it(kubectl: Kubectl) -> None:
    """On all of them, although they are on one machine."""
    try:
        for each in WORKERS:
            kubectl("config", "use-context", each)
            said = kubectl("apply", "--server-side", "-f", "-", given=RELEASE)
            assert said.count(" serverside-applied\n") == 7
    finally:
        kubectl("config", "use-context", "manager")
    for each in WORKERS:
        kubectl.wait("condition=Available", "deployment", "--all", "-n", "kueue-system", at=each)
        head, row = kubectl("get", "pods", "-n", "kueue-system", at=each).splitlines()
        assert head.split() == HEADER
        shown = r"kueue-controller-manager-\w+-\w+ +2/2 +Running +0 "
        assert re.match(shown, row), kubectl("describe", "pods", "-n", "kueue-system", at=each)
        assert "v1beta1" in kubectl.shell(
            f"kubectl --context {each} api-versions | grep kueue.x-k8s.io"
        )


@pytest.mark.rule("G-2")
def test_the_definitions_of_an_old_release_change_nothing_on_the_hub(kubectl: Kubectl) -> None:
    done = kubectl.run("apply", "-f", "-", given=DEFINITIONS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" configured\n") == 3
    text = "localqueues.kueue.x-k8s.io is built in: its definition stays as it is"
    assert f"Warning: {text}, with v1beta1, v1beta2\n" in done.stderr
    listed = kubectl.shell("kubectl get crds | grep kueue")
    for name in ("clusterqueues", "localqueues", "resourceflavors"):
        assert f"{name}.kueue.x-k8s.io " in listed
        kubectl("get", f"{name}.v1beta2.kueue.x-k8s.io")
        kubectl("get", f"{name}.v1beta1.kueue.x-k8s.io")


@pytest.mark.rule("G-3", "G-4", "G-5", "G-6")
def test_the_cluster_placement_completes(queues: Kubectl) -> None:
    shown = queues("describe", "crp", "sample-kueue")
    head, _, rest = shown.partition("Spec:\n")
    status, _, events = rest.partition("Status:\n")[2].partition("Events:\n")
    assert head == expected_head(queues)
    assert masked(status) == expected_status()
    assert events.startswith(EVENT_HEADER)
    assert listed(events) == guide.EVENTS
    for worker in WORKERS:
        queues("get", "resourceflavor", "default-flavor", at=worker)
        queues("get", "clusterqueue", "cluster-queue", at=worker)
        queues("get", "ns", "compute-jobs", at=worker)


def expected_head(kubectl: Kubectl) -> str:
    found = kubectl.read("crp", "sample-kueue")["metadata"]
    return (
        "Name:         sample-kueue\nNamespace:    \nLabels:       <none>\nAnnotations:  <none>\n"
        "API Version:  placement.kubernetes-fleet.io/v1\nKind:         ClusterResourcePlacement\n"
        f"Metadata:\n  Creation Timestamp:  {found['creationTimestamp']}\n  Finalizers:\n"
        "    kubernetes-fleet.io/crp-cleanup\n    kubernetes-fleet.io/scheduler-cleanup\n"
        "  Generation:        1\n"
        f"  Resource Version:  {found['resourceVersion']}\n  UID:               {found['uid']}\n"
    )


def expected_status() -> list[str]:
    """As the guide prints it, line by line; the guide leaves out where others repeat it."""
    lines = ["Conditions:", *shown_rows(guide.of_placement("ClusterResourcePlacement", 3))]
    lines += ["Observed Resource Index:  0", "Placement Statuses:"]
    for name in WORKERS:
        rows = guide.of_cluster(name, guide.untracked("sample-kueue-work"))
        lines += [f"Cluster Name:  {name}", "Conditions:", *shown_rows(rows)]
        lines.append("Observed Resource Index:  0")
    return [
        *lines,
        "Selected Resources:",
        "Kind:     Namespace",
        "Name:     compute-jobs",
        "Version:  v1",
        "Group:    kueue.x-k8s.io",
        "Kind:     ClusterQueue",
        "Name:     cluster-queue",
        "Version:  v1beta1",
        "Group:    kueue.x-k8s.io",
        "Kind:     ResourceFlavor",
        "Name:     default-flavor",
        "Version:  v1beta1",
    ]


def shown_rows(rows: list[guide.Row], status: str = "True") -> Iterator[str]:
    for type, reason, message in rows:
        yield from (
            "Last Transition Time:  T",
            f"Message:  {message}",
            "Observed Generation:  1",
            f"Reason:  {reason}",
            f"Status:  {status}",
            f"Type:  {type}",
        )


def masked(status: str) -> list[str]:
    """Without what depends on the moment and on the width of the column."""
    found = []
    for line in status.splitlines():
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "T", line.strip())
        if not line.startswith("    ") or re.match(r"\S+( \S+)*:  ", text) is None:
            found.append(text)
            continue
        name, _, value = text.partition(":")
        is_narrow = name in ("Kind", "Name", "Version", "Group") and "Path" not in text
        found.append(text if is_narrow else f"{name}:  {value.strip()}")
    return found


def listed(events: str) -> list[tuple[str, str]]:
    rows = re.findall(r"^  Normal  (\S+) +\S+ +placement-controller  (.*)$", events, re.M)
    return [(reason, text) for reason, text in rows]


@pytest.mark.rule("G-7", "G-8", "G-9", "KJ-3", "KJ-4", "KJ-5")
def test_jobs_run_on_the_member_that_was_chosen_and_only_once(jobs: Kubectl) -> None:
    placed = {}
    for number, job in ((1, "mock-workload"), (2, "model-evaluation")):
        name = f"job{number}-placement"
        jobs.wait("condition=ResourcePlacementApplied", f"rp/{name}", *IN_NAMESPACE)
        status = jobs.read("rp", name, *IN_NAMESPACE)["status"]
        placed[job] = status["placementStatuses"][0]["clusterName"]
    check_under_way(jobs)
    pods = {job: wait_for_pods(jobs, worker, job) for job, worker in placed.items()}

    for job, worker in placed.items():
        jobs.wait("condition=Complete", f"job/{job}", *IN_NAMESPACE, at=worker)
    logs = jobs("logs", "job/mock-workload", *IN_NAMESPACE, at=placed["mock-workload"])
    assert logs.endswith("accuracy: 95%\nProcessing completed successfully!\n")
    check_finished(jobs, placed["mock-workload"])

    for job, worker in placed.items():
        jobs.wait("delete", f"job/{job}", *IN_NAMESPACE, at=worker)
    for worker in set(placed.values()):
        place_after(jobs, worker)
    seen = Counter(each for name in ("manager", *WORKERS) for each in created_pods(jobs, name))
    assert seen == Counter(each for names in pods.values() for each in names), "each of them once"
    assert not jobs("get", "pods", *IN_NAMESPACE)
    assert not guide.untrue(jobs.read("rp", "job1-placement", *IN_NAMESPACE)["status"])


def place_after(kubectl: Kubectl, worker: str) -> None:
    """Something more arrives there: what a member makes of its jobs' end it has made by then."""
    name = f"after-{worker}"
    kubectl("create", "configmap", name, "--from-literal=a=1", *IN_NAMESPACE)
    job, *_ = guide.read(guide.PLACEMENTS)[1:]
    chosen = {"group": "", "version": "v1", "kind": "ConfigMap", "name": name}
    policy = {"placementType": "PickFixed", "clusterNames": [worker]}
    spec = {**job["spec"], "resourceSelectors": [chosen], "policy": policy}
    made = {**job, "metadata": {**job["metadata"], "name": name}, "spec": spec}
    kubectl("apply", "-f", "-", given=guide.dump(made))
    kubectl.wait("condition=ResourcePlacementAvailable", f"rp/{name}", *IN_NAMESPACE)


def check_under_way(kubectl: Kubectl) -> None:
    """While it runs: applied, not available yet, and nothing that failed or drifted."""
    status = kubectl.read("rp", "job1-placement", *IN_NAMESPACE)["status"]
    (entry,) = status["placementStatuses"]
    assert guide.untrue(status) == ["ResourcePlacementAvailable"]
    assert not {"driftedPlacements", "failedPlacements"} & entry.keys()
    hub_job = kubectl.read("job", "mock-workload", *IN_NAMESPACE)
    assert hub_job["spec"]["suspend"] is True
    assert "Suspended" in kubectl("get", "jobs", *IN_NAMESPACE)
    assert "No resources" in kubectl.run("get", "workloads,pods", *IN_NAMESPACE).stderr


def check_finished(kubectl: Kubectl, worker: str) -> None:
    kubectl.wait("condition=ResourcePlacementAvailable", "rp/job1-placement", *IN_NAMESPACE)
    found = kubectl.read("rp", "job1-placement", *IN_NAMESPACE)
    assert found["metadata"]["generation"] == 1
    status = found["status"]
    assert guide.said(status) == guide.of_placement("ResourcePlacement", 1)
    (entry,) = status["placementStatuses"]
    (scheduled, *rest) = guide.said(entry)
    assert rest == guide.of_cluster(worker, guide.TRACKED)[1:]
    assert f'placement in "{worker}" (affinity score: ' in scheduled[2]
    shown = kubectl("describe", "resourceplacement", "job1-placement", *IN_NAMESPACE)
    assert listed(shown.partition("Events:\n")[2]) == guide.EVENTS


def wait_for_pods(kubectl: Kubectl, worker: str, job: str) -> list[str]:
    def running() -> list[str]:
        words = ("pods", "-l", f"job-name={job}", *IN_NAMESPACE)
        items = kubectl.read(*words, at=worker)["items"]
        return [each["metadata"]["name"] for each in items if each["status"].get("startTime")]

    wait_until(f"the pods of {job}", lambda: len(running()) == 3)
    return running()


def created_pods(kubectl: Kubectl, cluster: str) -> list[str]:
    words = ("events", "--field-selector", "reason=SuccessfulCreate", *IN_NAMESPACE)
    found = kubectl.read(*words, at=cluster)["items"]
    return [each["message"].removeprefix("Created pod: ") for each in found]


@pytest.mark.rule("G-9", "G-11")
def test_what_is_placed_can_be_looked_at(jobs: Kubectl) -> None:
    jobs.wait("condition=ResourcePlacementAvailable", "rp/queue-placement", *IN_NAMESPACE)
    status = jobs.read("resourceplacement", "queue-placement", *IN_NAMESPACE)["status"]
    assert guide.said(status) == guide.of_placement("ResourcePlacement", 3)
    work = guide.untracked("compute-jobs.queue-placement-work")
    for entry in status["placementStatuses"]:
        assert guide.said(entry) == guide.of_cluster(entry["clusterName"], work)
    for words in (
        ("resourceplacement", "job1-placement", *IN_NAMESPACE),
        ("clusterresourceplacement", "sample-kueue"),
    ):
        assert "\n  selectedResources:\n" in jobs("get", *words, "-o", "yaml")
    for worker in WORKERS:
        assert "local-queue" in jobs("get", "jobs,localqueue", *IN_NAMESPACE, at=worker)
        queue = jobs("get", "localqueue", "local-queue", *IN_NAMESPACE, at=worker)
        assert "CLUSTERQUEUE" in queue
        assert "cluster-queue" in queue
        wide = jobs("get", "clusterqueue", "cluster-queue", "-o", "wide", at=worker)
        assert "BestEffortFIFO" in wide
    said = jobs.shell(
        'for ctx in $(kubectl config get-contexts -o name); do echo "=== Cluster: $ctx ==="; '
        "kubectl --context $ctx get jobs -n compute-jobs; done"
    )
    assert re.findall(r"=== Cluster: (\S+) ===", said) == ["manager", *WORKERS]


@pytest.mark.rule("G-9")
def test_a_placement_may_be_treated_as_kubefleet_does(queues: Kubectl) -> None:
    """The status that the guide prints, by an annotation of the placement."""
    queues("apply", "-f", "-", given=guide.LOCAL_QUEUE)
    job, placement = next(guide.submissions(1))
    placement["metadata"]["annotations"] = {"fleetqueue.io/kueue-aware": "false"}
    for obj in (*guide.read(guide.PLACEMENTS)[:1], job, placement):
        queues("apply", "-f", "-", given=guide.dump(obj))
    name = ("rp/job-000-placement", *IN_NAMESPACE)
    queues.wait("condition=ResourcePlacementApplied=False", *name)
    drifted = ".status.placementStatuses[0].driftedPlacements[0]"
    queues.wait(f"jsonpath={{{drifted}.targetClusterObservedGeneration}}=2", *name)
    found = queues.read(*name)
    (entry,) = found["status"]["placementStatuses"]
    rows = guide.of_placement("ResourcePlacement", 1)[:5]
    rows[4] = ("ResourcePlacementApplied", "ApplyFailed", guide.FAILED)
    assert guide.said(found["status"]) == rows
    text = "Work object compute-jobs.job-000-placement-work has failed to apply"
    assert guide.said(entry)[4] == ("Applied", "NotAllWorkHaveBeenApplied", text)
    live = queues.read("job", "job-000", *IN_NAMESPACE, at=entry["clusterName"])
    drifts = entry["driftedPlacements"][0]["observedDrifts"]
    assert guide.as_printed(drifts) == guide.drifts(live["metadata"]["uid"])
    condition = entry["failedPlacements"][0]["condition"]
    assert condition["reason"] == "FoundDriftsInDegradedMode"
    assert condition["message"] == guide.DEGRADED
    shown = queues("describe", "resourceplacement", "job-000-placement", *IN_NAMESPACE)
    assert listed(shown.partition("Events:\n")[2]) == guide.EVENTS
    assert "        Path:                              /spec/suspend\n" in shown
    queues("delete", *name)


COUNT = 50


@pytest.mark.rule("G-10")
def test_fifty_jobs_one_after_the_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    fleet = LocalFleet(tmp_path_factory.mktemp("simulated") / "dir")
    fleet.up("--simulate")
    try:
        kubectl = Kubectl(fleet, tmp_path_factory.mktemp("home"))
        for name in WORKERS:
            kubectl.wait("condition=Joined", f"membercluster/{name}")
        chosen = submit_all(kubectl)
        assert chosen.pop("") == 1
        assert set(chosen) == set(WORKERS)
        # What a member has left is told once a second, and jobs come faster than that.
        assert min(chosen.values()) >= COUNT // 10, chosen
        assert not kubectl.read("pods", *IN_NAMESPACE)["items"]
    finally:
        fleet.down()


def submit_all(kubectl: Kubectl) -> Counter[str]:
    """Where each went; one of them can go nowhere."""
    for text in (*guide.STEPS, guide.CLUSTER_PLACEMENT, guide.LOCAL_QUEUE):
        kubectl("apply", "-f", "-", given=text)
    queue, *_ = guide.read(guide.PLACEMENTS)
    kubectl("apply", "-f", "-", given=guide.dump(queue))
    kubectl.wait("condition=ResourcePlacementAvailable", "rp/queue-placement", *IN_NAMESPACE)
    for number, (job, placement) in enumerate(guide.submissions(COUNT)):
        if number == 7:
            fixed = {"placementType": "PickFixed", "clusterNames": ["nowhere"]}
            placement["spec"]["policy"] = fixed
        template = job["spec"]["template"]
        template["metadata"] = {"annotations": {"fleetqueue.io/sim-run-seconds": "5"}}
        kubectl("apply", "-f", "-", given=f"{guide.dump(job)}\n---\n{guide.dump(placement)}")
    wait_until("all but one are done", partial(all_done, kubectl))
    found = kubectl.read("rp", *IN_NAMESPACE)["items"]
    jobs = [each for each in found if each["metadata"]["name"] != "queue-placement"]
    entries = [each["status"]["placementStatuses"][0] for each in jobs]
    return Counter(each.get("clusterName", "") for each in entries)


def all_done(kubectl: Kubectl) -> bool:
    found = kubectl.read("rp", *IN_NAMESPACE)["items"]
    return sum(not guide.untrue(each.get("status") or {}) for each in found) == COUNT
