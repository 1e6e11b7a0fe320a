"""Where an API server is told to reach us, over what somebody else told it before."""

from typing import Any

from fleetqueue.kube.registering import turned

Object = dict[str, Any]
SERVICE = {"name": "kueue-webhook-service", "namespace": "kueue-system", "path": "/convert"}
URL = "https://here:9443/convert"


def definition(**config: Any) -> Object:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": config}
    return {
        "kind": "CustomResourceDefinition",
        "spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}},
    }


def configuration(**configs: Object) -> Object:
    webhooks = [{"name": name, "clientConfig": config} for name, config in configs.items()]
    return {"kind": "MutatingWebhookConfiguration", "webhooks": webhooks}


def test_a_definition_is_turned_from_a_service_to_a_url_and_back() -> None:
    at = "/spec/conversion/webhook/clientConfig"
    by_service, by_url = {"service": SERVICE, "caBundle": "Q0E="}, {"url": URL, "caBundle": "Q0E="}
    assert turned(definition(**by_service), definition(url=URL)) == [
        {"op": "test", "path": at, "value": by_service},
        {"op": "replace", "path": at, "value": by_url},
    ]
    assert turned(definition(**by_url), definition(service=SERVICE)) == [
        {"op": "test", "path": at, "value": by_url},
        {"op": "replace", "path": at, "value": by_service},
    ]


def test_only_webhooks_of_ours_that_are_reached_otherwise_are_turned() -> None:
    found = configuration(theirs={"service": SERVICE}, ours={"service": SERVICE}, same={"url": URL})
    patch = turned(found, configuration(same={"url": "https://there/"}, ours={"url": URL}))
    assert patch == [
        {"op": "test", "path": "/webhooks/1/clientConfig", "value": {"service": SERVICE}},
        {"op": "replace", "path": "/webhooks/1/clientConfig", "value": {"url": URL}},
    ]


def test_what_is_not_there_yet_needs_no_turn() -> None:
    assert turned({}, definition(url=URL)) == []
    assert turned({"spec": {"conversion": {"strategy": "None"}}}, definition(url=URL)) == []
