"""Nothing is created in a namespace that does not exist or is going away; three namespaces never
go.
"""

from fleetqueue.apiserver import homes, problems
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation

IMMORTAL = frozenset(("default", "kube-system", "kube-public"))
ACCESS_REVIEWS = ("authorization.k8s.io", "localsubjectaccessreviews")
"""May be asked about any namespace: who may do what does not depend on whether it is there."""


class NamespaceLifecycle(Hook):
    """Looks at every write to a namespaced resource, and at deletions of namespaces."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource == "namespaces" and not operation.group:
            self._check_deletion(operation)
            return
        if not operation.call.resource.namespaced or operation.verb not in ("CREATE", "UPDATE"):
            return
        is_question = (operation.group, operation.resource) == ACCESS_REVIEWS
        if operation.verb == "CREATE" and not operation.subresource and not is_question:
            homes.check_namespace(self._core, operation.call, operation.name)

    def _check_deletion(self, operation: Operation) -> None:
        if operation.verb == "DELETE" and operation.name in IMMORTAL:
            raise problems.forbidden(
                "", "namespaces", operation.name, "this namespace may not be deleted"
            )
