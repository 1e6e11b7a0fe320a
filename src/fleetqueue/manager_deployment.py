"""The Deployment in which the controllers run on a cluster of their own, with the names by which
Kueue's is known.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fleetqueue.api.kueue.manager_roles import ACCOUNT
from fleetqueue.kube.health_server import ALIVE, READY

Object = dict[str, Any]
CONTAINER = "manager"
CONFIGURATION = "/etc/fleetqueue"


class Mounted(NamedTuple):
    """A Secret, and the folder in which its content is read."""

    secret: str
    folder: str


def deployment(
    namespace: str,
    image: str,
    *,
    replicas: int,
    labels: dict[str, str],
    config_map: str,
    config_key: str,
    ports: dict[str, int],
    alive: str = ALIVE[0],
    ready: str = READY,
    certificates: Mounted | None = None,
) -> Object:
    """`ports`: by name, `probes` among them where probes are answered; `alive`, `ready`: at which
    paths; `certificates`: where we do not make our own.
    """
    volumes: list[Object] = [{"name": "configuration", "configMap": {"name": config_map}}]
    folders = [("configuration", CONFIGURATION)]
    if certificates is not None:
        volumes.append({"name": "certificates", "secret": {"secretName": certificates.secret}})
        folders.append(("certificates", certificates.folder))
    container = _container(image, config_key, ports, folders)
    if "probes" in ports:
        container["livenessProbe"] = _probe(alive, initialDelaySeconds=15, periodSeconds=20)
        container["readinessProbe"] = _probe(ready, periodSeconds=2)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": ACCOUNT, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": ACCOUNT,
                    "terminationGracePeriodSeconds": 10,
                    "containers": [container],
                    "volumes": volumes,
                },
            },
        },
    }


def _container(
    image: str, config_key: str, ports: dict[str, int], folders: Sequence[tuple[str, str]]
) -> Object:
    return {
        "name": CONTAINER,
        "image": image,
        "command": ["fleetqueue", "controller", f"--config={CONFIGURATION}/{config_key}"],
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        "volumeMounts": [
            {"name": name, "mountPath": folder, "readOnly": True} for name, folder in folders
        ],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(path: str, **times: int) -> Object:
    return {"httpGet": {"path": path, "port": "probes"}, **times}
