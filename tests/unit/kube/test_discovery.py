"""What a kind is served as, where only the server knows."""

from random import Random
from typing import Any

import pytest

from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import UnknownKind
from fleetqueue.kube.late_kinds import LateKinds
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.transport import Answer, Call, Payload, Stream

Object = dict[str, Any]
GUESS = Resource("example.com", "v1", "oxs", "Ox", is_guess=True)
KNOWN = Resource("example.com", "v1", "oxs", "Ox")
PAGE = "/apis/example.com/v1"


class Farm:
    """A server that says under which name it has them, if it has any."""

    def __init__(self, plural: str = "") -> None:
        self.plural = plural
        self.asked: list[str] = []

    async def request(self, call: Call) -> Answer:
        self.asked.append(call.path)
        if call.path == PAGE and self.plural:
            served = {"name": self.plural, "kind": "Ox", "namespaced": True}
            below = {"name": f"{self.plural}/status", "kind": "Ox", "namespaced": True}
            return Answer(200, Payload(shared={"resources": [served, below]}))
        if call.path.startswith(f"{PAGE}/namespaces/ns/{self.plural or 'none'}"):
            found: Object = {"metadata": {"resourceVersion": "1", "name": "x"}, "items": []}
            return Answer(200, Payload(shared=found))
        status = {"kind": "Status", "code": 404, "reason": "NotFound", "message": call.path}
        return Answer(404, Payload(shared=status))

    async def stream(self, call: Call) -> Stream:
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


def client(farm: Farm) -> Client:
    return Client(farm, random=Random(1), namespace="ns")


def test_a_guess_is_the_same_kind() -> None:
    assert KNOWN == GUESS
    assert hash(KNOWN) == hash(GUESS)


async def test_a_guess_is_put_right_by_the_server_and_then_known() -> None:
    farm = Farm("oxen")
    ours = client(farm)
    await ours.list(GUESS, "ns")
    assert farm.asked == [PAGE, f"{PAGE}/namespaces/ns/oxen"]
    await ours.get(GUESS, "x", "ns")
    assert farm.asked[2:] == [f"{PAGE}/namespaces/ns/oxen/x"]


async def test_a_guess_stands_until_a_definition_comes() -> None:
    farm = Farm()
    ours = client(farm)
    assert await ours.discovery.found(GUESS) is GUESS
    farm.plural = "oxen"
    assert (await ours.discovery.found(GUESS)).plural == "oxen"
    farm.plural = "oxes"
    assert ours.discovery.known(GUESS).plural == "oxen"
    assert (await ours.discovery.found(GUESS)).plural == "oxes"


async def test_nobody_asks_for_what_is_known() -> None:
    farm = Farm("oxs")
    await client(farm).list(KNOWN, "ns")
    assert farm.asked == [f"{PAGE}/namespaces/ns/oxs"]


class Herd:
    """As much of a cluster as matters: one kind is followed, and held or not."""

    def __init__(self, kind: Resource, farm: Farm) -> None:
        self.kind, self.client, self.held = kind, client(farm), set[Resource]()

    def kinds(self) -> list[Resource]:
        return [self.kind]

    def hold(self, kind: Resource) -> None:
        self.held.add(kind)

    def let_go(self, kind: Resource) -> None:
        self.held.discard(kind)

    def is_held(self, kind: Resource) -> bool:
        return kind in self.held


def definition(plural: str) -> Object:
    names = {"plural": plural, "kind": "Ox"}
    versions = [{"name": "v1", "served": True}]
    established = {"type": "Established", "status": "True"}
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": versions,
        },
        "status": {"conditions": [established]},
    }


@pytest.mark.parametrize(("kind", "follows"), [(GUESS, True), (KNOWN, False)])
async def test_a_kind_that_comes_late_under_another_name_is_followed_where_its_name_was_a_guess(
    kind: Resource, follows: bool
) -> None:
    farm = Farm()
    herd: Any = Herd(kind, farm)
    late = LateKinds(herd, lambda kind: True, random=Random(1))
    assert await late.look() == [kind]
    late._changed(None, definition("oxen"))
    assert herd.is_held(kind) is not follows
    late._changed(definition("oxen"), None)
    assert herd.is_held(kind)
    farm.plural = "oxen"
    assert await late.look() == ([] if follows else [kind])


async def test_what_is_asked_for_stays_one_group_and_one_version() -> None:
    farm = Farm()
    for wrong in ("../../api/v1?watch=1", "a/b#/v1", "v1?limit=1"):
        with pytest.raises(UnknownKind):
            await client(farm).discovery.resource(wrong, "Ox")
    assert farm.asked == [
        "/apis/..%2F..%2Fapi/v1%3Fwatch%3D1",
        "/apis/a%2Fb%23/v1",
        "/api/v1%3Flimit%3D1",
    ]
