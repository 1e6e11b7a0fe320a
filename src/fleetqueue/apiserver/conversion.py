"""How custom resources get from one version to another: by apiVersion alone, our own code, or a webhook."""

from collections.abc import Callable
from typing import Any

from fleetqueue.api.kueue import conversion as kueue
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.custom import Converters

Object = dict[str, Any]

OWN: dict[tuple[str, str], Callable[[Object, str], Object]] = {
    ("kueue.x-k8s.io", kind): kueue.convert for kind in kueue.KINDS
}
"""(group, kind) -> a converter of ours, for CRDs whose webhook this process would serve itself."""


def converters(core: Core) -> Converters:
    from fleetqueue.apiserver.hooks.webhooks import conversion_webhook

    def choose(crd: Object) -> dict[str, Any]:
        spec = crd["spec"]
        own = OWN.get((spec["group"], spec["names"]["kind"]))
        if own is not None:
            return {"convert": own}
        conversion = spec.get("conversion") or {}
        if conversion.get("strategy") == "Webhook":
            return {"convert_later": conversion_webhook(core, crd)}
        return {}

    return choose
