"""Services lead to their pods by name, in turn; the API is one of them."""

import pytest

from live.conftest import Live

SERVE = "mkdir d; cd d; hostname > index.html; exec python3 -m http.server 8080 -b $(hostname -i)"
ASK = """
import urllib.request
print(len({urllib.request.urlopen("http://web/").read() for _ in range(4)}))
"""
VERSION = """
import os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
context = ssl.create_default_context(cafile=folder + "ca.crt")
headers = {"Authorization": "Bearer " + open(folder + "token").read()}
host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
for where in ("kubernetes.default.svc", f"{host}:{port}"):
    request = urllib.request.Request(f"https://{where}/version", headers=headers)
    print(b"gitVersion" in urllib.request.urlopen(request, context=context).read())
"""


def run(live: Live, name: str, program: str) -> str:
    container = {"name": "c", "image": "python:3", "command": ["python3", "-c", program]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    live.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    live.until(f"{name} ends", lambda: live.phase(name) in ("Succeeded", "Failed"))
    return live.logs(name)


@pytest.mark.rule("jobs C.6")
def test_a_service_takes_its_pods_in_turn(live: Live) -> None:
    labels = {"app": "web"}
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    container = {
        "name": "c", "image": "python:3", "command": ["sh", "-c", SERVE], "readinessProbe": probe,
    }  # fmt: skip
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    live.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
        }
    )
    ports = [{"port": 80, "targetPort": 8080}]
    service = {"selector": labels, "ports": ports}
    live.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": service}
    )
    live.until("it is available", lambda: live.condition("Deployment", "web", "Available"))
    live.until(
        "both are ready",
        lambda: live.get("Deployment", "web")["status"].get("readyReplicas") == 2,
    )
    assert run(live, "client", ASK) == "2\n"
    live.delete("Deployment", "web")


@pytest.mark.rule("jobs C.4")
def test_a_pod_reaches_the_api_with_its_own_account(live: Live) -> None:
    assert run(live, "client", VERSION) == "True\nTrue\n"
