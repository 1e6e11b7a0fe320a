"""Whether what is to be created has a place: a namespace, and a definition, that stay.

Asked when a request comes and again when it is stored, since a webhook may have held it up.
"""

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core


def check(core: Core, call: Call, name: str) -> None:
    """Raises where an object of that name may not be created any more."""
    resource = call.resource
    if resource.is_custom:
        now = core.registry.by_table(resource.table)
        if now is None or now.uid != resource.uid:
            raise problems.unknown_path()
        if now.is_going:
            raise going(call, name)
    if resource.namespaced:
        check_namespace(core, call, name)


def going(call: Call, name: str) -> problems.ApiError:
    """A kind whose definition is being deleted gets no new objects."""
    why = "create not allowed while custom resource definition is terminating"
    return problems.forbidden(call.resource.group, call.resource.plural, name, why)


def check_namespace(core: Core, call: Call, name: str) -> None:
    home = call.route.namespace
    latest = core.store.latest("namespaces", home)
    if latest is None:
        raise problems.not_found("", "namespaces", home)
    if "deletionTimestamp" not in core.store.decoded(latest)["metadata"]:
        return
    why = f"unable to create new content in namespace {home} because it is being terminated"
    error = problems.forbidden(call.resource.group, call.resource.plural, name, why)
    error.details = {
        **(error.details or {}),
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {home} is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }
    raise error
