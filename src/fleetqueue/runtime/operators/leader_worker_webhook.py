"""What a LeaderWorkerSet is given where it says nothing, and what is refused."""

import re
from collections.abc import Iterator
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked, Webhook
from fleetqueue.runtime.kinds import LEADER_WORKER_SET
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_spec import LeaderWorkerSet

_INT32_MAX = 2**31 - 1
_PERCENT = re.compile("[0-9]+%", re.ASCII)
_PERCENT_TEXT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
_SUBGROUP = "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize"
_ROLLING = "spec.rolloutStrategy.rollingUpdateConfiguration"


def default(asked: Asked) -> None:
    spec: Object = _set_if_absent(asked.obj, "spec", {})
    template = _set_if_absent(spec, "leaderWorkerTemplate", {})
    if not template.get("restartPolicy"):
        template["restartPolicy"] = "RecreateGroupOnPodRestart"
    if template["restartPolicy"] == "Default":
        template["restartPolicy"] = "None"
    strategy = _set_if_absent(spec, "rolloutStrategy", {})
    # Clients in Go send an empty type where none was set.
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    rolling = {"partition": 0, "maxUnavailable": 1, "maxSurge": 0}
    _set_if_absent(strategy, "rollingUpdateConfiguration", rolling)
    network = _set_if_absent(spec, "networkConfig", {})
    _set_if_absent(network, "subdomainPolicy", "Shared")


def validate(asked: Asked) -> list[FieldError]:
    whole = LeaderWorkerSet(asked.obj)
    errors = [*_check_name(whole), *_check_size(whole), *_check_rolling(whole)]
    if whole.template.get("subGroupPolicy") is not None:
        errors += _check_subgroups(whole)
    elif keys.SUBGROUP_EXCLUSIVE_KEY in whole.annotations:
        path = f"metadata.annotations.{keys.SUBGROUP_EXCLUSIVE_KEY}"
        why = "cannot have subgroup-exclusive-topology without subGroupSize set"
        errors.append(fields.wrong(path, whole.annotations[keys.SUBGROUP_EXCLUSIVE_KEY], why))
    if asked.old is not None:
        errors += _check_change(whole, LeaderWorkerSet(asked.old))
    return errors


def _set_if_absent(obj: Object, name: str, value: Any) -> Any:
    if obj.get(name) is None:
        obj[name] = value
    return obj[name]


def _check_name(whole: LeaderWorkerSet) -> Iterator[FieldError]:
    """It is also the name of a Service."""
    for text in names.dns1035_label(whole.name):
        yield fields.wrong("metadata.name", whole.name, text)


def _check_size(whole: LeaderWorkerSet) -> Iterator[FieldError]:
    if whole.replicas < 0:
        why = "replicas must be equal or greater than 0"
        yield fields.wrong("spec.replicas", whole.replicas, why)
    if whole.size < 1:
        why = "size must be equal or greater than 1"
        yield fields.wrong("spec.leaderWorkerTemplate.size", whole.size, why)
    if whole.replicas * whole.size > _INT32_MAX:
        why = f"the product of replicas and worker replicas must not exceed {_INT32_MAX}"
        yield fields.wrong("spec.replicas", whole.replicas, why)


def _check_rolling(whole: LeaderWorkerSet) -> Iterator[FieldError]:
    strategy = whole.spec.get("rolloutStrategy") or {}
    said = strategy.get("rollingUpdateConfiguration") or {}
    amounts = {"maxUnavailable": said.get("maxUnavailable", 1), "maxSurge": said.get("maxSurge", 0)}
    wrong = [
        error
        for part, amount in amounts.items()
        for error in _check_amount(f"{_ROLLING}.{part}", amount)
    ]
    yield from wrong
    if whole.partition < 0:
        why = "must be greater than or equal to 0"
        yield fields.wrong(f"{_ROLLING}.partition", whole.partition, why)
    if not wrong and whole.replicas and not whole.unavailable_max and not whole.surge_max:
        path, why = f"{_ROLLING}.maxUnavailable", "must not be 0 when `maxSurge` is 0"
        yield fields.wrong(path, amounts["maxUnavailable"], why)


def _check_amount(path: str, amount: int | str) -> Iterator[FieldError]:
    if isinstance(amount, int):
        if amount < 0:
            yield fields.wrong(path, amount, "must be greater than or equal to 0")
    elif not _PERCENT.fullmatch(amount):
        yield fields.wrong(path, amount, _PERCENT_TEXT)
    elif int(amount[:-1]) > 100:
        yield fields.wrong(path, amount, "must not be greater than 100%")


def _check_subgroups(whole: LeaderWorkerSet) -> Iterator[FieldError]:
    policy = whole.template["subGroupPolicy"]
    size, part = whole.size, int(policy.get("subGroupSize") or 0)
    if part < 1:
        yield fields.wrong(_SUBGROUP, part, "subGroupSize must be equal or greater than 1")
        return
    if size % part and (size - 1) % part:
        yield fields.wrong(_SUBGROUP, part, "size or size - 1 must be divisible by subGroupSize")
    if size < part:
        yield fields.wrong(_SUBGROUP, part, "subGroupSize cannot be larger than size")
    if policy.get("subGroupPolicyType") == "LeaderExcluded" and (size - 1) % part:
        why = "size-1 must be divisible by subGroupSize when using LeaderExcluded"
        yield fields.wrong(_SUBGROUP, part, why)


def _check_change(new: LeaderWorkerSet, old: LeaderWorkerSet) -> Iterator[FieldError]:
    now, before = (each.template.get("subGroupPolicy") for each in (new, old))
    if now is not None and before is not None:
        if now.get("subGroupSize") != before.get("subGroupSize"):
            yield fields.wrong(_SUBGROUP, now.get("subGroupSize"), "field is immutable")
    elif now is not None:
        why = "cannot enable subGroupSize after the lws is already created"
        yield fields.wrong(_SUBGROUP, now.get("subGroupSize"), why)
    elif before is not None:
        why = "cannot remove subGroupSize after enabled"
        yield fields.wrong(_SUBGROUP, before.get("subGroupSize"), why)


WEBHOOK = Webhook(
    LEADER_WORKER_SET,
    default=default,
    validate=validate,
    defaults_updates=True,
    name="vleaderworkerset.kb.io",
)
