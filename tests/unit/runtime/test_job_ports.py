"""Which ports the jobs of a machine have, and for how long."""

from typing import Any

import pytest

from fleetqueue.runtime.job_ports import JobName, PortsOfJobs, job_of
from fleetqueue.runtime.port_claims import PortClaims
from fleetqueue.runtime.ports import PodPorts, map_arguments, map_variables

pytestmark = pytest.mark.rule("jobs C.6")
Object = dict[str, Any]


class Claim:
    """A port among those of a machine."""

    def __init__(self, port: int, taken: set[int]) -> None:
        self._port, self._taken = port, taken
        taken.add(port)

    def close(self) -> None:
        self._taken.discard(self._port)


class Machine:
    def __init__(self) -> None:
        self.claimed: set[int] = set()
        self.listening: set[int] = set()

    def claims(self) -> PortClaims:
        """Those of one process on it."""
        return PortClaims(self._claim, lambda port: port not in self.listening)

    def _claim(self, port: int) -> Claim | None:
        return None if port in self.claimed else Claim(port, self.claimed)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def ports(machine: Machine) -> PortsOfJobs:
    return PortsOfJobs(machine.claims())


def pod(
    name: str, label: str = "batch.kubernetes.io/job-name", job: str = "a", **spec: Any
) -> Object:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": {label: job}}
    return {"metadata": metadata, "spec": spec}


def told(ports: PodPorts | None, port: int = 29500) -> int:
    assert ports is not None
    return int(map_variables({"MASTER_PORT": str(port)}, ports)["MASTER_PORT"])


def test_a_job_alone_keeps_its_ports(ports: PortsOfJobs) -> None:
    assert told(ports.join(pod("a-0"), "127.1.0.1")) == 29500
    assert told(ports.join(pod("a-1"), "127.1.0.2")) == 29500


def test_two_jobs_at_once_have_different_ones(ports: PortsOfJobs, machine: Machine) -> None:
    first = told(ports.join(pod("a-0"), "127.1.0.1"))
    second = told(ports.join(pod("b-0", job="b"), "127.1.0.2"))
    assert first == 29500
    assert second in range(20_000, 32_000)
    assert told(ports.join(pod("b-1", job="b"), "127.1.0.3")) == second, "all its pods the same"
    other = PortsOfJobs(machine.claims())
    assert told(other.join(pod("c-0", job="a"), "127.2.0.1")) not in (first, second)


def test_what_comes_later_is_told_where_the_job_listens(ports: PortsOfJobs) -> None:
    """Such as a command that is executed in a pod: a port that the job's processes were not told,
    because it is built into them, is not moved either.
    """
    told(ports.join(pod("a-0"), "127.1.0.1"))
    told(ports.join(pod("a-0"), "127.1.0.1"), 8080)
    second = ports.join(pod("b-0", job="b"), "127.1.0.2")
    moved = told(second)
    assert second is not None
    later = second.settled()
    asked = ("curl", "http://127.1.0.2:8080/exit", "http://127.1.0.2:29500")
    found = ("curl", "http://127.1.0.2:8080/exit", f"http://127.1.0.2:{moved}")
    assert map_arguments(asked, later) == found
    assert ports.used_port("127.1.0.2", 8080) == 8080, "and nobody is led elsewhere by that"
    assert map_arguments(asked, second) != found


def test_ports_are_free_again_when_the_last_pod_has_ended(ports: PortsOfJobs) -> None:
    for name in ("a-0", "a-1"):
        told(ports.join(pod(name), "127.1.0.1"))
    ports.leave("uid-a-0")
    assert told(ports.join(pod("b-0", job="b"), "127.1.0.2")) != 29500
    ports.leave("uid-a-1")
    ports.leave("uid-a-1")
    assert told(ports.join(pod("c-0", job="c"), "127.1.0.3")) == 29500


def test_a_port_that_somebody_listens_on_is_not_given(ports: PortsOfJobs, machine: Machine) -> None:
    machine.listening.add(29500)
    assert told(ports.join(pod("a-0"), "127.1.0.1")) != 29500


