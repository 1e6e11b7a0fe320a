"""What a server of ours has for Kueue before anybody asks."""

from pathlib import Path

import pytest
from tests.support.embedded import prepared

from fleetqueue.kube.resources import NAMESPACES, Resource
from fleetqueue.testing import Fleet

SERVICE = Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False)
ELSEWHERE = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: queues
"""


@pytest.mark.rule("kueue 10.4")
@pytest.mark.parametrize(
    ("config", "name"), [(None, "kueue-system"), (ELSEWHERE, "queues")], ids=["default", "named"]
)
async def test_the_namespace_of_kueue_is_there(
    fleet: Fleet, tmp_path: Path, config: str | None, name: str
) -> None:
    """Guides put Secrets there that name workers."""
    async with prepared(fleet, tmp_path, config) as live:
        found = await live.client.get(NAMESPACES, name)
        assert found["status"]["phase"] == "Active"


@pytest.mark.rule("kueue 10.4")
@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_the_api_of_those_who_wait_is_registered(
    fleet: Fleet, tmp_path: Path, version: str
) -> None:
    async with prepared(fleet, tmp_path) as live:
        await fleet.settle()
        found = await live.client.get(SERVICE, f"{version}.visibility.kueue.x-k8s.io")
        [condition] = found["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Available", "True")


@pytest.mark.rule("kueue 10.4")
async def test_the_api_of_those_who_wait_may_be_registered_anew(
    fleet: Fleet, tmp_path: Path
) -> None:
    name = "v1beta2.visibility.kueue.x-k8s.io"
    async with prepared(fleet, tmp_path) as live:
        await fleet.settle()
        service = {"name": "kueue-visibility-server", "namespace": "kueue-system"}
        await live.client.patch(SERVICE, name, {"spec": {"service": service}})
        await fleet.settle()
        found = await live.client.get(SERVICE, name)
        assert service.items() <= found["spec"]["service"].items()
