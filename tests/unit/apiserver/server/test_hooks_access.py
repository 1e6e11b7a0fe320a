"""Hooks and keepers around access: escalation, certificates, gathered roles, token secrets."""

from base64 import b64decode, b64encode
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fleetqueue.apiserver.access.users import User
from fleetqueue.base import codec

from .conftest import Api
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
BOB = User("bob", "7", ("devs", "system:authenticated"))


def named(name: str, **content: Any) -> Object:
    return {"metadata": {"name": name}, **content}


@pytest.fixture(scope="module")
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def request(key: ec.EllipticCurvePrivateKey, group: str = "devs", **spec: Any) -> Object:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "u"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, group),
        ]
    )
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = signed.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    asked = {
        "request": b64encode(pem).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
    }
    return named("c", spec={**asked, **spec})


async def grant(api: Api, name: str, **rule: Any) -> None:
    """Bob may do what the rule says."""
    await api.post(f"{RBAC}/clusterroles", named(name, rules=[rule]))
    binding = {
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "bob"}],
    }
    await api.post(f"{RBAC}/clusterrolebindings", named(name, **binding))


async def test_nobody_gives_away_more_than_they_have(shared: Api, home: str) -> None:
    rule = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}
    await grant(shared, "roles", verbs=["create"], **rule)
    role = named("r", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
    path = f"{RBAC}{home.removeprefix('/api/v1')}/roles"
    response = await shared.send("POST", path, role, user=BOB)
    assert response.status == 403
    text = codec.decode(response.encoded())["message"]
    assert 'roles.rbac.authorization.k8s.io "r" is forbidden: user "bob"' in text
    assert "is attempting to grant RBAC permissions not currently held" in text
    own = named("r", rules=[{"verbs": ["create"], **rule}])
    assert (await shared.send("POST", path, own, user=BOB)).status == 201


async def test_a_role_gathers_what_its_selectors_choose(shared: Api, home: str) -> None:
    roles = f"{RBAC}/clusterroles"
    selector = {"clusterRoleSelectors": [{"matchLabels": {"into": "all"}}]}
    await shared.post(roles, named("all", aggregationRule=selector, rules=[]))
    rules = [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["get"]}]
    part = {"metadata": {"name": "part", "labels": {"into": "all"}}, "rules": rules}
    await shared.post(roles, part)
    await shared.settle()
    assert (await shared.get(f"{roles}/all"))["rules"] == rules
    await shared.delete(f"{roles}/part")
    await shared.settle()
    assert not (await shared.get(f"{roles}/all"))["rules"]


async def test_a_certificate_request_notes_who_asked(
    shared: Api, key: ec.EllipticCurvePrivateKey
) -> None:
    made = await shared.post(REQUESTS, request(key, username="somebody"))
    assert made["spec"]["username"] == "admin"
    assert made["spec"]["groups"] == ["system:masters", "system:authenticated"]
    await shared.delete(f"{REQUESTS}/c")


async def test_nobody_asks_for_a_certificate_of_the_masters(
    shared: Api, key: ec.EllipticCurvePrivateKey
) -> None:
    answer = await shared.post(REQUESTS, request(key, "system:masters"))
    assert answer["message"] == (
        'certificatesigningrequests.certificates.k8s.io "c" is forbidden: use of '
        "kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    )


async def test_approval_needs_a_permission_for_the_signer(
    shared: Api, key: ec.EllipticCurvePrivateKey
) -> None:
    await shared.post(REQUESTS, request(key))
    resources = ["certificatesigningrequests/approval"]
    await grant(
        shared, "approval", apiGroups=["certificates.k8s.io"], resources=resources, verbs=["patch"]
    )
    approved = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    change = {"status": {"conditions": [approved]}}
    kind = {"content_type": "application/merge-patch+json"}
    path = f"{REQUESTS}/c/approval"
    response = await shared.send("PATCH", path, change, user=BOB, **kind)
    assert codec.decode(response.encoded())["message"] == (
        'certificatesigningrequests.certificates.k8s.io "c" is forbidden: user not permitted to '
        'approve requests with signerName "kubernetes.io/kube-apiserver-client"'
    )
    (condition,) = (await shared.patch(path, change))["status"]["conditions"]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"]


async def test_a_token_secret_is_filled_and_goes_with_its_account(shared: Api, home: str) -> None:
    await shared.post(f"{home}/serviceaccounts", named("robot"))
    annotations = {"kubernetes.io/service-account.name": "robot"}
    secret = {
        "metadata": {"name": "t", "annotations": annotations},
        "type": "kubernetes.io/service-account-token",
    }
    await shared.post(f"{home}/secrets", secret)
    await shared.settle()
    data = (await shared.get(f"{home}/secrets/t"))["data"]
    assert b64decode(data["namespace"]).decode() == home.rpartition("/")[2]
    assert b64decode(data["token"]).count(b".") == 2
    await shared.delete(f"{home}/serviceaccounts/robot")
    await shared.settle()
    await shared.get(f"{home}/secrets/t")
    assert shared.status == 404
