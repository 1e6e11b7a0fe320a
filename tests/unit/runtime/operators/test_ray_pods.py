"""The pods, Services and start commands of RayClusters."""

import pytest
from tests.support import ray
from tests.support.ray import template, worker_group

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_pods, ray_services, ray_start

pytestmark = [pytest.mark.rule("jobs B.7"), pytest.mark.rule("jobs B.10")]

HEAD_FQDN = "c-head-svc.default.svc.cluster.local"


def cluster(
    container: Object | None = None, params: Object | None = None, **spec: object
) -> Object:
    head = {"template": template(**(container or {})), "rayStartParams": params or {}}
    return ray.ray_cluster_of(worker_group(), headGroupSpec=head, **spec)


def head_command(container: Object | None = None, params: Object | None = None) -> list[str]:
    made = cluster(container, params)
    return ray_start.start_command(made, made["spec"]["headGroupSpec"], "head").split()


def env_of(pod: Object) -> dict[str, str | None]:
    return {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}


def test_a_head_is_started_with_what_it_needs() -> None:
    assert head_command() == [
        "ray",
        "start",
        "--head",
        "--block",
        "--dashboard-agent-listen-port=52365",
        "--dashboard-host=0.0.0.0",
        "--metrics-export-port=8080",
    ]


@pytest.mark.parametrize(
    ("resources", "params", "flags"),
    [
        ({"limits": {"cpu": "1500m"}}, {}, ["--num-cpus=2"]),
        ({"requests": {"cpu": "3"}}, {}, ["--num-cpus=3"]),
        ({"limits": {"memory": "1Gi"}}, {}, ["--memory=1073741824"]),
        ({"limits": {"nvidia.com/gpu": 4}}, {}, ["--num-gpus=4"]),
        ({"limits": {"nvidia.com/mig-2g.32gb": 2}}, {}, ["--num-gpus=2"]),
        ({"limits": {"google.com/tpu": 4}}, {}, ["--resources='{\"TPU\":4}'"]),
        ({"limits": {"cpu": "4"}}, {"num-cpus": "0"}, ["--num-cpus=0"]),
        (
            {},
            {"dashboard-host": "::", "no-monitor": "true"},
            ["--dashboard-host=::", "--no-monitor"],
        ),
        ({}, {"include-dashboard": "false"}, ["--include-dashboard=false"]),
    ],
)
def test_flags_follow_resources_and_what_the_user_says(
    resources: Object, params: Object, flags: list[str]
) -> None:
    found = head_command({"resources": resources}, params)
    assert set(flags) <= set(found)
    assert found[3:] == sorted(found[3:])


def test_a_flag_that_is_false_is_left_out() -> None:
    assert not any("verbose" in word for word in head_command(params={"verbose": "False"}))


def test_a_worker_knows_its_head() -> None:
    made = cluster()
    pod = ray_pods.make_worker(made, made["spec"]["workerGroupSpecs"][0])
    assert pod["metadata"]["generateName"] == "c-small-worker-"
    assert f"--address={HEAD_FQDN}:6379" in pod["spec"]["containers"][0]["args"][0]
    env = env_of(pod)
    assert env["FQ_RAY_IP"] == HEAD_FQDN
    assert env["RAY_IP"] == "c-head-svc"
    assert env["RAY_ADDRESS"] == f"{HEAD_FQDN}:6379"
    [waiting] = pod["spec"]["initContainers"]
    assert waiting["name"] == "wait-gcs-ready"
    assert f"ray health-check --address {HEAD_FQDN}:6379" in waiting["args"][0]
    assert waiting["resources"]["limits"] == {"cpu": "200m", "memory": "256Mi"}


