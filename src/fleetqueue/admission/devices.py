"""The claim templates and device classes that are known, and what workloads claim by them."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.queueing import device_claims
from fleetqueue.queueing.device_claims import NO_CLAIMS, Claims, DeviceRules
from fleetqueue.queueing.requests import Transformation

Json = dict[str, Any]


class Devices:
    """Kept by events."""

    def __init__(self, rules: DeviceRules) -> None:
        self.rules = rules
        self._templates: dict[Key, Json] = {}
        self._classes: dict[str, str] = {}
        """By name, the extended resource that each one stands for."""
        self._users: dict[Key, dict[Key, None]] = {}
        """By claim template, the workloads that name it."""

    def claims(self, workload: Json) -> Claims:
        """What its pods claim now."""
        if not any(map(_has_claims, (workload.get("spec") or {}).get("podSets") or ())):
            return NO_CLAIMS
        namespace = workload["metadata"].get("namespace") or ""
        return device_claims.claims_of(
            workload, self.rules, lambda name: self._templates.get(Key(namespace, name))
        )

    def follow(self, key: Key, old: Json | None, new: Json | None) -> None:
        """A workload came, changed or went."""
        for name in device_claims.template_names(old or {}):
            users = self._users.get(Key(key.namespace, name), {})
            users.pop(key, None)
            if not users:
                self._users.pop(Key(key.namespace, name), None)
        for name in device_claims.template_names(new or {}):
            self._users.setdefault(Key(key.namespace, name), {})[key] = None

    def put_template(self, key: Key, obj: Json | None) -> None:
        """None: it is gone."""
        if obj is None:
            self._templates.pop(key, None)
        else:
            self._templates[key] = obj

    def users(self, template: Key) -> list[Key]:
        return list(self._users.get(template, ()))

    def put_class(self, name: str, obj: Json | None) -> bool:
        """Whether other resources count as devices now."""
        before = self.transformations()
        if obj is None:
            self._classes.pop(name, None)
        else:
            self._classes[name] = (obj.get("spec") or {}).get("extendedResourceName") or ""
        return self.transformations() != before

    def transformations(self) -> Mapping[str, Transformation]:
        return device_claims.extended_rules(self.rules, self._classes)


def _has_claims(pod_set: Json) -> bool:
    return bool(((pod_set.get("template") or {}).get("spec") or {}).get("resourceClaims"))
