"""Who we are over the network: certificates, tokens, impersonation, plugins, and wrong ones."""

import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fleetqueue.base.clock import SystemClock
from fleetqueue.kube import errors, subresources
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect_to
from fleetqueue.kube.kubeconfig import Access, Impersonation, Material
from fleetqueue.kube.kubeconfig_entries import ExecConfig
from fleetqueue.kube.resources import CONFIG_MAPS, Resource

REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


@pytest.fixture
async def connect() -> AsyncIterator[Callable[[Access], Client]]:
    opened: list[Client] = []

    def open_client(access: Access) -> Client:
        opened.append(connect_to(access, clock=SystemClock(), random=Random(1)))
        return opened[-1]

    yield open_client
    for client in opened:
        await client.close()


@pytest.fixture
async def token(client: Client, namespace: str) -> str:
    """The token of a service account that may do nothing."""
    metadata = {"name": "robot", "namespace": namespace}
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    await client.create(body, resource=SERVICE_ACCOUNTS)
    return await subresources.request_token(client, "robot", namespace)


async def who(client: Client) -> dict[str, Any]:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.create(body, resource=REVIEWS)
    return dict(answer["status"]["userInfo"])


def nobody(access: Access, **parts: Any) -> Access:
    return replace(access, certificate=None, key=None, **parts)


async def test_a_client_certificate_says_who_we_are(client: Client, access: Access) -> None:
    assert "system:masters" in (await who(client))["groups"]


async def test_a_token_says_who_we_are(
    access: Access, connect: Any, token: str, namespace: str
) -> None:
    robot = connect(nobody(access, token=token))

    assert (await who(robot))["username"] == f"system:serviceaccount:{namespace}:robot"


async def test_what_is_not_granted_is_forbidden(
    access: Access, connect: Any, token: str, namespace: str
) -> None:
    robot = connect(nobody(access, token=token))

    with pytest.raises(errors.Forbidden, match="cannot list resource"):
        await robot.list(CONFIG_MAPS, namespace)


async def test_a_wrong_token_is_unauthorized(access: Access, connect: Any) -> None:
    with pytest.raises(errors.Unauthorized):
        await connect(nobody(access, token="nonsense")).list(CONFIG_MAPS)


async def test_a_token_file_that_was_rotated_is_read_when_the_old_token_is_refused(
    access: Access, connect: Any, token: str, tmp_path: Path, namespace: str
) -> None:
    file = tmp_path / "token"
    file.write_text("nonsense")
    robot = connect(nobody(access, token_file=str(file)))
    with pytest.raises(errors.Unauthorized):
        await who(robot)

    file.write_text(token)

    assert (await who(robot))["username"] == f"system:serviceaccount:{namespace}:robot"


async def test_a_plugin_is_asked_again_when_its_credential_is_refused(
    access: Access, connect: Any, token: str, tmp_path: Path, namespace: str
) -> None:
    """The program prints nonsense the first time it runs, and the token after that."""
    program = tmp_path / "login.py"
    program.write_text(
        "import json, os, pathlib, sys\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "ran = pathlib.Path(sys.argv[1])\n"
        f"token = {token!r} if ran.exists() else 'nonsense'\n"
        "ran.touch()\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential',"
        " 'status': {'token': token}}))\n"
    )
    plugin = ExecConfig(
        command=sys.executable,
        args=[str(program), str(tmp_path / "ran")],
        api_version="client.authentication.k8s.io/v1",
        interactive_mode="Never",
    )
    robot = connect(nobody(access, exec=plugin))

    assert (await who(robot))["username"] == f"system:serviceaccount:{namespace}:robot"


async def test_an_administrator_may_act_as_somebody_else(access: Access, connect: Any) -> None:
    as_jane = Impersonation("jane", groups=("dev", "ops"), extra=(("Scope/a", ("x", "y")),))

    found = await who(connect(replace(access, impersonate=as_jane)))

    assert found["username"] == "jane"
    assert {"dev", "ops"} <= set(found["groups"])
    assert found["extra"] == {"scope/a": ["x", "y"]}


async def test_a_server_that_the_authority_did_not_sign_is_not_trusted(
    access: Access, connect: Any
) -> None:
    strangers = connect(replace(access, authority=None))

    with pytest.raises(errors.Unreachable, match=r"(?i)certificate") as caught:
        await strangers.list(CONFIG_MAPS)

    assert not caught.value.sent


async def test_trust_can_be_waived(access: Access, connect: Any) -> None:
    careless = connect(replace(access, authority=None, is_insecure=True))

    assert await who(careless)


async def test_the_name_on_the_certificate_counts(access: Access, connect: Any) -> None:
    right = connect(replace(access, tls_server_name="kubernetes.default.svc"))
    wrong = connect(replace(access, tls_server_name="other.example.com"))

    assert await who(right)
    with pytest.raises(errors.Unreachable):
        await who(wrong)


async def test_an_authority_that_is_no_certificate_is_the_users_mistake(
    access: Access, connect: Any
) -> None:
    with pytest.raises(errors.BadKubeconfig, match="not a PEM certificate"):
        await connect(replace(access, authority=Material(b"nonsense"))).list(CONFIG_MAPS)


async def test_a_key_of_another_certificate_is_the_users_mistake(
    access: Access, connect: Any
) -> None:
    with pytest.raises(errors.BadKubeconfig, match="cannot be used"):
        await connect(replace(access, key=Material(b"nonsense"))).list(CONFIG_MAPS)
