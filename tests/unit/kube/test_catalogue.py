"""What a server says that it serves, in the two forms in which servers say it."""

from random import Random
from typing import Any

import pytest

from fleetqueue.kube import catalogue
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.transport import Answer, Call, Payload, Stream

pytestmark = pytest.mark.rule("SEL-3")
ALL = ["get", "list", "watch"]
PODS = Resource("", "v1", "pods", "Pod")
NEW, OLD = (Resource("example.com", v, "things", "Thing", namespaced=False) for v in ("v2", "v1"))
RARE = Resource("example.com", "v1", "rarities", "Rarity")


def listed(version: str, *resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": version, "resources": list(resources)}


def entry(resource: Resource, verbs: list[str]) -> dict[str, Any]:
    return {
        "resource": resource.plural,
        "responseKind": {"kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "verbs": verbs,
    }


def plain(resource: Resource, verbs: list[str]) -> dict[str, Any]:
    return {
        "name": resource.plural,
        "kind": resource.kind,
        "namespaced": resource.namespaced,
        "verbs": verbs,
    }


AGGREGATED = {
    "/api": [{"metadata": {}, "versions": [listed("v1", entry(PODS, ALL))]}],
    "/apis": [
        {
            "metadata": {"name": "example.com"},
            "versions": [
                listed("v2", entry(NEW, ALL), entry(RARE, ["get"])),
                listed("v1", entry(OLD, ALL), entry(RARE, ALL)),
            ],
        }
    ],
}
PLAIN: dict[str, dict[str, Any]] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "versions": [
                    {"groupVersion": "example.com/v1"},
                    {"groupVersion": "example.com/v2"},
                ],
                "preferredVersion": {"groupVersion": "example.com/v2"},
            },
            {"versions": [{"groupVersion": "gone.com/v1"}]},
        ],
    },
    "/api/v1": {"resources": [plain(PODS, ALL), {**plain(PODS, ALL), "name": "pods/log"}]},
    "/apis/example.com/v1": {"resources": [plain(OLD, ALL), plain(RARE, ALL)]},
    "/apis/example.com/v2": {"resources": [plain(NEW, ALL), plain(RARE, ["get"])]},
}


class Server:
    def __init__(self, *, is_new: bool) -> None:
        self.is_new = is_new
        self.asked = 0
        self.pages: dict[str, Any] = dict(AGGREGATED)

    async def request(self, call: Call) -> Answer:
        self.asked += 1
        if self.is_new:
            page: Any = {"kind": "APIGroupDiscoveryList", "items": self.pages[call.path]}
            return Answer(200, Payload(shared=page))
        if call.path in PLAIN:
            return Answer(200, Payload(shared=PLAIN[call.path]))
        return Answer(404, Payload(shared={"kind": "Status", "code": 404, "reason": "NotFound"}))

    async def stream(self, call: Call) -> Stream:
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("is_new", [True, False], ids=["all at once", "one by one"])
async def test_a_server_says_what_it_serves_and_what_it_prefers(is_new: bool) -> None:
    server = Server(is_new=is_new)
    found = await catalogue.read(Client(server, random=Random(1)))
    assert set(found.served.values()) == {PODS, NEW, OLD, RARE}
    assert found.served["example.com", "v1", "Thing"] == OLD
    assert found.preferred["example.com", "Thing"] == NEW
    assert found.preferred["example.com", "Rarity"] == RARE, "of the versions that can be followed"
    assert found.preferred["", "Pod"] == PODS
    assert server.asked == 2 or not is_new


async def test_what_a_server_behind_it_serves_holds_while_that_does_not_answer() -> None:
    server = Server(is_new=True)
    client = Client(server, random=Random(1))
    before = await catalogue.read(client)
    stale = {"version": "v2", "freshness": "Stale", "resources": []}
    server.pages["/apis"] = [{"metadata": {"name": "example.com"}, "versions": [stale]}]
    now = await catalogue.read(client, before)
    assert set(now.served.values()) == {PODS, NEW}, "and what is no longer said is gone"
