"""A kube-apiserver with Kueue itself beside it, which `scripts/kueue` builds, where others have our
controllers.
"""

import base64
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trustme
import yaml

from support.dispatch_fleet import CRDS, Cluster, configuration
from support.kueue_doors import NAMESPACE, wait_for_kueue
from support.ports import free_port
from support.reference import ROOT
from support.server import PlainClient, Server, wait_until

Object = dict[str, Any]
GROUP = "kueue.x-k8s.io"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
"""Kinds whose two versions differ."""
ELSEWHERE = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", NAMESPACE],
        }
    ]
}


class Upstream:
    """What Kueue needs on a server, and its process beside it. Its webhooks answer at an address of
    this machine, with a certificate of the test's own.
    """

    def __init__(self, server: Server, directory: Path, port: int) -> None:
        self._server, self._directory, self._port = server, directory, port
        self._authority = trustme.CA()
        self._certificates = directory / "certificates"

    def install(self) -> None:
        self._certificates.mkdir()
        issued = self._authority.issue_cert("127.0.0.1")
        issued.private_key_pem.write_to_path(self._certificates / "tls.key")
        issued.cert_chain_pems[0].write_to_path(self._certificates / "tls.crt")
        with self._server.client() as client:
            namespace = {"metadata": {"name": NAMESPACE}}
            assert client.send("POST", "/api/v1/namespaces", namespace).status == 201
            for path, body in self._manifests():
                made = client.send("POST", path, body)
                assert made.status == 201, made.body
            wait_until("Kueue's kinds", lambda: _are_served(client))

    def start(self, configuration: Object) -> None:
        """Returns when its webhooks answer."""
        config = self._directory / "upstream.yaml"
        config.write_text(yaml.safe_dump(configuration | self._process()))
        flags = [f"--kubeconfig={self._server.kubeconfig}", f"--config={config}"]
        # It asks for the authority of clients of the API server, and there is none here.
        flags.append("--feature-gates=VisibilityOnDemand=false")
        where = {**os.environ, "KUEUE_METRICS_CERTS": str(self._certificates)}
        with (self._directory / "controller.log").open("ab") as log:
            started = subprocess.Popen(
                [str(_built() / "kueue"), *flags], stdout=log, stderr=log, env=where
            )
        self._server.processes.append(started)
        wait_for_kueue(self._server, started)

    def _process(self) -> Object:
        certificates = str(self._certificates)
        return {
            "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
            "internalCertManagement": {"enable": False},
            "leaderElection": {"leaderElect": False},
            "webhook": {"host": "127.0.0.1", "port": self._port, "certDir": certificates},
        }

    def _manifests(self) -> Iterator[tuple[str, Object]]:
        for found in filter(None, yaml.safe_load_all((_built() / "manifests.yaml").read_text())):
            if found["kind"] == "CustomResourceDefinition":
                if found["spec"]["names"]["plural"] in CONVERTED:
                    hook = {"clientConfig": self._at("/convert")}
                    hook["conversionReviewVersions"] = ["v1"]
                    found["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook}
                yield CRDS, found
                continue
            for hook in found["webhooks"]:
                hook["clientConfig"] = self._at(hook["clientConfig"]["service"]["path"])
                if any(GROUP not in rule["apiGroups"] for rule in hook["rules"]):
                    hook["namespaceSelector"] = ELSEWHERE
            yield f"{HOOKS}/{found['kind'].lower()}s", found

    def _at(self, path: str) -> Object:
        authority = base64.b64encode(self._authority.cert_pem.bytes()).decode()
        return {"url": f"https://127.0.0.1:{self._port}{path}", "caBundle": authority}


class UpstreamCluster(Cluster):
    """For the stories of dispatch."""

    def install(self, server: Server) -> None:
        self._kueue = Upstream(server, self.directory, self.port)
        self._kueue.install()

    def start_controllers(self, server: Server, **dispatching: Any) -> None:
        self._kueue.start(configuration(dispatching))


def _are_served(client: PlainClient) -> bool:
    """It ends where it finds none of them."""
    found = client.send("GET", CRDS).json["items"]
    kinds = {crd["spec"]["names"]["plural"] for crd in found if crd["spec"]["group"] == GROUP}
    page = client.send("GET", f"/apis/{GROUP}/v1beta2")
    return page.status == 200 and kinds <= {each["name"] for each in page.json["resources"]}


def _built() -> Path:
    done = subprocess.run([str(ROOT / "scripts/kueue")], check=True, stdout=subprocess.PIPE)
    return Path(done.stdout.decode().strip().splitlines()[-1])
