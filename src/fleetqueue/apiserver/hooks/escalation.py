"""Nobody gives away more than they have: looks at every write of a role or a binding."""

from fleetqueue.api.meta import Key
from fleetqueue.apiserver.access.escalation import check_write
from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.access.rbac import GROUP
from fleetqueue.apiserver.hooks import Hook, Operation


class Escalation(Hook):
    """Checks before validation, as clients expect, and again after webhooks had their say."""

    resources = tuple(
        (GROUP, name) for name in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
    )

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def mutate(self, operation: Operation) -> None:
        if operation.group != GROUP or operation.obj is None:
            return
        call = operation.call
        place = Key(operation.namespace, call.route.name)
        check_write(
            self._gate.rbac, call.user, call.version.kind, place, operation.obj, operation.old
        )

    def validate(self, operation: Operation) -> None:
        self.mutate(operation)
