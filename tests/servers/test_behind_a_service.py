"""Controllers that are found by a Service, with the rights of their account: they share their
certificate, lead by turns, and register it.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import kueue_doors
from support.ports import free_port
from support.reference import start_reference
from support.server import Server, wait_until

pytestmark = pytest.mark.rule("kueue 10.4")
SPACE = "/api/v1/namespaces/kueue-system"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io"
HOOKS = (
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    "/kueue-validating-webhook-configuration"
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--servers").split(",")
    metafunc.parametrize("prepared", [each for each in chosen if each == "kube-apiserver"],
                         indirect=True)  # fmt: skip


@pytest.fixture
def prepared(tmp_path: Path) -> Iterator[Server]:
    server = start_reference(tmp_path)
    try:
        kueue_doors.run(tmp_path, "install", "--kubeconfig", str(server.kubeconfig))
        yield server
    finally:
        server.stop()


def test_two_replicas_need_no_more_than_they_are_given(prepared: Server, tmp_path: Path) -> None:
    account = kueue_doors.account(prepared, tmp_path)
    logs = [start(prepared, account, tmp_path / f"{name}.log") for name in ("one", "two")]
    with prepared.client() as client:

        def read(path: str) -> Any:
            answer = client.send("GET", path)
            return answer.json if answer.status == 200 else None

        wait_until(
            "a leader", lambda: (read(LEASE) or {}).get("spec", {}).get("holderIdentity"), 90
        )
        wait_until("their certificate", lambda: read(f"{SPACE}/secrets/kueue-webhook-server-cert"))
        shared = read(f"{SPACE}/secrets/kueue-webhook-server-cert")["data"]["ca.crt"]
        for each in read(HOOKS)["webhooks"]:
            config = each["clientConfig"]
            assert config["service"]["name"] == "kueue-webhook-service"
        wait_until(
            "that it is registered",
            lambda: (
                {e["clientConfig"].get("caBundle") for e in read(HOOKS)["webhooks"]} == {shared}
            ),
        )
    assert [line for log in logs for line in log.read_text().splitlines()
            if "forbidden" in line.lower()] == []  # fmt: skip


def start(server: Server, account: Path, log: Path) -> Path:
    config = log.with_suffix(".yaml")
    config.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        f"metrics: {{bindAddress: ':{free_port()}'}}\n"
        f"visibilityServer: {{bindPort: {free_port()}}}\n"
    )
    arguments = kueue_doors.command(
        "controller", "--kubeconfig", str(account), "--config", str(config), "--verbose",
        "--webhook-host", "127.0.0.1", "--webhook-port", str(free_port()),
    )  # fmt: skip
    with log.open("wb") as out:
        server.processes.append(subprocess.Popen(arguments, stdout=out, stderr=out))
    return log
