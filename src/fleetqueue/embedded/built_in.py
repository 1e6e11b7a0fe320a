"""What people may install of Kueue or KubeFleet on a cluster that has both built in: definitions of
their kinds stay as they are here, and webhooks that nobody answers hold nothing up.
"""

from collections.abc import Iterator

from fleetqueue.api.fleet.group import CLUSTER_GROUP, PLACEMENT_GROUP
from fleetqueue.api.kueue.group import CONVERSION, GROUP
from fleetqueue.kube.resources import CRDS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Object
from fleetqueue.kube.webhook_rules import Asked, Webhook

GROUPS = (GROUP, CLUSTER_GROUP, PLACEMENT_GROUP)
SERVICES = ((CONVERSION.namespace, CONVERSION.service), ("fleet-system", "fleetwebhook"))
"""Where their releases answer webhooks."""


def webhooks() -> Iterator[Webhook]:
    yield Webhook(CRDS, default=keep_definition, defaults_updates=True)
    for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        yield Webhook(kind, default=free_registration, defaults_updates=True)


def keep_definition(asked: Asked) -> None:
    """Another release's may lack the version that objects here are stored in."""
    old, new = asked.old, asked.obj
    if old is None or new["spec"].get("group") not in GROUPS or new["spec"] == old["spec"]:
        return
    new["spec"] = old["spec"]
    versions = ", ".join(each["name"] for each in old["spec"]["versions"])
    name = new["metadata"]["name"]
    asked.warnings.append(f"{name} is built in: its definition stays as it is, with {versions}")


def free_registration(asked: Asked) -> None:
    for webhook in asked.obj.get("webhooks") or ():
        if _is_built_in(webhook) and webhook.get("failurePolicy") != "Ignore":
            webhook["failurePolicy"] = "Ignore"
            asked.warnings.append(
                f"what the webhook {webhook['name']} does is built in: it is not waited for"
            )


def _is_built_in(webhook: Object) -> bool:
    service = (webhook.get("clientConfig") or {}).get("service") or {}
    return (service.get("namespace"), service.get("name")) in SERVICES
