"""Credentials: tokens, passwords, files that rotate, exec plugins, impersonation."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.kube.auth import Credential, Credentials, credentials_for, impersonation_headers
from fleetqueue.kube.errors import BadKubeconfig, CredentialFailure
from fleetqueue.kube.exec_plugin import Finished, Program
from fleetqueue.kube.kubeconfig import Access, Impersonation, Material
from fleetqueue.kube.kubeconfig_entries import ExecConfig, ExecVariable

V1 = "client.authentication.k8s.io/v1"


class SettableClock:
    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def passes(self, **span: float) -> None:
        self.at += timedelta(**span)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


async def test_a_token_is_a_bearer_token(clock: SettableClock) -> None:
    source = credentials_for(Access("https://h", token="t"), clock)

    credential = await source.current()

    assert credential.headers == (("authorization", "Bearer t"),)
    assert not await source.refused(credential)


async def test_headers_of_the_access_go_with_every_call(clock: SettableClock) -> None:
    access = Access("https://h", token="t", headers=(("x-tenant", "blue"),))

    credential = await credentials_for(access, clock).current()

    assert credential.headers == (("authorization", "Bearer t"), ("x-tenant", "blue"))


async def test_a_password_is_basic_authentication(clock: SettableClock) -> None:
    source = credentials_for(Access("https://h", username="me", password="pw"), clock)

    assert (await source.current()).headers == (("authorization", "Basic bWU6cHc="),)


async def test_a_token_file_is_read_again_after_a_minute(
    clock: SettableClock, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    source = credentials_for(Access("https://h", token_file=str(file)), clock)
    assert (await source.current()).token == "one"

    file.write_text("two")
    clock.passes(seconds=59)
    assert (await source.current()).token == "one"
    clock.passes(seconds=1)
    assert (await source.current()).token == "two"


async def test_a_refused_token_is_looked_up_in_its_file_at_once(
    clock: SettableClock, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    source = credentials_for(Access("https://h", token_file=str(file)), clock)
    first = await source.current()

    assert not await source.refused(first)
    file.write_text("two")
    assert await source.refused(first)
    assert (await source.current()).token == "two"


async def test_the_last_token_that_could_be_read_is_kept(
    clock: SettableClock, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    source = credentials_for(Access("https://h", token_file=str(file)), clock)
    await source.current()
    file.unlink()
    clock.passes(minutes=2)

    assert (await source.current()).token == "one"


async def test_a_token_file_that_never_could_be_read_is_an_error(
    clock: SettableClock, tmp_path: Path
) -> None:
    source = credentials_for(Access("https://h", token_file=str(tmp_path / "nope")), clock)

    with pytest.raises(CredentialFailure, match="cannot be read"):
        await source.current()


async def test_certificate_files_are_read_again(clock: SettableClock, tmp_path: Path) -> None:
    certificate, key = tmp_path / "crt", tmp_path / "key"
    certificate.write_text("one")
    key.write_text("key")
    access = Access(
        "https://h", certificate=Material(file=str(certificate)), key=Material(file=str(key))
    )
    source = credentials_for(access, clock)
    assert (await source.current()).certificate == b"one"

    certificate.write_text("two")
    clock.passes(minutes=1)

    assert (await source.current()).certificate == b"two"


def test_impersonation_names_each_group_by_itself() -> None:
    who = Impersonation("root", "0", ("a", "b"), (("Scope/x", ("1", "2")),))

    assert impersonation_headers(who) == (
        ("impersonate-user", "root"),
        ("impersonate-uid", "0"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-extra-scope%2fx", "1"),
        ("impersonate-extra-scope%2fx", "2"),
    )


class Plugin:
    """Stands for the program: prints what it is told, remembers how it was started."""

    def __init__(self) -> None:
        self.runs: list[Program] = []
        self.status: dict[str, Any] = {"token": "t0"}
        self.code = 0
        self.output: bytes | None = None
        self.version = V1

    async def __call__(self, program: Program) -> Finished:
        self.runs.append(program)
        printed = {"apiVersion": self.version, "kind": "ExecCredential", "status": self.status}
        return Finished(self.code, self.output or json.dumps(printed).encode())


@pytest.fixture
def plugin() -> Plugin:
    return Plugin()


def source_of(plugin: Any, clock: SettableClock, **parts: Any) -> Credentials:
    config = {"command": "login", "api_version": V1, "interactive_mode": "Never", **parts}
    access = Access(
        "https://h",
        exec=ExecConfig(**config),
        authority=Material(b"authority"),
        exec_cluster_config={"a": 1},
        tls_server_name="internal",
    )
    return credentials_for(access, clock, plugin)


async def test_a_plugin_is_asked_once_while_its_credential_lasts(
    plugin: Plugin, clock: SettableClock
) -> None:
    plugin.status = {"token": "t", "expirationTimestamp": "2026-01-01T01:00:00Z"}
    source = source_of(plugin, clock)

    assert (await source.current()).token == "t"
    clock.passes(minutes=59)
    await source.current()
    assert len(plugin.runs) == 1

    clock.passes(minutes=1)
    await source.current()
    assert len(plugin.runs) == 2


async def test_a_refused_credential_is_asked_for_again_but_only_once(
    plugin: Plugin, clock: SettableClock
) -> None:
    source = source_of(plugin, clock)
    first = await source.current()
    plugin.status = {"token": "t1"}

    assert await source.refused(first)
    assert (await source.current()).token == "t1"
    assert await source.refused(first)
    await source.current()

    assert len(plugin.runs) == 2


async def test_a_plugin_may_give_a_certificate(plugin: Plugin, clock: SettableClock) -> None:
    plugin.status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}

    found = await source_of(plugin, clock).current()

    assert found == Credential((), b"CERT", b"KEY")


async def test_a_plugin_is_told_what_it_needs(plugin: Plugin, clock: SettableClock) -> None:
    source = source_of(
        plugin,
        clock,
        args=["--now"],
        env=[ExecVariable("PROFILE", "x")],
        provide_cluster_info=True,
    )

    await source.current()

    (run,) = plugin.runs
    assert run.command == ("login", "--now")
    assert run.environ["PROFILE"] == "x"
    assert not run.is_interactive
    info = json.loads(run.environ["KUBERNETES_EXEC_INFO"])
    assert info["apiVersion"] == V1
    assert info["spec"] == {
        "interactive": False,
        "cluster": {
            "server": "https://h",
            "tls-server-name": "internal",
            "certificate-authority-data": "YXV0aG9yaXR5",
            "config": {"a": 1},
        },
    }


# fmt: off
FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "it fails":             ({"code": 3}, "exit code 3"),
    "it prints nonsense":   ({"output": b"welcome!"}, "printed no ExecCredential"),
    "it prints nothing useful": ({"status": {}}, "neither a token nor a certificate"),
    "only a certificate":   ({"status": {"clientCertificateData": "x"}}, "only one of"),
    "another version":      ({"version": "client.authentication.k8s.io/v1beta1"}, "was asked for"),
}
# fmt: on


@pytest.mark.parametrize(("parts", "says"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_plugin_that_yields_nothing_is_named(
    plugin: Plugin, clock: SettableClock, parts: dict[str, Any], says: str
) -> None:
    for name, value in parts.items():
        setattr(plugin, name, value)

    with pytest.raises(CredentialFailure, match=says) as caught:
        await source_of(plugin, clock).current()

    assert '"login"' in str(caught.value)


async def test_a_plugin_that_is_not_installed_comes_with_its_hint(clock: SettableClock) -> None:
    async def missing(program: Program) -> Finished:
        raise FileNotFoundError

    source = source_of(missing, clock, install_hint="run `cloud install login`")

    with pytest.raises(CredentialFailure, match=r"not installed; run `cloud install login`"):
        await source.current()


# fmt: off
CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "removed version": ({"api_version": "client.authentication.k8s.io/v1alpha1"}, "no longer"),
    "no version":      ({"api_version": ""}, "needs an apiVersion"),
    "no command":      ({"command": ""}, "needs a command"),
    "no mode in v1":   ({"interactive_mode": ""}, "needs an interactiveMode"),
    "unknown mode":    ({"interactive_mode": "Maybe"}, "needs an interactiveMode"),
}
# fmt: on


@pytest.mark.parametrize(("parts", "says"), CONFIGS.values(), ids=CONFIGS.keys())
def test_a_wrong_plugin_entry_is_refused(
    plugin: Plugin, clock: SettableClock, parts: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadKubeconfig, match=says):
        source_of(plugin, clock, **parts)


async def test_the_beta_version_needs_no_mode(plugin: Plugin, clock: SettableClock) -> None:
    beta = "client.authentication.k8s.io/v1beta1"
    plugin.version = beta

    source = source_of(plugin, clock, api_version=beta, interactive_mode="")

    assert (await source.current()).token == "t0"


async def test_a_plugin_that_must_ask_needs_a_terminal(
    plugin: Plugin, clock: SettableClock
) -> None:
    with pytest.raises(CredentialFailure, match="no terminal"):
        await source_of(plugin, clock, interactive_mode="Always").current()
