"""Serves the webhooks that kinds declare to a foreign API server, and how it registers them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fleetqueue.api.field_errors import aggregate
from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.reviews import ALLOWED, Review, Verdict, changed
from fleetqueue.kube.sources import Source
from fleetqueue.kube.webhook import Webhooks
from fleetqueue.kube.webhook_rules import Asked, Webhook, scaled

TIMEOUT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Reach:
    """How the API server reaches us: at a URL, or through a Service."""

    url: str = ""
    service: str = ""
    namespace: str = ""

    def at(self, path: str) -> Object:
        """`clientConfig`."""
        if self.url:
            return {"url": f"{self.url.rstrip('/')}{path}"}
        return {"service": {"name": self.service, "namespace": self.namespace, "path": path}}


def serve(webhooks: Webhooks, declared: Iterable[Webhook], source: Source, clock: Clock) -> None:
    for each in declared:
        if each.default is not None:
            webhooks.admit(mutate_path(each.kind), partial(_default, each, source, clock))
        if each.validate is not None:
            webhooks.admit(validate_path(each.kind), partial(_validate, each, source, clock))


def serve_idly(webhooks: Webhooks, declared: Iterable[Webhook]) -> None:
    """Lets everything pass where nobody answers yet: who is registered but not served would keep
    the API server from writing objects of its kind.
    """
    for each in declared:
        for path in (mutate_path(each.kind), validate_path(each.kind)):
            if path not in webhooks.paths:
                webhooks.admit(path, _let_pass)


def registrations(
    name: str, declared: Sequence[Webhook], reach: Reach, selector: Mapping[str, Any]
) -> list[Object]:
    """The two configurations; `selector` says in which namespaces jobs are asked about."""
    mutating = [_mutating(each, reach, selector) for each in declared if each.default is not None]
    validating = [
        _validating(each, reach, selector) for each in declared if each.validate is not None
    ]
    return [
        _configuration("Mutating", f"{name}-mutating-webhook-configuration", mutating),
        _configuration("Validating", f"{name}-validating-webhook-configuration", validating),
    ]


def mutate_path(kind: Resource) -> str:
    return f"/mutate-{_slug(kind)}"


def validate_path(kind: Resource) -> str:
    return f"/validate-{_slug(kind)}"


def _let_pass(review: Review) -> Verdict:
    return ALLOWED


def _default(webhook: Webhook, source: Source, clock: Clock, review: Review) -> Verdict:
    if review.object is None:
        return ALLOWED
    obj = codec.copy(review.object)
    asked = _asked(obj, review, source, clock)
    assert webhook.default is not None
    webhook.default(asked)
    return changed(obj, asked.warnings)


def _validate(webhook: Webhook, source: Source, clock: Clock, review: Review) -> Verdict:
    if review.object is None:
        return ALLOWED
    asked = _asked(review.object, review, source, clock)
    if review.subresource == "scale":
        found = scaled(source, webhook.kind, asked.obj)
        if found is None:
            return ALLOWED
        asked = replace(asked, obj=found[0], old=found[1])
    assert webhook.validate is not None
    errors = webhook.validate(asked)
    if not errors:
        return Verdict(warnings=asked.warnings)
    if webhook.refuses_as == "Forbidden":
        text = aggregate(errors)
        return Verdict(False, None, text, "Forbidden", 403, warnings=asked.warnings)
    causes = [error.cause() for error in errors]
    text = f'{review.kind}.{review.group} "{review.name}" is invalid: {aggregate(errors)}'
    return Verdict(False, None, text, "Invalid", 422, causes, asked.warnings)


def _asked(obj: Object, review: Review, source: Source, clock: Clock) -> Asked:
    if review.namespace and not obj["metadata"].get("namespace"):
        obj["metadata"]["namespace"] = review.namespace
    return Asked(
        obj=obj,
        old=review.old_object,
        now=clock.now(),
        source=source,
        user=str(review.user.get("username") or ""),
        uid=str(review.user.get("uid") or ""),
    )


def _mutating(webhook: Webhook, reach: Reach, selector: Mapping[str, Any]) -> Object:
    operations = ["CREATE", "UPDATE"] if webhook.defaults_updates else ["CREATE"]
    return {
        "name": f"m{webhook.kind.kind.lower()}.kb.io",
        "clientConfig": reach.at(mutate_path(webhook.kind)),
        "rules": [_rule(webhook.kind, operations, [webhook.kind.plural])],
        **_terms(webhook, selector),
        **_conditions(webhook.defaulted_when),
    }


def _validating(webhook: Webhook, reach: Reach, selector: Mapping[str, Any]) -> Object:
    resources = [webhook.kind.plural]
    if webhook.validates_status:
        resources.append(f"{webhook.kind.plural}/status")
    if webhook.validates_scale:
        resources.append(f"{webhook.kind.plural}/scale")
    return {
        "name": webhook.name or f"v{webhook.kind.kind.lower()}.kb.io",
        "clientConfig": reach.at(validate_path(webhook.kind)),
        "rules": [_rule(webhook.kind, ["CREATE", "UPDATE"], resources)],
        **_terms(webhook, selector),
        **_conditions(webhook.validated_when),
    }


def _terms(webhook: Webhook, selector: Mapping[str, Any]) -> Object:
    made: Object = {
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    if webhook.kind.group in ("", "apps"):
        # What a cluster needs for itself must not wait for us.
        made["namespaceSelector"] = selector
    return made


def _conditions(wanted: Mapping[str, str]) -> Object:
    found = [{"name": name, "expression": text} for name, text in wanted.items()]
    return {"matchConditions": found} if found else {}


def _rule(kind: Resource, operations: list[str], resources: list[str]) -> Object:
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": operations,
        "resources": resources,
    }


def _configuration(kind: str, name: str, webhooks: list[Object]) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": webhooks,
    }


def _slug(kind: Resource) -> str:
    return f"{kind.group.replace('.', '-')}-{kind.version}-{kind.kind.lower()}"
