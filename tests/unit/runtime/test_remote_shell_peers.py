"""Which pods may run commands in which."""

from typing import Any

import pytest
from tests.support import mpi_jobs

from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime.operators import mpi_job_children as children
from fleetqueue.runtime.operators.mpi_job_spec import MpiJob
from fleetqueue.runtime.remote_shell_access import AGENTS, Access
from fleetqueue.runtime.remote_shell_peers import (
    Group,
    Unreachable,
    find_host,
    group_of,
    key_container,
    peers_of,
)
from fleetqueue.runtime.without_ssh import IDLE, without_ssh

pytestmark = pytest.mark.rule("jobs B.5")
_ROOT = {"MPIJob": "kubeflow.org/v2beta1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Job": "batch/v1"}


def owner(kind: str, uid: str, name: str = "pi") -> Object:
    return {
        "apiVersion": _ROOT.get(kind, "v1"), "kind": kind, "name": name, "uid": uid,
        "controller": True,
    }  # fmt: skip


def pods_of(name: str = "pi", uid: str = "uid-1", namespace: str = "default") -> list[Object]:
    """The Job of the launcher, its pod, and two workers, as they are when they run."""
    made = mpi_jobs.job(name=name)
    made["metadata"] |= {"uid": uid, "namespace": namespace}
    job = MpiJob(made)
    launcher = children.make_launcher(job)
    launcher["metadata"] |= {"uid": f"{uid}-job", "namespace": namespace}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", **launcher["spec"]["template"]}
    pod["metadata"] = {
        **pod["metadata"],
        "name": f"{name}-launcher-x",
        "ownerReferences": [owner("Job", f"{uid}-job", f"{name}-launcher")],
    }
    workers = [children.make_worker(job, index) for index in range(2)]
    for number, each in enumerate((pod, *workers)):
        each["metadata"] |= {"uid": f"{uid}-{number}", "namespace": namespace}
        each["status"] = {"phase": "Running", "podIP": f"127.1.0.{number + 1}"}
    return [launcher, pod, *workers]


