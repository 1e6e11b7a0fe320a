"""What the suites of Kueue find on a cluster of kind, and an embedded cluster does not have: kinds
of others, and pods of operators and of Kubernetes itself. Here these are parts of one process;
pods that do nothing have their names.
"""

from typing import Any

from fleetqueue.api.crds import all_crds
from support.server import Server

Object = dict[str, Any]
IMAGE = "registry.k8s.io/pause:3.10"
OPERATORS = {
    "appwrapper-system": "appwrapper-controller-manager",
    "default": "kuberay-operator",
    "jobset-system": "jobset-controller-manager",
    "kubeflow": "training-operator",
    "kubeflow-system": "kubeflow-trainer-controller-manager",
    "lws-system": "lws-controller-manager",
    "mpi-operator": "mpi-operator",
}
"""Their Deployments, by namespace."""
SYSTEM = "kube-system"
ON_THE_CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
ON_EVERY_NODE = ("kindnet", "kube-proxy")


def furnish(server: Server, suite: str, control_plane: str) -> None:
    """`control_plane`: the name of the node that kind would run it on."""
    for crd in all_crds("multicluster.x-k8s.io"):
        _create(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    for namespace, name in OPERATORS.items() if suite.endswith("/extended") else ():
        if namespace != "default":
            _create(server, "/api/v1/namespaces", _object("v1", "Namespace", namespace))
        _create(server, f"/apis/apps/v1/namespaces/{namespace}/deployments", _deployment(name))
    system = f"/apis/apps/v1/namespaces/{SYSTEM}"
    _create(server, f"{system}/deployments", _deployment("coredns"))
    for name in ON_EVERY_NODE:
        _create(server, f"{system}/daemonsets", _apps("DaemonSet", name))
    for name in ON_THE_CONTROL_PLANE:
        _create_mirror(server, f"{name}-{control_plane}")


def _create(server: Server, path: str, obj: Object) -> None:
    with server.client() as client:
        answer = client.send("POST", path, obj)
    is_there = answer.status == 409 and obj["kind"] == "Namespace"
    assert answer.status == 201 or is_there, answer.body


def _create_mirror(server: Server, name: str) -> None:
    """A pod as a kubelet shows one that it has from a file: nobody else starts it, and its
    conditions know no generation.
    """
    pods = f"/api/v1/namespaces/{SYSTEM}/pods"
    spec = {**_pod_spec(), "schedulerName": "kubelet"}
    _create(server, pods, {**_object("v1", "Pod", name), "spec": spec})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    with server.client() as client:
        kind = {"Content-Type": "application/merge-patch+json"}
        answer = client.send("PATCH", f"{pods}/{name}/status", {"status": status}, kind)
    assert answer.status == 200, answer.body


def _object(version: str, kind: str, name: str) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def _deployment(name: str) -> Object:
    made = _apps("Deployment", name)
    return {**made, "spec": {**made["spec"], "replicas": 1}}


def _apps(kind: str, name: str) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec()}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {**_object("apps/v1", kind, name), "spec": spec}


def _pod_spec() -> Object:
    return {
        "containers": [{"name": "idle", "image": IMAGE}],
        "terminationGracePeriodSeconds": 1,
        "tolerations": [{"operator": "Exists"}],
    }