def test_a_head_has_its_labels_environment_and_shared_memory() -> None:
    given = template(
        resources={"limits": {"memory": "1Gi"}}, env=[{"name": "RAY_PORT", "value": "1"}]
    )
    given["metadata"] = {
        "labels": {"ray.io/cluster": "other", "ray.io/identifier": "x", "mine": "y"}
    }
    made = ray.ray_cluster_of(headGroupSpec={"template": given})
    pod = ray_pods.make_head(made)
    assert pod["metadata"]["generateName"] == "c-head-"
    assert pod["metadata"]["labels"] == {
        "mine": "y",
        "ray.io/is-ray-node": "yes",
        "ray.io/cluster": "c",
        "ray.io/node-type": "head",
        "ray.io/group": "headgroup",
        "ray.io/identifier": "c-head",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    [container] = pod["spec"]["containers"]
    assert container["command"] == ["/bin/bash", "-c", "--"]
    assert container["args"][0].startswith(
        "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; ray start --head "
    )
    env = env_of(pod)
    assert env["RAY_PORT"] == "1"
    assert env["RAY_ADDRESS"] == "127.0.0.1:6379"
    assert env["RAY_USAGE_STATS_KUBERAY_IN_USE"] == "1"
    assert env["RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE"] == "1"
    assert {"RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_CLOUD_INSTANCE_ID"} <= env.keys()
    assert {"RAY_NODE_TYPE_NAME", "RAY_USAGE_STATS_EXTRA_TAGS"} <= env.keys()
    assert env["KUBERAY_GEN_RAY_START_CMD"] in container["args"][0]
    volume = {"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}
    assert pod["spec"]["volumes"] == [volume]
    assert given["spec"]["containers"][0]["env"] == [{"name": "RAY_PORT", "value": "1"}]


def test_the_users_command_comes_first_or_alone() -> None:
    user = {"command": ["echo"], "args": ["hello"]}
    [container] = ray_pods.make_head(cluster(user))["spec"]["containers"]
    assert container["args"][0].startswith(" echo  hello  && ulimit -n ")
    made = cluster(user)
    made["metadata"]["annotations"] = {"ray.io/overwrite-container-cmd": "true"}
    [container] = ray_pods.make_head(made)["spec"]["containers"]
    assert (container["command"], container["args"]) == (["echo"], ["hello"])
    assert any(each["name"] == "KUBERAY_GEN_RAY_START_CMD" for each in container["env"])


@pytest.mark.parametrize(("node_type", "timeout", "checks"), [("head", 5, 2), ("worker", 2, 1)])
def test_probes_ask_what_a_node_serves(node_type: str, timeout: int, checks: int) -> None:
    made = cluster()
    group = made["spec"]["workerGroupSpecs"][0]
    pod = ray_pods.make_head(made) if node_type == "head" else ray_pods.make_worker(made, group)
    container = pod["spec"]["containers"][0]
    readiness, liveness = container["readinessProbe"], container["livenessProbe"]
    command = readiness["exec"]["command"][2]
    assert command.count("wget") == checks
    assert "http://localhost:52365/api/local_raylet_healthz" in command
    assert ("http://localhost:8265/api/gcs_healthz" in command) == (checks == 2)
    assert (readiness["initialDelaySeconds"], readiness["failureThreshold"]) == (10, 10)
    assert (liveness["initialDelaySeconds"], liveness["failureThreshold"]) == (30, 120)
    assert readiness["timeoutSeconds"] == timeout
    assert readiness["periodSeconds"] == liveness["periodSeconds"] == 5


def test_newer_ray_has_one_address_for_its_health() -> None:
    [container] = ray_pods.make_head(cluster(rayVersion="2.53.0"))["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/api/healthz", "port": 52365}


def test_a_probe_that_the_user_gives_stays() -> None:
    probe = {"tcpSocket": {"port": 1}}
    [container] = ray_pods.make_head(cluster({"readinessProbe": probe}))["spec"]["containers"]
    assert container["readinessProbe"] == probe


def test_pods_of_a_service_say_whether_they_serve() -> None:
    made = cluster()
    made["metadata"]["labels"] = {"ray.io/originated-from-crd": "RayService"}
    head = ray_pods.make_head(made)
    worker = ray_pods.make_worker(made, made["spec"]["workerGroupSpecs"][0])
    assert head["metadata"]["labels"]["ray.io/serve"] == "false"
    assert worker["metadata"]["labels"]["ray.io/serve"] == "true"
    assert (
        "8000/-/healthz" in worker["spec"]["containers"][0]["readinessProbe"]["exec"]["command"][2]
    )


def test_the_head_service_has_the_ports_of_the_head() -> None:
    service = ray_services.head_service(cluster())
    assert service["metadata"]["name"] == "c-head-svc"
    assert {port["name"]: port["port"] for port in service["spec"]["ports"]} == {
        "client": 10001,
        "dashboard": 8265,
        "gcs-server": 6379,
        "metrics": 8080,
        "serve": 8000,
    }
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"]
    own = cluster({"ports": [{"name": "mine", "containerPort": 7}]})
    ports = ray_services.head_service(own)["spec"]["ports"]
    assert {port["name"]: port["port"] for port in ports} == {"metrics": 8080, "mine": 7}


def test_a_head_service_of_another_type_has_an_address() -> None:
    made = ray.ray_cluster_of(headGroupSpec={"template": template(), "serviceType": "NodePort"})
    service = ray_services.head_service(made)
    assert service["spec"]["type"] == "NodePort"
    assert "clusterIP" not in service["spec"]


def test_a_name_that_is_too_long_is_cut() -> None:
    made = ray.ray_cluster_of(worker_group("g" * 40), name="c" * 30)
    pod = ray_pods.make_worker(made, made["spec"]["workerGroupSpecs"][0])
    assert pod["metadata"]["generateName"] == f"{'c' * 30}-{'g' * 19}-worker-"
