"""Where the credentials for a worker come from, and what is said where they cannot be had."""

import base64
from typing import Any

import pytest
from tests.support.dispatching import cluster, kubeconfig, kubeconfig_secret, profile_cluster

from fleetqueue.api.kueue.config.types import AccessProvider, ExecConfig, ExecVariable
from fleetqueue.multikueue import credentials
from fleetqueue.multikueue.credentials import Found, Trouble

AUTHORITY = base64.b64encode(b"pem").decode()
PLUGIN = ExecConfig(
    command="/bin/plugin",
    args=["--a"],
    env=[ExecVariable(name="A", value="b")],
    api_version="client.authentication.k8s.io/v1",
    interactive_mode="Always",
)
PROVIDERS = [
    AccessProvider(name="first", exec_config=PLUGIN),
    AccessProvider(name="second", exec_config=PLUGIN),
]


def profile(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "status": status}


def entry(name: str, server: str = "https://there:6443", **more: Any) -> dict[str, Any]:
    return {"name": name, "cluster": {"server": server, **more}}


def loaded(
    found: dict[str, Any] | None, providers: Any = PROVIDERS, *, is_enabled: bool = True
) -> Found | Trouble:
    return credentials.from_profile("p", found, providers, is_enabled=is_enabled)


@pytest.mark.rule("multikueue 1.4")
def test_a_cluster_names_a_secret_a_file_or_a_profile() -> None:
    assert credentials.secret_name(cluster("a", location="s")) == "s"
    assert credentials.path_of(cluster("a", location="s")) is None
    assert credentials.path_of(cluster("a", location="/f", type="Path")) == "/f"
    assert credentials.secret_name(cluster("a", location="/f", type="Path")) == ""
    assert credentials.profile_name(profile_cluster("a", "p")) == "p"


def test_a_secret_gives_the_access_of_its_kubeconfig() -> None:
    found = credentials.from_secret("s", kubeconfig_secret("worker1"))

    assert isinstance(found, Found)
    assert (found.access.server, found.access.token) == ("https://worker1:6443", "token-of-worker1")
    assert found.content == kubeconfig("worker1").encode()


@pytest.mark.rule("MKC-4")
@pytest.mark.rule("CONN-7")
def test_what_is_said_of_a_secret_that_does_not_help() -> None:
    missing = credentials.from_secret("s", None)
    empty = credentials.from_secret("s", {"data": {"other": ""}})
    unsafe = credentials.from_secret(
        "s", kubeconfig_secret("a", "users: [{name: u, user: {tokenFile: x}}]")
    )

    assert missing == Trouble("BadKubeConfig", 'Secret "s" not found', waits=True)
    assert empty == Trouble("BadKubeConfig", 'key "kubeconfig" not found in secret "s"')
    assert unsafe == Trouble("InsecureKubeConfig", "tokenFile is not allowed")
    assert credentials.without_source() == Trouble("BadKubeConfig", "kubeconfig reference is nil")


# fmt: off
TROUBLES = {
    "the gate is off":  (None, PROVIDERS, False, "MultiKueueClusterProfileFeatureDisabled",
                         "MultiKueueClusterProfile feature gate is disabled"),
    "no profile":       (None, PROVIDERS, True, "BadClusterProfile",
                         'ClusterProfile.multicluster.x-k8s.io "p" not found'),
    "no providers":     (profile(), [], True, "BadClusterProfile", "no access provider configured"),
    "none that fits":   (profile(accessProviders=[entry("other")]), PROVIDERS, True,
                         "BadClusterProfile",
                         'no matching cluster accessor found for cluster profile "p"'),
    "no program":       (profile(accessProviders=[entry("bare")]), [AccessProvider(name="bare")],
                         True, "BadClusterProfile", 'no exec config found for provider "bare"'),
    "a strange server": (profile(accessProviders=[entry("first", "https://a_b")]), PROVIDERS, True,
                         "BadRestConfig", "untrusted server endpoint"),
}
# fmt: on


@pytest.mark.rule("SEC-2")
@pytest.mark.rule("CRED-6")
@pytest.mark.parametrize(
    ("found", "providers", "is_enabled", "reason", "message"), TROUBLES.values(), ids=TROUBLES
)
def test_what_is_said_of_a_profile_that_does_not_help(
    found: Any, providers: Any, is_enabled: bool, reason: str, message: str
) -> None:
    trouble = loaded(found, providers, is_enabled=is_enabled)

    assert isinstance(trouble, Trouble)
    assert (trouble.reason, trouble.message) == (reason, message)
    assert trouble.waits == ("not found" in message)


@pytest.mark.rule("CRED-7")
def test_the_first_provider_of_the_configuration_that_a_profile_offers_is_taken() -> None:
    offers = profile(accessProviders=[entry("second", "https://b"), entry("first", "https://a")])
    older = profile(credentialProviders=[entry("first", "https://old")])
    both = profile(
        credentialProviders=[entry("first", "https://old")],
        accessProviders=[entry("first", "https://new")],
    )

    servers = [found.access.server for each in (offers, older, both)
               if isinstance(found := loaded(each), Found)]  # fmt: skip
    assert servers == ["https://a", "https://old", "https://new"]


@pytest.mark.rule("CRED-8")
@pytest.mark.rule("CRED-9")
def test_a_profile_says_where_and_the_configuration_says_how() -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    others = {"name": "args", "extension": ["--evil"]}
    found = loaded(
        profile(
            accessProviders=[
                entry(
                    "first",
                    **{
                        "certificate-authority-data": AUTHORITY,
                        "proxy-url": "http://proxy",
                        "extensions": [others, extension],
                    },
                )
            ]
        )
    )

    assert isinstance(found, Found)
    access = found.access
    assert (access.server, access.proxy_url) == ("https://there:6443", "http://proxy")
    assert access.authority is not None
    assert access.authority.data == b"pem"
    assert access.exec_cluster_config == {"audience": "x"}
    assert access.exec is not None
    assert (access.exec.command, access.exec.args) == ("/bin/plugin", ["--a"])
    assert access.exec.env is not None
    assert [(each.name, each.value) for each in access.exec.env] == [("A", "b")]
    assert access.exec.interactive_mode == "Never"


@pytest.mark.rule("CRED-2")
def test_a_profile_that_says_the_same_again_changes_nothing() -> None:
    first = loaded(profile(accessProviders=[entry("first")]))
    same = loaded(profile(accessProviders=[entry("first")], version="2"))
    other = loaded(profile(accessProviders=[entry("first", "https://elsewhere")]))

    assert isinstance(first, Found)
    assert isinstance(same, Found)
    assert isinstance(other, Found)
    assert first.content == same.content != other.content
