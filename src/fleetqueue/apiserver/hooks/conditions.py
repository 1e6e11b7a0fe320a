"""matchConditions of a webhook: CEL expressions that all must hold for it to be asked."""

from functools import lru_cache
from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import user_info
from fleetqueue.apiserver.hooks import Operation

Object = dict[str, Any]


def hold(webhook: Object, operation: Operation) -> bool:
    """Whether no condition says no. One that cannot be evaluated counts as the failure policy
    says.
    """
    conditions = webhook.get("matchConditions")
    if not conditions:
        return True
    from fleetqueue.apiserver.cel import CelError

    variables = _variables(operation)
    failures = []
    for condition in conditions:
        try:
            if _program(condition["expression"]).evaluate(variables) is not True:
                return False
        except CelError as error:
            expression = condition["expression"]
            failures.append(f"expression '{expression}' resulted in error: {error}")
    if not failures:
        return True
    if webhook.get("failurePolicy") == "Ignore":
        return False
    raise problems.forbidden(
        operation.group,
        operation.resource,
        operation.name,
        failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]",
    )


@lru_cache(maxsize=256)
def _program(expression: str) -> Any:
    from fleetqueue.apiserver import cel

    return cel.compile(expression, dict.fromkeys(("object", "oldObject", "request"), cel.DYN))


def _variables(operation: Operation) -> Object:
    call = operation.call
    request = {
        "kind": {"group": operation.group, "version": call.version.name, "kind": call.version.kind},
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
