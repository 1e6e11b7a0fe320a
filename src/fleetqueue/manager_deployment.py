"""The Deployment in which the controllers run on a cluster of their own, with the names by which
Kueue's is known.
"""

from typing import Any

from fleetqueue.api.kueue.manager_roles import ACCOUNT
from fleetqueue.kube.health_server import ALIVE, READY

Object = dict[str, Any]
CONTAINER = "manager"
CONFIGURATION = "/etc/fleetqueue"


def deployment(
    namespace: str,
    image: str,
    *,
    replicas: int,
    labels: dict[str, str],
    config_map: str,
    config_key: str,
    ports: dict[str, int],
) -> Object:
    """`ports`: by name, `probes` among them where probes are answered."""
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
                    "containers": [_container(image, config_key, ports)],
                    "volumes": [{"name": "configuration", "configMap": {"name": config_map}}],
                },
            },
        },
    }


def _container(image: str, config_key: str, ports: dict[str, int]) -> Object:
    made: Object = {
        "name": CONTAINER,
        "image": image,
        "command": ["fleetqueue", "controller", f"--config={CONFIGURATION}/{config_key}"],
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        "volumeMounts": [{"name": "configuration", "mountPath": CONFIGURATION, "readOnly": True}],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if "probes" in ports:
        made["livenessProbe"] = _probe(ALIVE[0], initialDelaySeconds=15, periodSeconds=20)
        made["readinessProbe"] = _probe(READY, periodSeconds=2)
    return made


def _probe(path: str, **times: int) -> Object:
    return {"httpGet": {"path": path, "port": "probes"}, **times}
