"""Decides what a user may do, from an index of roles and bindings that follows each change.

A request costs a few dictionary lookups: bindings are found by subject, and what a user may do
with a resource is worked out once and kept until a role or binding changes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from fleetqueue.api.field_errors import aggregate
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.attributes import Attributes, Decision, quote
from fleetqueue.apiserver.access.rules import Rule, decode_rules
from fleetqueue.apiserver.access.users import User, service_account_name

GROUP = "rbac.authorization.k8s.io"

_CACHE_MAX = 20_000
_KEY_LENGTH_MAX = 1024
"""Callers choose what they ask about; longer questions are answered, not remembered."""
_CLUSTER_ROLE = "ClusterRole"
_RESOURCES = {"Role": "roles", _CLUSTER_ROLE: "clusterroles"}
_NOTHING: dict[str, Decision] = {}
_Key = tuple[str | tuple[str, ...], ...]
_Value = TypeVar("_Value")


class Binding(NamedTuple):
    """Who gets which role where; namespace "" is a ClusterRoleBinding."""

    namespace: str
    name: str
    role_kind: str
    role_name: str
    subjects: tuple[tuple[str, str], ...]
    """(what to match, how to say it), in the order of the object."""

    def describe(self, subject: str) -> str:
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        role = f"{self.role_kind} {quote(self.role_name)}"
        return f"{kind} {quote(name)} of {role} to {subject}"


class Grant(NamedTuple):
    """A binding that applies to a user, with the rules of its role; None: there is no such role."""

    binding: Binding
    subject: str
    rules: tuple[Rule, ...] | None


class _Access(NamedTuple):
    """What a user may do with one resource: the answer for any name, and more for some names."""

    any_name: Decision
    by_name: dict[str, Decision]


class Rbac:
    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], tuple[Rule, ...]] = {}
        self._bindings: dict[tuple[str, str], Binding] = {}
        self._by_subject: dict[tuple[str, str], dict[str, Binding]] = {}
        self._access: dict[_Key, _Access] = {}
        self._grants: dict[_Key, tuple[Grant, ...]] = {}

    def allowed(self, attributes: Attributes) -> Decision:
        if attributes.user.is_master:
            return Decision(True)
        if not attributes.is_resource_request:
            return self._path_decision(attributes)
        access = self._resource_access(attributes)
        return access.by_name.get(attributes.name, access.any_name)

    def role_changed(
        self, kind: str, namespace: str, name: str, obj: Mapping[str, Any] | None
    ) -> None:
        """Follows a write of any of the four kinds; obj None: it was deleted."""
        self._access.clear()
        self._grants.clear()
        if kind.endswith("Binding"):
            self._bind(namespace, name, obj)
        elif obj is None:
            self._roles.pop((namespace, name), None)
        else:
            self._roles[namespace, name] = decode_rules(obj)

    def grants(self, user: User, namespace: str) -> tuple[Grant, ...]:
        """Cluster-wide bindings first, then those of the namespace, each by name."""
        key = (user.name, user.groups, namespace)
        found = self._grants.get(key)
        if found is None:
            found = tuple(self._find_grants(user, namespace))
            _keep(self._grants, key, found)
        return found

    def rules_for(self, user: User, namespace: str) -> tuple[list[Rule], list[str]]:
        """All rules that apply to a user, and what could not be resolved."""
        grants = self.grants(user, namespace)
        rules = [rule for grant in grants for rule in grant.rules or ()]
        return rules, missing_roles(grants)

    def role_rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of a role that a binding in `namespace` names."""
        if kind not in _RESOURCES:
            return None
        return self._roles.get(("" if kind == _CLUSTER_ROLE else namespace, name))

    def _bind(self, namespace: str, name: str, obj: Mapping[str, Any] | None) -> None:
        old = self._bindings.pop((namespace, name), None)
        for subject, _ in old.subjects if old else ():
            bindings = self._by_subject.get((namespace, subject), {})
            bindings.pop(name, None)
            if not bindings:
                self._by_subject.pop((namespace, subject), None)
        if obj is None:
            return
        binding = _decode_binding(namespace, name, obj)
        self._bindings[namespace, name] = binding
        for subject, _ in binding.subjects:
            self._by_subject.setdefault((namespace, subject), {})[name] = binding

    def _find_grants(self, user: User, namespace: str) -> Iterator[Grant]:
        subjects = {f"u:{user.name}", *(f"g:{group}" for group in user.groups)}
        for scope in ("", namespace) if namespace else ("",):
            bindings: dict[str, Binding] = {}
            for subject in subjects:
                bindings |= self._by_subject.get((scope, subject), {})
            for _, binding in sorted(bindings.items()):
                said = next(text for match, text in binding.subjects if match in subjects)
                rules = self.role_rules(binding.role_kind, binding.role_name, scope)
                yield Grant(binding, said, rules)

    def _resource_access(self, attributes: Attributes) -> _Access:
        user = attributes.user
        key = (
            user.name,
            user.groups,
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource,
            attributes.namespace,
        )
        found = self._access.get(key)
        if found is None:
            grants = self.grants(user, attributes.namespace)
            found = _work_out(grants, attributes)
            _keep(self._access, key, found)
        return found

    def _path_decision(self, attributes: Attributes) -> Decision:
        user = attributes.user
        key = (user.name, user.groups, attributes.verb, attributes.path)
        found = self._access.get(key)
        if found is None:
            decision = _decide_path(self.grants(user, ""), attributes)
            found = _Access(decision, _NOTHING)
            _keep(self._access, key, found)
        return found.any_name


