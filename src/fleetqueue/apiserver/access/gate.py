"""The gate every request passes: who asks, as whom, and may they; nobody anonymous gets far."""

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access import impersonation
from fleetqueue.apiserver.access.attributes import Attributes, Decision, refusal
from fleetqueue.apiserver.access.authentication import Authenticator
from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.access.users import ANONYMOUS, User
from fleetqueue.apiserver.request import Request
from fleetqueue.apiserver.routes import Route


class Gate:
    """Authentication, impersonation and authorisation, in that order."""

    def __init__(self, authenticator: Authenticator, rbac: Rbac) -> None:
        self.authenticator = authenticator
        self.rbac = rbac

    def admit(self, request: Request, route: Route) -> User:
        """The user that the request acts as; refusals are ApiErrors."""
        user = request.user
        if user is None:
            user = self.authenticator.authenticate(request.headers, request.peer_certificate)
        user = user or ANONYMOUS
        if any([name.startswith("impersonate-") for name in request.headers]):  # noqa: C419
            # A door joins the values of a repeated header by line breaks.
            headers = {name: value.split("\n") for name, value in request.headers.items()}
            user = impersonation.resolve(headers, user, self.rbac.allowed, request.path)
        attributes = attributes_of(user, route, request)
        decision = self.allowed(attributes)
        if not decision.allowed:
            raise refusal(attributes, decision.reason)
        return user

    def allowed(self, attributes: Attributes) -> Decision:
        return self.rbac.allowed(attributes)


def attributes_of(user: User, route: Route, request: Request) -> Attributes:
    if not route.is_resource:
        return Attributes(user, route.verb, path=route.path, is_resource_request=False)
    if route.verb not in _VERBS:
        raise problems.wrong_method()
    return Attributes(
        user,
        route.verb,
        route.group,
        route.version,
        route.resource,
        route.subresource,
        route.namespace,
        route.name,
        route.path,
        True,
        request.first("fieldSelector"),
        request.first("labelSelector"),
    )


_VERBS = frozenset(
    ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
)
