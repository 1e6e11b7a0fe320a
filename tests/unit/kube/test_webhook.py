"""Webhooks: from a review to an answer, and how the certificates of their server are kept."""

import asyncio
import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.api.patches import apply_json_patch
from fleetqueue.base import codec
from fleetqueue.kube import reviews, webhook_certificates
from fleetqueue.kube.certificates import Bundle
from fleetqueue.kube.client import Client
from fleetqueue.kube.reviews import ALLOWED, Review, Verdict, changed, create_json_patch, refused
from fleetqueue.kube.webhook import Webhooks
from fleetqueue.kube.webhook_certificates import CertificateKeeper, Registration

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a/b": "1"}}}


def admission(**parts: Any) -> bytes:
    request = {
        "uid": "review-1",
        "operation": "CREATE",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "ns",
        "object": POD,
        "userInfo": {"username": "me"},
        **parts,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return codec.encode(review)


async def ask(handler: Any, body: bytes) -> dict[str, Any]:
    webhooks = Webhooks()
    webhooks.admit("/hook", handler)
    status, answer = await webhooks.answer("/hook", body)
    assert status == 200
    return dict(json.loads(answer)["response"])


async def test_a_handler_sees_the_whole_request() -> None:
    seen: list[Review] = []

    def look(review: Review) -> Verdict:
        seen.append(review)
        return ALLOWED

    answer = await ask(look, admission(dryRun=True, subResource="status", oldObject={"x": 1}))

    assert answer == {"uid": "review-1", "allowed": True}
    (review,) = seen
    assert (review.operation, review.plural, review.subresource) == ("CREATE", "pods", "status")
    assert (review.namespace, review.user["username"]) == ("ns", "me")
    assert review.is_dry_run
    assert review.old_object == {"x": 1}


async def test_a_changed_object_becomes_a_json_patch() -> None:
    def label(review: Review) -> Verdict:
        assert review.object is not None
        wanted = codec.copy(review.object)
        wanted["metadata"]["labels"]["a/b"] = "2"
        wanted["spec"] = {"x": [1]}
        return changed(wanted, ["changed it"])

    answer = await ask(label, admission())

    patch = json.loads(base64.b64decode(answer["patch"]))
    assert answer["patchType"] == "JSONPatch"
    assert answer["warnings"] == ["changed it"]
    assert patch == [
        {"op": "replace", "path": "/metadata/labels/a~1b", "value": "2"},
        {"op": "add", "path": "/spec", "value": {"x": [1]}},
    ]


async def test_no_change_is_no_patch() -> None:
    answer = await ask(lambda review: changed(dict(review.object or {})), admission())

    assert answer == {"uid": "review-1", "allowed": True}


async def test_a_refusal_says_why() -> None:
    answer = await ask(lambda review: refused("not like this"), admission())

    assert answer["allowed"] is False
    assert answer["status"]["message"] == "not like this"
    assert (answer["status"]["code"], answer["status"]["reason"]) == (403, "Forbidden")


async def test_wrong_fields_are_causes() -> None:
    cause = {"field": "spec.x", "reason": "FieldValueInvalid", "message": "too much"}

    answer = await ask(
        lambda review: Verdict(is_allowed=False, message="bad", causes=[cause]), admission()
    )

    assert (answer["status"]["code"], answer["status"]["reason"]) == (422, "Invalid")
    assert answer["status"]["details"] == {"causes": [cause]}


async def test_a_handler_may_wait() -> None:
    async def slow(review: Review) -> Verdict:
        await asyncio.sleep(3)
        return ALLOWED

    assert (await ask(slow, admission()))["allowed"] is True


async def test_a_handler_that_breaks_refuses_and_says_so() -> None:
    def broken(review: Review) -> Verdict:
        raise KeyError("spec")

    answer = await ask(broken, admission())

    assert answer["allowed"] is False
    assert answer["status"]["code"] == 500
    assert "failed on this Pod: 'spec'" in answer["status"]["message"]


# fmt: off
BAD: dict[str, bytes] = {
    "no JSON":         b"hello",
    "not text":        b"\xff\xfe",
    "another kind":    b'{"apiVersion":"v1","kind":"Pod"}',
    "another version": b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
    "no request":      b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    "a list":          b"[]",
}
# fmt: on


@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
async def test_what_is_no_review_is_a_bad_request(body: bytes) -> None:
    webhooks = Webhooks()
    webhooks.admit("/hook", lambda review: ALLOWED)
    webhooks.convert("/convert", lambda obj, version: obj)

    assert (await webhooks.answer("/hook", body))[0] == 400
    assert (await webhooks.answer("/convert", body))[0] == 400


async def test_other_paths_are_not_found() -> None:
    assert (await Webhooks().answer("/nope", b"{}"))[0] == 404


def conversion(*objects: Any) -> bytes:
    request = {"uid": "c-1", "desiredAPIVersion": "x.io/v2", "objects": list(objects)}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
    return codec.encode({**kind, "request": request})


async def test_objects_are_converted_in_order() -> None:
    webhooks = Webhooks()
    webhooks.convert("/convert", lambda obj, version: {**obj, "apiVersion": version})

    _, body = await webhooks.answer("/convert", conversion({"n": 1}, {"n": 2}))

    response = json.loads(body)["response"]
    assert response["uid"] == "c-1"
    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [
        {"n": 1, "apiVersion": "x.io/v2"},
        {"n": 2, "apiVersion": "x.io/v2"},
    ]


async def test_a_conversion_that_breaks_fails_as_a_whole() -> None:
    def broken(obj: Any, version: str) -> Any:
        raise ValueError("cannot")

    webhooks = Webhooks()
    webhooks.convert("/convert", broken)

    _, body = await webhooks.answer("/convert", conversion({"n": 1}))

    response = json.loads(body)["response"]
    assert response["result"] == {
        "status": "Failure",
        "message": "conversion to x.io/v2 failed: cannot",
    }
    assert "convertedObjects" not in response


# fmt: off
PAIRS: dict[str, tuple[Any, Any]] = {
    "nothing":            ({"a": 1}, {"a": 1}),
    "a removal":          ({"a": 1, "b": 2}, {"b": 2}),
    "deep":               ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2, "d": 3}}}),
    "a list item":        ({"a": [{"x": 1}, {"x": 2}]}, {"a": [{"x": 1}, {"x": 3}]}),
    "a shorter list":     ({"a": [1, 2, 3]}, {"a": [1, 3]}),
    "another type":       ({"a": [1]}, {"a": {"b": 1}}),
    "true for one":       ({"a": 1}, {"a": True}),
    "awkward names":      ({"a/b": 1, "c~d": 1}, {"a/b": 2, "c~d": 2, "": 0}),
    "null":               ({"a": None}, {"a": 1}),
}
# fmt: on


