"""How custom resources get from one version to another: by apiVersion alone, our own code, or a
webhook.
"""

from typing import Any

from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.custom import Converters

Object = dict[str, Any]

KUEUE = "kueue.x-k8s.io"


def converters(core: Core) -> Converters:
    from fleetqueue.apiserver.hooks.webhooks import conversion_webhook

    def choose(crd: Object) -> dict[str, Any]:
        spec = crd["spec"]
        if (spec.get("conversion") or {}).get("strategy") != "Webhook":
            return {}
        if spec["group"] == KUEUE and _is_converted_here(spec["names"]["kind"]):
            return {"convert": kueue_convert}
        return {"convert_later": conversion_webhook(core, crd)}

    return choose


def _is_converted_here(kind: str) -> bool:
    """Kinds whose conversion webhook is ours, so that nobody has to be called."""
    from fleetqueue.api.kueue.conversion import KINDS

    return kind in KINDS


def kueue_convert(obj: Object, api_version: str) -> Object:
    from fleetqueue.api.kueue.conversion import convert

    return convert(obj, api_version)
