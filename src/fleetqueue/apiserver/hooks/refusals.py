"""How a hook refuses: 403, in the name of the object that was to be written."""

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.problems import ApiError


def refuse(operation: Operation, why: str) -> ApiError:
    return problems.forbidden(operation.group, operation.resource, shown_name(operation), why)


def shown_name(operation: Operation) -> str:
    """An object whose name is still to be generated goes by the beginning of it."""
    if operation.name:
        return operation.name
    metadata = (operation.obj or {}).get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "")


def listed(reasons: list[str]) -> str:
    """Several reasons as one text."""
    return reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]"