@pytest.mark.parametrize(("old", "new"), PAIRS.values(), ids=PAIRS.keys())
def test_a_created_patch_leads_from_old_to_new(old: Any, new: Any) -> None:
    patch = create_json_patch(old, new)

    assert json.dumps(apply_json_patch(codec.copy(old), patch), sort_keys=True) == json.dumps(
        new, sort_keys=True
    )
    assert bool(patch) == (json.dumps(old) != json.dumps(new))


SECRET = "/api/v1/namespaces/system/secrets/certificates"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/ours"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.x.io"


@pytest.fixture
def keeper(memory_client: Client, clock: Any) -> Callable[..., CertificateKeeper]:
    def make(**parts: Any) -> CertificateKeeper:
        secret = Key("system", "certificates")
        return CertificateKeeper(
            ["hook.system.svc"], clock=clock, client=memory_client, secret=secret, **parts
        )

    return make


async def test_replicas_share_one_authority_through_a_secret(keeper: Any, memory: Any) -> None:
    one, two = await asyncio.gather(keeper().prepare(), keeper().prepare())

    assert one == two
    assert webhook_certificates.read_secret(memory.objects[SECRET]) == one


async def test_a_secret_with_nonsense_is_replaced(keeper: Any, memory: Any) -> None:
    memory.put(
        SECRET,
        {"metadata": {"name": "certificates", "namespace": "system"}, "data": {"ca.crt": "AAAA"}},
    )

    made = await keeper().prepare()

    assert webhook_certificates.read_secret(memory.objects[SECRET]) == made


async def test_the_authority_is_written_where_it_is_missing_and_only_there(
    keeper: Any, memory: Any
) -> None:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {}}}
    memory.put(CRD, {"metadata": {"name": "things.x.io"}, "spec": {"conversion": conversion}})
    kept = keeper(registration=Registration(mutating=["missing"], crds=["things.x.io", "nope"]))
    bundle = await kept.prepare()

    await kept.publish()
    sent = len(memory.writes)
    await kept.publish()

    config = memory.objects[CRD]["spec"]["conversion"]["webhook"]["clientConfig"]
    assert base64.b64decode(config["caBundle"]) == bundle.trusted
    assert len(memory.writes) == sent


async def test_a_registration_that_loses_the_authority_has_it_again_soon(
    keeper: Any, memory: Any
) -> None:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {}}}
    lost = {"metadata": {"name": "things.x.io"}, "spec": {"conversion": conversion}}
    kept = keeper(registration=Registration(crds=["things.x.io"]))
    bundle = await kept.prepare()
    keeping = asyncio.ensure_future(kept.keep(lambda used: None))

    memory.put(CRD, lost)
    await asyncio.sleep(20)

    config = memory.objects[CRD]["spec"]["conversion"]["webhook"]["clientConfig"]
    assert base64.b64decode(config["caBundle"]) == bundle.trusted
    keeping.cancel()


async def test_only_webhooks_that_do_not_trust_us_yet_are_patched(
    client: Client, script: Any
) -> None:
    webhooks = [
        {"name": "a", "clientConfig": {"caBundle": "new"}},
        {"name": "b", "clientConfig": {"caBundle": "old"}},
    ]
    kind = webhook_certificates.MUTATING_WEBHOOKS
    named = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "ours"}}
    script.then({**named, "webhooks": webhooks}, named)

    await webhook_certificates.publish_to_webhooks(client, kind, "ours", "new")

    assert script.last.path == HOOKS
    assert script.last.object == [
        {"op": "test", "path": "/webhooks/1/name", "value": "b"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": "new"},
    ]


async def test_certificates_are_replaced_while_the_server_runs(keeper: Any, clock: Any) -> None:
    kept = keeper()
    first = await kept.prepare()
    used: list[Bundle] = []

    await asyncio.sleep(timedelta(days=243).total_seconds())
    keeping = asyncio.ensure_future(kept.keep(used.append))
    await asyncio.sleep(timedelta(minutes=11).total_seconds())
    assert used == []
    await asyncio.sleep(timedelta(days=1).total_seconds())

    assert len(used) == 1
    assert used[0].authority == first.authority
    keeping.cancel()


def test_a_review_without_an_object_gets_no_patch() -> None:
    review = Review("u", "DELETE", "", "v1", "pods", "Pod")

    _, patch = reviews.write_admission(review, changed({"a": 1}))

    assert patch == []
