"""Refuses a write of a role or binding that would give somebody more than its author has.

Whoever holds `escalate` on roles or `bind` on the role that is bound may do it all the same.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue.api.field_errors import aggregate
from fleetqueue.api.meta import Key
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.attributes import Attributes, quote, quote_all
from fleetqueue.apiserver.access.rbac import GROUP, Rbac, missing_roles
from fleetqueue.apiserver.access.rules import Rule, TooManyPieces, compact, decode_rules, uncovered
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.problems import ApiError

Object = Mapping[str, Any]

_RESOURCES = {
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
}
_EVERYTHING = (Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",)))
_AGGREGATION = "must have cluster-admin privileges to use the aggregationRule"
_COLLECTED = ("ownerReferences", "finalizers", "selfLink", "managedFields")


def check_write(
    rbac: Rbac, user: User, kind: str, place: Key, obj: Object, old: Object | None
) -> None:
    """Raises 403 where the write of an RBAC object escalates; `old` is None on create. `place`: as
    the request says it, without a name where it posts.
    """
    if user.is_master:
        return
    if old is not None and changes_only_collection(obj, old):
        return
    if kind.endswith("Binding"):
        _check_binding(rbac, user, kind, place.namespace, obj)
    else:
        _check_role(rbac, user, kind, place, obj, old)


def changes_only_collection(obj: Object, old: Object) -> bool:
    """Whether a write touches nothing but what the garbage collector writes."""
    return _without_collection(obj) == _without_collection(old)


def _check_role(
    rbac: Rbac, user: User, kind: str, place: Key, obj: Object, old: Object | None
) -> None:
    resource, (namespace, name) = _RESOURCES[kind], place
    asked = Attributes(user, "escalate", GROUP, "*", resource, namespace=namespace, name=name)
    if rbac.allowed(asked).allowed:
        return
    _confirm(rbac, user, kind, namespace, _name(obj), decode_rules(obj))
    if _aggregates(obj) or _aggregates(old):
        owned, _ = rbac.rules_for(user, namespace)
        if uncovered(owned, _EVERYTHING):
            raise problems.forbidden(GROUP, resource, _name(obj), _AGGREGATION)


def _check_binding(rbac: Rbac, user: User, kind: str, namespace: str, obj: Object) -> None:
    role = obj.get("roleRef") or {}
    role_kind, role_name = role.get("kind") or "", role.get("name") or ""
    if role_kind not in ("Role", "ClusterRole"):
        raise ApiError(500, "", f"unsupported role reference kind: {quote(role_kind)}")
    asked = Attributes(
        user,
        "bind",
        role.get("apiGroup") or "",
        "*",
        _RESOURCES[role_kind],
        namespace=namespace,
        name=role_name,
    )
    if rbac.allowed(asked).allowed:
        return
    rules = rbac.role_rules(role_kind, role_name, namespace)
    if rules is None:
        # kube-apiserver reads the role within the request, so it blames the request's resource.
        raise problems.not_found(GROUP, _RESOURCES[kind], role_name)
    _confirm(rbac, user, kind, namespace, _name(obj), rules)


def _confirm(
    rbac: Rbac, user: User, kind: str, namespace: str, name: str, wanted: Iterable[Rule]
) -> None:
    grants = rbac.grants(user, namespace)
    owned = [rule for grant in grants for rule in grant.rules or ()]
    try:
        missing = uncovered(owned, wanted)
    except TooManyPieces as error:
        raise problems.forbidden(GROUP, _RESOURCES[kind], name, str(error)) from error
    if not missing:
        return
    listed = "\n".join(sorted({str(rule) for rule in compact(missing)}))
    why = (
        f"user {quote(user.name)} (groups={quote_all(user.groups)}) "
        f"is attempting to grant RBAC permissions not currently held:\n{listed}"
    )
    resource = _RESOURCES[kind]
    unresolved = missing_roles(grants, resource)
    if unresolved:
        why += f"; resolution errors: [{aggregate(unresolved)}]"
    raise problems.forbidden(GROUP, resource, name, why)


def _aggregates(role: Object | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _name(obj: Object) -> str:
    return (obj.get("metadata") or {}).get("name") or ""


def _without_collection(obj: Object) -> dict[str, Any]:
    metadata = {
        key: value
        for key, value in (obj.get("metadata") or {}).items()
        if key not in _COLLECTED and value
    }
    rest = {key: value for key, value in obj.items() if value}
    return {**rest, "metadata": metadata}
