"""Nothing is created in a namespace that does not exist or is going away; three namespaces never
go.
"""

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Operation

IMMORTAL = frozenset(("default", "kube-system", "kube-public"))


class NamespaceLifecycle:
    """Looks at every write to a namespaced resource, and at deletions of namespaces."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource == "namespaces" and not operation.group:
            self._check_deletion(operation)
            return
        if not operation.call.resource.namespaced or operation.verb not in ("CREATE", "UPDATE"):
            return
        if operation.verb == "CREATE" and not operation.subresource:
            self._check_home(operation)

    def validate(self, operation: Operation) -> None:
        pass

    def _check_deletion(self, operation: Operation) -> None:
        if operation.verb == "DELETE" and operation.name in IMMORTAL:
            raise problems.forbidden(
                "", "namespaces", operation.name, "this namespace may not be deleted"
            )

    def _check_home(self, operation: Operation) -> None:
        name = operation.namespace
        latest = self._core.store.latest("namespaces", name)
        if latest is None:
            raise problems.not_found("", "namespaces", name)
        namespace = self._core.store.decoded(latest)
        if "deletionTimestamp" not in namespace["metadata"]:
            return
        why = f"unable to create new content in namespace {name} because it is being terminated"
        error = problems.forbidden(operation.group, operation.resource, operation.name, why)
        error.details = {
            **(error.details or {}),
            "causes": [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {name} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        }
        raise error
