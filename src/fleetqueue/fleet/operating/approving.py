"""Approves what an update run asks for."""

from dataclasses import dataclass

from fleetqueue.base.clock import Clock
from fleetqueue.errors import InvalidInput
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import conditions
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Conflict
from fleetqueue.kube.resources import Resource

APPROVED = "Approved"


@dataclass(frozen=True, slots=True)
class Asked:
    """One kind of request, by the words that people type."""

    kind: Resource
    words: tuple[str, ...]

    @property
    def is_namespaced(self) -> bool:
        return self.kind.namespaced


CLUSTER_REQUEST = Asked(kinds.CLUSTER_SCOPE.approval_request, ("clusterapprovalrequest", "careq"))
REQUEST = Asked(kinds.NAMESPACED.approval_request, ("approvalrequest", "areq"))


def kind_of(word: str, namespace: str) -> Asked:
    """Refuses words that name no such kind, and a namespace too many or too few."""
    found = next((each for each in (CLUSTER_REQUEST, REQUEST) if word in each.words), None)
    if found is None:
        raise InvalidInput(f'unsupported resource kind "{word}"')
    if found.is_namespaced and not namespace:
        text = "namespace is required for approvalrequest (use --namespace or -n flag)"
        raise InvalidInput(text)
    if namespace and not found.is_namespaced:
        raise InvalidInput(
            "clusterapprovalrequest is cluster-scoped and does not accept a namespace"
        )
    return found


async def approve(client: Client, clock: Clock, asked: Asked, name: str, namespace: str) -> None:
    """Written again where somebody else wrote at the same time; whoever calls sets a limit."""
    while True:
        request = await client.get(asked.kind, name, namespace)
        made = conditions.make(
            APPROVED,
            conditions.TRUE,
            f"{asked.kind.kind}Approved",
            f"{asked.kind.kind} has been approved",
            generation=int(request["metadata"].get("generation") or 0),
            now=clock.now(),
        )
        status = request.get("status") or {}
        held = conditions.put(status.get("conditions"), made)
        try:
            await client.update(
                {**request, "status": {**status, "conditions": held}},
                subresource="status",
                resource=asked.kind,
            )
            return
        except Conflict:
            continue
