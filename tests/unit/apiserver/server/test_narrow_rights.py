"""Who has a few rights has no others: what a path, a selector or a verb must not widen."""

import asyncio
from typing import Any

import pytest

from fleetqueue.apiserver.access.users import ANONYMOUS, User
from fleetqueue.apiserver.request import Response
from fleetqueue.base import codec

from .conftest import Api
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
CAROL = User("carol", "", ("system:authenticated",))
DAVE = User("dave", "", ("system:authenticated",))
APPLY = "application/apply-patch+yaml"


def named(name: str, **content: Any) -> Object:
    return {"metadata": {"name": name}, **content}


async def grant(api: Api, home: str, *rules: Object, user: User = CAROL) -> None:
    """In one namespace; without one, everywhere."""
    where = f"{RBAC}{home.removeprefix('/api/v1')}"
    role, binding = ("roles", "rolebindings") if home else ("clusterroles", "clusterrolebindings")
    kind = "Role" if home else "ClusterRole"
    name = f"of-{user.name}"
    await api.post(f"{where}/{role}", named(name, rules=list(rules)))
    await api.post(
        f"{where}/{binding}",
        named(
            name,
            roleRef={"kind": kind, "name": name},
            subjects=[{"kind": "User", "name": user.name}],
        ),
    )
    assert api.status in (201, 409)


def rule(*verbs: str, resource: str = "configmaps", **more: Any) -> Object:
    return {"apiGroups": [""], "resources": [resource], "verbs": list(verbs), **more}


def told(response: Response) -> str:
    return str(codec.decode(response.encoded()).get("message"))


