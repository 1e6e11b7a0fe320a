"""Keeps the admission policies of a hub on a foreign API server as its settings want them."""

from collections.abc import Sequence
from contextlib import suppress

from fleetqueue.fleet.webhooks.policies import LABELS, Policy
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Resource, key_of

GROUP = "admissionregistration.k8s.io"
KINDS = (
    Resource(
        GROUP,
        "v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        namespaced=False,
    ),
    Resource(
        GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
    ),
)
HELD_BY = "fleet-hub-agent"


async def keep(client: Client, wanted: Sequence[Policy]) -> None:
    """Makes what is wanted, and removes what an earlier start made and nobody wants any more."""
    documents = [each for policy in wanted for each in policy.documents()]
    for document in documents:
        await client.apply(document, force=True, field_manager=HELD_BY)
    names = {(each["kind"], each["metadata"]["name"]) for each in documents}
    selector = ",".join(f"{key}={value}" for key, value in LABELS.items())
    for kind in KINDS:
        for found in (await client.list(kind, label_selector=selector)).items:
            name = key_of(found).name
            if (kind.kind, name) not in names:
                with suppress(NotFound):
                    await client.delete(kind, name)
