"""Our webhook server, called by every kind of server over HTTPS with certificates of its own."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPSConnection
from typing import Any

import pytest

from fleetqueue.base import codec
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube import errors
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import (
    CONFIG_MAPS,
    CRDS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    Resource,
)
from fleetqueue.kube.reviews import ALLOWED, Review, Verdict, changed, refused
from fleetqueue.kube.webhook import Webhooks, WebhookServer
from fleetqueue.kube.webhook_certificates import CertificateKeeper, Registration


def label(review: Review) -> Verdict:
    assert review.object is not None
    labelled = codec.copy(review.object)
    labelled["metadata"].setdefault("labels", {})["seen/by"] = review.operation
    return changed(labelled, ["labelled"])


def check(review: Review) -> Verdict:
    data = (review.object or {}).get("data") or {}
    if data.get("mood") == "broken":
        raise ValueError("cannot look at this")
    return refused("no bad moods here") if data.get("mood") == "bad" else ALLOWED


def convert(obj: dict[str, Any], api_version: str) -> dict[str, Any]:
    converted = {**obj, "apiVersion": api_version}
    spec = dict(obj["spec"])
    if api_version.endswith("/v2"):
        spec = {"numbers": [spec["number"]]}
    else:
        spec = {"number": spec["numbers"][0]}
    return {**converted, "spec": spec}


class Hooked:
    """The running webhook server and its keeper of certificates."""

    def __init__(self, client: Client, namespace: str) -> None:
        webhooks = Webhooks()
        webhooks.admit("/label", label)
        webhooks.admit("/check", check)
        webhooks.convert("/convert", convert)
        self.group = f"{namespace}.example.com"
        self.keeper = CertificateKeeper(
            ["127.0.0.1"],
            clock=SystemClock(),
            client=client,
            registration=Registration([namespace], [namespace], [f"things.{self.group}"]),
        )
        self.server = WebhookServer(webhooks, self.keeper, host="127.0.0.1", port=0)
        self.namespace = namespace

    def config(self, path: str) -> dict[str, Any]:
        authority = base64.b64encode(self.keeper.bundle.trusted).decode()
        return {"url": f"https://127.0.0.1:{self.server.port}{path}", "caBundle": authority}

    def registration(self, kind: Resource, path: str) -> dict[str, Any]:
        name = {"kubernetes.io/metadata.name": self.namespace}
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
            "operations": ["CREATE", "UPDATE"],
        }
        # A wrong authority: `publish` has to put it right.
        config = {**self.config(path), "caBundle": ""}
        webhook = {
            "name": "hook.example.com",
            "clientConfig": {key: value for key, value in config.items() if value},
            "rules": [rule],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "namespaceSelector": {"matchLabels": name},
        }
        return {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": self.namespace},
            "webhooks": [webhook],
        }


@pytest.fixture
async def hooked(client: Client, namespace: str) -> AsyncIterator[Hooked]:
    hooked = Hooked(client, namespace)
    running = asyncio.ensure_future(hooked.server.run())
    await hooked.server.wait_listening()
    yield hooked
    for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        with suppress(errors.NotFound):
            await client.delete(kind, namespace)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def config_map(name: str, namespace: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_a_mutating_webhook_changes_objects(
    client: Client, namespace: str, hooked: Hooked
) -> None:
    heard: list[str] = []
    client._on_warning = heard.append
    registration = hooked.registration(MUTATING_WEBHOOKS, "/label")
    await client.create(registration, resource=MUTATING_WEBHOOKS)
    await hooked.keeper.publish()

    labels = await _until(lambda: _label(client, namespace))

    assert labels == {"seen/by": "CREATE"}
    assert "labelled" in heard


async def _label(client: Client, namespace: str) -> Any:
    body = config_map("probe", namespace)
    made = await client.create(body, resource=CONFIG_MAPS, dry_run=True)
    return made["metadata"].get("labels")


async def _until(ask: Any) -> Any:
    """Servers notice a registration with a delay; what matters is the answer in the end."""
    async with asyncio.timeout(20):
        while True:
            try:
                if found := await ask():
                    return found
            except errors.ServerError:
                pass
            await asyncio.sleep(0.1)


async def test_a_validating_webhook_refuses_objects(
    client: Client, namespace: str, hooked: Hooked
) -> None:
    registration = hooked.registration(VALIDATING_WEBHOOKS, "/check")
    await client.create(registration, resource=VALIDATING_WEBHOOKS)
    await hooked.keeper.publish()

    async def refusal() -> Any:
        body = config_map("a", namespace, mood="bad")
        try:
            await client.create(body, resource=CONFIG_MAPS, dry_run=True)
        except errors.Forbidden as error:
            return error
        return None

    error = await _until(refusal)

    assert (
        str(error) == 'admission webhook "hook.example.com" denied the request: no bad moods here'
    )
    made = await client.create(config_map("a", namespace, mood="good"), resource=CONFIG_MAPS)
    with pytest.raises(errors.Refused, match="cannot look at this") as caught:
        await client.create(config_map("b", namespace, mood="broken"), resource=CONFIG_MAPS)
    assert caught.value.code == 500
    assert made["data"] == {"mood": "good"}


def things(hooked: Hooked) -> dict[str, Any]:
    def version(name: str, spec: dict[str, Any], storage: bool) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
        return {
            "name": name,
            "served": True,
            "storage": storage,
            "schema": {"openAPIV3Schema": schema},
        }

    numbers = {"numbers": {"type": "array", "items": {"type": "integer"}}}
    webhook = {"clientConfig": hooked.config("/convert"), "conversionReviewVersions": ["v1"]}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": f"things.{hooked.group}"},
        "spec": {
            "group": hooked.group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                version("v1", {"number": {"type": "integer"}}, storage=False),
                version("v2", numbers, storage=True),
            ],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


async def test_a_conversion_webhook_converts_between_versions(
    client: Client, namespace: str, hooked: Hooked
) -> None:
    await client.create(things(hooked), resource=CRDS)
    one, two = (Resource(hooked.group, v, "things", "Thing") for v in ("v1", "v2"))
    metadata = {"name": "t", "namespace": namespace}
    body = {"apiVersion": one.api_version, "kind": "Thing", "metadata": metadata}

    async def made() -> Any:
        try:
            return await client.create({**body, "spec": {"number": 7}}, resource=one)
        except errors.NotFound:
            return None

    assert (await _until(made))["spec"] == {"number": 7}
    assert (await client.get(two, "t", namespace))["spec"] == {"numbers": [7]}
    await client.delete(CRDS, f"things.{hooked.group}")


async def test_answers_do_not_wait_for_what_the_process_is_busy_with(hooked: Hooked) -> None:
    review = {"uid": "1", "desiredAPIVersion": "x/v2", "objects": [{"spec": {"number": 7}}]}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": review,
    }
    trusted = ssl.create_default_context(cadata=hooked.keeper.bundle.trusted.decode())

    def ask() -> Any:
        connection = HTTPSConnection("127.0.0.1", hooked.server.port, timeout=20, context=trusted)
        connection.request("POST", "/convert", codec.encode(body))
        answer = codec.decode(connection.getresponse().read())
        connection.close()
        return answer

    with ThreadPoolExecutor() as threads:
        # Nothing else happens on this loop until the answer is there.
        answer = threads.submit(ask).result(timeout=30)

    assert answer["response"]["convertedObjects"] == [
        {"apiVersion": "x/v2", "spec": {"numbers": [7]}}
    ]
