"""Admission policies show their parameters to whoever writes them: an author must be able to read
those.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.attributes import Attributes
from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.builtin.admission_policies import GROUP
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.policy_parameters import Misconfigured, kind_of

Object = Mapping[str, Any]
POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"


class _Asked(NamedTuple):
    """What one must be able to read; `why` says what kept it from being narrower."""

    group: str = "*"
    version: str = "*"
    resource: str = "*"
    why: str = ""


class PolicyAccess(Hook):
    """Looks at every write of a policy with parameters, and of a binding that says which."""

    resources = ((GROUP, POLICIES), (GROUP, BINDINGS))

    def __init__(self, core: Core, gate: Gate) -> None:
        self._core = core
        self._gate = gate

    def validate(self, operation: Operation) -> None:
        if operation.obj is None or operation.subresource or operation.call.user.is_master:
            return
        if operation.concerns(GROUP, POLICIES, "CREATE UPDATE"):
            self._check_policy(operation, operation.obj, operation.old or {})
        elif operation.concerns(GROUP, BINDINGS, "CREATE UPDATE"):
            self._check_binding(operation, operation.obj)

    def _check_policy(self, operation: Operation, policy: Object, old: Object) -> None:
        kind, user = _parameters(policy), operation.call.user
        if kind is None or kind == _parameters(old):
            return
        group, version, resource, _ = self._asked(kind)
        asked = Attributes(user, "get", group, version, resource, namespace="*", name="*")
        if not self._gate.allowed(asked).allowed:
            named = f"kind={kind['kind']}, apiVersion={kind['apiVersion']}"
            raise _refusal(
                operation,
                "spec.paramKind",
                f'user {_shown(user)} must have "get" permission on all objects of the referenced '
                f"paramKind ({named})",
            )

    def _check_binding(self, operation: Operation, binding: Object) -> None:
        reference = binding["spec"].get("paramRef")
        if reference is None:
            return
        user, name = operation.call.user, str(reference.get("name") or "")
        verb, needed = "get" if name else "list", self._needed(binding["spec"]["policyName"])
        asked = Attributes(
            user,
            verb,
            needed.group,
            needed.version,
            needed.resource,
            namespace=str(reference.get("namespace") or ""),
            name=name,
        )
        if self._gate.allowed(asked).allowed:
            return
        if needed.why:
            text = (
                f"unable to {needed.why} to determine minimum required permissions and user "
                f'{_shown(user)} does not have "{verb}" permission for all groups, versions and '
                "resources"
            )
        else:
            text = (
                f'user {_shown(user)} does not have "{verb}" permission on the object referenced '
                "by paramRef"
            )
        raise _refusal(operation, "spec.paramRef", text)

    def _needed(self, policy_name: str) -> _Asked:
        resource = self._core.registry.find(GROUP, "v1", POLICIES)
        policy = self._core.get(resource.table, policy_name) if resource is not None else None
        if policy is None:
            return _Asked(why=f"get policy {policy_name}")
        kind = _parameters(policy)
        return _Asked() if kind is None else self._asked(kind)

    def _asked(self, kind: Object) -> _Asked:
        group, _, version = str(kind["apiVersion"]).rpartition("/")
        try:
            found = kind_of(self._core, dict(kind))
        except Misconfigured:
            shown = f"resolve paramKind &{{{kind['apiVersion']} {kind['kind']}}}"
            return _Asked(group, version, why=shown)
        return _Asked(group, version, found.resource.plural if found else "*")


def _parameters(policy: Object) -> Object | None:
    found: Object | None = (policy.get("spec") or {}).get("paramKind")
    return found


def _refusal(operation: Operation, path: str, text: str) -> problems.ApiError:
    kind = operation.call.version.kind
    return problems.invalid(GROUP, kind, operation.name, [fields.forbidden(path, text)])


def _shown(user: User) -> str:
    """As Go prints one."""
    extra = " ".join(f"{key}:[{' '.join(each)}]" for key, each in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
