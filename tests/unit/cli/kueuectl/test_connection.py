"""kubectl's connection flags go before the kubeconfig."""

from pathlib import Path

import pytest

from fleetqueue.cli.kueuectl.connection import access_of, timeout_seconds
from fleetqueue.errors import UsageError
from fleetqueue.kube.errors import BadKubeconfig
from fleetqueue.kube.kubeconfig import Impersonation

pytestmark = pytest.mark.rule("kueue 11.4")
CONFIG = """
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: a, cluster: {server: "https://a", insecure-skip-tls-verify: true}}
- {name: b, cluster: {server: "https://b", certificate-authority-data: YQ==}}
users:
- {name: first, user: {token: secret}}
- {name: second, user: {username: x, password: y}}
contexts:
- {name: one, context: {cluster: a, user: first, namespace: team}}
- {name: two, context: {cluster: b, user: second}}
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "config"
    path.write_text(CONFIG)
    return {"KUBECONFIG": str(path), "HOME": str(tmp_path)}


@pytest.mark.parametrize(
    ("flags", "server", "namespace", "token"),
    [
        ({}, "https://a", "team", "secret"),
        ({"context": "two"}, "https://b", "default", ""),
        ({"cluster": "b"}, "https://b", "team", "secret"),
        ({"user": "second"}, "https://a", "team", ""),
        ({"namespace": "mine"}, "https://a", "mine", "secret"),
        ({"server": "https://c"}, "https://c", "team", "secret"),
        ({"context": "two", "token": "other"}, "https://b", "default", "other"),
    ],
)
def test_flags_choose_cluster_user_and_namespace(
    environ: dict[str, str], flags: dict[str, str], server: str, namespace: str, token: str
) -> None:
    access = access_of(flags, environ)
    assert (access.server, access.namespace, access.token) == (server, namespace, token)


def test_flags_say_whom_to_act_as_and_whom_to_trust(environ: dict[str, str]) -> None:
    access = access_of(
        {"as": "jane", "as_uid": "1", "as_group": ("x", "y"), "tls_server_name": "n"}, environ
    )
    assert access.impersonate == Impersonation("jane", "1", ("x", "y"))
    assert access.tls_server_name == "n"
    access = access_of({"context": "two", "insecure_skip_tls_verify": True}, environ)
    assert (access.is_insecure, access.authority) == (True, None)
    files = {"certificate_authority": "/ca", "client_certificate": "/crt", "client_key": "/key"}
    access = access_of({**files, "disable_compression": True}, environ)
    found = [access.authority, access.certificate, access.key]
    assert [each and each.file for each in found] == ["/ca", "/crt", "/key"]
    assert access.disable_compression
    with pytest.raises(UsageError, match="without impersonating a user"):
        access_of({"as_group": ("x",)}, environ)


def test_a_server_needs_no_kubeconfig(tmp_path: Path) -> None:
    access = access_of({"server": "https://c", "token": "t"}, {"HOME": str(tmp_path)})
    assert (access.server, access.token, access.namespace) == ("https://c", "t", "default")
    with pytest.raises(BadKubeconfig, match="no cluster is configured"):
        access_of({}, {"HOME": str(tmp_path)})


def test_what_is_not_in_the_kubeconfig_is_told(environ: dict[str, str], tmp_path: Path) -> None:
    for flags, message in (
        ({"context": "three"}, 'there is no context "three"'),
        ({"cluster": "c"}, 'names the cluster "c", which does not exist'),
        ({"kubeconfig": str(tmp_path / "none")}, "the file does not exist"),
    ):
        with pytest.raises(BadKubeconfig, match=message):
            access_of(flags, environ)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", None), ("0s", None), ("30", 30.0), ("1m30s", 90.0)]
)
def test_timeouts(text: str, seconds: float | None) -> None:
    assert timeout_seconds(text) == seconds


def test_a_timeout_must_be_a_span() -> None:
    with pytest.raises(UsageError, match="Invalid timeout value"):
        timeout_seconds("soon")
