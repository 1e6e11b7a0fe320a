"""matchConditions of a webhook or a policy: CEL expressions that all must hold for it to be asked;
and what such expressions see of a write.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import user_info
from fleetqueue.apiserver.builtin.webhook_rules import CONDITION_VARIABLES
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.hooks.refusals import listed

if TYPE_CHECKING:
    from fleetqueue.apiserver import cel

Object = dict[str, Any]


def hold(webhook: Object, operation: Operation) -> bool:
    """Whether no condition says no. One that cannot be evaluated counts as the failure policy
    says.
    """
    conditions = webhook.get("matchConditions")
    if not conditions:
        return True
    is_met, failures = outcome(conditions, variables(operation))
    if not failures or not is_met:
        return is_met
    if webhook.get("failurePolicy") == "Ignore":
        return False
    raise problems.forbidden(operation.group, operation.resource, operation.name, listed(failures))


def outcome(conditions: Sequence[Object], values: Mapping[str, Any]) -> tuple[bool, list[str]]:
    """Whether no condition says no, and what could not be evaluated."""
    from fleetqueue.apiserver.cel import CelError

    failures = []
    for condition in conditions:
        try:
            if program(condition["expression"]).evaluate(values) is not True:
                return False, []
        except CelError as error:
            failures.append(failed(condition["expression"], error))
    return True, failures


def failed(expression: str, error: Exception) -> str:
    return f"expression '{expression}' resulted in error: {error}"


@lru_cache(maxsize=1024)
def program(expression: str) -> "cel.Program":
    """Compiled; raises CelError where it is none."""
    from fleetqueue.apiserver import cel

    return cel.compile(expression, dict.fromkeys(CONDITION_VARIABLES, cel.DYN))


def variables(operation: Operation) -> Object:
    """What expressions see of a write."""
    call = operation.call
    seen = operation.kind or (operation.group, call.version.name, call.version.kind)
    request = {
        "kind": dict(zip(("group", "version", "kind"), seen, strict=True)),
        "resource": {
            "group": operation.group,
            "version": call.version.name,
            "resource": operation.resource,
        },
        "subResource": operation.subresource,
        "name": operation.name,
        "namespace": operation.namespace,
        "operation": operation.verb,
        "userInfo": user_info(call.user),
        "dryRun": operation.is_dry_run,
        "options": operation.options,
    }
    return {"object": operation.obj, "oldObject": operation.old, "request": request}
