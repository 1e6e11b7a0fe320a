"""Enforces validating admission policies: which of them a write concerns, through which bindings,
and what comes of what they say.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation, conditions, matching, policy_parameters
from fleetqueue.apiserver.hooks.policy_evaluation import INVALID, Denial, denials
from fleetqueue.apiserver.hooks.policy_parameters import Misconfigured
from fleetqueue.apiserver.hooks.refusals import refuse
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]
GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
EXEMPT = frozenset(
    (
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    )
)
"""A policy that refuses everything can still be taken back."""
CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, INVALID: 422}


class Active(NamedTuple):
    """A policy that is bound."""

    policy: Object
    bindings: list[Object]


class Refusal(NamedTuple):
    """What a policy says through one of its bindings; None: of itself, whatever the binding."""

    policy: Object
    binding: Object | None
    denial: Denial

    @property
    def text(self) -> str:
        lead = f"ValidatingAdmissionPolicy '{self.policy['metadata']['name']}'"
        if self.binding is not None:
            lead += f" with binding '{self.binding['metadata']['name']}'"
        return f"{lead} denied request: {self.denial.message}"


class AdmissionPolicies(Hook):
    """Costs a write nothing where no policy is bound."""

    is_idle = True
    tables = (POLICIES, BINDINGS)

    def __init__(self, core: Core) -> None:
        self._core = core
        self._active: list[Active] = []

    def start(self) -> None:
        bound: dict[str, list[Object]] = {}
        for binding in self._stored(BINDINGS):
            bound.setdefault(str(binding["spec"].get("policyName")), []).append(binding)
        self._active = [
            Active(policy, bound[policy["metadata"]["name"]])
            for policy in self._stored(POLICIES)
            if policy["metadata"]["name"] in bound
        ]

    def follow(self, changes: Sequence[Change]) -> None:
        if any(change.resource in self.tables for change in changes):
            self.start()

    async def stop(self) -> None:
        pass

    def _stored(self, table: str) -> Iterator[Object]:
        live = self._core.store.table(table).live
        for key in sorted(live):
            yield self._core.store.decoded(live[key])

    def validate(self, operation: Operation) -> None:
        if not self._active or _is_exempt(operation):
            return
        refusals = [each for active in self._active for each in self._judge(active, operation)]
        if refusals:
            raise _refused(operation, refusals[0])

    def _judge(self, active: Active, operation: Operation) -> Iterator[Refusal]:
        policy, bindings = active
        spec = policy["spec"]
        version = self._matching(spec.get("matchConstraints") or {}, operation)
        if version is None:
            return
        try:
            kind = policy_parameters.kind_of(self._core, spec.get("paramKind"))
        except Misconfigured as error:
            yield from _misconfigured(policy, None, f"failed to configure policy: {error}")
            return
        for binding in bindings:
            matches = binding["spec"].get("matchResources")
            if matches and self._matching(matches, operation) is None:
                continue
            yield from self._through(policy, binding, kind, operation, version)

    def _through(
        self,
        policy: Object,
        binding: Object,
        kind: policy_parameters.Kind | None,
        operation: Operation,
        version: str,
    ) -> Iterator[Refusal]:
        reference = binding["spec"].get("paramRef")
        try:
            found = policy_parameters.collect(self._core, kind, reference, operation)
            values = self._values(operation, version) if found else {}
        except Misconfigured as error:
            yield from _misconfigured(policy, binding, f"failed to configure binding: {error}")
            return
        actions = binding["spec"].get("validationActions") or ()
        for parameter in found:
            for denial in denials(policy["spec"], {**values, "params": parameter}):
                if "Deny" in actions:
                    yield Refusal(policy, binding, denial)
                if "Warn" in actions:
                    operation.call.warn(
                        "Validation failed for ValidatingAdmissionPolicy"
                        f" '{policy['metadata']['name']}' with binding"
                        f" '{binding['metadata']['name']}': {denial.message}"
                    )

    def _matching(self, criteria: Object, operation: Operation) -> str | None:
        """The version in which the write is looked at; None: it is not."""
        if not matching.selected(criteria, operation, self._core):
            return None
        is_exact = criteria.get("matchPolicy") == "Exact"
        without = criteria.get("excludeResourceRules") or ()
        if matching.rule_version(without, operation, is_exact=is_exact) is not None:
            return None
        rules = criteria.get("resourceRules")
        if not rules:
            return operation.call.version.name
        return matching.rule_version(rules, operation, is_exact=is_exact)

    def _values(self, operation: Operation, version: str) -> Object:
        values = conditions.variables(operation)
        resource = operation.call.resource
        if operation.kind is None and version != operation.call.version.name:
            if resource.convert_later is not None:
                raise Misconfigured("failed to convert object version: its webhook is not asked")
            api_version = resource.api_version(version)
            for name in ("object", "oldObject"):
                if values[name] is not None:
                    values[name] = self._core.convert_now(resource, values[name], api_version)
        space = operation.namespace if resource.namespaced else ""
        values["namespaceObject"] = self._core.get("namespaces", space) if space else None
        return values


def _is_exempt(operation: Operation) -> bool:
    return operation.group == GROUP and operation.resource in EXEMPT


def _misconfigured(policy: Object, binding: Object | None, text: str) -> Iterator[Refusal]:
    if policy["spec"].get("failurePolicy") != "Ignore":
        yield Refusal(policy, binding, Denial(text, ""))


def _refused(operation: Operation, refusal: Refusal) -> problems.ApiError:
    error = refuse(operation, refusal.text)
    error.reason = refusal.denial.reason or INVALID
    error.code = CODES[error.reason]
    error.details = {**(error.details or {}), "causes": [{"message": refusal.text}]}
    return error
