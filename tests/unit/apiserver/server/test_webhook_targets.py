"""Where reviews for webhooks behind a Service are sent."""

from typing import Any

import pytest

from fleetqueue.apiserver.hooks.remote import find_target
from fleetqueue.apiserver.reaching import CallFailed

from .conftest import Api

HOME = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
CLIENT = {"service": {"namespace": "default", "name": "hook", "path": "/check"}}


async def with_service(api: Api) -> None:
    spec = {"clusterIP": "None", "ports": [{"port": 443}]}
    await api.post(f"{HOME}/services", {"metadata": {"name": "hook"}, "spec": spec})
    assert api.status == 201


def slice_of(address: str) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": "hook"}
    return {
        "metadata": {"name": "hook", "labels": labels},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "", "port": 9443}],
    }


@pytest.mark.parametrize(
    ("address", "url"),
    [("10.1.2.3", "https://10.1.2.3:9443/check"), ("fd00::7", "https://[fd00::7]:9443/check")],
)
async def test_a_webhook_is_reached_at_an_address_of_either_family(
    api: Api, address: str, url: str
) -> None:
    await with_service(api)
    await api.post(SLICES, slice_of(address))
    assert api.status == 201
    target = find_target(api.instance.core, CLIENT)
    assert (target.address, target.url) == (url, "https://hook.default.svc:443/check")


async def test_old_endpoints_of_the_sixth_version_are_bracketed_too(api: Api) -> None:
    await with_service(api)
    subsets = [{"addresses": [{"ip": "fd00::7"}], "ports": [{"port": 9443}]}]
    await api.post(f"{HOME}/endpoints", {"metadata": {"name": "hook"}, "subsets": subsets})
    assert api.status == 201
    assert find_target(api.instance.core, CLIENT).address == "https://[fd00::7]:9443/check"


async def test_a_port_without_a_number_leads_nowhere(api: Api) -> None:
    await with_service(api)
    made = {**slice_of("10.1.2.3"), "ports": [{"name": ""}]}
    await api.post(SLICES, made)
    assert api.status == 201
    with pytest.raises(CallFailed, match='no endpoints available for service "hook"'):
        find_target(api.instance.core, CLIENT)
