"""The real thing: etcd, kube-apiserver and the few controllers that a client notices."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.ports import free_port
from support.server import Server, wait_until

TOKEN = "conformance-admin-token"
ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = ",".join(
    (
        "garbage-collector-controller",
        "namespace-controller",
        "serviceaccount-controller",
        "root-ca-certificate-publisher-controller",
        "clusterrole-aggregation-controller",
        "resourcequota-controller",
        "legacy-serviceaccount-token-cleaner-controller",
        "serviceaccount-token-controller",
        "persistentvolume-protection-controller",
        "persistentvolumeclaim-protection-controller",
    )
)


def binaries() -> Path:
    """The directory of the reference binaries; builds them if need be."""
    done = subprocess.run([str(ROOT / "scripts/envtest")], check=True, stdout=subprocess.PIPE)
    return Path(done.stdout.decode().strip().splitlines()[-1])


def start_reference(
    directory: Path,
    *,
    durable: bool = False,
    controllers: bool = True,
    tokens: str = "",
    flags: Sequence[str] = (),
    more_controllers: Sequence[str] = (),
    manager_flags: Sequence[str] = (),
) -> Server:
    """A fresh kube-apiserver; `tokens` and `flags` add to its token file and its flags."""
    folder = binaries()
    directory.mkdir(parents=True, exist_ok=True)
    _write_keys(directory)
    (directory / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n{tokens}')
    etcd_port, peer_port, port = free_port(), free_port(), free_port()
    server = Server("kube-apiserver", f"https://127.0.0.1:{port}", TOKEN, "")
    try:
        etcd = f"http://127.0.0.1:{etcd_port}"
        peer = f"http://127.0.0.1:{peer_port}"
        arguments = [
            str(folder / "etcd"),
            f"--data-dir={directory / 'etcd'}",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        ]
        if not durable:
            arguments.append("--unsafe-no-fsync")
        server.processes.append(_spawn(directory, "etcd", arguments))
        server.processes.append(
            _spawn(
                directory, "kube-apiserver", [*_apiserver(folder, directory, etcd, port), *flags]
            )
        )
        _wait_for(server, "/readyz")
        server.authority = str(directory / "certs" / "apiserver.crt")
        server.kubeconfig = _kubeconfig(directory, server)
        if controllers:
            server.processes.append(
                _spawn(
                    directory,
                    "kube-controller-manager",
                    [*_manager(folder, directory, more_controllers), *manager_flags],
                )
            )
            _wait_for(server, "/api/v1/namespaces/default/serviceaccounts/default")
    except BaseException:
        server.stop()
        raise
    return server


def _wait_for(server: Server, path: str) -> None:
    with server.client() as client:
        wait_until(path, lambda: client.send("GET", path).status == 200, 120)


def _spawn(directory: Path, name: str, arguments: list[str]) -> "subprocess.Popen[bytes]":
    with (directory / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            arguments, stdout=log, stderr=log, env=os.environ | {"HOME": "/tmp"}
        )


def _apiserver(folder: Path, directory: Path, etcd: str, port: int) -> list[str]:
    return [
        str(folder / "kube-apiserver"),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={directory / 'certs'}",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={directory / 'accounts.pub'}",
        f"--service-account-signing-key-file={directory / 'accounts.key'}",
        "--allow-privileged=true",
        "--endpoint-reconciler-type=none",
    ]


def _manager(folder: Path, directory: Path, more: Sequence[str]) -> list[str]:
    return [
        str(folder / "kube-controller-manager"),
        f"--kubeconfig={directory / 'kubeconfig'}",
        f"--controllers={','.join((CONTROLLERS, *more))}",
        "--use-service-account-credentials=false",
        "--leader-elect=false",
        f"--service-account-private-key-file={directory / 'accounts.key'}",
        f"--root-ca-file={directory / 'certs' / 'apiserver.crt'}",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]


def _write_keys(directory: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    (directory / "accounts.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    (directory / "accounts.pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )


def _kubeconfig(directory: Path, server: Server) -> Path:
    path = directory / "kubeconfig"
    path.write_text(
        f"""apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {{server: "{server.url}", certificate-authority: "{server.authority}"}}
users: [{{name: u, user: {{token: {server.token}}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u, namespace: default}}}}]
current-context: c
"""
    )
    return path
