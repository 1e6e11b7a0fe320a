"""The webhooks and policies of a hub, asked by the API server of the same process; a refusal reads
as if the hub's own agent had sent it.
"""

from collections.abc import Sequence

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.embedded.webhooks import Stored
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import policies
from fleetqueue.fleet.webhooks.declared import Around, Declared
from fleetqueue.fleet.webhooks.policies import Policy
from fleetqueue.kube.reviews import Review


class HubHook(Hook):
    """Asks all of them; most writes concern none, which is told by their kind."""

    def __init__(
        self,
        core: Core,
        settings: HubSettings,
        declared: Sequence[Declared],
        active: Sequence[Policy] = (),
    ) -> None:
        self._stored = Stored(core)
        self._around = Around(self._stored, settings, self._is_cluster_scoped)
        self._defaults = [each for each in declared if each.default is not None]
        self._refusals = [each for each in declared if each.refuse is not None]
        self._policies = list(active)

    def mutate(self, operation: Operation) -> None:
        review = self._review(operation) if self._defaults else None
        for each in self._defaults:
            if review is None or operation.obj is None:
                return
            if each.default is not None and each.concerns(review, self._around.source):
                made = each.default(operation.obj)
                operation.obj.clear()
                operation.obj.update(made)

    def validate(self, operation: Operation) -> None:
        review = self._review(operation)
        # An API server asks its policies before its webhooks.
        policy = policies.first_denying(self._policies, review)
        if policy is not None:
            raise _by_policy(policy, review)
        for each in self._refusals:
            if not each.concerns(review, self._around.source) or each.refuse is None:
                continue
            if text := each.refuse(review, self._around):
                lead = f'admission webhook "{each.name}" denied the request: '
                raise problems.ApiError(403, "Forbidden", f"{lead}{text}")

    def _is_cluster_scoped(self, group: str, version: str, kind: str) -> bool:
        where = f"{group}/{version}" if group else version
        found = self._stored.served(where, kind)
        if found is None:
            raise LookupError(f'no matches for kind "{kind}" in version "{where}"')
        return not found.namespaced

    def _review(self, operation: Operation) -> Review:
        resource, user = operation.call.resource, operation.call.user
        return Review(
            uid="",
            operation=operation.verb,
            group=resource.group,
            version=operation.call.route.version,
            plural=resource.plural,
            kind=operation.kind[2] if operation.kind else resource.kind,
            name=operation.name,
            namespace=operation.namespace,
            subresource=operation.subresource,
            object=operation.obj,
            old_object=operation.old,
            user={"username": user.name, "groups": list(user.groups), "uid": user.uid},
        )


def _by_policy(policy: Policy, review: Review) -> problems.ApiError:
    """Forbidden, says the text, whatever reason the policy has; without one a write is invalid."""
    text = policy.refusal(review)
    kind = f"{review.plural}.{review.group}" if review.group else review.plural
    details = {"name": review.name, "kind": review.plural, "causes": [{"message": text}]}
    if review.group:
        details["group"] = review.group
    reason = policy.reason or "Invalid"
    code = 403 if reason == "Forbidden" else 422
    return problems.ApiError(code, reason, f'{kind} "{review.name}" is forbidden: {text}', details)