def names(pods: list[Object]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def test_the_launcher_and_the_workers_of_a_job_are_peers() -> None:
    """Not so a pod elsewhere that claims to belong to the same job."""
    mine, other, far = pods_of(), pods_of("other", "uid-2"), pods_of(namespace="far")
    far[0]["metadata"]["uid"] = far[1]["metadata"]["ownerReferences"][0]["uid"] = "far-job"
    source = Listed([*mine, *other, *far])
    for pod in mine[1:]:
        group = group_of(pod, source)
        assert group == Group("default", "uid-1")
        assert sorted(names(peers_of(group, source))) == [
            "pi-launcher-x",
            "pi-worker-0",
            "pi-worker-1",
        ]


def without(pod: Object, **metadata: Any) -> Object:
    return {**pod, "metadata": {**pod["metadata"], **metadata}}


@pytest.mark.parametrize(
    "references",
    [
        [],
        [{**owner("MPIJob", "uid-1"), "controller": False}],
        [owner("Job", "uid-1-job", "gone")],
        [owner("Job", "another", "pi-launcher")],
        [owner("PyTorchJob", "uid-1")],
        [{**owner("MPIJob", "uid-1"), "apiVersion": "example.com/v1"}],
    ],
    ids=[
        "nobody's",
        "not controlled",
        "of no job",
        "of an older job",
        "another kind",
        "a namesake",
    ],
)
def test_others_have_no_peers(references: list[Object]) -> None:
    launcher, _, worker, _ = pods_of()
    pod = without(worker, ownerReferences=references)
    assert group_of(pod, Listed([launcher, pod])) is None


def test_a_pod_without_the_keys_has_no_peers() -> None:
    launcher, pod, worker, _ = pods_of()
    worker["spec"] = {**worker["spec"], "volumes": []}
    source = Listed([launcher, pod, worker])
    assert group_of(worker, source) is None
    group = group_of(pod, source)
    assert group is not None
    assert names(peers_of(group, source)) == ["pi-launcher-x"]


def test_the_pods_of_a_train_job_are_peers() -> None:
    launcher, pod, *_ = pods_of()
    launcher["metadata"]["ownerReferences"] = [owner("JobSet", "set")]
    keys = {"name": "mpi-ssh-auth", "secret": {"secretName": "t-mpi-ssh-auth"}}
    mount = {"name": "mpi-ssh-auth", "mountPath": "/root/.ssh"}
    containers = [{"name": "other"}, {"name": "node", "volumeMounts": [mount]}]
    pod["spec"] = {"volumes": [keys], "containers": containers}
    assert group_of(pod, Listed([launcher, pod])) == Group("default", "set")
    assert key_container(pod) == containers[1]


@pytest.mark.parametrize(
    "host",
    [
        "pi-worker-1",
        "pi-worker-1.pi",
        "pi-worker-1.pi.default",
        "pi-worker-1.pi.default.svc",
        "pi-worker-1.pi.default.svc.cluster.local",
        "127.1.0.3",
    ],
)
def test_a_pod_is_found_by_each_of_its_names(host: str) -> None:
    assert find_host(host, pods_of()[1:])["metadata"]["name"] == "pi-worker-1"


@pytest.mark.parametrize("host", ["", "pi", "pi-worker-2", "pi-worker-1.pi.default.svc.cluster"])
def test_other_names_are_not_resolved(host: str) -> None:
    with pytest.raises(Unreachable, match="Could not resolve hostname"):
        find_host(host, pods_of()[1:])


def test_a_pod_that_has_ended_is_not_reached_and_its_successor_is() -> None:
    _, _, old, new = pods_of()
    old["status"] = {"phase": "Failed"}
    with pytest.raises(Unreachable, match="has ended"):
        find_host("pi-worker-0", [old])
    new["spec"]["hostname"] = "pi-worker-0"
    assert find_host("pi-worker-0", [old, new]) is new
    old["status"] = {"phase": "Running"}
    with pytest.raises(Unreachable, match="several"):
        find_host("pi-worker-0", [old, new])


def test_peers_learn_how_to_reach_each_other_and_others_nothing(tmp_path: Any) -> None:
    access = Access(tmp_path, b"secret")
    launcher, *pods = pods_of()
    source = Listed([launcher, *pods])
    for pod in pods:
        variables = access.variables(pod, source)
        assert {variables[name] for name in AGENTS} == {str(tmp_path / "remote-shell")}
        key = variables["FLEETQUEUE_REMOTE_SHELL_KEY"]
        assert access.uid_of(key) == pod["metadata"]["uid"]
        assert Access(tmp_path, b"another").uid_of(key) is None
    assert access.variables(without(pods[0], ownerReferences=[]), source) == {}


@pytest.mark.parametrize("key", ["", "uid-1-0", "uid-1-0:", "uid-1-0:ff", "schlüssel:ü"])
def test_a_made_up_key_is_nobodys(tmp_path: Any, key: str) -> None:
    assert Access(tmp_path, b"secret").uid_of(key) is None


# In place of sshd

SERVERS = [
    {},
    {"command": ["/usr/sbin/sshd"], "args": ["-De", "-f", "/home/mpiuser/.sshd_config"]},
    {"command": ["sshd", "-D"], "readinessProbe": {"tcpSocket": {"port": 2222}}},
]


@pytest.mark.parametrize("container", SERVERS)
def test_a_worker_idles_where_it_would_serve_ssh(container: Object) -> None:
    template = {"spec": {"containers": [{"name": "c", **container}, {"name": "beside"}]}}
    made = children.make_worker(MpiJob(mpi_jobs.job(worker={"template": template})), 0)
    first, second = without_ssh(made["spec"])["containers"]
    assert first["command"] == IDLE
    assert not {"args", "readinessProbe"} & first.keys()
    assert first["env"] == made["spec"]["containers"][0]["env"]
    assert second == {"name": "beside"}
    assert made["spec"]["containers"][0]["command"] != IDLE


def test_other_pods_run_what_they_say() -> None:
    _, pod, worker, _ = pods_of()
    worker["spec"]["containers"][0]["command"] = ["sh", "-c", "/usr/sbin/sshd; work"]
    foreign = {"containers": [{"name": "c", "command": ["/usr/sbin/sshd", "-De"]}]}
    for spec in (pod["spec"], worker["spec"], foreign):
        assert without_ssh(spec) is spec
