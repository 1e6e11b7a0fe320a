"""Decides the rules of a ClusterRole that gathers those of others by their labels."""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue.api.selectors import SelectorError, labels_from_object
from fleetqueue.apiserver.access.rules import Rule

Object = Mapping[str, Any]

FIELD_MANAGER = "clusterrole-aggregation-controller"
"""Under this name the gathered rules are applied."""


def gathered_rules(role: Object, roles: Iterable[Object]) -> list[dict[str, Any]] | None:
    """The rules that `role` should have; None: it gathers nothing, or its selectors are broken."""
    rule = role.get("aggregationRule")
    if rule is None:
        return None
    try:
        selectors = [labels_from_object(item) for item in rule.get("clusterRoleSelectors") or ()]
    except SelectorError:
        return None
    others = sorted((other for other in roles if _name(other) != _name(role)), key=_name)
    found: dict[Rule, None] = {}
    for selector in selectors:
        for other in others:
            if selector.matches(other["metadata"].get("labels")):
                found |= {Rule.decode(item): None for item in other.get("rules") or ()}
    return [rule.encode() for rule in found]


def outdated(roles: Iterable[Object]) -> dict[str, list[dict[str, Any]]]:
    """Name -> new rules, of each role among `roles` whose rules are not what it should gather."""
    roles = list(roles)
    changes = {}
    for role in roles:
        rules = gathered_rules(role, roles) if role.get("aggregationRule") is not None else None
        current = [Rule.decode(item) for item in role.get("rules") or ()]
        if rules is not None and [Rule.decode(item) for item in rules] != current:
            changes[_name(role)] = rules
    return changes


def _name(role: Object) -> str:
    name: str = role["metadata"]["name"]
    return name
