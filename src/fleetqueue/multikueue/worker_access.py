"""What a manager is given on a worker: an account, a role with no more than it needs, a token; and
the kubeconfig that is made of them.
"""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from fleetqueue.api.kueue.labels import CLUSTER_UID
from fleetqueue.base import documents
from fleetqueue.kube.resources import Object, Resource

NAMESPACE = "kueue-system"
ACCOUNT = "multikueue-sa"
ROLE = "multikueue-sa-role"
BINDING = "multikueue-sa-crb"
TOKEN = "multikueue-sa-token"
ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]
READ = ["get", "list", "watch"]
WRAPPED = ["configmaps", "persistentvolumeclaims", "podtemplates", "services"]
"""What people put into AppWrappers beside jobs."""
_RBAC = "rbac.authorization.k8s.io"
_KUEUE = "kueue.x-k8s.io"
_ACCOUNT_MARK = "kubernetes.io/service-account"

Rule = dict[str, Any]


def rules(jobs: Iterable[Resource], *, reaches_pods: bool = True) -> list[Rule]:
    """For the kinds of jobs that are sent there. `reaches_pods`: also to show logs of their pods
    on the manager, to run commands in them, and to find out what a worker lacks, or why they are
    not ready.
    """
    jobs = list(jobs)
    found = [
        _rule(_KUEUE, ["workloads"], ALL),
        _rule(_KUEUE, ["workloads/status"], ["get", "patch", "update"]),
        _rule(_KUEUE, ["clusterqueues", "localqueues"], READ),
    ]
    for group, plurals in _by_group(jobs).items():
        found.append(_rule(group, plurals, ALL))
        found.append(_rule(group, [f"{each}/status" for each in plurals], ["get"]))
    if any(kind.kind == "AppWrapper" for kind in jobs):
        # Whoever makes a wrapper must have the right to make what is in it.
        found.append(_rule("", WRAPPED, ["create"]))
        found.append(_rule("apps", ["deployments"], ["create"]))
    return [*found, *_reach(jobs)] if reaches_pods else found


def _reach(jobs: list[Resource]) -> Iterator[Rule]:
    yield _rule("", ["pods"], READ)
    yield _rule("", ["pods/log"], ["get"])
    yield _rule("", ["pods/exec", "pods/attach", "pods/portforward"], ["create", "get"])
    yield _rule("", ["namespaces"], ["get"])
    yield _rule("", ["events"], ["get", "list"])
    if any(kind.kind == "TrainJob" for kind in jobs):
        yield _rule("trainer.kubeflow.org", ["clustertrainingruntimes", "trainingruntimes"], READ)


def objects(jobs: Iterable[Resource], *, reaches_pods: bool = True) -> list[Object]:
    """What is made on the worker, in this order; a controller there fills in the token."""
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": ROLE}
    return [
        _named("v1", "Namespace", NAMESPACE),
        account(),
        {
            **_named(f"{_RBAC}/v1", "ClusterRole", ROLE),
            "rules": rules(jobs, reaches_pods=reaches_pods),
        },
        {
            **_named(f"{_RBAC}/v1", "ClusterRoleBinding", BINDING),
            "roleRef": role,
            "subjects": [subject],
        },
        token_secret(),
    ]


def account() -> Object:
    return _named("v1", "ServiceAccount", ACCOUNT, NAMESPACE)


def token_secret(account_uid: str = "") -> Object:
    """For the account of that uid alone, where one is given."""
    annotations = {f"{_ACCOUNT_MARK}.name": ACCOUNT}
    if account_uid:
        annotations[f"{_ACCOUNT_MARK}.uid"] = account_uid
    return {
        **_named("v1", "Secret", TOKEN, NAMESPACE, annotations=annotations),
        "type": f"{_ACCOUNT_MARK}-token",
    }


def kubeconfig(server: str, authority: bytes, token: str) -> str:
    """For one who has nothing but this text."""
    cluster = {
        "server": server,
        "certificate-authority-data": base64.b64encode(authority).decode(),
    }
    return documents.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "default-cluster", "cluster": cluster}],
            "users": [{"name": "default-user", "user": {"token": token}}],
            "contexts": [
                {
                    "name": "default-context",
                    "context": {"cluster": "default-cluster", "user": "default-user"},
                }
            ],
            "current-context": "default-context",
        }
    )


def secret(name: str, text: str, namespace: str = NAMESPACE, *, uid: str = "") -> Object:
    """The kubeconfig on the manager. `uid`: of the cluster that it leads to."""
    data = {"kubeconfig": base64.b64encode(text.encode()).decode()}
    annotations = {CLUSTER_UID: uid} if uid else None
    return {**_named("v1", "Secret", name, namespace, annotations=annotations), "data": data}


def cluster(name: str, secret: str, labels: dict[str, str] | None = None) -> Object:
    metadata: Object = {"name": name, **({"labels": labels} if labels else {})}
    source = {"kubeConfig": {"location": secret, "locationType": "Secret"}}
    return {
        "apiVersion": f"{_KUEUE}/v1beta2",
        "kind": "MultiKueueCluster",
        "metadata": metadata,
        "spec": {"clusterSource": source},
    }


def _by_group(jobs: Iterable[Resource]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind in jobs:
        found.setdefault(kind.group, []).append(kind.plural)
    return {group: sorted(set(plurals)) for group, plurals in sorted(found.items())}


def _rule(group: str, resources: list[str], verbs: list[str]) -> Rule:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _named(version: str, kind: str, name: str, namespace: str = "", **metadata: Any) -> Object:
    found = {"name": name, "namespace": namespace, **metadata}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {key: value for key, value in found.items() if value},
    }
