"""TokenRequest: a token for a service account, perhaps bound to a pod, secret or node."""

from typing import Any

from fleetqueue.apiserver.access.token_reviews import Account, token_request
from fleetqueue.apiserver.access.tokens import Issuer
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core

Object = dict[str, Any]


class TokenRequests:
    """Signs tokens for one server."""

    def __init__(self, core: Core, issuer: Issuer) -> None:
        self._core = core
        self._issuer = issuer

    def issue(self, call: Call, request: Object) -> Object:
        account = Account(call.route.namespace, call.route.name)
        return token_request(request, account, self._issuer, self._core.clock.now())
