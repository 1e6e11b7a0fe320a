"""What KubeFleet fills in where a placement says nothing: stored for a ClusterResourcePlacement by
its webhook, and in memory for both kinds by every controller."""

from typing import Any

from fleetqueue.base import codec

Json = dict[str, Any]

_SPREAD: Json = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
_TOLERATION: Json = {"operator": "Equal"}
_ROLLING_UPDATE: Json = {
    "maxUnavailable": "25%",
    "maxSurge": "25%",
    "unavailablePeriodSeconds": 60,
}
_APPLY: Json = {
    "type": "ClientSideApply",
    "comparisonOption": "PartialComparison",
    "whenToApply": "Always",
    "whenToTakeOver": "Always",
}
_HISTORY_LIMIT = 10


def defaulted(placement: Json) -> Json:
    """The placement with everything said; the one handed in stays as it is."""
    result: Json = codec.copy(placement)
    spec = _object(result, "spec")
    _fill_policy(spec)
    _fill_strategy(_object(spec, "strategy"))
    if spec.get("revisionHistoryLimit") is None:
        spec["revisionHistoryLimit"] = _HISTORY_LIMIT
    return result


def fill_apply_strategy(strategy: Json) -> None:
    """Also done by controllers that meet an apply strategy on its own."""
    _fill(strategy, _APPLY)
    if strategy["type"] == "ServerSideApply" and strategy.get("serverSideApplyConfig") is None:
        strategy["serverSideApplyConfig"] = {"force": False}


def _fill_policy(spec: Json) -> None:
    policy = spec.get("policy")
    if policy is None:
        spec["policy"] = {"placementType": "PickAll"}
        return
    _fill(policy, {"placementType": "PickAll"})
    for constraint in policy.get("topologySpreadConstraints") or []:
        _fill(constraint, _SPREAD)
    for toleration in policy.get("tolerations") or []:
        _fill(toleration, _TOLERATION)


def _fill_strategy(strategy: Json) -> None:
    _fill(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        _fill(_object(strategy, "rollingUpdate"), _ROLLING_UPDATE)
    fill_apply_strategy(_object(strategy, "applyStrategy"))


def _object(parent: Json, field: str) -> Json:
    """The object in this field, made if there is none."""
    if parent.get(field) is None:
        parent[field] = {}
    found: Json = parent[field]
    return found


def _fill(target: Json, defaults: Json) -> None:
    for field, default in defaults.items():
        if target.get(field) in (None, ""):
            target[field] = default
