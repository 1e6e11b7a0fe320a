"""Kubeconfig files: merged as kubectl merges them, resolved into an access, refused clearly."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleetqueue.kube import kubeconfig
from fleetqueue.kube.auth import find_access, in_cluster
from fleetqueue.kube.errors import BadKubeconfig
from fleetqueue.kube.kubeconfig import Access


def config(
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    name: str = "dev",
) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": "https://host:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
    }
    return yaml.safe_dump(document)


def access(**parts: Any) -> Access:
    return kubeconfig.parse(config(**parts), "/home/me/.kube/config").access()


def test_the_current_context_says_where_and_who() -> None:
    found = access(user={"token": "secret"}, context={"namespace": "team"})

    assert (found.server, found.namespace, found.token) == ("https://host:6443", "team", "secret")
    assert found.name == "dev"


def test_the_first_file_that_names_a_thing_decides_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text(config(user={"token": "first"}))
    two.write_text(config(user={"token": "second", "username": "x"}))
    three = tmp_path / "three"
    three.write_text(config(name="prod", user={"token": "third"}))

    merged = kubeconfig.load([one, tmp_path / "missing", two, three])

    assert merged.current_context == "dev"
    assert merged.access().token == "first"
    assert merged.access().username == ""
    assert merged.access("prod").token == "third"


def test_relative_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"authority")
    file = tmp_path / "config"
    file.write_text(
        config(
            cluster={"certificate-authority": "ca.pem"},
            user={
                "client-certificate": "/etc/me.crt",
                "client-key": "keys/me.key",
                "tokenFile": "token",
            },
        )
    )

    found = kubeconfig.load([file]).access()

    assert found.authority is not None
    assert found.authority.read() == b"authority"
    assert found.certificate is not None
    assert found.certificate.file == "/etc/me.crt"
    assert found.key is not None
    assert found.key.file == str(tmp_path / "keys/me.key")
    assert found.token_file == str(tmp_path / "token")


def test_data_wins_over_files() -> None:
    data = base64.b64encode(b"inline").decode()
    found = access(
        cluster={"certificate-authority": "ca.pem", "certificate-authority-data": data},
    )

    assert found.authority is not None
    assert found.authority.read() == b"inline"


def test_nulls_count_as_nothing() -> None:
    found = access(user={"token": None, "as": None}, context={"namespace": None})

    assert (found.token, found.namespace) == ("", "default")


def test_every_field_of_a_cluster_and_a_user_arrives() -> None:
    found = access(
        cluster={
            "tls-server-name": "api.internal",
            "proxy-url": "socks5://proxy:1080",
            "insecure-skip-tls-verify": True,
            "disable-compression": True,
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
        },
        user={
            "username": "me",
            "password": "pw",
            "as": "root",
            "as-uid": "0",
            "as-groups": ["a", "b"],
            "as-user-extra": {"scope": ["x"]},
        },
    )

    assert (found.tls_server_name, found.proxy_url) == ("api.internal", "socks5://proxy:1080")
    assert found.is_insecure
    assert found.disable_compression
    assert (found.username, found.password) == ("me", "pw")
    assert found.exec_cluster_config == {"a": 1}
    assert found.impersonate.user == "root"
    assert found.impersonate.groups == ("a", "b")
    assert found.impersonate.extra == (("scope", ("x",)),)


def test_an_exec_plugin_with_a_relative_command_is_beside_its_file() -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    beside = access(user={"exec": {**plugin, "command": "./bin/login"}})
    installed = access(user={"exec": {**plugin, "command": "login", "args": ["-x"]}})

    assert beside.exec is not None
    assert beside.exec.command == "/home/me/.kube/bin/login"
    assert installed.exec is not None
    assert (installed.exec.command, installed.exec.args) == ("login", ["-x"])


# fmt: off
WRONG: dict[str, tuple[Any, str]] = {
    "no YAML":               ("a: [", "not YAML"),
    "a list":                ("[]", "Expected `object`, got `array`"),
    "a number as a token":   (config(user={"token": 7}), "Expected `str`, got `int`"),
    "a name that is twice":  ("users: [{name: a}, {name: a}]\ncurrent-context: x",
                              'the name "a" stands twice'),
    "no current context":    ("{}", "no context is current"),
    "a missing context":     ("current-context: nope", 'no context "nope"'),
    "a missing cluster":     (config(context={"cluster": "nope"}), 'names the cluster "nope"'),
    "a missing user":        (config(context={"user": "nope"}), 'names the user "nope"'),
    "no server":             (config(cluster={"server": ""}), "no server is given"),
    "not a web address":     (config(cluster={"server": "ftp://x"}), "not an http or https"),
    "not base64":            (config(cluster={"certificate-authority-data": "§"}), "not base64"),
    "insecure with a CA":    (config(cluster={"certificate-authority": "x",
                                              "insecure-skip-tls-verify": True}), "exclude"),
    "an unknown proxy":      (config(cluster={"proxy-url": "gopher://x"}), "address of a proxy"),
    "a token and a password": (config(user={"token": "a", "username": "b"}), "exclude each other"),
    "a certificate alone":   (config(user={"client-certificate": "x"}), "belong together"),
    "a key alone":           (config(user={"client-key-data": "eA=="}), "belong together"),
    "groups without a user": (config(user={"as-groups": ["x"]}), "need a user"),
    "an auth provider":      (config(user={"auth-provider": {"name": "gcp"}}), "removed"),
}
# fmt: on


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_is_refused_with_its_name(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(text)

    with pytest.raises(BadKubeconfig) as caught:
        kubeconfig.load([file]).access()

    assert says in str(caught.value)
    assert str(file) in str(caught.value)
    assert caught.value.who_acts == "user"


def test_a_missing_context_names_those_that_exist(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(config(name="prod"))

    with pytest.raises(BadKubeconfig) as caught:
        find_access(file, "dev")

    assert caught.value.fix == "name one of: prod"


class TestWhereTheConfigurationIsFound:
    """The order in which kubectl looks."""

    def test_a_file_that_is_named_must_exist(self, tmp_path: Path) -> None:
        with pytest.raises(BadKubeconfig, match="does not exist"):
            find_access(tmp_path / "nope")

    def test_the_variable_lists_files(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text(config(user={"token": "a"}))
        listed = f"{tmp_path}/nope:{tmp_path}/a:"

        assert find_access(environ={"KUBECONFIG": listed, "HOME": "/x"}).token == "a"

    def test_then_the_home_folder(self, tmp_path: Path) -> None:
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text(config(user={"token": "home"}))

        assert find_access(environ={"HOME": str(tmp_path)}).token == "home"

    def test_then_the_pods_own_account(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("pod")
        (tmp_path / "ca.crt").write_text("authority")
        (tmp_path / "namespace").write_text("team\n")
        environ = {
            "HOME": str(tmp_path),
            "KUBERNETES_SERVICE_HOST": "fd00::1",
            "KUBERNETES_SERVICE_PORT": "443",
        }

        found = find_access(environ=environ, service_account=tmp_path)

        assert (found.server, found.namespace) == ("https://[fd00::1]:443", "team")
        assert found.token_file == str(tmp_path / "token")

    def test_else_it_says_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(BadKubeconfig, match="no cluster is configured"):
            find_access(environ={"HOME": str(tmp_path)}, service_account=tmp_path)
        with pytest.raises(BadKubeconfig, match="no cluster is configured") as refused:
            find_access(environ={"KUBECONFIG": str(tmp_path / "a")}, service_account=tmp_path)
        assert "KUBECONFIG names no file that exists" in refused.value.fix

    def test_outside_a_pod_there_is_no_account(self, tmp_path: Path) -> None:
        with pytest.raises(BadKubeconfig, match="not a pod"):
            in_cluster({}, tmp_path)