def test_a_port_that_the_job_itself_listens_on_by_now_stays_its_own(
    ports: PortsOfJobs, machine: Machine
) -> None:
    ports.join(pod("a-0"), "127.1.0.1")
    machine.listening.add(29500)
    assert told(ports.join(pod("a-1"), "127.1.0.2")) == 29500


def test_others_are_led_to_where_a_pod_listens(ports: PortsOfJobs) -> None:
    told(ports.join(pod("a-0"), "127.1.0.1"), 8080)
    moved = told(ports.join(pod("b-0", job="b"), "127.1.0.2"), 8080)
    assert ports.used_port("127.1.0.2", 8080) == moved
    assert ports.used_port("127.1.0.1", 8080) == 8080
    assert ports.used_port("127.1.0.2", 81) == 81
    assert ports.used_port("127.9.9.9", 8080) == 8080
    ports.leave("uid-b-0")
    assert ports.used_port("127.1.0.2", 8080) == 8080


# fmt: off
JOBS = {
    "batch/v1 Job":      ({"batch.kubernetes.io/job-name": "a"}, "a"),
    "JobSet":            ({"batch.kubernetes.io/job-name": "s-w-0",
                           "jobset.sigs.k8s.io/jobset-name": "s"}, "s"),
    "training operator": ({"training.kubeflow.org/job-name": "t"}, "t"),
    "Ray":               ({"ray.io/cluster": "r"}, "r"),
    "LeaderWorkerSet":   ({"leaderworkerset.sigs.k8s.io/name": "l",
                           "leaderworkerset.sigs.k8s.io/group-index": "2"}, "l-2"),
    "a group of pods":   ({"kueue.x-k8s.io/pod-group-name": "g"}, "g"),
    "a server":          ({"app": "web"}, None),
}
# fmt: on


@pytest.mark.parametrize(("labels", "name"), JOBS.values(), ids=JOBS.keys())
def test_the_job_of_a_pod(labels: dict[str, str], name: str | None) -> None:
    found = job_of({"metadata": {"namespace": "ns", "labels": labels}})
    assert (found and found.name) == name
    assert found is None or isinstance(found, JobName)


def test_servers_and_pods_of_the_host_keep_their_ports(ports: PortsOfJobs) -> None:
    assert ports.join(pod("web", label="app"), "127.1.0.1") is None
    assert ports.join(pod("a-0", hostNetwork=True), "127.0.0.1") is None


def test_services_with_addresses_are_not_taken_for_pods_of_the_job(ports: PortsOfJobs) -> None:
    told(ports.join(pod("b-0", job="b"), "127.1.0.9"), 6379)
    service = {"metadata": {"name": "a-db"}, "spec": {"clusterIP": "127.1.255.1"}}
    own = ports.join(pod("a-0"), "127.1.0.1", [service])
    assert own is not None
    assert own.behind("a-db:6379") == "a-db:6379"
    assert own.behind("a-0:6379") != "a-0:6379"


def test_who_submits_to_a_cluster_of_ray_is_told_where_its_head_listens(
    ports: PortsOfJobs, machine: Machine
) -> None:
    head = pod("a-x-head", "ray.io/cluster", "a-x")
    selector = {"ray.io/cluster": "a-x", "ray.io/node-type": "head"}
    spec = {"clusterIP": "None", "selector": selector}
    service = {"metadata": {"name": "a-x-head-svc"}, "spec": spec}
    dashboard = "http://a-x-head-svc.ns.svc.cluster.local:8265"
    running = ports.join(head, "127.1.0.1")
    assert running is not None
    assert running.port(8265) == 8265
    machine.listening.add(8265)
    submitter = ports.join(pod("a-0"), "127.1.0.2", [service])
    assert submitter is not None
    assert submitter.behind(dashboard) == dashboard
    other = ports.join(pod("b-head", "ray.io/cluster", "b"), "127.1.0.3")
    assert other is not None
    moved = other.port(8265)
    assert moved != 8265
    service["metadata"]["name"], selector["ray.io/cluster"] = "b-head-svc", "b"
    submitter = ports.join(pod("a-0"), "127.1.0.2", [service])
    assert submitter is not None
    assert submitter.behind("b-head-svc.ns:8265") == f"b-head-svc.ns:{moved}"
