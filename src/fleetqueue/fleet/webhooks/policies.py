"""The admission policies that a hub may have: what they refuse, as functions for a server in the
same process and as ValidatingAdmissionPolicies for a foreign one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.webhooks import users
from fleetqueue.fleet.webhooks.declared import Rule
from fleetqueue.kube.resources import Object
from fleetqueue.kube.reviews import Review

API_VERSION = "admissionregistration.k8s.io/v1"
LABELS = {
    "app.kubernetes.io/managed-by": "fleet-hub-agent",
    "app.kubernetes.io/part-of": "fleet",
    "app.kubernetes.io/component": "admission-policy-manager",
}
PREFIXES = ("fleet-", "kube-")
EXEMPT_USERS = ("system:kube-scheduler", "system:kube-controller-manager")
EXEMPT_GROUPS = (
    "system:nodes",
    "system:masters",
    "kubeadm:cluster-admins",
    "system:serviceaccounts",
)


@dataclass(frozen=True, slots=True)
class Exemptions:
    """What one key of the configuration says: where a policy holds, and for whom it does not."""

    prefixes: tuple[str, ...] = PREFIXES
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def cover(self, review: Review) -> bool:
        if users.name_of(review) in (*EXEMPT_USERS, *self.users):
            return True
        return not {*EXEMPT_GROUPS, *self.groups}.isdisjoint(users.groups_of(review))

    def reserve(self, namespace: str) -> bool:
        return namespace.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy."""

    key: str
    """Of the configuration."""
    name: str
    message: str
    rules: tuple[Rule, ...]
    in_reserved: bool
    """Whether it holds in reserved namespaces, or everywhere else."""
    reason: str = ""
    exemptions: Exemptions = field(default_factory=Exemptions)

    @property
    def binding(self) -> str:
        return f"{self.name}-binding"

    def denies(self, review: Review) -> bool:
        if not any(rule.matches(review) for rule in self.rules):
            return False
        is_reserved = self.exemptions.reserve(review.namespace)
        return is_reserved == self.in_reserved and not self.exemptions.cover(review)

    def refusal(self, review: Review) -> str:
        """As the API server words what a policy refuses."""
        return (
            f"ValidatingAdmissionPolicy '{self.name}' with binding '{self.binding}' denied request:"
            f" {self.message}"
        )

    def documents(self) -> Iterator[Object]:
        validation: Object = {"expression": self._expression(), "message": self.message}
        if self.reason:
            validation["reason"] = self.reason
        yield {
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": self.name, "labels": dict(LABELS)},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [rule.document() for rule in self.rules]},
                "validations": [validation],
            },
        }
        yield {
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": self.binding, "labels": dict(LABELS)},
            "spec": {"policyName": self.name, "validationActions": ["Deny"]},
        }

    def _expression(self) -> str:
        """CEL that holds where a write is let through."""
        starts = [
            f"request.namespace.startsWith({_quoted(prefix)})"
            for prefix in self.exemptions.prefixes
        ]
        reserved = " || ".join(starts or ("false",))
        outside = f"!({reserved})" if self.in_reserved else f"({reserved})"
        known = _list((*EXEMPT_USERS, *self.exemptions.users))
        groups = _list((*EXEMPT_GROUPS, *self.exemptions.groups))
        return (
            f"{outside} || request.userInfo.username in {known}"
            f" || request.userInfo.groups.exists(group, group in {groups})"
        )


NO_PODS = Policy(
    "denyPodsAndReplicaSetsOutsideReservedNamespaces",
    "deny-pods-and-replicasets-outside-reserved-namespaces",
    "creating pods and replicas is disallowed in the fleet hub cluster",
    (
        Rule("", ("pods",), ("CREATE",), "v1"),
        Rule("apps", ("replicasets",), ("CREATE",), "v1"),
    ),
    in_reserved=False,
)
NO_ACCOUNTS = Policy(
    "denyServiceAccountsAndTokenRequestsInReservedNamespaces",
    "deny-serviceaccounts-and-tokenrequests-in-reserved-namespaces",
    "writing service accounts in reserved namespaces or requesting tokens from such service"
    " accounts is disallowed",
    (
        Rule("", ("serviceaccounts",), ("CREATE", "UPDATE", "DELETE"), "v1"),
        Rule("", ("serviceaccounts/token",), ("CREATE",), "v1"),
    ),
    in_reserved=True,
    reason="Forbidden",
)
POLICIES = {policy.key: policy for policy in (NO_PODS, NO_ACCOUNTS)}


def read(config: Any) -> tuple[Policy, ...]:
    """The policies that a configuration names, each with whom and what it leaves out."""
    if not isinstance(config, Mapping):
        known = " and ".join(POLICIES)
        raise InvalidInput(f"the configuration of policies must be a map; its keys are {known}")
    return tuple(_configured(str(key), said or {}) for key, said in config.items())


def _configured(key: str, said: Any) -> Policy:
    if key not in POLICIES:
        raise InvalidInput(f'there is no policy "{key}": known are {", ".join(POLICIES)}')
    fields = {
        "ReservedNamespacePrefixes": "prefixes",
        "WhitelistedUsernames": "users",
        "WhitelistedUserGroups": "groups",
    }
    if not isinstance(said, Mapping) or set(said) - set(fields):
        raise InvalidInput(f"{key} may have {', '.join(fields)}, each a list of texts")
    given = {fields[name]: _texts(f"{key}.{name}", found) for name, found in said.items()}
    return replace(POLICIES[key], exemptions=Exemptions(**given))


def _texts(path: str, found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidInput(f"{path} must be a list of texts")
    return tuple(found)


def first_denying(policies: Sequence[Policy], review: Review) -> Policy | None:
    """None where every policy lets a write through."""
    return next((each for each in policies if each.denies(review)), None)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _list(values: Sequence[str]) -> Any:
    return f"[{', '.join(_quoted(value) for value in values)}]"