def missing_roles(grants: tuple[Grant, ...], resource: str = "") -> list[str]:
    """One text for each binding whose role does not exist, without repeating any.

    kube-apiserver names the kind in the singular, but where it reads through the storage of a
    request it names the resource of that request.
    """
    texts = []
    for binding in (grant.binding for grant in grants if grant.rules is None):
        if binding.role_kind in _RESOURCES:
            what = problems.qualified(GROUP, resource or binding.role_kind.lower())
            texts.append(f"{what} {quote(binding.role_name)} not found")
        else:
            texts.append(f"unsupported role reference kind: {quote(binding.role_kind)}")
    return list(dict.fromkeys(texts))


def _work_out(grants: tuple[Grant, ...], attributes: Attributes) -> _Access:
    by_name: dict[str, Decision] = {}
    for grant in grants:
        for rule in grant.rules or ():
            if not rule.allows_resource(attributes):
                continue
            decision = _allowed_by(grant)
            if not rule.names:
                return _Access(decision, by_name)
            for name in rule.names:
                by_name.setdefault(name, decision)
    return _Access(_denied(grants), by_name)


def _decide_path(grants: tuple[Grant, ...], attributes: Attributes) -> Decision:
    for grant in grants:
        if any(rule.allows_path(attributes.verb, attributes.path) for rule in grant.rules or ()):
            return _allowed_by(grant)
    return _denied(grants)


def _allowed_by(grant: Grant) -> Decision:
    return Decision(True, f"RBAC: allowed by {grant.binding.describe(grant.subject)}")


def _denied(grants: tuple[Grant, ...]) -> Decision:
    missing = missing_roles(grants)
    return Decision(False, f"RBAC: {aggregate(missing)}" if missing else "")


def _decode_binding(namespace: str, name: str, obj: Mapping[str, Any]) -> Binding:
    role = obj.get("roleRef") or {}
    subjects = [_decode_subject(subject, namespace) for subject in obj.get("subjects") or ()]
    known = tuple(subject for subject in subjects if subject)
    return Binding(namespace, name, role.get("kind") or "", role.get("name") or "", known)


def _decode_subject(subject: Mapping[str, Any], namespace: str) -> tuple[str, str] | None:
    kind, name = subject.get("kind"), subject.get("name") or ""
    if kind == "User":
        return f"u:{name}", f"User {quote(name)}"
    if kind == "Group":
        return f"g:{name}", f"Group {quote(name)}"
    home = subject.get("namespace") or namespace
    if kind != "ServiceAccount" or not home:
        return None
    return f"u:{service_account_name(home, name)}", f"ServiceAccount {quote(f'{name}/{home}')}"


def _keep(cache: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    if sum(len(part) if isinstance(part, str) else sum(map(len, part)) for part in key) > (
        _KEY_LENGTH_MAX
    ):
        return
    if len(cache) >= _CACHE_MAX:
        cache.clear()
    cache[key] = value
