"""What a cluster has once it was prepared to be a hub."""

import pytest

from fleetqueue.fleet.attached import hub
from fleetqueue.fleet.attached.hub import HubOptions
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.resources import NAMESPACES, Resource
from fleetqueue.testing import Fleet

CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


@pytest.mark.rule("kubefleet 9.1")
async def test_what_validates_goes_with_the_namespace_of_the_agent(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("hub")
    options = HubOptions(HubSettings(enable_guard_rail=True), url="https://hub:9443")
    await hub.prepare(cluster.client, options)

    home = await cluster.client.get(NAMESPACES, "fleet-system")
    for each in (await cluster.client.list(CONFIGURATIONS)).items:
        (owner,) = each["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Namespace", home["metadata"]["uid"])
    await cluster.client.delete(NAMESPACES, "fleet-system")
    await fleet.settle()
    assert not (await cluster.client.list(CONFIGURATIONS)).items
