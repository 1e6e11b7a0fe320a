"""ClusterProfiles on a manager of ours, where a fleet or a user defines them, soon or late."""

from pathlib import Path

import pytest
from tests.support import dispatching
from tests.support.embedded import prepared
from tests.support.kueue import conditions_of

from fleetqueue.embedded.live import Live
from fleetqueue.multikueue import kinds
from fleetqueue.testing import Fleet, named

GATES = {"MultiKueueClusterProfile": True}
PREFIX = "load client config failed: "
NOT_FOUND = PREFIX + 'ClusterProfile.multicluster.x-k8s.io "profile" not found'
NO_PROVIDER = PREFIX + "no access provider configured"


async def told(live: Live) -> tuple[str, str, str]:
    cluster = dict(await live.client.get(kinds.CLUSTER, "worker1"))
    return conditions_of(cluster)["Active"]


@pytest.mark.rule("CRED-6", "CRED-10")
@pytest.mark.parametrize("is_late", [False, True], ids=["from the start", "later"])
async def test_profiles_are_read_as_soon_as_their_kind_is_defined(
    fleet: Fleet, tmp_path: Path, is_late: bool
) -> None:
    async with prepared(fleet, tmp_path, gates=GATES) as live:
        if not is_late:
            await live.client.create(dispatching.profile_crd())
        await live.start_controllers()
        await live.client.create(dispatching.profile_cluster("worker1", "profile"))
        await fleet.passes(seconds=10)
        assert await told(live) == ("False", "BadClusterProfile", NOT_FOUND)

        if is_late:
            await live.client.create(dispatching.profile_crd())
            await fleet.passes(seconds=10)
        profile = named(
            kinds.CLUSTER_PROFILE.kind,
            kinds.CLUSTER_PROFILE.api_version,
            "profile",
            dispatching.SYSTEM,
            spec={"clusterManager": {"name": "somebody"}, "displayName": "profile"},
        )
        await live.client.create(profile)
        await fleet.passes(seconds=10)
        assert await told(live) == ("False", "BadClusterProfile", NO_PROVIDER)
