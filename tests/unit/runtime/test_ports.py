"""Well-known ports of a job, moved to free ones."""

import itertools
import json

import pytest

from fleetqueue.runtime.ports import Hosts, JobPorts, PodPorts, map_arguments, map_variables

NAMES = frozenset({"127.1.0.5"})
HOSTS = Hosts(NAMES, jobs=("j",), domains=("pods",), others=frozenset({"j-web"}))


@pytest.fixture
def job() -> JobPorts:
    numbers = itertools.count(40001)
    return JobPorts(lambda asked: next(numbers))


@pytest.fixture
def ports(job: JobPorts) -> PodPorts:
    return PodPorts(job, "j-worker-1", HOSTS)


# fmt: off
VARIABLES = {
    "a port": ("MASTER_PORT",      "29500",               "40001"),
    "a port nobody else uses": ("MASTER_PORT",      "31234",               "31234"),
    "a number that is no port": ("WORLD_SIZE",       "8080",                "8080"),
    "behind a host of the job": ("PET_ENDPOINT","j-master-0:29500",       "j-master-0:40001"),
    "behind a longer name": ("ADDRESS",          "j-0.ns.svc:2222",     "j-0.ns.svc:40001"),
    "behind an address": ("RAY_ADDRESS",      "127.1.0.5:10001",     "127.1.0.5:40001"),
    "behind another host": ("URL",              "http://web:8080",     "http://web:8080"),
    "behind a name that ends so":("URL",              "x-j-0:8080",      "x-j-0:8080"),
    "of a pod that is not there yet": ("PET_RDZV_ENDPOINT", "j-worker-7:23456", "j-worker-7:40001"),
    "below the job's service": ("COORDINATOR",  "a-0.pods.ns.svc:6666", "a-0.pods.ns.svc:40001"),
    "on all addresses": ("BIND",           "0.0.0.0:8000",        "0.0.0.0:40001"),
    "at home": ("URL",              "http://localhost:8000/x", "http://localhost:40001/x"),
    "a service that is only called so": ("URL", "http://j-web:8080", "http://j-web:8080"),
    "what Services are told by stays":("WEB_SERVICE_PORT", "8080",                   "8080"),
}
ARGUMENTS = {
    "a flag and its value":  (("--master_port", "29500"),          ("--master_port", "40001")),
    "a flag with its value": (("--port=8000", "x"),                ("--port=40001", "x")),
    "another flag":          (("--steps", "8000"),                 ("--steps", "8000")),
    "behind a host":         (("--at=j-master-0:29500",),          ("--at=j-master-0:40001",)),
    "another word":          (("--support", "8000"),               ("--support", "8000")),
    "written together":      (("-masterPort=2222",),               ("-masterPort=40001",)),
    "within a script":       (("run --master_port 29500 x",),      ("run --master_port 40001 x",)),
    "in a script with =":    (("ray start --port=6379 -x",),       ("ray start --port=40001 -x",)),
    "another in a script":   (("run --steps 8000 x",),             ("run --steps 8000 x",)),
}
# fmt: on


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(("name", "value", "becomes"), VARIABLES.values(), ids=VARIABLES.keys())
def test_variables(ports: PodPorts, name: str, value: str, becomes: str) -> None:
    assert map_variables({name: value}, ports) == {name: becomes}


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(("given", "becomes"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_arguments(ports: PodPorts, given: tuple[str, ...], becomes: tuple[str, ...]) -> None:
    assert map_arguments(given, ports) == becomes


@pytest.mark.rule("jobs C.12")
def test_all_pods_of_a_job_are_told_the_same(job: JobPorts) -> None:
    first = map_variables({"MASTER_PORT": "29500", "PET_MASTER_PORT": "29500"}, PodPorts(job))
    again = map_variables({"MASTER_PORT": "29500"}, PodPorts(job))
    assert first["MASTER_PORT"] == first["PET_MASTER_PORT"] == again["MASTER_PORT"]


@pytest.mark.rule("jobs C.12")
def test_each_task_of_tensorflow_gets_a_port_of_its_own(ports: PodPorts) -> None:
    config = {
        "cluster": {
            "ps": ["j-ps-0.ns.svc:2222"],
            "worker": ["j-worker-0.ns.svc:2222", "j-worker-1.ns.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    mapped = map_variables({"TF_CONFIG": json.dumps(config)}, ports)["TF_CONFIG"]
    assert json.loads(mapped) == {
        "cluster": {
            "ps": ["j-ps-0.ns.svc:40001"],
            "worker": ["j-worker-0.ns.svc:40002", "j-worker-1.ns.svc:40003"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    sparse = {"cluster": {"worker": {"1": "j-worker-1.ns.svc:2222"}}}
    mapped = map_variables({"TF_CONFIG": json.dumps(sparse)}, ports)["TF_CONFIG"]
    assert json.loads(mapped) == {"cluster": {"worker": {"1": "j-worker-1.ns.svc:40003"}}}
    assert map_variables({"TF_CONFIG": "no JSON"}, ports) == {"TF_CONFIG": "no JSON"}


@pytest.mark.rule("jobs C.12")
def test_workers_of_xgboost(job: JobPorts) -> None:
    ports = PodPorts(job, "w-1")
    by_name = {"WORKER_PORT": "9999", "WORKER_ADDRS": "w-0,w-1"}
    assert map_variables(by_name, ports) == {"WORKER_PORT": "40001", "WORKER_ADDRS": "w-0,w-1"}
    by_pair = {"WORKER_PORT": "9999", "WORKER_ADDRS": "w-0:9999,w-1:9999"}
    mapped = map_variables(by_pair, ports)
    assert mapped == {"WORKER_PORT": "40003", "WORKER_ADDRS": "w-0:40002,w-1:40003"}


@pytest.mark.rule("jobs C.12")
def test_ports_that_every_node_of_ray_listens_on_are_its_own(job: JobPorts) -> None:
    agent = "--dashboard-agent-listen-port"
    words = ("ray start --metrics-export-port=8080 --port=6379", agent, "52365")
    first, second = (map_arguments(words, PodPorts(job, name)) for name in ("r-head", "r-worker"))
    assert first == ("ray start --metrics-export-port=40001 --port=40002", agent, "40003")
    assert second == ("ray start --metrics-export-port=40004 --port=40002", agent, "40005")


@pytest.mark.rule("jobs C.6")
def test_what_a_pod_was_told_is_known(ports: PodPorts) -> None:
    config = {"cluster": {"worker": ["j-worker-0:2222", "j-worker-1:2222"]}}
    map_variables({"TF_CONFIG": json.dumps(config), "MASTER_PORT": "29500"}, ports)
    assert ports.used == {2222: 40002, 29500: 40003}
    assert ports.job.given == [40003, 40001, 40002]
