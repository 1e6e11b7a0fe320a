"""What an embedded hub asks its webhooks about."""

from fleetqueue.embedded import hubs
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import registry

PLACEMENT = "placement.kubernetes-fleet.io"


def test_only_writes_of_kinds_that_a_webhook_looks_at_are_shown_to_them() -> None:
    found = hubs._concerned(registry.declared(HubSettings()))

    assert found is not None
    assert (PLACEMENT, "clusterresourceplacements") in found
    assert ("cluster.kubernetes-fleet.io", "memberclusters") in found
    assert (PLACEMENT, "works") not in found
    assert ("", "pods") not in found


def test_a_guard_rail_looks_at_everything() -> None:
    assert hubs._concerned(registry.declared(HubSettings(enable_guard_rail=True))) is None
