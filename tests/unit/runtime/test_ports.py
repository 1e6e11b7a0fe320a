"""Well-known ports of a job, moved to free ones."""

import itertools
import json

import pytest

from fleetqueue.runtime.ports import JobPorts, container_ports, map_arguments, map_variables

HOSTS = {"j-master-0", "j-0.ns.svc", "127.1.0.5"}


@pytest.fixture
def ports() -> JobPorts:
    return JobPorts(itertools.count(40001).__next__)


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
    "what Services are told by stays":("WEB_SERVICE_PORT", "8080",                   "8080"),
}
ARGUMENTS = {
    "a flag and its value":  (("--master_port", "29500"),          ("--master_port", "40001")),
    "a flag with its value": (("--port=8000", "x"),                ("--port=40001", "x")),
    "another flag":          (("--steps", "8000"),                 ("--steps", "8000")),
    "behind a host":         (("--at=j-master-0:29500",),          ("--at=j-master-0:40001",)),
    "another word":          (("--support", "8000"),               ("--support", "8000")),
    "written together":      (("-masterPort=2222",),               ("-masterPort=40001",)),
}
# fmt: on


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(("name", "value", "becomes"), VARIABLES.values(), ids=VARIABLES.keys())
def test_variables(ports: JobPorts, name: str, value: str, becomes: str) -> None:
    assert map_variables({name: value}, ports, HOSTS) == {name: becomes}


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(("given", "becomes"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_arguments(ports: JobPorts, given: tuple[str, ...], becomes: tuple[str, ...]) -> None:
    assert map_arguments(given, ports, HOSTS) == becomes


@pytest.mark.rule("jobs C.12")
def test_all_pods_of_a_job_are_told_the_same(ports: JobPorts) -> None:
    first = map_variables({"MASTER_PORT": "29500", "PET_MASTER_PORT": "29500"}, ports, HOSTS)
    again = map_variables({"MASTER_PORT": "29500"}, ports, HOSTS)
    assert first["MASTER_PORT"] == first["PET_MASTER_PORT"] == again["MASTER_PORT"]


@pytest.mark.rule("jobs C.12")
def test_each_task_of_tensorflow_gets_a_port_of_its_own(ports: JobPorts) -> None:
    config = {
        "cluster": {
            "ps": ["j-ps-0.ns.svc:2222"],
            "worker": ["j-worker-0.ns.svc:2222", "j-worker-1.ns.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    mapped = map_variables({"TF_CONFIG": json.dumps(config)}, ports, ())["TF_CONFIG"]
    assert json.loads(mapped) == {
        "cluster": {
            "ps": ["j-ps-0.ns.svc:40001"],
            "worker": ["j-worker-0.ns.svc:40002", "j-worker-1.ns.svc:40003"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    sparse = {"cluster": {"worker": {"1": "j-worker-1.ns.svc:2222"}}}
    mapped = map_variables({"TF_CONFIG": json.dumps(sparse)}, ports, ())["TF_CONFIG"]
    assert json.loads(mapped) == {"cluster": {"worker": {"1": "j-worker-1.ns.svc:40003"}}}
    assert map_variables({"TF_CONFIG": "no JSON"}, ports, ()) == {"TF_CONFIG": "no JSON"}


@pytest.mark.rule("jobs C.12")
def test_workers_of_xgboost(ports: JobPorts) -> None:
    by_name = {"WORKER_PORT": "9999", "WORKER_ADDRS": "w-0,w-1"}
    assert map_variables(by_name, ports, ()) == {"WORKER_PORT": "40001", "WORKER_ADDRS": "w-0,w-1"}
    by_pair = {"WORKER_PORT": "9999", "WORKER_ADDRS": "w-0:9999,w-1:9999"}
    mapped = map_variables(by_pair, ports, (), own="w-1")
    assert mapped == {"WORKER_PORT": "40003", "WORKER_ADDRS": "w-0:40002,w-1:40003"}


def test_named_ports_follow(ports: JobPorts) -> None:
    ports.port(8080)
    declared = [
        {"name": "http", "containerPort": 8080},
        {"name": "x", "containerPort": 1},
        {"containerPort": 2},
    ]
    assert container_ports({"ports": declared}, ports) == {"http": 40001, "x": 1}