@pytest.mark.parametrize(("method", "path"), [
    ("GET",    "namespaces"),
    ("GET",    "namespaces/kube-system"),
    ("GET",    "namespaces/SELF"),
    ("GET",    "namespaces/kube-system/status"),
    ("DELETE", "namespaces/kube-system"),
    ("DELETE", "namespaces"),
    ("PATCH",  "namespaces/kube-system"),
    ("PUT",    "namespaces/kube-system/finalize"),
    ("POST",   "namespaces"),
])  # fmt: skip
async def test_who_rules_one_namespace_reaches_no_other(
    shared: Api, home: str, method: str, path: str
) -> None:
    await grant(shared, home, {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
    target = f"{home}/{path.replace('SELF', home.rsplit('/', 1)[-1])}"
    body = None if method in ("GET", "DELETE") else named("kube-system")
    headers = {"content_type": "application/merge-patch+json"} if method == "PATCH" else {}
    response = await shared.send(method, target, body, CAROL, **headers)

    assert (response.status, told(response)) == (
        404,
        "the server could not find the requested resource",
    )
    assert (await shared.send("GET", home, user=CAROL)).status == 200
    await shared.get("/api/v1/namespaces/kube-system")
    assert shared.status == 200


@pytest.mark.parametrize(
    "selector", ["metadata.name!=zzz", "metadata.name=b", "metadata.namespace=x"]
)
async def test_a_watch_of_one_object_is_not_widened_by_a_selector(
    shared: Api, home: str, selector: str
) -> None:
    await grant(shared, home, rule("watch", resource="secrets", resourceNames=["a"]))
    path = f"{home.replace('/api/v1', '/api/v1/watch')}/secrets/a?fieldSelector={selector}"
    response = await shared.send("GET", path, user=CAROL)

    assert response.status == 400
    assert told(response) == "fieldSelector metadata.name doesn't match requested name"


@pytest.mark.parametrize("selector", ["", "?fieldSelector=metadata.name=a"])
async def test_a_watch_of_one_object_shows_that_one(shared: Api, home: str, selector: str) -> None:
    await grant(shared, home, rule("watch", resource="secrets", resourceNames=["a"]))
    path = f"{home.replace('/api/v1', '/api/v1/watch')}/secrets/a{selector}"
    for name in ("a", "b"):
        await shared.post(f"{home}/secrets", named(name))
    response = await shared.send("GET", path, user=CAROL)
    assert response.status == 200
    assert response.frames is not None
    batch = await asyncio.wait_for(anext(aiter(response.frames)), 5)
    assert [codec.decode(frame.line)["object"]["metadata"]["name"] for frame in batch] == ["a"]
    await response.frames.aclose()


async def test_who_may_change_something_may_not_make_it(shared: Api, home: str) -> None:
    await grant(
        shared,
        home,
        rule("patch", "update"),
        {**rule("update"), "apiGroups": ["*"], "resources": ["leases"]},
    )
    path, applied = f"{home}/configmaps/c", {"apiVersion": "v1", "kind": "ConfigMap", **named("c")}
    response = await shared.send(
        "PATCH", f"{path}?fieldManager=x", applied, CAROL, content_type=APPLY
    )
    space = home.rsplit("/", 1)[-1]
    assert (response.status, told(response)) == (
        403,
        f'configmaps "c" is forbidden: User "carol" cannot create resource "configmaps" in API '
        f'group "" in the namespace "{space}"',
    )
    lease = f"/apis/coordination.k8s.io/v1{home.removeprefix('/api/v1')}/leases/l"
    assert (await shared.send("PUT", lease, named("l"), CAROL)).status == 403

    await shared.post(f"{home}/configmaps", named("c"))
    response = await shared.send(
        "PATCH", f"{path}?fieldManager=x", applied, CAROL, content_type=APPLY
    )
    assert response.status == 200


async def test_who_may_create_too_may_make_it_by_applying(shared: Api, home: str) -> None:
    await grant(shared, home, rule("patch", "create"))
    applied = {"apiVersion": "v1", "kind": "ConfigMap", **named("c")}
    path = f"{home}/configmaps/c?fieldManager=x"
    assert (await shared.send("PATCH", path, applied, CAROL, content_type=APPLY)).status == 201


async def test_a_collection_is_not_deleted_by_the_right_to_one_name(shared: Api, home: str) -> None:
    await grant(shared, home, rule("deletecollection", "list", resourceNames=["a"]))
    path = f"{home}/configmaps?fieldSelector=metadata.name=a"
    assert (await shared.send("DELETE", path, user=CAROL)).status == 403
    assert (await shared.send("GET", path, user=CAROL)).status == 200


async def test_bytes_that_are_no_text_are_told_of(shared: Api, home: str) -> None:
    response = await shared.send("GET", f"{home}/pods/\udcff", user=ANONYMOUS)
    assert response.status == 403
    assert '"\ufffd"' in told(response)


# Admission policies


def policy(name: str, kind: str = "Secret") -> Object:
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
    return named(
        name,
        spec={
            "paramKind": {"apiVersion": "v1", "kind": kind},
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": "true"}],
        },
    )


def binding(name: str, reference: Object) -> Object:
    return named(
        name,
        spec={
            "policyName": name,
            "paramRef": {"parameterNotFoundAction": "Allow", **reference},
            "validationActions": ["Deny"],
        },
    )


ADMISSION = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["*"],
    "verbs": ["*"],
}
CAROL_SHOWN = "user &{carol  [system:authenticated] map[]}"


async def test_a_policy_has_the_parameters_that_its_author_may_read(shared: Api, home: str) -> None:
    await grant(shared, "", ADMISSION, rule("get"))
    response = await shared.send("POST", POLICIES, policy("narrow"), CAROL)
    assert (response.status, told(response)) == (
        422,
        'ValidatingAdmissionPolicy.admissionregistration.k8s.io "narrow" is invalid: '
        f'spec.paramKind: Forbidden: {CAROL_SHOWN} must have "get" permission on all objects of '
        "the referenced paramKind (kind=Secret, apiVersion=v1)",
    )
    own = policy("narrow", "ConfigMap")
    assert (await shared.send("POST", POLICIES, own, CAROL)).status == 201
    await shared.post(POLICIES, policy("wide"))
    assert shared.status == 201
    # What it had already is not asked for again.
    path, kind = f"{POLICIES}/wide", {"content_type": "application/merge-patch+json"}
    change = {"spec": {"failurePolicy": "Ignore"}}
    assert (await shared.send("PATCH", path, change, CAROL, **kind)).status == 200
    change = {"spec": {"paramKind": {"kind": "Pod"}}}
    assert (await shared.send("PATCH", path, change, CAROL, **kind)).status == 422


@pytest.mark.parametrize(("reference", "verb"), [
    ({"name": "s", "namespace": "kube-system"}, "get"),
    ({"selector": {}}, "list"),
])  # fmt: skip
async def test_a_binding_gives_parameters_that_its_author_may_read(
    shared: Api, home: str, reference: Object, verb: str
) -> None:
    await grant(shared, "", ADMISSION, rule("get", "list"), user=DAVE)
    await shared.post(POLICIES, policy("secrets"))
    response = await shared.send("POST", BINDINGS, binding("secrets", reference), DAVE)
    shown = CAROL_SHOWN.replace("carol", "dave")
    assert (response.status, told(response)) == (
        422,
        'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io "secrets" is invalid: '
        f'spec.paramRef: Forbidden: {shown} does not have "{verb}" permission on the object '
        "referenced by paramRef",
    )
    response = await shared.send("POST", BINDINGS, binding("gone", reference), DAVE)
    assert "unable to get policy gone to determine minimum required permissions" in told(response)
    await shared.post(POLICIES, policy(f"maps-{verb}", "ConfigMap"))
    own = binding(f"maps-{verb}", reference)
    assert (await shared.send("POST", BINDINGS, own, DAVE)).status == 201
    await shared.delete(f"{POLICIES}/secrets")
