"""Addresses and node ports of services: given once, kept, and free again in the end."""

from typing import Any

import pytest

from .conftest import Api
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]


def service(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


async def test_a_service_gets_an_address_of_its_own(shared: Api, home: str) -> None:
    specs = [(await shared.post(f"{home}/services", service(f"s{n}")))["spec"] for n in range(20)]
    addresses = {spec["clusterIP"] for spec in specs}
    assert len(addresses) == 20
    assert all(spec["clusterIPs"] == [spec["clusterIP"]] for spec in specs)
    assert specs[0]["ipFamilies"] == ["IPv4"]
    assert specs[0]["ipFamilyPolicy"] == "SingleStack"


async def test_an_address_belongs_to_one_service_until_it_is_deleted(
    shared: Api, home: str
) -> None:
    await shared.post(f"{home}/services", service("a", clusterIP="10.0.0.5"))
    answer = await shared.post(f"{home}/services", service("b", clusterIP="10.0.0.5"))
    assert answer["message"] == (
        'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to '
        "allocate IP 10.0.0.5: provided IP is already allocated"
    )
    await shared.delete(f"{home}/services/a")
    await shared.post(f"{home}/services", service("b", clusterIP="10.0.0.5"))
    assert shared.status == 201


async def test_a_service_that_was_refused_may_be_tried_again(shared: Api, home: str) -> None:
    broken = service("a", clusterIP="10.0.0.6", ports=[{"port": 0}])
    await shared.post(f"{home}/services", broken)
    assert shared.status == 422
    await shared.post(f"{home}/services", service("a", clusterIP="10.0.0.6"))
    assert shared.status == 201


async def test_a_dry_run_takes_nothing(shared: Api, home: str) -> None:
    await shared.post(f"{home}/services?dryRun=All", service("a", clusterIP="10.0.0.7"))
    await shared.post(f"{home}/services", service("b", clusterIP="10.0.0.7"))
    assert shared.status == 201


REFUSALS = {
    "out of range": (
        {"clusterIP": "10.1.0.9"},
        'spec.clusterIPs: Invalid value: ["10.1.0.9"]: failed to allocate IP 10.1.0.9: the '
        "provided network does not match the current range",
    ),
    "no address": (
        {"clusterIP": "x"},
        'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or '
        "2001:db8::ffff)",
    ),
    "two families": (
        {"ipFamilyPolicy": "RequireDualStack"},
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured '
        "for dual-stack services",
    ),
    "the other family": (
        {"ipFamilies": ["IPv6"]},
        'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ),
    "a node port out of range": (
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
        "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The "
        "range of valid ports is 30000-32767",
    ),
}


@pytest.mark.parametrize(("spec", "why"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_service_is_refused(shared: Api, home: str, spec: Object, why: str) -> None:
    answer = await shared.post(f"{home}/services", service("s", **spec))
    assert (shared.status, answer["message"]) == (422, f'Service "s" is invalid: {why}')


async def test_a_headless_service_has_no_address(shared: Api, home: str) -> None:
    bare = (await shared.post(f"{home}/services", service("a", clusterIP="None")))["spec"]
    assert (bare["ipFamilies"], bare["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")
    chosen = service("b", clusterIP="None", selector={"a": "b"})
    assert (await shared.post(f"{home}/services", chosen))["spec"][
        "ipFamilyPolicy"
    ] == "SingleStack"


async def test_node_ports_are_kept_by_an_update_that_leaves_them_out(
    shared: Api, home: str
) -> None:
    made = await shared.post(f"{home}/services", service("a", type="NodePort"))
    port = made["spec"]["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    again = await shared.put(
        f"{home}/services/a", service("a", type="NodePort", ports=[{"port": 81}])
    )
    assert again["spec"]["ports"][0]["nodePort"] == port
    assert again["spec"]["clusterIP"] == made["spec"]["clusterIP"]


async def test_tcp_and_udp_on_one_port_share_a_node_port(shared: Api, home: str) -> None:
    ports = [
        {"name": "t", "port": 53},
        {"name": "u", "port": 53, "protocol": "UDP"},
    ]
    spec = (await shared.post(f"{home}/services", service("a", type="NodePort", ports=ports)))[
        "spec"
    ]
    assert spec["ports"][0]["nodePort"] == spec["ports"][1]["nodePort"]


async def test_a_change_of_type_takes_away_what_the_old_type_had(shared: Api, home: str) -> None:
    made = await shared.post(
        f"{home}/services", service("a", type="LoadBalancer", externalTrafficPolicy="Local")
    )
    assert made["spec"]["healthCheckNodePort"]
    plain = (await shared.patch(f"{home}/services/a", {"spec": {"type": "ClusterIP"}}))["spec"]
    assert "nodePort" not in plain["ports"][0]
    dropped = ("healthCheckNodePort", "externalTrafficPolicy", "allocateLoadBalancerNodePorts")
    assert not [name for name in dropped if name in plain]
    named = {"spec": {"type": "ExternalName", "externalName": "a.b"}}
    outside = (await shared.patch(f"{home}/services/a", named))["spec"]
    assert "clusterIP" not in outside
    assert "ipFamilies" not in outside
